"""A bilateral filter by a grid: values are gathered in cells of place and brightness, blurred there, and read back."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl

CELL = 8
"""Pixels along a side of a cell."""
LEVELS = 10
"""Cells of brightness."""


def build(image: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The filtered image and its sizes. `image` is f32 from 0 to 1, height by width."""
    source = hl.Buffer(image)
    height, width = image.shape
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")

    def at(i: Any, j: Any) -> Any:
        inside = source[hl.clamp(i, 0, width - 1), hl.clamp(j, 0, height - 1)]
        return hl.clamp(inside, hl.f32(0), hl.f32(1))

    # Each cell has the sum of its values (c = 0) and their number (c = 1).
    grid, r = hl.Func("grid"), hl.RDom([(0, CELL), (0, CELL)])
    value = at(x * CELL + r.x - CELL // 2, y * CELL + r.y - CELL // 2)
    level = hl.i32(value * hl.f32(LEVELS) + hl.f32(0.5))
    grid[x, y, z, c] = hl.f32(0)
    grid[x, y, hl.clamp(level, 0, LEVELS), c] += hl.select(c == 0, value, hl.f32(1))
    deep, wide, high = hl.Func("deep"), hl.Func("wide"), hl.Func("high")
    deep[x, y, z, c] = five(*(grid[x, y, z + i, c] for i in range(-2, 3)))
    wide[x, y, z, c] = five(*(deep[x + i, y, z, c] for i in range(-2, 3)))
    high[x, y, z, c] = five(*(wide[x, y + i, z, c] for i in range(-2, 3)))
    # Read back between the eight cells around a pixel.
    depth = at(x, y) * hl.f32(LEVELS)
    zi = hl.clamp(hl.i32(depth), 0, LEVELS)
    xf, yf, zf = hl.f32(x % CELL) / CELL, hl.f32(y % CELL) / CELL, depth - hl.f32(zi)
    xi, yi = x // CELL, y // CELL
    between, filtered = hl.Func("between"), hl.Func("filtered")
    planes = [
        mix(
            mix(high[xi, yi, zi + k, c], high[xi + 1, yi, zi + k, c], xf),
            mix(high[xi, yi + 1, zi + k, c], high[xi + 1, yi + 1, zi + k, c], xf),
            yf,
        )
        for k in range(2)
    ]
    between[x, y, c] = mix(planes[0], planes[1], zf)
    filtered[x, y] = between[x, y, 0] / between[x, y, 1]
    if scheduled:
        for f in (deep, wide, high):
            f.compute_root().parallel(z).vectorize(x, 8)
        grid.compute_root().parallel(z).update(0).reorder(c, r.x, r.y, x, y).parallel(y)
        filtered.parallel(y, 8).vectorize(x, 8)
    else:
        for f in (grid, deep, wide, high):
            f.compute_root()
    return filtered, [width, height]


def five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """Five values, weighted as the binomial of order four."""
    return a + b * hl.f32(4) + c * hl.f32(6) + d * hl.f32(4) + e


def mix(a: Any, b: Any, share: Any) -> Any:
    """`a` where `share` is 0, `b` where it is 1."""
    return a + (b - a) * share


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    random = np.random.default_rng(0)
    image = np.clip(np.indices((96, 128))[1] // 64 + random.normal(0, 0.05, (96, 128)), 0, 1).astype(np.float32)
    filtered, sizes = build(image)
    result = np.asarray(filtered.realize(sizes))
    print(f"noise of {image[:, :56].std():.3f} became {result[:, :56].std():.3f}")


if __name__ == "__main__":
    main()
