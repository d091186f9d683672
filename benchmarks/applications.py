"""Programs as people write them for Halide, under schedules of theirs, in `rfactor` and Halide alike."""

from __future__ import annotations

from typing import Any

from benchmarks.directives import Build, Pipeline, added_product


def _vars(hl: Any, names: str) -> list[Any]:
    return [hl.Var(name) for name in names.split()]


def _means(schedule: str) -> Build:
    """Non-local means of three channels: each pixel is the mean of those in a window of 7 by 7 around it, weighed by
    how near patches of 3 by 3 around them are."""

    def build(hl: Any, a: Any) -> Any:
        (x, y, c, dx, dy, xi, yi), window = _vars(hl, "x y c dx dy xi yi"), hl.RDom([(-3, 7), (-3, 7)], "window")
        inside = hl.BoundaryConditions.repeat_edge(a, [(0, 256), (0, 192), (0, 3)])
        dc, d, blur_y, blur = (hl.Func(name) for name in ("dc", "d", "blur_y", "blur"))
        dc[x, y, dx, dy, c] = (inside[x, y, c] - inside[x + dx, y + dy, c]) * (
            inside[x, y, c] - inside[x + dx, y + dy, c]
        )
        channels, rows, columns = hl.RDom([(0, 3)], "ch"), hl.RDom([(-1, 3)], "rows"), hl.RDom([(-1, 3)], "columns")
        d[x, y, dx, dy] = hl.sum(dc[x, y, dx, dy, channels.x])
        blur_y[x, y, dx, dy] = hl.sum(d[x, y + rows.x, dx, dy])
        blur[x, y, dx, dy] = hl.sum(blur_y[x + columns.x, y, dx, dy])
        weight, with_one, sums, out = (hl.Func(name) for name in ("weight", "with_one", "sums", "out"))
        weight[x, y, dx, dy] = hl.fast_exp(blur[x, y, dx, dy] * hl.f32(-0.3))
        with_one[x, y, c] = hl.mux(c, [inside[x, y, 0], inside[x, y, 1], inside[x, y, 2], hl.f32(1)])
        sums[x, y, c] = hl.f32(0)
        sums[x, y, c] += weight[x, y, window.x, window.y] * with_one[x + window.x, y + window.y, c]
        out[x, y, c] = hl.clamp(sums[x, y, c] / sums[x, y, 3], hl.f32(0), hl.f32(1))
        if schedule == "plain":
            return out
        out.tile(x, y, xi, yi, 32, 16).reorder(xi, yi, c, x, y).vectorize(xi, 8).parallel(y)
        sums.compute_at(out, x).reorder(c, x, y).bound(c, 0, 4).unroll(c).vectorize(x, 8)
        sums.update(0).reorder(c, x, y, window.x, window.y).unroll(c).vectorize(x, 8)
        for f in (blur_y, d, blur):
            f.compute_at(sums, window.x).vectorize(x, 8)
        return out

    return build


def _sparse(schedule: str) -> Build:
    """A sparse matrix in CSR form times a vector: rows of 0 to 31 elements, which begin at sums of what is drawn."""

    def build(hl: Any, lengths: Any, columns: Any, values: Any, v: Any) -> Any:
        (y,), f, r = _vars(hl, "y"), hl.Func("f"), hl.RDom([(0, 200)], "r")
        starts = hl.Func("starts")
        k = hl.RDom([(1, 4096)], "k")
        starts[y] = 0
        starts[k.x] = starts[k.x - 1] + hl.i32(lengths[k.x - 1]) // 8
        starts.compute_root()
        r.where(r.x < starts[y + 1] - starts[y])
        at = hl.clamp(starts[y] + r.x, 0, (1 << 17) - 1)
        f[y] = hl.f32(0)
        f[y] += values[at] * v[hl.i32(columns[at])]
        if schedule == "threads":
            f.update(0).parallel(y, 256)
        return f

    return build


def _ragged(hl: Any, lengths: Any, a: Any) -> Any:
    """Sums of the beginnings of rows, as long as data say."""
    (y,), f, r = _vars(hl, "y"), hl.Func("f"), hl.RDom([(0, 1024)], "r")
    r.where(r.x < hl.i32(lengths[y]))
    f[y] = hl.i32(0)
    f[y] += hl.i32(a[r.x, y])
    return f


