"""Loops inside a vectorised loop whose guards differ between its lanes: the lanes share their ends, so run together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from tests.compiler.test_lowering import printed

x, y, xo, xi = (hl.Var(name) for name in ("x", "y", "xo", "xi"))
cells = hl.Buffer(np.random.default_rng(0).integers(-99, 99, (70, 90)).astype(np.int32), "cells_around")


def triangle() -> Any:
    """Of each column the sum down to the diagonal."""
    f, r = hl.Func("f"), hl.RDom([(0, 60)], "r")
    r.where(r.x <= x)
    f[x] = 0
    f[x] += cells[x, r.x]
    return f


def band() -> Any:
    """Of each column the sum near the diagonal."""
    f, r = hl.Func("f"), hl.RDom([(0, 60)], "r")
    r.where((r.x <= x + 9) & (r.x >= x - 9))
    f[x] = 0
    f[x] += cells[x, r.x]
    return f


def scattered() -> Any:
    """Of each column the sum as far as data say."""
    f, r = hl.Func("f"), hl.RDom([(0, 60)], "r")
    r.where(r.x <= cells[x, 0])
    f[x] = 0
    f[x] += cells[x, r.x]
    return f


def inline() -> Any:
    """The triangle's sums, computed where they are used."""
    f, r = hl.Func("f"), hl.RDom([(0, 60)], "r")
    r.where(r.x <= x)
    f[x] = hl.sum(cells[x, r.x], hl.Func("below"))
    return f


def in_lanes(f: Any, lanes: int) -> Any:
    """`f`, whose points are computed in vectors."""
    for stage in (f, f.update(0)) if f.num_update_definitions() else (f,):
        stage.split(x, xo, xi, lanes).vectorize(xi)
    return f


@pytest.mark.parametrize("make", [triangle, band, scattered, inline])
@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("size", [1, 16, 41, 64])
def test_lanes_with_ends_of_their_own_give_the_same_bits(make: Callable[[], Any], lanes: int, size: int) -> None:
    f = in_lanes(make(), lanes)
    assert "for f.s1.xi in" not in printed(f, "vectorize")
    assert "for f.s0.xi in" not in printed(f, "vectorize")
    for start in (0, 5):
        results = []
        for g in (f, make()):
            buffer = hl.Buffer(np.zeros(size, np.int32))
            buffer.set_min([start])
            g.realize(buffer)
            results.append(np.asarray(buffer).tobytes())
        assert results[0] == results[1]


def test_iterations_of_all_lanes_have_no_mask() -> None:
    f = in_lanes(triangle(), 8)
    f.bound(x, 0, 64)
    loops = [line for line in printed(f, "vectorize").splitlines() if "cells_around[" in line]
    assert [" if " in line for line in loops] == [False, True]


def test_iterations_of_no_lane_are_left_out() -> None:
    text = printed(in_lanes(band(), 8).bound(x, 0, 64), "vectorize")
    assert "let f.s1.r.x.low = min(max(0, f.s1.xo * 8 - 9), 60)" in text
    assert "for f.s1.r.x in (f.s1.r.x.low, " in text
    assert "for f.s1.r.x in (0, " not in text


def test_what_data_decide_is_left_to_masks() -> None:
    text = printed(in_lanes(scattered(), 8).bound(x, 0, 64), "vectorize")
    assert ".low" not in text
    assert "for f.s1.r.x in (0, 60)" in text


def test_ends_that_lanes_agree_on_get_no_names() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 60)], "r")
    r.where(r.x <= y)
    f[x, y] = 0
    f[x, y] += cells[x, r.x]
    f.update(0).split(x, xo, xi, 8).vectorize(xi)
    text = printed(f.bound(x, 0, 64), "vectorize")
    assert ".low" not in text
    assert "for f.s1.r.x in (0, i32(max(min(60, i64(f.s1.y) + 1), 0))):" in text


def test_vectors_outside_of_the_loop_that_they_were_split_from() -> None:
    """`c` is split by `vectorize`, and then the outer half moved inside: its guard asks for both halves."""
    c, v = hl.Var("c"), hl.RDom([(0, 5), (0, 3)], "v")

    def product(name: str) -> Any:
        f = hl.Func(name)
        f[c, y] = 0
        f[c, y] += cells[c, v.x] * cells[y + v.x, v.y]
        return f

    f = product("moved")
    f.update(0).vectorize(c, 16).reorder(c, y, v.x, v.y)
    text = printed(f, "vectorize")
    assert "moved.0[ramp(" in text
    assert "for moved.s1.c.vectorize" not in text
    np.testing.assert_array_equal(np.asarray(f.realize([37, 20])), np.asarray(product("stayed").realize([37, 20])))
