"""Conditions whose constants, brought to one side, are beyond i32; and guards of what is split and fused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rfactor import Buffer, Expr, Func, HalideError, ImageParam, Int, Param, RDom, RVar, TailStrategy, Var, i32, u32
from rfactor import min as minimum
from rfactor.compiler.lower import affine
from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Expr as Node
from rfactor.ir.expr import Var as Name
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I32

_CONDITIONS = {
    "below": lambda x: x - 1000 < i32(2147483647),
    "at most": lambda x: x - 1000 <= i32(2147483647),
    "at least": lambda x: x + 1000 >= i32(-2147483648),
    "of a quotient": lambda x: (x - 1000) // 4 <= 536870911,
    "either": lambda x: (x - 1000 < i32(2147483647)) | (x - 500 < i32(2147483647)),
}


@pytest.mark.parametrize("name", _CONDITIONS)
def test_a_condition_that_always_holds_leaves_all_to_be_read(name: str) -> None:
    image, f, x, r = ImageParam(Int(32), 1, "image"), Func("f"), Var("x"), RDom([(0, 8)], "r")
    condition: Expr = _CONDITIONS[name](r.x)
    r.where(condition)
    f[x] = i32(0)
    f[x] += image[r.x]
    f.infer_input_bounds([3])
    box = image.get().dim(0)
    assert (box.min(), box.extent()) == (0, 8)
    image.set(Buffer(np.arange(1, 9, dtype=np.int32)))
    assert list(np.array(f.realize([3]))) == [36, 36, 36]


_GREATEST = i32(2147483647)
_LIMITS: dict[str, tuple[Callable[[RDom, Expr], Expr], Callable[[int, int, int], bool]]] = {
    "of a constant": (lambda r, p: r.x - 1000 < _GREATEST, lambda x, y, p: True),
    "up to the greatest number": (lambda r, p: r.x - 5 <= i32(2147483642), lambda x, y, p: True),
    "of a parameter": (lambda r, p: r.x - 1000000000 < p + 1000000000, lambda x, y, p: x < p + 2000000000),
    "of another loop": (lambda r, p: r.x - 1000000000 < r.y + 100000000, lambda x, y, p: True),
    "from another loop": (lambda r, p: r.x + 1000000000 >= 100000000 - r.y, lambda x, y, p: True),
    "of a minimum": (lambda r, p: minimum(r.x, p // 2 + 4) - 1000000000 < _GREATEST, lambda x, y, p: True),
    "that is one point": (
        lambda r, p: r.x - 1000000000 == r.y - 1000000000 - i32(1999999995),
        lambda x, y, p: x == y - 1999999995,
    ),
    "with one that i32 holds": (
        lambda r, p: (r.x - 1000 < _GREATEST) & (r.x < r.y - 1999999994),
        lambda x, y, p: x < y - 1999999994,
    ),
}


@pytest.mark.parametrize("name", _LIMITS)
@pytest.mark.parametrize("lanes", [0, 4])
def test_a_loop_is_not_cut_where_i32_does_not_hold_the_limit(name: str, lanes: int) -> None:
    guard, holds = _LIMITS[name]
    p, count, image, f = Param(Int(32), "p"), Param(Int(32), "n"), ImageParam(Int(32), 1, "image"), Func("f")
    r = RDom([(0, count), (2000000000, 3)], "r")
    r.where(guard(r, p))
    f[()] = i32(0)
    f[()] += image[r.x] * (r.y - 1999999999)
    if lanes:
        outer, inner = RVar("outer"), RVar("inner")
        f.update().split(r.x, outer, inner, lanes, TailStrategy.GuardWithIf).atomic().vectorize(inner)
    image.set(Buffer(np.arange(1, 12, dtype=np.int32)))
    count.set(11)
    for value in (-2000000000, -(1 << 30), -1999999994):
        p.set(value)
        points = ((x, y) for y in range(2000000000, 2000000003) for x in range(11) if holds(x, y, value))
        assert int(np.array(f.realize())) == sum((x + 1) * (y - 1999999999) for x, y in points)


@pytest.mark.parametrize("constant", [2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 3 << 40, -(5 << 33) + 7])
def test_a_sum_keeps_constants_and_factors_that_the_type_does_not_hold(constant: int) -> None:
    x, y = Name(I32, "x"), Name(I32, "y")
    for terms in ((), ((x, 1),), ((x, constant),), ((x, 1), (y, constant)), ((x, -1),), ((x, constant), (y, -1))):
        found, own = affine.affine(affine.from_affine(terms, constant))
        assert (dict(found), own) == (dict(terms), constant)


@pytest.mark.parametrize(
    "text", ["x - -2147483648", "y - x * -2147483648", "(x + -2147483648 - y) // 3", "y - x - x * 2147483647"]
)
def test_a_sum_that_the_type_does_not_hold_is_no_other_sum_of_coordinates(text: str) -> None:
    expr = parse_expr(text, {"x": I32, "y": I32}, I32)
    for values in ({"x": -5, "y": 7}, {"x": 0, "y": -2147483648}):
        assert _unbounded(simplify(expr, coordinates=True), values) == _unbounded(expr, values)


def _unbounded(expr: Node, values: dict[str, int]) -> int:
    return int(evaluate_scalar(expr, values, Meaning.MATH))


@pytest.mark.parametrize("across", [False, True])
def test_a_guard_bounds_what_is_fused_split_and_factored(across: bool) -> None:
    image, f, r = ImageParam(Int(32), 1, "image"), Func("f"), RDom([(0, 9), (0, 4)], "r")
    outer, inner, fused, block, lane = (RVar(name) for name in ("outer", "inner", "fused", "block", "lane"))
    f[()] = i32(0)
    f[()] += image[r.x] * (r.y + 1)
    pair = (outer, inner) if across else (inner, outer)
    rows = f.update().split(r.x, outer, inner, 8).fuse(*pair, fused).rfactor(r.y, Var("u"))
    lanes = rows.update().split(fused, block, lane, 16).rfactor(lane, Var("v"))
    lanes.update().vectorize(Var("v"))
    f.infer_input_bounds([])
    assert (image.get().dim(0).min(), image.get().dim(0).extent()) == (0, 9)
    image.set(Buffer(np.arange(9, dtype=np.int32)))
    assert int(np.array(f.realize())) == 360


_NEAR_THE_ENDS: dict[str, tuple[Callable[[Expr, Expr], Expr], Callable[[int, int], bool]]] = {
    "below": (lambda x, p: x < p, lambda x, p: x < p),
    "at most": (lambda x, p: x <= p, lambda x, p: x <= p),
    "above": (lambda x, p: x > p, lambda x, p: x > p),
    "at least": (lambda x, p: x >= p, lambda x, p: x >= p),
    "at": (lambda x, p: x == p, lambda x, p: x == p),
    "twice": (lambda x, p: 2 * x < p, lambda x, p: 2 * x < p),
}


@pytest.mark.parametrize("name", _NEAR_THE_ENDS)
@pytest.mark.parametrize("least", [5, -8])
@pytest.mark.parametrize("lanes", [0, 4])
def test_a_guard_by_a_number_near_the_ends_of_i32_is_asked_as_it_is(name: str, least: int, lanes: int) -> None:
    guard, holds = _NEAR_THE_ENDS[name]
    p, image, f, r = Param(Int(32), "p"), ImageParam(Int(32), 1, "image"), Func("f"), RDom([(least, 16)], "r")
    r.where(guard(r.x, p))
    f[()] = i32(0)
    f[()] += image[r.x]
    if lanes:
        outer, inner = RVar("outer"), RVar("inner")
        f.update().split(r.x, outer, inner, lanes).atomic().vectorize(inner)
    values = Buffer(np.arange(1, 17, dtype=np.int32))
    values.set_min([least])
    image.set(values)
    for number in (I32.min, I32.min + 1, I32.min + 9, -1, 9, I32.max - 9, I32.max - 1, I32.max):
        p.set(int(number))
        expected = sum(x - least + 1 for x in range(least, least + 16) if holds(x, int(number)))
        try:
            assert int(np.array(f.realize())) == expected
        except HalideError:  # nothing is read, from or up to what i32 does not hold
            assert expected == 0


_OF_PARAMETERS: dict[str, tuple[Callable[[Expr, Expr], Expr], Callable[[int, int], bool]]] = {
    "below": (lambda p, q: p < q, lambda p, q: p < q),
    "above": (lambda p, q: p > q, lambda p, q: p > q),
    "above a constant": (lambda p, q: p > 3, lambda p, q: p > 3),
}


@pytest.mark.parametrize("name", _OF_PARAMETERS)
@pytest.mark.parametrize("special", [False, True])
def test_a_condition_of_parameters_alone_is_asked_at_the_ends_of_i32_too(name: str, special: bool) -> None:
    condition, holds = _OF_PARAMETERS[name]
    p, q, f, r = Param(Int(32), "p"), Param(Int(32), "q"), Func("f"), RDom([(0, 9)], "r")
    if not special:
        r.where(condition(p, q))
    f[()] = i32(0)
    f[()] += r.x
    if special:
        f.update().specialize(condition(p, q))
    for low in (I32.min, 4, I32.max):
        for high in (I32.min, -5, I32.max):
            p.set(int(low))
            q.set(int(high))
            assert int(np.array(f.realize())) == (36 if special or holds(int(low), int(high)) else 0)


_DIVIDED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "remainder": (lambda x: x - 3, lambda v: v % 7 == 2),
    "quotient": (lambda x: x - 5, lambda v: v // 7 > 5),
    "opposite": (lambda x: -9 - x, lambda v: v % 7 == 2),
}


@pytest.mark.parametrize("name", _DIVIDED)
@pytest.mark.parametrize("first", [int(I32.min), int(I32.min) + 3, 5, int(I32.max) - 8])
@pytest.mark.parametrize("lanes", [0, 4])
def test_what_is_divided_is_not_moved_beyond_i32(name: str, first: int, lanes: int) -> None:
    dividend, asked = _DIVIDED[name]
    points = range(first, first + 8)
    f, r = Func("f"), RDom([(first, 8)], "r")
    r.where(asked(dividend(r.x)))
    f[()] = u32(0)
    f[()] += u32(r.x)
    if lanes:
        outer, inner = RVar("outer"), RVar("inner")
        f.update().split(r.x, outer, inner, lanes).atomic().vectorize(inner)
    try:
        assert int(np.array(f.realize())) == sum(x for x in points if asked(dividend(x))) % 2**32
    except HalideError:
        assert not all(I32.min <= dividend(x) <= I32.max for x in points)


def test_a_remainder_that_would_be_computed_of_what_i32_does_not_hold_is_refused() -> None:
    f, r = Func("f"), RDom([(int(I32.min), 6), (-7, 5)], "r")
    r.where((r.y * 7 - r.x) % 7 == 2)
    f[()] = i32(0)
    f[()] += r.y
    with pytest.raises(HalideError, match="within the range of i32"):
        f.realize()


def test_constants_that_i32_holds_in_parts_alone_stay_in_parts() -> None:
    f, r = Func("f"), RDom([(2000000000, 3)], "r")
    r.where(r.x - 1000000000 - i32(1999999995) < r.x)
    f[()] = i32(0)
    f[()] += r.x - 2000000000
    assert int(np.array(f.realize())) == 3


@pytest.mark.parametrize("lanes", [0, 4])
def test_a_loop_between_two_numbers_has_no_iteration_where_they_cross_however_far(lanes: int) -> None:
    p, q, f, r = Param(Int(32), "p"), Param(Int(32), "q"), Func("f"), RDom([(0, 100)], "r")
    r.where((r.x >= p) & (r.x <= q))
    f[()] = i32(0)
    f[()] += r.x + 1
    if lanes:
        outer, inner = RVar("outer"), RVar("inner")
        f.update().split(r.x, outer, inner, lanes).atomic().vectorize(inner)
    for low in (I32.min, -3, 9, I32.max):
        for high in (I32.min, int(I32.min) + 3, -5, 20, I32.max):
            p.set(int(low))
            q.set(int(high))
            assert int(np.array(f.realize())) == sum(x + 1 for x in range(100) if low <= x <= high)
