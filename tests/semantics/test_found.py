"""What random schedules have found, each as a small program."""

from __future__ import annotations

import numpy as np

import rfactor as hl


def test_a_split_of_an_outer_loop_keeps_its_guard_in_the_bounds() -> None:
    a = hl.Buffer(np.array([1, 2], np.int32))
    f, r = hl.Func("f"), hl.RDom([(0, 2)])
    f[()] = hl.i32(0)
    f[()] = f[()] + a[r.x]
    o, i, oo, oi = (hl.RVar(name) for name in ("o", "i", "oo", "oi"))
    f.update(0).split(r.x, o, i, 2).split(o, oo, oi, 2)
    found = np.zeros((), np.int32)
    f.realize(found)
    assert found == 3


def test_guards_on_two_parts_of_an_index_bound_it_together() -> None:
    a = hl.Buffer(np.array([7], np.int32))
    f, r = hl.Func("f"), hl.RDom([(0, 1)])
    f[()] = hl.i32(0)
    f[()] = f[()] + a[r.x]
    o, i, oo, oi, io, ii = (hl.RVar(name) for name in ("o", "i", "oo", "oi", "io", "ii"))
    f.update(0).split(r.x, o, i, 1).split(o, oo, oi, 2).split(i, io, ii, 2)
    found = np.zeros((), np.int32)
    f.realize(found)
    assert found == 7


def test_fused_loops_whose_extents_are_known_at_run_time_can_be_factored() -> None:
    a = hl.ImageParam(hl.Int(32), 2)
    f, r, t, u = hl.Func("f"), hl.RDom([(0, a.width()), (0, a.height())]), hl.RVar("t"), hl.Var("u")
    f[()] = hl.i32(0)
    f[()] = f[()] + a[r.x, r.y]
    f.update(0).fuse(r.x, r.y, t)
    f.update(0).rfactor([(t, u)]).compute_root().update(0).vectorize(u, 4)
    for shape in ((3, 5), (1, 1), (0, 4), (4, 0)):
        a.set(np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape))
        found = np.zeros((), np.int32)
        f.realize(found)
        assert found == np.sum(np.arange(shape[0] * shape[1]))


def test_a_guard_bounds_what_is_divided() -> None:
    a = hl.Buffer(np.ones((3, 7), np.int32))
    f, r, t, u = hl.Func("f"), hl.RDom([(0, 7), (0, 3)]), hl.RVar("t"), hl.Var("u")
    f[()] = hl.i32(0)
    f[()] = f[()] + a[r.x, r.y]
    f.update(0).fuse(r.x, r.y, t)
    f.update(0).rfactor([(t, u)]).compute_root().update(0).vectorize(u, 2)
    found = np.zeros((), np.int32)
    f.realize(found)
    assert found == 21


def test_a_guard_outside_an_intermediate_bounds_what_it_reads() -> None:
    a = hl.Buffer(np.ones((3, 7), np.int32))
    f, r, u, w = hl.Func("f"), hl.RDom([(0, 7), (0, 3)]), hl.Var("u"), hl.Var("w")
    f[()] = hl.i32(0)
    f[()] = f[()] + a[r.x, r.y]
    rows = f.update(0).rfactor([(r.x, u)])
    cells = rows.update(0).rfactor([(r.y, w)])
    cells.compute_at(rows, u)
    rows.update(0).split(r.y, "o", "q", 8).vectorize(u, 8)
    found = np.zeros((), np.int32)
    f.realize(found)
    assert found == 21
