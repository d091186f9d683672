"""One step of a level-set segmentation: the contour moves where the pixels are nearer to the mean of the other side."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl

STEP, SMOOTHNESS = 0.2, 0.02


def build(image: NDArray[Any], level: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The level set after a step, and its sizes, two less than those of `image` (u8) and `level` (f32, > 0 inside)."""
    source, phi = hl.Buffer(image), hl.Buffer(level)
    height, width = image.shape
    x, y = hl.Var("x"), hl.Var("y")
    # The sum and the number of the pixels inside and outside.
    sides = []
    for name, inside in (("inside", True), ("outside", False)):
        r = hl.RDom([(0, width), (0, height)])
        here = (phi[r.x, r.y] > 0) if inside else (phi[r.x, r.y] <= 0)
        side = hl.Func(name)
        side[()] = hl.Tuple([hl.i32(0), hl.i32(0)])
        total, number = side[()][0], side[()][1]
        more = hl.select(here, hl.i32(source[r.x, r.y]), 0), hl.select(here, hl.i32(1), hl.i32(0))
        side[()] = hl.Tuple([total + more[0], number + more[1]])
        side.compute_root()
        sides.append((side, r))
    means = [hl.f32(side[()][0]) / (hl.f32(hl.max(side[()][1], 1)) * 255) for side, _ in sides]
    # The curvature of the contour, from central differences around (x + 1, y + 1).
    across = (phi[x + 2, y + 1] - phi[x, y + 1]) / 2
    down = (phi[x + 1, y + 2] - phi[x + 1, y]) / 2
    xx = phi[x + 2, y + 1] - 2 * phi[x + 1, y + 1] + phi[x, y + 1]
    yy = phi[x + 1, y + 2] - 2 * phi[x + 1, y + 1] + phi[x + 1, y]
    xy = (phi[x + 2, y + 2] - phi[x + 2, y] - phi[x, y + 2] + phi[x, y]) / 4
    slope = across * across + down * down + hl.f32(1e-6)
    curvature, force, moved = hl.Func("curvature"), hl.Func("force"), hl.Func("moved")
    curvature[x, y] = (xx * down * down - 2 * xy * across * down + yy * across * across) / (slope * hl.sqrt(slope))
    value = hl.f32(source[x + 1, y + 1]) / 255
    to_inside, to_outside = value - means[0], value - means[1]
    force[x, y] = to_outside * to_outside - to_inside * to_inside
    near = hl.f32(1) / (hl.f32(1) + phi[x + 1, y + 1] * phi[x + 1, y + 1])
    change = hl.f32(SMOOTHNESS) * curvature[x, y] + force[x, y]
    moved[x, y] = phi[x + 1, y + 1] + hl.f32(STEP) * near * change
    if scheduled:
        for side, r in sides:
            u, v, yo, yi, xo, xi = hl.Var("u"), hl.Var("v"), *(hl.RVar(name) for name in ("yo", "yi", "xo", "xi"))
            side.update(0).split(r.y, yo, yi, 64)
            strips = side.update(0).rfactor([(yo, u)])
            strips.compute_root().update(0).parallel(u).split(r.x, xo, xi, 16)
            lanes = strips.update(0).rfactor([(xi, v)])
            lanes.compute_at(strips, u).vectorize(v).update(0).vectorize(v)
        moved.parallel(y, 16).vectorize(x, 16)
    else:
        curvature.compute_root()
        force.compute_root()
    return moved, [width - 2, height - 2]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    rows, columns = np.indices((96, 96), np.float32)
    image = np.where(np.hypot(rows - 48, columns - 60) < 25, 200, 40).astype(np.uint8)
    level = (30 - np.hypot(rows - 48, columns - 48)).astype(np.float32)
    for _ in range(20):
        moved, sizes = build(image, level)
        level[1:-1, 1:-1] = np.asarray(moved.realize(sizes))
    print("the contour holds", int((level > 0).sum()), "pixels of", int((image > 100).sum()))


if __name__ == "__main__":
    main()
