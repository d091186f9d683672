"""The least and the greatest of floats some elements at a time, and lanes that are joined after their loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import passes_for
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.compiler.lower import passes
from rfactor.compiler.lower.accumulators import accumulators
from rfactor.compiler.lower.conditions import positive
from rfactor.compiler.lower.extremes import extremes
from rfactor.compiler.pipeline import lowered
from rfactor.ir.effects import Print
from rfactor.ir.expr import Expr, Op, cast
from rfactor.ir.loopnest import Allocate, Broadcast, For, If, LaneReduction
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import F32, F64, I16, I32, I64, U8
from rfactor.semantics.interpreter import ImageValue
from rfactor.semantics.nest import interpret_nest
from tests.codegen.reference import TRUE, i32, i64, load, ramp, store, times, var, wide
from tests.compiler.pipelines import agrees, computed, expected, same

y = hl.Var("y")
COUNTS = (-3, 0, 1, 7, 15, 16, 17, 31, 32, 33, 100)
EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"min": hl.min, "max": hl.max}


def nest(f: Any) -> str:
    frozen = freeze(f)
    *_, (_, found) = passes(frozen.algorithm, frozen.schedule)
    return show_nest(found)


def plain(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Each NaN as the same one: which it is is not promised."""
    return np.where(np.isnan(a), np.array(np.nan, a.dtype), a)


def check(f: Any, sizes: list[int]) -> None:
    """Assert that `f` has the values of the interpreter."""
    (before,), (after,) = expected(f, sizes), computed(f, sizes)
    assert same(plain(before), plain(after)), f.lowered()


def extreme(op: str, type_: Any) -> tuple[Any, Any, Any]:
    """`f(y) = op(f(y), a(r.x, y))` over `n` elements, both parameters."""
    a, n, f = hl.ImageParam(Type(type_), 2), hl.Param(hl.Int(32), "extreme_n"), hl.Func("f")
    r = hl.RDom([(0, n)], "r")
    f[y] = a[3, y]
    f[y] = EXTREMES[op](f[y], a[r.x, y])
    return f, a, n


def awkward(type_: Any) -> np.ndarray[Any, Any]:
    """Rows of numbers, of zeros of both signs, with infinities, with a NaN at each of some places."""
    data = np.random.default_rng(2).standard_normal((8, 100)).astype(dtype_of(type_))
    data[1] = 0
    data[1, 41] = -0.0
    data[2] = -0.0
    data[2, 60] = 0.0
    data[3, 5], data[4, 50] = np.inf, -np.inf
    data[5, 3], data[6, 40], data[7, 99] = np.nan, np.nan, np.nan
    return data


@pytest.mark.parametrize("op", sorted(EXTREMES))
@pytest.mark.parametrize("type_", [F32, F64], ids=str)
def test_extremes_of_floats_are_those_of_the_serial_loop(op: str, type_: Any) -> None:
    f, a, n = extreme(op, type_)
    a.set(awkward(type_))
    assert f"= {op}({f.name()}.s1.r.x.several.lanes[" in nest(f)
    for count in COUNTS:
        n.set(count)
        check(f, [8])


def test_the_nest_means_the_same() -> None:
    f, a, n = extreme("max", F32)
    data = awkward(F32)
    a.set(data)
    for count in COUNTS:
        n.set(count)
        frozen = freeze(f)
        *_, (_, body) = passes(frozen.algorithm, frozen.schedule)
        algorithm = frozen.algorithm
        images, given = {algorithm.images[0].name: ImageValue(data, (0, 0))}, {algorithm.parameters[0].name: count}
        found = interpret_nest(body, algorithm, images, given, {f.name(): ((0, 8),)}, flat=True)
        assert same(plain(np.asarray(f.realize([8]))), plain(found[f.name()][0])), count


def short() -> Any:
    g, r = hl.Func("g"), hl.RDom([(0, 9)], "r")
    g[y] = hl.f32(0)
    g[y] = hl.max(g[y], hl.ImageParam(hl.Float(32), 2)[r.x, y])
    return g


def strided() -> Any:
    g, r = hl.Func("g"), hl.RDom([(0, 90)], "r")
    g[y] = hl.f32(0)
    g[y] = hl.max(g[y], hl.ImageParam(hl.Float(32), 2)[y, r.x])
    return g


def of_sums() -> Any:
    g, r = hl.Func("g"), hl.RDom([(0, 90)], "r")
    g[y] = hl.f32(0)
    g[y] = g[y] + hl.ImageParam(hl.Float(32), 2)[r.x, y]
    return g


def of_integers() -> Any:
    """Which LLVM's own vectorizer takes."""
    g, r = hl.Func("g"), hl.RDom([(0, 90)], "r")
    g[y] = 0
    g[y] = hl.max(g[y], hl.ImageParam(hl.Int(32), 2)[r.x, y])
    return g


@pytest.mark.parametrize("program", [short, strided, of_sums, of_integers])
def test_other_loops_stay(program: Callable[[], Any]) -> None:
    assert ".several" not in nest(program())


def test_lanes_that_no_schedule_asked_for_leave_llvm_its_passes() -> None:
    f, _, _ = extreme("max", F32)
    target = passes_for(lowered([f]))
    assert (target.level, target.loop_vectorizer) == (3, True)


# -- lanes that each iteration joins --------------------------------------------------------------------------------

JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda f, a: f + a,
    "-": lambda f, a: f - a,
    "*": lambda f, a: f * a,
    "min": hl.min,
    "max": hl.max,
    "&": lambda f, a: f & a,
    "|": lambda f, a: f | a,
    "^": lambda f, a: f ^ a,
}


def joined(op: str, type_: Any, lanes: int, where: bool = False) -> tuple[Any, Any, Any]:
    """`f(y) = op(f(y), a(r.x, y))`, atomic in lanes."""
    a, n, f = hl.ImageParam(Type(type_), 2), hl.Param(hl.Int(32), "joined_n"), hl.Func("f")
    r = hl.RDom([(0, n)], "r")
    if where:
        r.where(a[r.x, y] % 3 != 0)
    f[y] = hl.cast(Type(type_), 1)
    f[y] = JOINS[op](f[y], a[r.x, y])
    f.update(0).atomic().vectorize(r.x, lanes)
    return f, a, n


@pytest.mark.parametrize("op", sorted(JOINS))
@pytest.mark.parametrize("type_", [U8, I16, I32, I64], ids=str)
def test_lanes_that_are_joined_after_the_loop_have_the_serial_bits(op: str, type_: Any) -> None:
    ends: Any = np.iinfo(dtype_of(type_))
    data = np.random.default_rng(5).integers(ends.min, ends.max, (5, 100), dtype_of(type_), endpoint=True)
    data[1], data[2] = ends.min, ends.max
    for lanes in (4, 6, 16):
        f, a, n = joined(op, type_, lanes)
        a.set(data)
        assert ".lanes[ramp(0, 1, " in nest(f)
        for count in COUNTS:
            n.set(count)
            agrees(f, expected(f, [5]), [5])


def test_lanes_under_a_mask() -> None:
    f, a, n = joined("+", I32, 8, where=True)
    a.set(np.random.default_rng(5).integers(-99, 99, (5, 100), np.int32))
    for count in COUNTS:
        n.set(count)
        agrees(f, expected(f, [5]), [5])


@pytest.mark.parametrize("op", ["min", "max"])
def test_joined_extremes_of_floats(op: str) -> None:
    a, f, r = hl.ImageParam(hl.Float(32), 2), hl.Func("f"), hl.RDom([(0, 100)], "r")
    f[y] = a[7, y]
    f[y] = EXTREMES[op](f[y], a[r.x, y])
    f.update(0).atomic().vectorize(r.x, 8)
    a.set(awkward(F32))
    assert ".lanes[ramp(0, 1, 8)]" in nest(f)
    check(f, [8])


@pytest.mark.parametrize(("type_", "lanes"), [(I64, 128), (I32, 256)], ids=str)
def test_more_lanes_than_registers_hold_are_joined_in_each_iteration(type_: Any, lanes: int) -> None:
    f, _, _ = joined("+", type_, lanes)
    assert ".lanes[" not in nest(f)


def test_sums_of_bytes_are_joined_in_each_iteration() -> None:
    a, f, r = hl.ImageParam(hl.UInt(8), 2), hl.Func("f"), hl.RDom([(0, 1024)], "r")
    f[y] = hl.u32(0)
    f[y] += hl.u32(a[r.x, y])
    f.update(0).atomic().vectorize(r.x, 32)
    assert "lanes[+](u32x32(" in nest(f)
    assert ".lanes[" not in nest(f)


# -- nests that neither may change ----------------------------------------------------------------------------------

ZERO = i64(0)
ELEMENT = load(F32, "a", wide("x"))
LANES = LaneReduction("max", load(F32, "a", ramp(times(wide("x"), 8), 1, 8)))


def loop_of(
    data: Expr, place: Expr = ZERO, own: Expr | None = None, op: str = "max", extent: Expr | None = None
) -> For:
    """`s[place] = op(s[own], data)` for x in (0, extent)."""
    value = Op(F32, op, (load(F32, "s", place if own is None else own), data))
    return For("x", i32(0), i32(90) if extent is None else extent, "serial", store("s", place, value))


AT_DATA = cast(I64, load(I32, "t", ZERO))


@pytest.mark.parametrize("data", [ELEMENT, LANES], ids=["elements", "lanes"])
@pytest.mark.parametrize(
    ("place", "own", "op"),
    [
        (wide("x"), None, "max"),  # a point of each iteration
        (AT_DATA, None, "max"),  # a point that data choose
        (ZERO, i64(1), "max"),  # reads another point
        (ZERO, None, "+"),  # of elements: another rounding; of lanes: joined by another operation
        (ZERO, None, "-"),
    ],
    ids=range(5),
)
def test_loops_that_join_something_else_stay(data: Expr, place: Expr, own: Expr | None, op: str) -> None:
    loop = loop_of(data, place, own, op)
    assert extremes(loop) == loop
    assert accumulators(loop) == loop


def test_of_no_iteration_nothing_is_stored() -> None:
    found = accumulators(loop_of(LANES, extent=var("n")))
    assert isinstance(found, If)
    assert found.condition == positive(var("n"))
    assert isinstance(accumulators(loop_of(LANES)), Allocate)


def test_what_prints_stays() -> None:
    told = Print("{}", LANES.value, Broadcast(TRUE, 8), (LANES.value,))
    for loop in (loop_of(LaneReduction("max", told)), loop_of(Print("{}", ELEMENT, TRUE, (ELEMENT,)))):
        assert extremes(loop) == loop
        assert accumulators(loop) == loop
