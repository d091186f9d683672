"""An unsharp mask: the luminance is blurred by a Gaussian of 7 by 7, and what the blur takes away is added again."""

import argparse
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl

RADIUS = 3


def build(image: NDArray[Any], scheduled: bool = True, sigma: float = 1.5) -> tuple[Any, list[int]]:
    """The sharpened image and its sizes, six less than those of `image` (f32, channels by height by width)."""
    source = hl.Buffer(image)
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    weights = [math.exp(-i * i / (2 * sigma * sigma)) / (math.sqrt(2 * math.pi) * sigma) for i in range(RADIUS + 1)]
    gray, columns, rows = hl.Func("gray"), hl.Func("columns"), hl.Func("rows")
    gray[x, y] = hl.f32(0.299) * source[x, y, 0] + hl.f32(0.587) * source[x, y, 1] + hl.f32(0.114) * source[x, y, 2]
    columns[x, y] = weighted(weights, [gray[x, y + RADIUS + i] for i in range(-RADIUS, RADIUS + 1)])
    rows[x, y] = weighted(weights, [columns[x + RADIUS + i, y] for i in range(-RADIUS, RADIUS + 1)])
    ratio, sharpened = hl.Func("ratio"), hl.Func("sharpened")
    here = gray[x + RADIUS, y + RADIUS]
    ratio[x, y] = (2 * here - rows[x, y]) / hl.max(here, hl.f32(1e-3))
    sharpened[x, y, c] = ratio[x, y] * source[x + RADIUS, y + RADIUS, c]
    height, width = image.shape[1:]
    if scheduled:
        yi = hl.Var("yi")
        sharpened.split(y, y, yi, 32).reorder(x, yi, c, y).parallel(y).vectorize(x, 16)
        ratio.compute_at(sharpened, y).vectorize(x, 16)
        columns.compute_at(sharpened, y).vectorize(x, 16)
        gray.compute_at(sharpened, y).vectorize(x, 16)
    else:
        for f in (gray, columns, rows, ratio):
            f.compute_root()
    return sharpened, [width - 2 * RADIUS, height - 2 * RADIUS, 3]


def weighted(weights: list[float], values: list[Any]) -> Any:
    """The sum of seven values, with the weights of their distances from the middle one."""
    total = hl.f32(weights[0]) * values[RADIUS]
    for i in range(1, RADIUS + 1):
        total += hl.f32(weights[i]) * (values[RADIUS - i] + values[RADIUS + i])
    return total


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    edge = np.clip((np.arange(640) - 310) / 20, 0, 1) * 0.5 + 0.25
    image = np.ascontiguousarray(np.broadcast_to(edge.astype(np.float32), (3, 480, 640)))
    sharpened, sizes = build(image)
    steepest = (np.abs(np.diff(a, axis=2)).max() for a in (image, np.asarray(sharpened.realize(sizes))))
    print("the steepest step from pixel to pixel was {:.4f} and is {:.4f}".format(*steepest))


if __name__ == "__main__":
    main()
