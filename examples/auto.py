"""The schedule of a reduction, found: which directives pay on this machine, as text to keep and to edit."""

import argparse

import numpy as np

import rfactor as hl

argparse.ArgumentParser(description=__doc__).parse_args()

image = np.random.default_rng(0).integers(0, 256, (3000, 4000), dtype=np.uint8)
pixels = hl.Buffer(image)

darkest, r = hl.Func("darkest"), hl.RDom([(0, 4000), (0, 3000)])
darkest[()] = (hl.u8(255), hl.i32(0), hl.i32(0))
value, best = pixels[r.x, r.y], darkest[()][0]
darkest[()] = (
    hl.select(value < best, value, best),
    hl.select(value < best, r.x, darkest[()][1]),
    hl.select(value < best, r.y, darkest[()][2]),
)

schedule = darkest.update(0).auto_rfactor()
print(schedule)  # paste it instead of the call to keep it, or to change it

least, x, y = np.zeros((), np.uint8), np.zeros((), np.int32), np.zeros((), np.int32)
darkest.realize((least, x, y))
assert int(y) * image.shape[1] + int(x) == image.argmin()
print(f"the darkest pixel is {least}, first at ({x}, {y})")