def _jacobi(kind: str) -> Build:
    """Eight steps of a relaxation, one after the other, kept all or two in turn."""

    def build(hl: Any, a: Any) -> Any:
        (x, y, t), f, out = _vars(hl, "x y t"), hl.Func("f"), hl.Func("out")
        r = hl.RDom([(1, 510), (1, 510), (0, 8)], "r")
        before, after = (r.z, r.z + 1) if kind == "kept" else (r.z % 2, (r.z + 1) % 2)
        f[x, y, t] = a[x, y]
        f[r.x, r.y, after] = (
            f[r.x - 1, r.y, before] + f[r.x + 1, r.y, before] + f[r.x, r.y - 1, before] + f[r.x, r.y + 1, before]
        ) * 0.25
        out[x, y] = f[x, y, 8 if kind == "kept" else 0]
        f.compute_root().vectorize(x, 8)
        f.update(0).allow_race_conditions().vectorize(r.x, 8).parallel(r.y)
        return out.vectorize(x, 8)

    return build


def _relaxed(hl: Any, a: Any) -> Any:
    """Columns relaxed one after the other: rows are computed in lanes."""
    (x, y), f = _vars(hl, "x y"), hl.Func("f")
    r = hl.RDom([(0, 512), (1, 511)], "r")
    f[x, y] = a[x, y]
    f[r.x, r.y] = (f[hl.max(r.x - 1, 0), r.y - 1] + f[r.x, r.y - 1] + f[hl.min(r.x + 1, 511), r.y - 1]) * hl.f32(0.333)
    f.vectorize(x, 8)
    f.update(0).allow_race_conditions().vectorize(r.x, 8)
    return f


