"""The product of a list of complex numbers, in chunks in parallel and sixteen neighbours at once."""

import argparse

import numpy as np

import rfactor as hl

argparse.ArgumentParser(description=__doc__).parse_args()

n = 1_000_003  # neither the chunk nor the number of lanes divides it
re, im = np.random.default_rng(0).integers(-9, 10, (2, n), dtype=np.int32)
re, im = re | 1, im & -2  # odd + even i: the product modulo 2^32 does not end in zeros
a, b = hl.Buffer(re), hl.Buffer(im)


def product() -> tuple[hl.Func, hl.RDom]:
    """The algorithm: f = f * (a + b i) for each element."""
    f, r = hl.Func("product"), hl.RDom([(0, n)])
    f[()] = (hl.i32(1), hl.i32(0))
    f[()] = (f[()][0] * a[r.x] - f[()][1] * b[r.x], f[()][0] * b[r.x] + f[()][1] * a[r.x])
    return f, r


serial, _ = product()
factored, r = product()

u, v = hl.Var("u"), hl.Var("v")
ro, ri, rio, rii = (hl.RVar(name) for name in ("ro", "ri", "rio", "rii"))
factored.update(0).split(r.x, ro, ri, 16384)
chunk = factored.update(0).rfactor([(ro, u)])
chunk.compute_root().update(0).parallel(u).split(ri, rio, rii, 16)
lanes = chunk.update(0).rfactor([(rii, v)])
lanes.compute_at(chunk, u).vectorize(v)
lanes.update(0).vectorize(v)

one, other = ((np.zeros((), np.int32), np.zeros((), np.int32)) for _ in range(2))
serial.realize(one)
factored.realize(other)
assert one == other, (one, other)
print(f"the product is {one[0]} + {one[1]} i, serial and factored")
