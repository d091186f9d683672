"""Harris corners: products of the derivatives of the luminance, summed over 3 by 3, and the response of the corner."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl


def build(image: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The response and its sizes, four less than those of `image` (f32, channels by height by width)."""
    source = hl.Buffer(image)
    x, y = hl.Var("x"), hl.Var("y")
    gray, across, down = hl.Func("gray"), hl.Func("across"), hl.Func("down")
    gray[x, y] = hl.f32(0.299) * source[x, y, 0] + hl.f32(0.587) * source[x, y, 1] + hl.f32(0.114) * source[x, y, 2]
    # Sobel's derivatives at (x + 1, y + 1).
    across[x, y] = (
        (gray[x + 2, y] - gray[x, y])
        + (gray[x + 2, y + 2] - gray[x, y + 2])
        + 2 * (gray[x + 2, y + 1] - gray[x, y + 1])
    ) / 12
    down[x, y] = (
        (gray[x, y + 2] - gray[x, y])
        + (gray[x + 2, y + 2] - gray[x + 2, y])
        + 2 * (gray[x + 1, y + 2] - gray[x + 1, y])
    ) / 12
    xx, yy, xy = hl.Func("xx"), hl.Func("yy"), hl.Func("xy")
    xx[x, y] = across[x, y] * across[x, y]
    yy[x, y] = down[x, y] * down[x, y]
    xy[x, y] = across[x, y] * down[x, y]
    sxx, syy, sxy = (box(f, name) for f, name in ((xx, "sxx"), (yy, "syy"), (xy, "sxy")))
    response = hl.Func("response")
    trace = sxx[x, y] + syy[x, y]
    response[x, y] = sxx[x, y] * syy[x, y] - sxy[x, y] * sxy[x, y] - hl.f32(0.04) * trace * trace
    if scheduled:
        yi = hl.Var("yi")
        response.split(y, y, yi, 32).parallel(y).vectorize(x, 16)
        gray.compute_at(response, y).vectorize(x, 16)
        across.compute_at(response, y).vectorize(x, 16)
        down.compute_at(response, y).vectorize(x, 16)
    else:
        for f in (gray, across, down, xx, yy, xy, sxx, syy, sxy):
            f.compute_root()
    height, width = image.shape[1:]
    return response, [width - 4, height - 4]


def box(f: Any, name: str) -> Any:
    """The sum of `f` over the 3 by 3 points from (x, y) on."""
    x, y, total = hl.Var("x"), hl.Var("y"), hl.Func(name)
    total[x, y] = sum((f[x + i, y + j] for j in range(3) for i in range(3) if i or j), f[x, y] + 0)
    return total


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    image = np.zeros((3, 64, 64), np.float32)
    image[:, 20:44, 20:44] = 1
    response, sizes = build(image)
    result = np.asarray(response.realize(sizes))
    at = np.unravel_index(result.argmax(), result.shape)
    print("the strongest corner is at", tuple(int(i) + 2 for i in at))


if __name__ == "__main__":
    main()
