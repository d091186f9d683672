"""Pipelines with schedules as people write them, for `rfactor` and Halide alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Build = Callable[..., Any]
"""`build(hl, *images)`: the scheduled output in the language of the module `hl`, over buffers of the inputs."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline of one output."""

    build: Build
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    """NumPy type and shape of each image; drawn from 0 to 200, floats from 0 to 1."""
    output: tuple[str, tuple[int, ...]]
    """NumPy type and shape of the result."""

    def images(self) -> list[NDArray[Any]]:
        """The same in each run."""
        random = np.random.default_rng(5)
        return [
            random.random(shape).astype(dtype) if np.dtype(dtype).kind == "f" else random.integers(0, 200, shape, dtype)
            for dtype, shape in self.inputs
        ]


def _vars(hl: Any, names: str) -> list[Any]:
    return [hl.Var(name) for name in names.split()]


def _unrolled(factor: int) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (x,), f = _vars(hl, "x"), hl.Func("f")
        f[x] = a[x] * 3 + 1
        return f.unroll(x, factor)

    return build


def _plain(hl: Any, a: Any) -> Any:
    (x,), f = _vars(hl, "x"), hl.Func("f")
    f[x] = a[x] * 3 + 1
    return f


def _parallel_maximum(hl: Any, a: Any) -> Any:
    """The greatest of each chunk in threads and lanes, then of the chunks."""
    (u, v), f, r = _vars(hl, "u v"), hl.Func("f"), hl.RDom([(0, 1 << 16)], "r")
    ro, ri, rio, rii = (hl.RVar(name) for name in ("ro", "ri", "rio", "rii"))
    f[()] = hl.i32(-(1 << 31))
    f[()] = hl.max(f[()], a[r.x])
    f.update(0).split(r.x, ro, ri, 1 << 13)
    chunks = f.update(0).rfactor([(ro, u)])
    chunks.compute_root().update(0).parallel(u).split(ri, rio, rii, 64)
    lanes = chunks.update(0).rfactor([(rii, v)])
    lanes.compute_at(chunks, u).vectorize(v)
    lanes.update(0).vectorize(v)
    return f


