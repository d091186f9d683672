"""The reductions of Table 1 factored by hand: what a program is without `rfactor`, for Table 2.

Each has the intermediates and loops that the schedules of `schedules.py` make. The programmer writes the operator
of the merge, its identity and the places of the elements; nobody checks them.
"""

from __future__ import annotations

from typing import Any

import rfactor
from rfactor.bench.program import Array

hl: Any = rfactor


def maximum(a: Array, chunk: int, lanes: int) -> Any:
    values, u, v = hl.Buffer(a), hl.Var("u"), hl.Var("v")
    line, intm, f = hl.Func("line"), hl.Func("intm"), hl.Func("maximum")
    r, rl, rc = hl.RDom([(0, chunk // lanes)]), hl.RDom([(0, lanes)]), hl.RDom([(0, len(a) // chunk)])
    line[v, u] = hl.i32(-(2**31))
    line[v, u] = hl.max(line[v, u], values[u * chunk + r.x * lanes + v])
    intm[u] = hl.i32(-(2**31))
    intm[u] = hl.max(intm[u], line[rl.x, u])
    f[()] = hl.i32(-(2**31))
    f[()] = hl.max(f[()], intm[rc.x])
    intm.compute_root().update(0).parallel(u)
    line.compute_at(intm, u).vectorize(v)
    line.update(0).reorder(v, r.x, u).vectorize(v)
    return f


def dot(a: Array, b: Array, chunk: int, lanes: int) -> Any:
    left, right, u, v = hl.Buffer(a), hl.Buffer(b), hl.Var("u"), hl.Var("v")
    line, intm, f = hl.Func("line"), hl.Func("intm"), hl.Func("dot")
    r, rl, rc = hl.RDom([(0, chunk // lanes)]), hl.RDom([(0, lanes)]), hl.RDom([(0, len(a) // chunk)])
    at = u * chunk + r.x * lanes + v
    line[v, u] = hl.f32(0)
    line[v, u] = line[v, u] + left[at] * right[at]
    intm[u] = hl.f32(0)
    intm[u] = intm[u] + line[rl.x, u]
    f[()] = hl.f32(0)
    f[()] = f[()] + intm[rc.x]
    intm.compute_root().update(0).parallel(u)
    line.compute_at(intm, u).vectorize(v)
    line.update(0).reorder(v, r.x, u).vectorize(v)
    return f


def complex_product(a: Array, b: Array, chunk: int, lanes: int) -> Any:
    real, imaginary, u, v = hl.Buffer(a), hl.Buffer(b), hl.Var("u"), hl.Var("v")
    line, intm, f = hl.Func("line"), hl.Func("intm"), hl.Func("product")
    r, rl, rc = hl.RDom([(0, chunk // lanes)]), hl.RDom([(0, lanes)]), hl.RDom([(0, len(a) // chunk)])
    at = u * chunk + r.x * lanes + v
    line[v, u] = (hl.i32(1), hl.i32(0))
    x, re, im = line[v, u], real[at], imaginary[at]
    line[v, u] = (x[0] * re - x[1] * im, x[0] * im + x[1] * re)
    intm[u] = (hl.i32(1), hl.i32(0))
    x, y = intm[u], line[rl.x, u]
    intm[u] = (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0])
    f[()] = (hl.i32(1), hl.i32(0))
    x, y = f[()], intm[rc.x]
    f[()] = (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0])
    intm.compute_root().update(0).parallel(u)
    line.compute_at(intm, u).vectorize(v)
    line.update(0).reorder(v, r.x, u).vectorize(v)
    return f


def histogram(image: Array, height: int, copies: int, columns: int) -> Any:
    pixels, i, u, v = hl.Buffer(image), hl.Var("i"), hl.Var("u"), hl.Var("v")
    copy, strip, f = hl.Func("copy"), hl.Func("strip"), hl.Func("histogram")
    r = hl.RDom([(0, image.shape[1] // copies), (0, height)])
    rv, ru = hl.RDom([(0, copies)]), hl.RDom([(0, image.shape[0] // height)])
    copy[i, v, u] = hl.i32(0)
    copy[hl.i32(pixels[r.x * copies + v, u * height + r.y]), v, u] += hl.i32(1)
    strip[i, u] = hl.i32(0)
    strip[i, u] = strip[i, u] + copy[i, rv.x, u]
    f[i] = hl.i32(0)
    f[i] = f[i] + strip[i, ru.x]
    strip.compute_root().update(0).reorder(i, u).parallel(u)
    copy.compute_at(strip, u).update(0).reorder(v, r.x, r.y, u).unroll(v).unroll(r.x, columns // copies)
    return f


def argmin(volume: Array, slab: int, lanes: int) -> Any:
    values, u, v = hl.Buffer(volume), hl.Var("u"), hl.Var("v")
    line, slabs, f = hl.Func("line"), hl.Func("slabs"), hl.Func("argmin")
    w, z, y, x = volume.shape
    r = hl.RDom([(0, x // lanes), (0, y), (0, z), (0, slab)])
    rv, ru = hl.RDom([(0, lanes)]), hl.RDom([(0, w // slab)])
    first = (hl.u8(255), hl.i32(0), hl.i32(0), hl.i32(0), hl.i32(0))
    line[v, u] = first
    at = (r.x * lanes + v, r.y, r.z, u * slab + r.w)
    best, here = line[v, u], values[at]
    line[v, u] = (hl.min(best[0], here), *(hl.select(here < best[0], at[i], best[i + 1]) for i in range(4)))
    slabs[u] = first
    best, here = slabs[u], line[rv.x, u]
    before = here[1] < best[1]
    for i in (2, 3, 4):
        before = hl.select(here[i] == best[i], before, here[i] < best[i])
    wins = (here[0] < best[0]) | ((here[0] == best[0]) & before)
    slabs[u] = tuple(hl.select(wins, here[i], best[i]) for i in range(5))
    f[()] = first
    best, here = f[()], slabs[ru.x]
    f[()] = tuple(hl.select(here[0] < best[0], here[i], best[i]) for i in range(5))
    slabs.compute_root().update(0).parallel(u)
    line.compute_at(slabs, u).vectorize(v)
    line.update(0).reorder(v, r.x, r.y, r.z, r.w, u).vectorize(v)
    return f


def kitchen_sink(a: Array, chunk: int, lanes: int) -> Any:
    values, u, v = hl.Buffer(a), hl.Var("u"), hl.Var("v")
    line, intm, f = hl.Func("line"), hl.Func("intm"), hl.Func("sink")
    r, rl, rc = hl.RDom([(0, chunk // lanes)]), hl.RDom([(0, lanes)]), hl.RDom([(0, len(a) // chunk)])
    low, high = hl.i32(-(2**31)), hl.i32(2**31 - 1)
    at = u * chunk + r.x * lanes + v
    line[v, u] = (hl.i32(1), hl.i32(0), low, hl.i32(0), high, hl.i32(0), hl.i32(0), hl.i32(0))
    x, y = line[v, u], values[at]
    line[v, u] = (
        x[0] * y,
        x[1] + y,
        hl.max(x[2], y),
        hl.select(y > x[2], at, x[3]),
        hl.min(x[4], y),
        hl.select(y < x[4], at, x[5]),
        x[6] + y * y,
        x[7] + hl.select((y & 1) == 0, hl.i32(1), hl.i32(0)),
    )
    intm[u] = (hl.i32(1), hl.i32(0), low, hl.i32(0), high, hl.i32(0), hl.i32(0), hl.i32(0))
    x, y = intm[u], line[rl.x, u]
    intm[u] = (
        x[0] * y[0],
        x[1] + y[1],
        hl.max(x[2], y[2]),
        hl.select((y[2] > x[2]) | ((y[2] == x[2]) & (y[3] < x[3])), y[3], x[3]),
        hl.min(x[4], y[4]),
        hl.select((y[4] < x[4]) | ((y[4] == x[4]) & (y[5] < x[5])), y[5], x[5]),
        x[6] + y[6],
        x[7] + y[7],
    )
    f[()] = (hl.i32(1), hl.i32(0), low, hl.i32(0), high, hl.i32(0), hl.i32(0), hl.i32(0))
    x, y = f[()], intm[rc.x]
    f[()] = (
        x[0] * y[0],
        x[1] + y[1],
        hl.max(x[2], y[2]),
        hl.select((y[2] > x[2]) | ((y[2] == x[2]) & (y[3] < x[3])), y[3], x[3]),
        hl.min(x[4], y[4]),
        hl.select((y[4] < x[4]) | ((y[4] == x[4]) & (y[5] < x[5])), y[5], x[5]),
        x[6] + y[6],
        x[7] + y[7],
    )
    intm.compute_root().update(0).parallel(u)
    line.compute_at(intm, u).vectorize(v)
    line.update(0).reorder(v, r.x, u).vectorize(v)
    return f
