"""Loops end where data say that their guards cease to hold, with the values of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.compiler.lower.limits import limits
from rfactor.ir.expr import Expr, apply, cast
from rfactor.ir.loopnest import For, If, Let, Stmt
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32, U8
from tests.codegen.reference import i32, i64, load, store, times, var, wide
from tests.compiler.pipelines import agrees, expected

x, y = hl.Var("x"), hl.Var("y")
LEAST, MOST = -(2**31), 2**31 - 1
ENDS = np.array([0, 1, 5, 37, 38, 39, -1, LEAST, MOST, 20], np.int32)
DATA = np.random.default_rng(3).integers(-100, 100, (len(ENDS), 37), np.int32)


def nest(f: Any) -> str:
    frozen = freeze(f)
    *_, (_, found) = passes(frozen.algorithm, frozen.schedule)
    return show_nest(found)


def summed(where: Callable[[Any, Any], Any], ends: Any = ENDS, count: Any = 37, start: Any = 0) -> tuple[Any, Any]:
    """`f(y)`, sums of those of row y of `DATA` where `where(r, ends[y])` holds, and its domain."""
    f, r = hl.Func("f"), hl.RDom([(start, count)], "r")
    a, e = hl.Buffer(DATA), hl.Buffer(ends)
    r.where(where(r.x, e[y]))
    f[y] = 7
    f[y] = f[y] * 3 + a[hl.clamp(r.x, 0, 36), y]
    return f, r


WHERES: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda r, e: r < e,
    "<=": lambda r, e: r <= e,
    ">": lambda r, e: r > e,
    ">=": lambda r, e: r >= e,
    "==": lambda r, e: r == e,
    "mirrored": lambda r, e: e > r,
    "with another": lambda r, e: (r < e) & (r % 3 != 1),
    "between": lambda r, e: (r < e) & (r > e - 10),
    "scaled": lambda r, e: r * 2 + 3 < e,
    "taken away": lambda r, e: 20 - r < e,
    "wraps": lambda r, e: r < e * 2 + 2000000000,
}


@pytest.mark.parametrize("why", sorted(WHERES))
def test_sums_up_to_what_data_say(why: str) -> None:
    f, _ = summed(WHERES[why])
    before = expected(f, [len(ENDS)])
    assert ".limit.0 = " in nest(f)
    agrees(f, before, [len(ENDS)])


def test_the_loop_runs_no_further() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 37)], "r")
    r.where(r.x < hl.Buffer(ENDS)[y])
    f[y] = 7
    f[y] = f[y] * 3 + hl.Buffer(DATA)[r.x, y]
    assert ".s1.r.x.limit.0)):" in nest(f)
    assert ".s1.r.x <" not in nest(f)


OFFSETS: dict[str, Callable[[Any, Any], Any]] = {
    "from a start": lambda r, e: e + r < e * 2 - 3,
    "backwards": lambda r, e: e - r > 4,
    "near the end of i32": lambda r, e: r + e > e - 5,
}


@pytest.mark.parametrize("why", sorted(OFFSETS))
def test_sums_with_data_may_wrap_and_then_the_loop_is_as_it_was(why: str) -> None:
    """The last iterations of `e + r < …` are beyond i32 where e is near its end."""
    ends = np.array([0, 7, 36, -20, MOST, MOST - 20, MOST - 36, MOST - 37, LEAST, LEAST + 36], np.int32)
    f, _ = summed(OFFSETS[why], ends)
    before = expected(f, [len(ENDS)])
    assert ".limit.0 = " in nest(f)
    assert "<= 2147483647" in nest(f) or ">= -2147483648" in nest(f)
    agrees(f, before, [len(ENDS)])


@pytest.mark.parametrize("count", [-2, 0, 1, 36, 37, 40])
def test_domains_whose_size_is_a_parameter(count: int) -> None:
    n = hl.Param(hl.Int(32), "limits_n", count)
    f, _ = summed(WHERES["<"], count=n, start=hl.Param(hl.Int(32), "limits_start", -2))
    before = expected(f, [len(ENDS)])
    assert ".limit.0 = " in nest(f)
    agrees(f, before, [len(ENDS)])


def test_what_loops_ask_for_is_loaded_where_they_run() -> None:
    """No element of an empty array is."""
    n, ends = hl.Param(hl.Int(32), "limits_none", 0), np.zeros(0, np.int32)
    f, _ = summed(WHERES["<"], ends, n)
    assert "if limits_none > 0" in nest(f)
    assert np.asarray(f.realize([0])).size == 0


@pytest.mark.parametrize("tail", [4, 5, 8])
@pytest.mark.parametrize("run", ["split", "unroll", "atomic"])
def test_loops_that_are_split(run: str, tail: int) -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 37)], "r")
    a, e = hl.Buffer(DATA), hl.Buffer(ENDS)
    r.where(r.x < e[y])
    f[y] = 7
    f[y] += a[r.x, y]
    before = expected(f, [len(ENDS)])
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    stage = f.update(0).split(r.x, outer, inner, tail)
    if run == "unroll":
        stage.unroll(inner)
    elif run == "atomic":
        stage.atomic().vectorize(inner)
    assert ".limit.0 = " in nest(f)
    agrees(f, before, [len(ENDS)])


def test_two_loops_and_rows_in_threads() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 6), (0, 37)], "r")
    a, e = hl.Buffer(DATA), hl.Buffer(ENDS)
    r.where((r.x < e[y] % 7) & (r.y < e[y]))
    f[y] = 7
    f[y] = f[y] * 3 + a[r.y, y] * r.x
    f.update(0).parallel(y)
    before = expected(f, [len(ENDS)])
    assert ".s1.r.x.limit.0 = " in nest(f)
    agrees(f, before, [len(ENDS)])


def test_lanes_that_end_at_different_places() -> None:
    f, _ = summed(WHERES["<"])
    before = expected(f, [len(ENDS)])
    f.update(0).vectorize(y, 4)
    assert ".limit." not in nest(f)
    agrees(f, before, [len(ENDS)])


def test_what_the_loop_stores_is_asked_in_each_iteration() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 37)], "r")
    a = hl.Buffer(DATA)
    f[y] = 20
    r.where(r.x < f[y])
    f[y] = f[y] + a[r.x, y] % 3
    before = expected(f, [len(ENDS)])
    assert ".limit." not in nest(f)
    agrees(f, before, [len(ENDS)])


def test_what_is_computed_in_the_loop_is_asked_in_each_iteration() -> None:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 37)], "r")
    a = hl.Buffer(DATA)
    g[x, y] = a[x, y] + 3
    r.where(r.x < g[0, y])
    f[y] = 20
    f[y] = f[y] * 5 + a[r.x, y]
    before = expected(f, [len(ENDS)])
    g.compute_at(f, r.x)
    assert ".limit." not in nest(f)
    agrees(f, before, [len(ENDS)])


LIMIT = load(I32, "t", i64(0))
ONE = store("f", wide("x"), i32(1))


def guarded(condition: Expr, body: Stmt = ONE) -> If:
    return If(condition, body)


def inner(extent: Expr) -> Stmt:
    return For("y", i32(0), extent, "serial", guarded(apply("<", var("x"), LIMIT)))


@pytest.mark.parametrize(
    ("body", "solved"),
    [
        (guarded(apply("<", var("x"), LIMIT)), True),
        (guarded(apply(">=", var("x"), i32(0)), guarded(apply("<", var("x"), LIMIT))), True),
        (guarded(apply(">", var("x"), i32(5)), guarded(apply("<", var("x"), LIMIT))), False),  # not in the first one
        (inner(i32(3)), True),
        (inner(var("m")), False),  # perhaps in none
        (guarded(apply("<", times(var("x"), 3), LIMIT)), True),
        (guarded(apply("<", times(var("x"), 1 << 26), LIMIT)), False),  # it wraps
        (guarded(apply("<", apply("+", var("x"), load(I32, "t", wide("x"))), LIMIT)), False),
        (guarded(apply("<", apply("+", var("x"), cast(I32, load(U8, "u", wide("x")))), LIMIT)), False),
    ],
    ids=range(9),
)
def test_what_the_first_iteration_may_not_ask_is_not_loaded_before(body: Stmt, solved: bool) -> None:
    loop = For("x", i32(0), i32(37), "serial", body)
    assert isinstance(limits(loop, {}), Let) is solved
    assert solved or limits(loop, {}) == loop


@pytest.mark.parametrize(("start", "solved"), [(I32.min, False), (I32.min + 1, True)])
def test_a_limit_lies_beyond_both_ends_of_coordinates(start: int, solved: bool) -> None:
    """`x + t[0] < t[1]` in i32 is `x < t[1] - t[0]`, which is held within i32."""
    asked = apply("<", apply("+", var("x"), LIMIT), load(I32, "t", i64(1)))
    loop = For("x", i32(start), i32(37), "serial", guarded(asked))
    assert (limits(loop, {}) != loop) is solved
