"""What is not associative is refused, with the reason and a counterexample."""

import argparse

import numpy as np

import rfactor as hl

argparse.ArgumentParser(description=__doc__).parse_args()

samples = hl.Buffer(np.arange(100, dtype=np.int32))
average, r, u = hl.Func("average"), hl.RDom([(0, 10), (0, 10)]), hl.Var("u")
average[()] = hl.i32(0)
average[()] = (average[()] + samples[r.x + 10 * r.y]) >> 1

try:
    average.update(0).rfactor([(r.y, u)])
except hl.Error as error:
    print(error)
else:
    raise SystemExit("an average of averages was taken for a reduction")

answer = hl.check("max(x + a, b)", semantics="math")
print(f"max(x + a, b) is {answer.verdict}: {', '.join(map(str, answer.lift.operator))}")
