"""Histogram equalisation: a histogram, factored into strips of rows; its running sum; and a look-up for every pixel."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl


def build(image: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The image with all values equally common, and its sizes. `image` is u8, height by width."""
    source = hl.Buffer(image)
    height, width = image.shape
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    histogram, r = hl.Func("histogram"), hl.RDom([(0, width), (0, height)])
    histogram[i] = hl.u32(0)
    histogram[hl.i32(source[r.x, r.y])] += hl.u32(1)
    running, bins = hl.Func("running"), hl.RDom([(1, 255)])
    running[i] = histogram[i]
    running[bins.x] = running[bins.x - 1] + histogram[bins.x]
    equalized = hl.Func("equalized")
    equalized[x, y] = hl.u8(running[hl.i32(source[x, y])] * hl.u32(255) // hl.u32(width * height))
    histogram.compute_root()
    running.compute_root()
    if scheduled:
        u, yo, yi = hl.Var("u"), hl.RVar("yo"), hl.RVar("yi")
        histogram.update(0).split(r.y, yo, yi, 64)
        strips = histogram.update(0).rfactor([(yo, u)])
        strips.compute_root().vectorize(i, 16).update(0).parallel(u)
        equalized.parallel(y, 16)
    return equalized, [width, height]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    image = np.random.default_rng(0).integers(90, 130, (480, 640), dtype=np.uint8)
    equalized, sizes = build(image)
    result = np.asarray(equalized.realize(sizes))
    print("values from", result.min(), "to", result.max())


if __name__ == "__main__":
    main()