def _life(kind: str) -> Build:
    """A step of the game of life: an image of bytes, 0 or 1, with a constant around it, or as a torus."""

    def build(hl: Any, a: Any) -> Any:
        (x, y), f, alive, count = _vars(hl, "x y"), hl.Func("f"), hl.Func("alive"), hl.Func("count")
        cell = hl.Func("cell")
        cell[x, y] = hl.u8(a[x, y] > 99)
        if "torus" in kind:
            inside = hl.BoundaryConditions.repeat_image(cell, [(0, 1024), (0, 1024)])
        else:
            inside = hl.BoundaryConditions.constant_exterior(cell, hl.u8(0), [(0, 1024), (0, 1024)])
        r = hl.RDom([(-1, 3), (-1, 3)], "r")
        if "sum" in kind:
            count[x, y] = hl.sum(inside[x + r.x, y + r.y]) - inside[x, y]
        else:
            count[x, y] = sum(
                (inside[x + i, y + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j), hl.cast(hl.UInt(8), 0)
            )
        alive[x, y] = (count[x, y] == 3) | ((count[x, y] == 2) & (inside[x, y] == 1))
        f[x, y] = hl.select(alive[x, y], hl.u8(1), hl.u8(0))
        if "plain" in kind:
            return f
        return f.vectorize(x, 32).parallel(y, 16)

    return build


def _softmax(kind: str) -> Build:
    """Of rows of 256."""

    def build(hl: Any, a: Any) -> Any:
        (x, y), out = _vars(hl, "x y"), hl.Func("out")
        greatest, e, total, r = hl.Func("greatest"), hl.Func("e"), hl.Func("total"), hl.RDom([(0, 256)], "r")
        if kind == "inline":
            greatest[y] = hl.maximum(a[r.x, y])
            e[x, y] = hl.exp(a[x, y] - greatest[y])
            total[y] = hl.sum(e[r.x, y])
        else:
            greatest[y] = a[0, y]
            greatest[y] = hl.max(greatest[y], a[r.x, y])
            e[x, y] = hl.exp(a[x, y] - greatest[y])
            total[y] = hl.f32(0)
            total[y] += e[r.x, y]
        out[x, y] = e[x, y] / total[y]
        if kind == "root":
            greatest.compute_root()
            e.compute_root().vectorize(x, 8)
            total.compute_root()
            out.vectorize(x, 8)
        else:
            greatest.compute_at(out, y)
            e.compute_at(out, y).vectorize(x, 8)
            total.compute_at(out, y)
            out.vectorize(x, 8).parallel(y, 16)
        return out

    return build


def _box(kind: str) -> Build:
    """Sums of windows of 5 by 5."""

    def build(hl: Any, a: Any) -> Any:
        (x, y), f, r = _vars(hl, "x y"), hl.Func("f"), hl.RDom([(0, 5), (0, 5)], "r")
        if "inline" in kind:
            f[x, y] = hl.sum(hl.i32(a[x + r.x, y + r.y]))
            return f.vectorize(x, 8).parallel(y, 16) if "lanes" in kind else f
        f[x, y] = 0
        f[x, y] += hl.i32(a[x + r.x, y + r.y])
        if "lanes" in kind:
            f.vectorize(x, 8).update(0).reorder(r.x, r.y, x, y).vectorize(x, 8).parallel(y, 16)
        elif "outer" in kind:
            f.vectorize(x, 8).update(0).reorder(x, y, r.x, r.y).vectorize(x, 8)
        return f

    return build


def _convolution(kind: str, contracted: bool = False) -> Build:
    """A layer of 16 filters of 3 by 3 over 16 channels."""

    def build(hl: Any, a: Any, weights: Any) -> Any:
        (c, x, y), f, out = _vars(hl, "c x y"), hl.Func("f"), hl.Func("out")
        (xi,) = _vars(hl, "xi")
        r = hl.RDom([(0, 16), (0, 3), (0, 3)], "r")
        f[c, x, y] = hl.f32(0)
        weight, value = weights[c, r.y, r.z, r.x], a[r.x, x + r.y, y + r.z]
        f[c, x, y] = added_product(hl, f[c, x, y], weight, value, contracted)
        out[c, x, y] = hl.max(f[c, x, y], hl.f32(0))
        if kind == "plain":
            f.compute_root()
            return out
        if kind == "lanes":
            f.compute_at(out, x).vectorize(c, 8).update(0).vectorize(c, 8)
            return out.vectorize(c, 8).parallel(y)
        out.split(x, x, xi, 4).reorder(c, xi, x, y).vectorize(c, 8).parallel(y)
        f.compute_at(out, x).vectorize(c, 8).unroll(x)
        if kind == "tile, 16 filters":
            out.bound(c, 0, 16)
            f.unroll(c)
        f.update(0).reorder(c, x, r.x, r.y, r.z).vectorize(c, 8).unroll(c, 2).unroll(x)
        return out

    return build


def _filter(kind: str) -> Build:
    """A plane through 3 by 3 weights."""

    def build(hl: Any, a: Any, weights: Any) -> Any:
        (x, y), f, r = _vars(hl, "x y"), hl.Func("f"), hl.RDom([(0, 3), (0, 3)], "r")
        if "inline" in kind:
            f[x, y] = hl.sum(a[x + r.x, y + r.y] * weights[r.x, r.y])
        else:
            f[x, y] = hl.f32(0)
            f[x, y] += a[x + r.x, y + r.y] * weights[r.x, r.y]
        if "lanes" in kind and "inline" in kind:
            f.vectorize(x, 8).parallel(y, 16)
        elif "lanes" in kind:
            f.vectorize(x, 8).update(0).reorder(r.x, r.y, x, y).unroll(r.x).unroll(r.y).vectorize(x, 8)
        return f

    return build


def _sharpen(kind: str) -> Build:
    """Of an image whose channels lie beside each other."""

    def build(hl: Any, a: Any) -> Any:
        (c, x, y), f = _vars(hl, "c x y"), hl.Func("f")
        wide = hl.Func("wide")
        wide[c, x, y] = hl.i16(a[c, x, y])
        around = wide[c, x, y + 1] + wide[c, x + 2, y + 1] + wide[c, x + 1, y] + wide[c, x + 1, y + 2]
        f[c, x, y] = hl.u8(hl.clamp(wide[c, x + 1, y + 1] * 5 - around, 0, 255))
        f.bound(c, 0, 3)
        if kind == "unroll":
            f.reorder(c, x, y).unroll(c).vectorize(x, 16).parallel(y, 16)
        elif kind == "fused":
            (t,) = _vars(hl, "t")
            f.fuse(c, x, t).vectorize(t, 16).parallel(y, 16)
        return f

    return build


def _rows(lanes: int) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (y,), f, r = _vars(hl, "y"), hl.Func("f"), hl.RDom([(0, 1024)], "r")
        f[y] = hl.u32(0)
        f[y] += hl.u32(a[r.x, y])
        f.update(0).atomic().vectorize(r.x, lanes)
        return f

    return build


def _row_bytes(lanes: int) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (y,), f, r = _vars(hl, "y"), hl.Func("f"), hl.RDom([(0, 1024)], "r")
        f[y] = hl.u8(0)
        f[y] = hl.max(f[y], a[r.x, y])
        f.update(0).atomic().vectorize(r.x, lanes)
        return f

    return build


def _turned(kind: str) -> Build:
    def build(hl: Any, a: Any) -> Any:
        (x, y, xi, yi), f = _vars(hl, "x y xi yi"), hl.Func("f")
        f[x, y] = a[y, x]
        if kind == "lanes":
            return f.vectorize(x, 16).parallel(y, 16)
        if kind == "tile":
            return f.tile(x, y, xi, yi, 16, 16).vectorize(xi).unroll(yi).parallel(y)
        return f

    return build


_MEANS = (("f4", (3, 192, 256)),)
_SPARSE = (("u1", (4096,)), ("u1", (1 << 17,)), ("f4", (1 << 17,)), ("f4", (256,)))
_BYTES, _EDGE = ("u1", (1024, 1024)), ("u1", (1026, 1026, 3))
APPLICATIONS = {
    **{f"means, {k}": Pipeline(_means(k), _MEANS, ("f4", (3, 192, 256))) for k in ("plain", "tile")},
    **{
        f"sparse, {k}": Pipeline(_sparse(k), _SPARSE, ("f4", (4096,))) for k in ("serial", "threads")
    },
    "ragged sums": Pipeline(_ragged, (("u1", (1024,)), _BYTES), ("i4", (1024,))),
    **{f"jacobi, {k}": Pipeline(_jacobi(k), (("f4", (512, 512)),), ("f4", (512, 512))) for k in ("kept", "turns")},
    "relaxed rows": Pipeline(_relaxed, (("f4", (512, 512)),), ("f4", (512, 512))),
    **{
        f"life, {k}": Pipeline(_life(k), (_BYTES,), _BYTES)
        for k in ("plain", "lanes", "sum plain", "sum lanes", "torus plain", "torus lanes", "torus sum lanes")
    },
    **{
        f"softmax, {k}": Pipeline(_softmax(k), (("f4", (1024, 256)),), ("f4", (1024, 256)))
        for k in ("root", "at", "inline")
    },
    **{
        f"box, {k}": Pipeline(_box(k), (("u1", (1028, 1028)),), ("i4", (1024, 1024)))
        for k in ("plain", "lanes", "outer", "inline plain", "inline lanes")
    },
    **{
        f"layer, {k}": Pipeline(_convolution(k), (("f4", (66, 66, 16)), ("f4", (16, 3, 3, 16))), ("f4", (64, 64, 16)))
        for k in ("plain", "lanes", "tile", "tile, 16 filters")
    },
    **{
        f"fma, layer, {k}": Pipeline(
            _convolution(k, True), (("f4", (66, 66, 16)), ("f4", (16, 3, 3, 16))), ("f4", (64, 64, 16))
        )
        for k in ("plain", "lanes", "tile", "tile, 16 filters")
    },
    **{
        f"filter, {k}": Pipeline(_filter(k), (("f4", (514, 514)), ("f4", (3, 3))), ("f4", (512, 512)))
        for k in ("plain", "lanes", "inline plain", "inline lanes")
    },
    **{f"sharpen, {k}": Pipeline(_sharpen(k), (_EDGE,), ("u1", (1024, 1024, 3))) for k in ("plain", "unroll", "fused")},
    **{f"rows u8 in u32, atomic {n}": Pipeline(_rows(n), (_BYTES,), ("u4", (1024,))) for n in (16, 32, 64)},
    **{f"rows u8, atomic {n}": Pipeline(_row_bytes(n), (_BYTES,), ("u1", (1024,))) for n in (16, 32)},
    **{
        f"transpose {t}, {k}": Pipeline(_turned(k), ((t, (1024, 1024)),), (t, (1024, 1024)))
        for t in ("u1", "f4")
        for k in ("plain", "lanes", "tile")
    },
}  # fmt: skip
