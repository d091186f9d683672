"""What random programs (`tests/fuzz`) have found wrong in the compiler, each as a small program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from tests.compiler.pipelines import computed, expected, same

x, y = hl.Var("x"), hl.Var("y")


def check(f: Any, sizes: list[int]) -> None:
    """What is computed is what the definitions say."""
    for a, b in zip(expected(f, sizes), computed(f, sizes), strict=True):
        assert same(a, b), f"interpreted {a}\ncompiled {b}\n{f.lowered()}"


def test_constants_at_the_ends_of_the_range_are_clamped_as_they_are() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x
    f[x] = (g[hl.clamp(-2147483648, 0, 1)] * 2 + x, g[hl.clamp(hl.i32(2147483647), -4, 5)])
    g.compute_root()
    check(f, [3])


def test_an_atomic_scan_reads_the_point_before() -> None:
    f = hl.Func("f")
    r = hl.RDom([(1, 9)], "r")
    f[x] = 1
    f[r.x] = f[r.x - 1] - 1
    f.update(0).atomic()
    f.update(0).parallel_scan(r.x, 3)
    check(f, [10])


def test_a_loop_over_one_known_point_is_vectorized() -> None:
    """One lane is no vector: where the point is a parameter's, it stood in the condition of a branch as both."""
    f, g = hl.Func("f"), hl.Func("g")
    p = hl.Param(hl.Int(32), "p", 6)
    r = hl.RDom([(1, 4)], "r")
    f[x, y] = 1
    f[r.x, y] = 2
    g[()] = (f[1, hl.clamp(hl.select(p == 1, p, p), 0, 0)], f[1, 0])
    f.compute_root().vectorize(y)
    check(g, [])


def test_the_data_of_a_scan_are_read_from_the_clone_that_its_function_reads() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    r = hl.RDom([(1, 9)], "r")
    g[x] = x * 3
    f[x] = 1
    f[r.x] = f[r.x - 1] + g[r.x]
    c = g.clone_in(f)
    f.update(0).parallel_scan(r.x, 3)
    check(f, [10])
    c.compute_root()
    check(f, [10])


def test_the_data_of_a_scan_are_read_from_the_wrapper_of_an_image() -> None:
    image, f = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("f")
    r = hl.RDom([(1, 9)], "r")
    image.set(hl.Buffer(np.arange(10, dtype=np.int32)))
    f[x] = 1
    f[r.x] = f[r.x - 1] + image[r.x]
    image.in_(f).compute_root()
    f.update(0).parallel_scan(r.x, 3)
    check(f, [10])


def test_the_complement_of_a_split_loop_is_bounded_by_what_its_level_sees() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    outer, inner = hl.Var("outer"), hl.Var("inner")
    image = hl.Buffer(np.arange(56, dtype=np.int32))
    image.set_min([-20])
    g[x] = image[~x]
    f[y] = g[y]
    g.compute_at(f, y).split(x, outer, inner, 2)
    check(f, [6])


def test_what_all_read_a_clone_of_is_not_stored() -> None:
    """A factored update still refers to what its intermediate reads, which a clone is called in place of."""
    g, f, r = hl.Func("g"), hl.Func("f"), hl.RDom([(0, 12)], "r")
    outer, inner, u = hl.RVar("outer"), hl.RVar("inner"), hl.Var("u")
    g[x] = x * 3
    f[()] = 0
    f[()] += g[r.x]
    f.update(0).split(r.x, outer, inner, 4)
    m = f.update(0).rfactor([(outer, u)])
    g.compute_at(m, u).store_root()
    check(f, [])
    g.clone_in(m)
    check(f, [])
    assert "realize g(" not in f.lowered()


def test_a_factor_may_be_made_of_any_integers() -> None:
    """What a wide number is made of inside a narrow one does not wrap the sums that the narrow one is a part of."""
    for type_ in (hl.UInt(64), hl.Int(64), hl.UInt(32), hl.Int(16)):
        for made in (lambda p: hl.min(p, 3), lambda p: hl.max(p, 2), lambda p: p):
            f, p = hl.Func("f"), hl.Param(type_, "p", 5)
            f[x, y] = x + y * 10
            f.split(y, hl.Var("o"), hl.Var("i"), made(p))
            check(f, [3, 7])


@pytest.mark.parametrize("lanes", [0, 4])
def test_the_components_of_a_tuple_are_updated_at_one_point(lanes: int) -> None:
    """Where an index reads what is stored, it is read before."""
    f, r = hl.Func("f"), hl.RDom([(0, 8)], "r")
    f[x, y] = ((x * 3 + y) % 8, 0)
    at = hl.clamp(f[r, y][0], 0, 7)
    f[at, y] = ((f[at, y][0] + r * 7) % 8, f[at, y][1] + r)
    if lanes:
        f.update(0).vectorize(y, lanes)
    check(f, [8, 4])


@pytest.mark.parametrize("size", [8, 11])
@pytest.mark.parametrize("other", [False, True])
def test_lanes_decide_once_whether_they_update_a_tuple(size: int, other: bool) -> None:
    """Before the first component is stored, which the condition reads."""
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 9)], "r")
    f[x] = (x % 3, 0)
    r.where(f[x][0] < r * 2)
    if other:
        r.where(f[x][1] != 4)
    f[x] = (f[x][0] + r + x % 2, f[x][1] + 1)
    g[x] = f[x]
    f.compute_root().update(0).vectorize(x, 4)
    check(g, [size])
