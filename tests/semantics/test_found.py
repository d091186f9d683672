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
