"""A histogram: the update scatters, so strips of rows count apart and the merge adds their counts."""

import argparse

import numpy as np

import rfactor as hl

argparse.ArgumentParser(description=__doc__).parse_args()

image = np.random.default_rng(0).integers(0, 256, (480, 640), dtype=np.uint8)
pixels = hl.Buffer(image)  # dimension 0 is the innermost: pixels[x, y]

histogram, i, r = hl.Func("histogram"), hl.Var("i"), hl.RDom([(0, 640), (0, 480)])
histogram[i] = hl.u32(0)
histogram[hl.i32(pixels[r.x, r.y])] += hl.u32(1)

u, yo, yi = hl.Var("u"), hl.RVar("yo"), hl.RVar("yi")
histogram.update(0).split(r.y, yo, yi, 60)
histogram.update(0).rfactor([(yo, u)]).compute_root().update(0).parallel(u)

counts = np.zeros(256, np.uint32)
histogram.realize(counts)
assert (counts == np.bincount(image.ravel(), minlength=256)).all()
print(f"{counts.sum()} pixels, the commonest value is {counts.argmax()}")