def _chain_inlined(hl: Any, a: Any) -> Any:
    (x, y), f, g, h = _vars(hl, "x y"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = a[x, y] * 2.0 + 1.0
    g[x, y] = hl.sqrt(f[x, y]) - 0.5
    h[x, y] = hl.max(g[x, y], 0.25) / f[x, y]
    return h.vectorize(x, 8)


def _chain_at(hl: Any, a: Any) -> Any:
    (x, y), f, g, h = _vars(hl, "x y"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = a[x, y] * 2.0 + 1.0
    g[x, y] = hl.sqrt(f[x, y]) - 0.5
    h[x, y] = hl.max(g[x, y], 0.25) / f[x, y]
    h.vectorize(x, 8).parallel(y, 16)
    f.compute_at(h, y).vectorize(x, 8)
    g.compute_at(h, y).vectorize(x, 8)
    return h


def _fused(hl: Any, a: Any) -> Any:
    (x, y, t), f = _vars(hl, "x y t"), hl.Func("f")
    f[x, y] = a[x, y] * 2.0 + 1.0
    return f.vectorize(x, 8).fuse(x, y, t).parallel(t, 512)


def _blur(schedule: str) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (x, y, xi, yi), rows, out = _vars(hl, "x y xi yi"), hl.Func("rows"), hl.Func("out")
        rows[x, y] = (a[x, y] + a[x + 1, y] + a[x + 2, y]) // hl.u16(3)
        out[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) // hl.u16(3)
        if schedule == "tile":
            out.tile(x, y, xi, yi, 128, 32).vectorize(xi, 16).parallel(y)
            rows.compute_at(out, x).vectorize(x, 16)
        elif schedule == "slide":
            out.split(y, y, yi, 32).parallel(y).vectorize(x, 16)
            rows.store_at(out, y).compute_at(out, yi).vectorize(x, 16)
        elif schedule == "root":
            out.vectorize(x, 16)
            rows.compute_root().vectorize(x, 16)
        else:
            out.vectorize(x, 16).parallel(y, 8)
        return out

    return build


def _stencil(hl: Any, a: Any) -> Any:
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    f[x, y] = (a[x, y + 1] + a[x + 2, y + 1] + a[x + 1, y] + a[x + 1, y + 2]) * 0.25
    return f.vectorize(x, 8).unroll(y, 4).parallel(y)


def _edges(hl: Any, a: Any) -> Any:
    (x, y), f, g = _vars(hl, "x y"), hl.Func("f"), hl.Func("g")
    inside = hl.BoundaryConditions.repeat_edge(a)
    f[x, y] = inside[x - 1, y] + inside[x, y] + inside[x + 1, y]
    g[x, y] = f[x, y - 1] + f[x, y] + f[x, y + 1]
    g.vectorize(x, 16).parallel(y, 16)
    f.compute_at(g, y).vectorize(x, 16)
    return g


def _zeros(hl: Any, a: Any) -> Any:
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    inside = hl.BoundaryConditions.constant_exterior(a, 0)
    f[x, y] = (inside[x - 1, y] + inside[x + 1, y] + inside[x, y - 1] + inside[x, y + 1]) * 0.25
    return f.vectorize(x, 8).parallel(y, 8)


def _transpose(kind: str) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (x, y, xi, yi), f = _vars(hl, "x y xi yi"), hl.Func("f")
        f[x, y] = a[y, x]
        if kind == "tile":
            return f.tile(x, y, xi, yi, 8, 8).vectorize(xi).unroll(yi)
        return f.tile(x, y, xi, yi, 16, 16)

    return build


def _gray(hl: Any, a: Any) -> Any:
    """Of an image whose channels are interleaved."""
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    red, green, blue = (hl.u16(a[c, x, y]) for c in range(3))
    f[x, y] = hl.u8((red * hl.u16(77) + green * hl.u16(150) + blue * hl.u16(29)) >> hl.u16(8))
    return f.vectorize(x, 16).parallel(y, 16)


def _interleave(hl: Any, a: Any) -> Any:
    (c, x, y), f = _vars(hl, "c x y"), hl.Func("f")
    f[c, x, y] = hl.u8(255) - a[x, y, c]
    return f.bound(c, 0, 3).unroll(c).vectorize(x, 16).parallel(y, 16)


def _deinterleave(hl: Any, a: Any) -> Any:
    (x, y, c), f = _vars(hl, "x y c"), hl.Func("f")
    f[x, y, c] = a[c, x, y]
    return f.reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, 16)


def added_product(hl: Any, total: Any, a: Any, b: Any, contracted: bool) -> Any:
    """`a*b + total`, in one rounding if contracted: Halide 21 has no `fma`, and contracts it by itself."""
    return hl.fma(a, b, total) if contracted and hasattr(hl, "fma") else total + a * b


def _matmul(size: int, kind: str, contracted: bool = False) -> Build:
    def build(hl: Any, a: Any, b: Any) -> Any:
        (x, y, xi, yi), f, out = _vars(hl, "x y xi yi"), hl.Func("f"), hl.Func("out")
        k = hl.RDom([(0, size)], "k")
        f[x, y] = hl.f32(0)
        f[x, y] = added_product(hl, f[x, y], a[k.x, y], b[x, k.x], contracted)
        if kind == "rows":
            f.update(0).reorder(x, k.x, y).vectorize(x, 8).parallel(y)
            f.vectorize(x, 8)
            return f
        out[x, y] = f[x, y]
        out.tile(x, y, xi, yi, 24, 4).vectorize(xi, 8).unroll(xi).unroll(yi).parallel(y)
        f.compute_at(out, x).vectorize(x, 8).unroll(x).unroll(y)
        f.update(0).reorder(x, y, k.x).vectorize(x, 8).unroll(x).unroll(y)
        return out

    return build


def _sums(axis: str) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (i,), f, r = _vars(hl, "i"), hl.Func("f"), hl.RDom([(0, 1024)], "r")
        f[i] = hl.f32(0)
        if axis == "strips":
            f[i] += a[i, r.x]
            io, ii = _vars(hl, "io ii")
            f.update(0).split(i, io, ii, 64).reorder(ii, r.x, io).vectorize(ii, 8).parallel(io)
        else:
            f[i] += a[r.x, i]
            ro, ri, (u,) = hl.RVar("ro"), hl.RVar("ri"), _vars(hl, "u")
            f.update(0).split(r.x, ro, ri, 8)
            lanes = f.update(0).rfactor([(ri, u)])
            lanes.compute_at(f, i).vectorize(u).update(0).vectorize(u)
            f.update(0).parallel(i, 16)
        return f

    return build


def _atomic_sum(hl: Any, a: Any) -> Any:
    f, r = hl.Func("f"), hl.RDom([(0, 1 << 16)], "r")
    f[()] = hl.i32(0)
    f[()] += hl.i32(a[r.x])
    f.update(0).atomic().vectorize(r.x, 16)
    return f


def _histogram(kind: str) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (i, u), f, r = _vars(hl, "i u"), hl.Func("f"), hl.RDom([(0, 1024), (0, 1024)], "r")
        f[i] = hl.i32(0)
        f[hl.i32(a[r.x, r.y])] += 1
        f.bound(i, 0, 256).vectorize(i, 8)
        if kind == "serial":
            f.update(0).unscheduled()
        else:
            ro, ri = hl.RVar("ro"), hl.RVar("ri")
            f.update(0).split(r.y, ro, ri, 128)
            parts = f.update(0).rfactor([(ro, u)])
            parts.compute_root().vectorize(i, 8).update(0).parallel(u)
            f.update(0).reorder(i, ro).vectorize(i, 8)
        return f

    return build


def _scan(kind: str) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (x, y), f, r = _vars(hl, "x y"), hl.Func("f"), hl.RDom([(1, 1023)], "r")
        f[x, y] = a[x, y]
        if kind == "rows":
            f[r.x, y] = f[r.x - 1, y] + a[r.x, y]
            f.vectorize(x, 8).update(0).parallel(y, 16)
        else:
            f[x, r.x] = f[x, r.x - 1] + a[x, r.x]
            f.vectorize(x, 8).update(0).vectorize(x, 8)
        return f

    return build


def _lut(hl: Any, a: Any, table: Any) -> Any:
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    f[x, y] = table[hl.i32(a[x, y])]
    return f.vectorize(x, 16).parallel(y, 16)


def _lut_unrolled(hl: Any, a: Any, table: Any) -> Any:
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    f[x, y] = table[hl.i32(a[x, y])]
    return f.unroll(x, 8).parallel(y, 16)


def _resize(hl: Any, a: Any) -> Any:
    """Every second pixel, the mean of four."""
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    one = hl.u16(a[2 * x, 2 * y]) + hl.u16(a[2 * x + 1, 2 * y])
    other = hl.u16(a[2 * x, 2 * y + 1]) + hl.u16(a[2 * x + 1, 2 * y + 1])
    f[x, y] = hl.u8((one + other + hl.u16(2)) >> hl.u16(2))
    return f.vectorize(x, 16).parallel(y, 16)


def _enlarge(hl: Any, a: Any) -> Any:
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    f[x, y] = (a[x // 2, y // 2] + a[(x + 1) // 2, (y + 1) // 2]) * 0.5
    return f.vectorize(x, 8).parallel(y, 16)


_LINE, _SQUARE, _LARGER = (1 << 16,), (1024, 1024), (1026, 1026)
PIPELINES = {
    "pointwise, no schedule": Pipeline(_plain, (("i4", _LINE),), ("i4", _LINE)),
    **{
        f"pointwise, unroll {n}": Pipeline(_unrolled(n), (("i4", _LINE),), ("i4", _LINE)) for n in (4, 16, 64)
    },
    "maximum, threads": Pipeline(_parallel_maximum, (("i4", _LINE),), ("i4", ())),
    "chain, inlined": Pipeline(_chain_inlined, (("f4", _SQUARE),), ("f4", _SQUARE)),
    "chain, compute_at": Pipeline(_chain_at, (("f4", _SQUARE),), ("f4", _SQUARE)),
    "pointwise, fuse": Pipeline(_fused, (("f4", _SQUARE),), ("f4", _SQUARE)),
    **{
        f"blur u16, {kind}": Pipeline(_blur(kind), (("u2", _LARGER),), ("u2", _SQUARE))
        for kind in ("inlined", "tile", "slide", "root")
    },
    "stencil f32, unroll y": Pipeline(_stencil, (("f4", _LARGER),), ("f4", _SQUARE)),
    "repeat_edge u16": Pipeline(_edges, (("u2", _SQUARE),), ("u2", _SQUARE)),
    "constant_exterior f32": Pipeline(_zeros, (("f4", _SQUARE),), ("f4", _SQUARE)),
    "transpose f32, lanes": Pipeline(_transpose("tile"), (("f4", _SQUARE),), ("f4", _SQUARE)),
    "transpose f32, tiles": Pipeline(_transpose("scalar"), (("f4", _SQUARE),), ("f4", _SQUARE)),
    "gray, interleaved u8": Pipeline(_gray, (("u1", (1024, 1024, 3)),), ("u1", _SQUARE)),
    "interleave u8": Pipeline(_interleave, (("u1", (3, 1024, 1024)),), ("u1", (1024, 1024, 3))),
    "deinterleave u8": Pipeline(_deinterleave, (("u1", (1024, 1024, 3)),), ("u1", (3, 1024, 1024))),
    **{
        f"matmul {size}, {kind}": Pipeline(_matmul(size, kind), (("f4", (size,) * 2),) * 2, ("f4", (size,) * 2))
        for size, kind in ((192, "tile"), (192, "rows"), (576, "tile"))
    },
    **{
        f"fma, matmul {size}, {kind}": Pipeline(
            _matmul(size, kind, True), (("f4", (size,) * 2),) * 2, ("f4", (size,) * 2)
        )
        for size, kind in ((192, "tile"), (192, "rows"), (576, "tile"))
    },
    **{f"sums, {axis}": Pipeline(_sums(axis), (("f4", _SQUARE),), ("f4", (1024,))) for axis in ("rows", "strips")},
    "sum u8, atomic": Pipeline(_atomic_sum, (("u1", _LINE),), ("i4", ())),
    "histogram, serial": Pipeline(_histogram("serial"), (("u1", _SQUARE),), ("i4", (256,))),
    "histogram, rfactor": Pipeline(_histogram("rfactor"), (("u1", _SQUARE),), ("i4", (256,))),
    **{f"scan, {kind}": Pipeline(_scan(kind), (("i4", _SQUARE),), ("i4", _SQUARE)) for kind in ("rows", "columns")},
    "table, lanes": Pipeline(_lut, (("u1", _SQUARE), ("u2", (256,))), ("u2", _SQUARE)),
    "table, unrolled": Pipeline(_lut_unrolled, (("u1", _SQUARE), ("u2", (256,))), ("u2", _SQUARE)),
    "half size u8": Pipeline(_resize, (("u1", (2048, 2048)),), ("u1", _SQUARE)),
    "twice the size f32": Pipeline(_enlarge, (("f4", (520, 520)),), ("f4", _SQUARE)),
}  # fmt: skip
