"""The reductions of an image that `rfactor demo` runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl
from rfactor.bench.program import Array, Program

STRIP = 55
"""Rows of a strip: 16 strips for the photograph that ships with scikit-image."""
ONE_CORE = 1 << 22
"""Pixels up to which a light reduction takes no longer than to wake other cores."""


def strips(f: Any, r: Any) -> Any:
    """Strips of rows in parallel, in the serial order; returns the intermediate."""
    u, yo, yi = hl.Var("u"), hl.RVar("yo"), hl.RVar("yi")
    f.update(0).split(r.y, yo, yi, STRIP)
    strip = f.update(0).rfactor([(yo, u)])
    strip.compute_root().update(0).parallel(u)
    return strip


def strips_and_columns(columns: int) -> Callable[[Any, Any], None]:
    """Strips of rows in parallel, `columns` columns written out one after the other."""

    def schedule(f: Any, r: Any) -> None:
        strips(f, r).update(0).unroll(r.x, columns)

    return schedule


def lanes_alone(lanes: int) -> Callable[[Any, Any], None]:
    """`lanes` columns at once, on one core."""

    def schedule(f: Any, r: Any) -> None:
        v, xo, xi = hl.Var("v"), hl.RVar("xo"), hl.RVar("xi")
        f.update(0).split(r.x, xo, xi, lanes)
        lane = f.update(0).rfactor([(xi, v)])
        lane.compute_root().vectorize(v)
        lane.update(0).vectorize(v)

    return schedule


def strips_and_lanes(lanes: int) -> Callable[[Any, Any], None]:
    """Strips of rows in parallel and `lanes` columns at once."""

    def schedule(f: Any, r: Any) -> None:
        strip = strips(f, r)
        v, xo, xi = hl.Var("v"), hl.RVar("xo"), hl.RVar("xi")
        strip.update(0).split(r.x, xo, xi, lanes)
        lane = strip.update(0).rfactor([(xi, v)])
        lane.compute_at(strip, "u").vectorize(v)
        lane.update(0).vectorize(v)

    return schedule


def of_image(pixels: NDArray[np.uint8]) -> tuple[Program, ...]:
    """The demo's reductions of an image of shape (height, width, 3), of which each plane is read as u8."""
    planes = np.ascontiguousarray(np.moveaxis(pixels, 2, 0))
    red, green = planes[0], planes[1]
    height, width = red.shape
    light = lanes_alone if height * width <= ONE_CORE else strips_and_lanes
    image, first, second = hl.Buffer(planes), hl.Buffer(planes[0]), hl.Buffer(planes[1])

    def domain() -> Any:
        return hl.RDom([(0, width), (0, height)], name="r")

    def channel_sums() -> tuple[Any, Any]:
        f, c, r = hl.Func("sums"), hl.Var("c"), domain()
        f[c] = hl.u32(0)
        f[c] = f[c] + hl.u32(image[r.x, r.y, c])
        return f, r

    def largest() -> tuple[Any, Any]:
        f, r = hl.Func("largest"), domain()
        f[()] = hl.u8(0)
        f[()] = hl.max(f[()], first[r.x, r.y])
        return f, r

    def histogram() -> tuple[Any, Any]:
        f, i, r = hl.Func("histogram"), hl.Var("i"), domain()
        f[i] = hl.u32(0)
        f[hl.i32(first[r.x, r.y])] += hl.u32(1)
        return f, r

    def darkest() -> tuple[Any, Any]:
        f, r = hl.Func("darkest"), domain()
        f[()] = (hl.u8(255), hl.i32(0), hl.i32(0))
        best, here = f[()][0], first[r.x, r.y]
        f[()] = (hl.min(best, here), hl.select(best <= here, f[()][1], r.x), hl.select(best <= here, f[()][2], r.y))
        return f, r

    def moments() -> tuple[Any, Any]:
        f, r = hl.Func("moments"), domain()
        f[()] = (hl.u32(0), hl.u64(0))
        value = hl.u32(first[r.x, r.y])
        f[()] = (f[()][0] + value, f[()][1] + hl.u64(value * value))
        return f, r

    def product() -> tuple[Any, Any]:
        f, r = hl.Func("product"), domain()
        f[()] = (hl.i32(1), hl.i32(0))
        re, im = hl.i32(first[r.x, r.y]) | 1, hl.i32(second[r.x, r.y]) & -2
        f[()] = (f[()][0] * re - f[()][1] * im, f[()][0] * im + f[()][1] * re)
        return f, r

    def numpy_darkest() -> tuple[Any, ...]:
        y, x = np.unravel_index(red.argmin(), red.shape)
        return red[y, x], x, y

    def numpy_moments() -> tuple[Any, ...]:
        return red.sum(dtype=np.uint32), np.square(red, dtype=np.uint32).sum(dtype=np.uint64)

    def scalars(*types: type) -> Callable[[], tuple[Array, ...]]:
        return lambda: tuple(np.zeros((), type_) for type_ in types)

    u8, u32, u64, i32 = np.uint8, np.uint32, np.uint64, np.int32
    return (
        Program("channel sums", channel_sums, strips_and_lanes(64), lambda: (np.zeros(3, u32),),
                lambda: (planes.sum(axis=(1, 2), dtype=u32),)),
        Program("largest value", largest, light(128), scalars(u8), lambda: (red.max(),)),
        Program("histogram, 256 bins", histogram, strips_and_columns(8), lambda: (np.zeros(256, u32),),
                lambda: (np.bincount(red.ravel(), minlength=256),)),
        Program("position of the darkest pixel", darkest, light(64), scalars(u8, i32, i32), numpy_darkest),
        Program("sums for mean and variance", moments, light(32), scalars(u32, u64), numpy_moments),
        Program("product of complex numbers", product, strips_and_lanes(64), scalars(i32, i32),
                lambda: _complex_product(red, green)),
    )  # fmt: skip


def _complex_product(real: Array, imaginary: Array) -> tuple[Any, ...]:
    """The product modulo 2^32 by halving: NumPy has no complex integers.

    Every factor is odd + even i, a unit modulo 2^32: products of others soon end in zeros alone.
    """
    re, im = real.ravel().astype(np.int32) | 1, imaginary.ravel().astype(np.int32) & -2
    while len(re) > 1:
        if len(re) % 2:
            re, im = np.append(re, np.int32(1)), np.append(im, np.int32(0))
        re, im = re[::2] * re[1::2] - im[::2] * im[1::2], re[::2] * im[1::2] + im[::2] * re[1::2]
    return re[0], im[0]
