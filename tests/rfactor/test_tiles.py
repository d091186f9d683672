"""Loops of several dimensions that are tiled, reordered and fused before the update is factored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl

A = np.random.default_rng(3).integers(-1000, 1000, (5, 6, 7), dtype=np.int32)
"""Axes z, y, x."""


def tiled(s: Any, r: Any) -> Any:
    xo, xi, yo, yi, tile = map(hl.RVar, ("xo", "xi", "yo", "yi", "tile"))
    s.split(r.x, xo, xi, 4).split(r.y, yo, yi, 3).reorder(xi, yi, xo, yo).fuse(xo, yo, tile)
    return tile


def within_tiles(s: Any, r: Any) -> Any:
    xo, xi, yo, yi, lane = map(hl.RVar, ("xo", "xi", "yo", "yi", "lane"))
    s.split(r.x, xo, xi, 2).split(r.y, yo, yi, 3).reorder(xi, yi, xo, yo).fuse(xi, yi, lane)
    return lane


def first_and_last(s: Any, r: Any) -> Any:
    t = hl.RVar("t")
    s.fuse(r.x, r.z, t)
    return t


def turned(s: Any, r: Any) -> Any:
    t, o, i, u = map(hl.RVar, "toiu")
    s.fuse(r.z, r.x, t).split(t, o, i, 7).fuse(i, r.y, u)
    return u


@pytest.mark.parametrize("directives", [tiled, within_tiles, first_and_last, turned])
def test_loops_that_are_no_neighbours_are_fused_and_factored(directives: Callable[[Any, Any], Any]) -> None:
    f, v, r, a = hl.Func("f"), hl.Var("v"), hl.RDom([(0, 7), (0, 6), (0, 5)], "r"), hl.Buffer(A)
    f[()] = 5
    f[()] += a[r.x, r.y, r.z] * (r.x + 10 * r.y + 100 * r.z)
    f.update().rfactor(directives(f.update(), r), v).compute_root().update().parallel(v)
    z, y, x = np.indices(A.shape)
    assert int(f.realize()[()]) == 5 + int((A * (x + 10 * y + 100 * z)).sum())


def test_what_does_not_commute_keeps_its_order() -> None:
    """The points of x are apart, so that its loop may move; those over y and z may not change places."""

    def recurrence() -> tuple[Any, Any]:
        f, x, r, a = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 7), (0, 6), (0, 5)], "r"), hl.Buffer(A)
        f[x] = x
        f[r.x] = f[r.x] * 3 + a[r.x, r.y, r.z]
        return f, r

    expected = np.arange(7, dtype=np.int32)
    for plane in A:
        for row in plane:
            expected = expected * np.int32(3) + row
    f, r = recurrence()
    t, v = hl.RVar("t"), hl.Var("v")
    f.update().reorder(r.y, r.x, r.z).fuse(r.x, r.z, t)
    f.update().rfactor(t, v).compute_root()
    np.testing.assert_array_equal(np.array(f.realize([7])), expected)
    f, r = recurrence()
    f.update().fuse(r.x, r.z, t)
    np.testing.assert_array_equal(np.array(f.realize([7])), expected)
    f, r = recurrence()
    with pytest.raises(hl.HalideError, match=r"fuse\(.*changes the order of the reduction loops"):
        f.update().fuse(r.z, r.y, t)
