"""A local Laplacian filter: pyramids of the image remapped about levels of brightness, chosen between per pixel."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl

PYRAMID = 4
"""Sizes of the pyramids, each half of the one before."""
LEVELS = 4
"""Levels of brightness that the image is remapped about."""
DETAIL, CONTRAST = 0.3, 1.0


def build(image: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The filtered image and its sizes, those of `image` (u16, channels by height by width)."""
    source = hl.Buffer(image)
    height, width = image.shape[1:]
    x, y, k, c, i = hl.Var("x"), hl.Var("y"), hl.Var("k"), hl.Var("c"), hl.Var("i")
    remap, floating, gray = hl.Func("remap"), hl.Func("floating"), hl.Func("gray")
    offset = hl.f32(i) / hl.f32(256)
    remap[i] = hl.f32(DETAIL) * offset * hl.exp(-offset * offset / hl.f32(2))
    floating[x, y, c] = hl.f32(source[hl.clamp(x, 0, width - 1), hl.clamp(y, 0, height - 1), c]) / hl.f32(65535)
    red, green, blue = (floating[x, y, channel] for channel in range(3))
    gray[x, y] = hl.f32(0.299) * red + hl.f32(0.587) * green + hl.f32(0.114) * blue

    def named(name: str) -> list[Any]:
        return [hl.Func(f"{name}{j}") for j in range(PYRAMID)]

    # The image remapped about each level, and its details.
    about, details = named("about"), named("details")
    level = hl.f32(k) / hl.f32(LEVELS - 1)
    place = hl.clamp(hl.i32(gray[x, y] * hl.f32((LEVELS - 1) * 256)), 0, (LEVELS - 1) * 256)
    about[0][x, y, k] = hl.f32(CONTRAST) * (gray[x, y] - level) + level + remap[place - 256 * k]
    for j in range(1, PYRAMID):
        about[j][x, y, k] = smaller(about[j - 1], x, y, k)
    details[-1][x, y, k] = about[-1][x, y, k]
    for j in range(PYRAMID - 1):
        details[j][x, y, k] = about[j][x, y, k] - larger(about[j + 1], x, y, k)
    # The image itself chooses between the levels.
    itself, chosen, result = named("itself"), named("chosen"), named("result")
    itself[0][x, y] = gray[x, y]
    for j in range(1, PYRAMID):
        itself[j][x, y] = smaller(itself[j - 1], x, y)
    for j in range(PYRAMID):
        bright = itself[j][x, y] * hl.f32(LEVELS - 1)
        lower = hl.clamp(hl.i32(bright), 0, LEVELS - 2)
        share = bright - hl.f32(lower)
        chosen[j][x, y] = (hl.f32(1) - share) * details[j][x, y, lower] + share * details[j][x, y, lower + 1]
    result[-1][x, y] = chosen[-1][x, y]
    for j in reversed(range(PYRAMID - 1)):
        result[j][x, y] = larger(result[j + 1], x, y) + chosen[j][x, y]
    filtered, tiny = hl.Func("filtered"), hl.f32(0.01)
    colour = result[0][x, y] * (floating[x, y, c] + tiny) / (gray[x, y] + tiny)
    filtered[x, y, c] = hl.u16(hl.clamp(colour, hl.f32(0), hl.f32(1)) * hl.f32(65535))

    remap.compute_root()
    gray.compute_root()
    for j in range(1, PYRAMID):
        for f in (about[j], itself[j], result[j]):
            f.compute_root()
    if scheduled:
        gray.parallel(y, 32).vectorize(x, 8)
        filtered.reorder(c, x, y).parallel(y, 16).vectorize(x, 8)
        for j in range(1, PYRAMID):
            for f in (itself[j], result[j]):
                f.parallel(y, 8).vectorize(x, 8)
            about[j].parallel(k).vectorize(x, 8)
    else:
        about[0].compute_root()
        for f in (*details, *chosen, result[0]):
            f.compute_root()
    return filtered, [width, height, 3]


def smaller(f: Any, x: Any, y: Any, *more: Any) -> Any:
    """`f` at half its size: weights 1, 3, 3, 1 along x, then y."""

    def row(at: Any) -> Any:
        ends, middle = (
            f[(2 * x - 1, at, *more)] + f[(2 * x + 2, at, *more)],
            f[(2 * x, at, *more)] + f[(2 * x + 1, at, *more)],
        )
        return (ends + hl.f32(3) * middle) / hl.f32(8)

    return (row(2 * y - 1) + hl.f32(3) * (row(2 * y) + row(2 * y + 1)) + row(2 * y + 2)) / hl.f32(8)


def larger(f: Any, x: Any, y: Any, *more: Any) -> Any:
    """`f` at twice its size: a quarter of the farther neighbour, three of the nearer, along x, then y."""

    def row(at: Any) -> Any:
        return hl.f32(0.25) * f[(x // 2 - 1 + 2 * (x % 2), at, *more)] + hl.f32(0.75) * f[(x // 2, at, *more)]

    return hl.f32(0.25) * row(y // 2 - 1 + 2 * (y % 2)) + hl.f32(0.75) * row(y // 2)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    random = np.random.default_rng(0)
    image = (np.indices((3, 64, 96))[2] // 48 * 30000 + random.integers(10000, 12000, (3, 64, 96))).astype(np.uint16)
    filtered, sizes = build(image)
    result = np.asarray(filtered.realize(sizes))
    print(f"details of {image[:, :, :40].std():.0f} became {result[:, :, :40].std():.0f}")


if __name__ == "__main__":
    main()
