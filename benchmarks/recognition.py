"""How long recognising takes: each update of a file of samples, at first sight, in one process.

    python -m benchmarks.recognition [FILES ...] [--slowest 10]

Files have the lines of `rfactor check --batch`; by default the samples of the tests. A case's time is what `check` says
(`ms`, wall) and its CPU time; fixed work is timed beside, so that a busy machine shows.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections import defaultdict
from pathlib import Path

from rfactor.cli.check import TIDIED, batch_line


def fixed_work() -> float:
    """Milliseconds of CPU for a loop that always does the same."""
    began = time.process_time()
    total = 0
    for i in range(1_000_000):
        total += i & 7
    return (time.process_time() - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--slowest", type=int, default=10)
    arguments = parser.parse_args()
    files = arguments.files or sorted((Path(__file__).parent.parent / "tests" / "corpus").glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    batch_line(json.dumps({"update": "x + a"}), 10.0)  # modules are loaded
    times: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    before = fixed_work()
    gc.disable()  # memory is tidied between answers, as in a batch
    for line in lines:
        if gc.get_count()[0] > TIDIED:
            gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        answer, _ = batch_line(line, 10.0)
        cpu, wall = (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000
        for key in ("all", str(answer.get("verdict", "error"))):
            times[key].append((cpu, wall, json.loads(line)["update"]))
    print(f"fixed work: {before:.0f} ms before, {fixed_work():.0f} ms after")
    print(f"{'':16}{'cases':>6} {'median':>8} {'p95':>8} {'max':>8}   ms of CPU; median and p95 of wall")
    for key, found in times.items():
        cpus, walls = sorted(f[0] for f in found), sorted(f[1] for f in found)
        last = int(0.95 * (len(found) - 1))
        print(
            f"{key:16}{len(found):6} {statistics.median(cpus):8.2f} {cpus[last]:8.1f} {cpus[-1]:8.0f}"
            f"   {statistics.median(walls):8.2f} {walls[last]:8.1f}"
        )
    for cpu, wall, update in sorted(times["all"], reverse=True)[: arguments.slowest]:
        print(f"{cpu:9.1f} {wall:9.1f}  {update}")


if __name__ == "__main__":
    main()
