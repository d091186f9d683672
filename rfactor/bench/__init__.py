"""The paper's benchmarks beside their peers: Table 1 (speed), Tables 2 and 3 (lines, search), and time against size.

    from rfactor.bench.compare import compare
    comparison = compare(size=1 << 20, trials=5)

`rfactor bench` prints what these functions return.
"""
