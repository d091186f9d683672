"""A separable box blur of 3 by 3 over 16-bit pixels: rows, then columns."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl


def build(image: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The blurred image and its sizes, two less than those of `image` (u16, height by width)."""
    source = hl.Buffer(image)
    x, y, yi = hl.Var("x"), hl.Var("y"), hl.Var("yi")
    rows, blurred = hl.Func("rows"), hl.Func("blurred")
    rows[x, y] = (source[x, y] + source[x + 1, y] + source[x + 2, y]) // 3
    blurred[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) // 3
    if scheduled:
        blurred.split(y, y, yi, 32).parallel(y).vectorize(x, 32)
        rows.compute_at(blurred, y).vectorize(x, 32)
    else:
        rows.compute_root()
    height, width = image.shape
    return blurred, [width - 2, height - 2]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    image = np.random.default_rng(0).integers(0, 4096, (480, 640), dtype=np.uint16)
    blurred, sizes = build(image)
    result = np.asarray(blurred.realize(sizes))
    print(f"a noise of {image.std():.0f} became {result.std():.0f}")


if __name__ == "__main__":
    main()
