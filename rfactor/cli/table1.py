"""The six reductions of the paper's Table 1, over 2^24 elements each, with their schedules and NumPy peers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl
from rfactor.cli.programs import Array, Program

SIZE = 1 << 24


def chunks_and_lanes(chunk: int, lanes: int) -> Callable[[Any, Any], None]:
    """Chunks of the line in parallel, `lanes` neighbours at once."""

    def schedule(f: Any, r: Any) -> None:
        u, v = hl.Var("u"), hl.Var("v")
        ro, ri, rio, rii = (hl.RVar(name) for name in ("ro", "ri", "rio", "rii"))
        f.update(0).split(r.x, ro, ri, chunk)
        intm = f.update(0).rfactor([(ro, u)])
        intm.compute_root().update(0).parallel(u).split(ri, rio, rii, lanes)
        line = intm.update(0).rfactor([(rii, v)])
        line.compute_at(intm, u).vectorize(v)
        line.update(0).vectorize(v)

    return schedule


def strips(height: int, columns: int) -> Callable[[Any, Any], None]:
    """Strips of `height` rows in parallel, `columns` columns written out one after the other."""

    def schedule(f: Any, r: Any) -> None:
        u, yo, yi = hl.Var("u"), hl.RVar("yo"), hl.RVar("yi")
        f.update(0).split(r.y, yo, yi, height)
        f.update(0).rfactor([(yo, u)]).compute_root().update(0).parallel(u).unroll(r.x, columns)

    return schedule


def slabs_and_lanes(slab: int, lanes: int) -> Callable[[Any, Any], None]:
    """Slabs of the outermost of four dimensions in parallel, `lanes` neighbours in the innermost at once."""

    def schedule(f: Any, r: Any) -> None:
        u, v = hl.Var("u"), hl.Var("v")
        wo, wi, xo, xi = (hl.RVar(name) for name in ("wo", "wi", "xo", "xi"))
        f.update(0).split(r.w, wo, wi, slab)
        slabs = f.update(0).rfactor([(wo, u)])
        slabs.compute_root().update(0).parallel(u).split(r.x, xo, xi, lanes)
        line = slabs.update(0).rfactor([(xi, v)])
        line.compute_at(slabs, u).vectorize(v)
        line.update(0).vectorize(v)

    return schedule


def maximum(a: NDArray[np.int32]) -> Program:
    values = hl.Buffer(a)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("maximum"), hl.RDom([(0, len(a))])
        f[()] = hl.i32(-(2**31))
        f[()] = hl.max(f[()], values[r.x])
        return f, r

    return Program(
        "maximum, i32", algorithm, chunks_and_lanes(1 << 16, 64), outputs(np.int32), lambda: (a.max(),), (a,)
    )


def dot(a: NDArray[np.float32], b: NDArray[np.float32]) -> Program:
    left, right = hl.Buffer(a), hl.Buffer(b)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("dot"), hl.RDom([(0, len(a))])
        f[()] = hl.f32(0)
        f[()] = f[()] + left[r.x] * right[r.x]
        return f, r

    return Program(
        "dot product, f32", algorithm, chunks_and_lanes(1 << 16, 64), outputs(np.float32), lambda: (a @ b,), (a, b)
    )


def complex_product(a: NDArray[np.int32], b: NDArray[np.int32]) -> Program:
    real, imaginary = hl.Buffer(a), hl.Buffer(b)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("product"), hl.RDom([(0, len(a))])
        f[()] = (hl.i32(1), hl.i32(0))
        re, im = real[r.x], imaginary[r.x]
        f[()] = (f[()][0] * re - f[()][1] * im, f[()][0] * im + f[()][1] * re)
        return f, r

    return Program(
        "complex product, i32", algorithm, chunks_and_lanes(1 << 16, 64), outputs(np.int32, np.int32), None, (a, b)
    )


def histogram(image: NDArray[np.uint8]) -> Program:
    pixels = hl.Buffer(image)
    height, width = image.shape

    def algorithm() -> tuple[Any, Any]:
        f, i, r = hl.Func("histogram"), hl.Var("i"), hl.RDom([(0, width), (0, height)])
        f[i] = hl.i32(0)
        f[hl.i32(pixels[r.x, r.y])] += hl.i32(1)
        return f, r

    return Program(
        "histogram, u8", algorithm, strips(max(1, height // 16), 16), lambda: (np.zeros(256, np.int32),),
        lambda: (np.bincount(image.ravel(), minlength=256),), (image,),
    )  # fmt: skip


def argmin(volume: NDArray[np.uint8]) -> Program:
    values = hl.Buffer(volume)
    extents = volume.shape[::-1]

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("argmin"), hl.RDom([(0, extent) for extent in extents])
        f[()] = (hl.u8(255), *(hl.i32(0) for _ in range(4)))
        best, here = f[()][0], values[r.x, r.y, r.z, r.w]
        where = (hl.select(here < best, at, f[()][i + 1]) for i, at in zip(range(4), (r.x, r.y, r.z, r.w), strict=True))
        f[()] = (hl.min(best, here), *where)
        return f, r

    def peer() -> tuple[Any, ...]:
        at = np.unravel_index(volume.argmin(), volume.shape)
        return (volume[at], *at[::-1])

    return Program(
        "4-D argmin, u8", algorithm, slabs_and_lanes(max(1, extents[3] // 16), 64),
        outputs(np.uint8, *[np.int32] * 4), peer, (volume,),
    )  # fmt: skip


def kitchen_sink(a: NDArray[np.int32]) -> Program:
    values = hl.Buffer(a)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("sink"), hl.RDom([(0, len(a))])
        low, high = hl.i32(-(2**31)), hl.i32(2**31 - 1)
        f[()] = (hl.i32(1), hl.i32(0), low, hl.i32(0), high, hl.i32(0), hl.i32(0), hl.i32(0))
        now, v = [f[()][i] for i in range(8)], values[r.x]
        f[()] = (
            now[0] * v,
            now[1] + v,
            hl.max(now[2], v),
            hl.select(v > now[2], r.x, now[3]),
            hl.min(now[4], v),
            hl.select(v < now[4], r.x, now[5]),
            now[6] + v * v,
            now[7] + hl.select((v & 1) == 0, 1, 0),
        )
        return f, r

    return Program("kitchen sink, i32", algorithm, chunks_and_lanes(1 << 16, 32), outputs(*[np.int32] * 8), None, (a,))


def reading(*arrays: Array) -> Callable[[], object]:
    """Reads all whole words of the arrays in parallel and does next to nothing with them: the limit of memory."""
    loops = []
    for array in arrays:
        octets = array.reshape(-1).view(np.uint8)
        words = octets[: octets.size // 8 * 8].view(np.uint64)
        source, f, r = hl.Buffer(words), hl.Func("reading"), hl.RDom([(0, len(words))])
        f[()] = hl.u64(0)
        f[()] = f[()] | source[r.x]
        chunks_and_lanes(1 << 14, 64)(f, r)
        result = np.zeros((), np.uint64)
        loops.append(partial(f.realize, result))

    def read() -> None:
        for loop in loops:
            loop()

    return read


def outputs(*types: type) -> Callable[[], tuple[Array, ...]]:
    """Makes one scalar array a component."""
    return partial(_zeros, types)


def _zeros(types: tuple[type, ...]) -> tuple[Array, ...]:
    return tuple(np.zeros((), type_) for type_ in types)


def programs(size: int = SIZE, seed: int = 1) -> tuple[Program, ...]:
    """The six over random data: `size` elements a list, a square image, and a volume of four equal sides."""
    random = np.random.default_rng(seed)
    whole = random.integers(-(2**31), 2**31, size, dtype=np.int32)
    other = random.integers(-(2**31), 2**31, size, dtype=np.int32)
    side = isqrt(size)
    edge = isqrt(side)
    octets = random.integers(1, 256, size, dtype=np.uint8)
    floats = random.standard_normal(size, dtype=np.float32)
    return (
        maximum(whole),
        dot(floats, random.standard_normal(size, dtype=np.float32)),
        complex_product(whole | 1, other & -2),
        histogram(octets[: side * side].reshape(side, side)),
        argmin(octets[: edge**4].reshape((edge,) * 4)),
        kitchen_sink(whole | 1),
    )
