"""Minima and maxima of sums: what has one normal form is equal, and what is equal mostly has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import as_array, evaluate
from rfactor.ir.expr import Const, Expr, Var, apply, select, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F64, I32, U32, Type
from rfactor.prover.ordered_sums import normal_form, without_equal_sums

NAMES = ("x", "y", "z", "a", "b")


def shown(left: str, right: str, type_: Type, given: str = "", meaning: Meaning = Meaning.MATH) -> bool:
    types = dict.fromkeys(NAMES, type_) | {"c": BOOL, "d": BOOL}
    assumptions = [parse_expr(text, types, BOOL) for text in given.split(";") if text]
    expected = BOOL if left.startswith("bool:") else type_
    sides = (parse_expr(text.removeprefix("bool:"), types, expected) for text in (left, right))
    pair = next(zip(sides, sides, strict=True))
    return not without_equal_sums([pair], meaning, assumptions)


@pytest.mark.parametrize(
    ("left", "right", "given"),
    [
        ("max(x, y) + a", "max(x + a, y + a)", ""),
        ("max(max(x + a, b) + y, z)", "max(x + (a + y), max(b + y, z))", ""),
        ("min(max(x, y), z)", "max(min(x, z), min(y, z))", ""),
        ("a - max(x, y)", "min(a - x, a - y)", ""),
        ("abs(x - y) + a", "max(x - y + a, a - (x - y))", ""),
        ("select(x - a > b, x - a, b)", "max(x, a + b) - a", ""),
        ("select(x > b, x - b, 0)", "max(x, b) - b", ""),
        ("select(c, max(x, y), y) + a", "select(not c, y + a, max(a + x, a + y))", ""),
        ("select(x < y, a, b)", "select(y - x > 0, a, b)", ""),
        ("select(x < y and c, a, b)", "select(c, select(y <= x, b, a), b)", ""),
        ("max(x, y) * a", "max(x * a, a * y)", "0 <= a"),
        ("max(x, y) * (a * b)", "max(x * a * b, b * a * y)", "a >= 0;b > 0"),
        ("max(x, y)", "y", "x <= y"),
        ("max(x + a, a + y) + 1", "a + (y + 1)", "x < y"),
        ("max(x, x + 3)", "x + 3", ""),
        ("bool:0 <= a * b", "True", "0 <= a;0 <= b"),
        ("bool:min(x, y) <= max(x, z)", "True", ""),
        ("max(x, y)", "y", "x <= 3;3 <= y"),
        ("min(x + a, y + b)", "y + b", "-5 <= x;10 <= a;y <= 2;b <= 3"),
        ("max(x - y, a)", "a", "x <= 3;3 - 4 <= y;4 <= a"),
        ("max(2*x, y)", "y", "x <= 3;6 <= y"),
        ("max(x, y + b*b)", "y + b*b", "x <= 3;3 <= y"),  # and what is not negative without a bound
        ("max(x, z)", "z", "x <= y + 1;y <= 3;4 <= z"),  # a bound after another fact
    ],
)
@pytest.mark.parametrize("type_", [I32, F64])
def test_equal_sums_of_extrema_have_one_normal_form(left: str, right: str, given: str, type_: Type) -> None:
    assert shown(left, right, type_, given)


@pytest.mark.parametrize(
    ("left", "right", "given"),
    [
        ("max(x, y) + a", "max(x + a, y)", ""),
        ("a - max(x, y)", "max(a - x, a - y)", ""),
        ("max(x, y) * a", "max(x * a, a * y)", ""),  # a may be negative
        ("max(x, y) * a", "max(x * a, a * y)", "0 <= x"),
        ("max(x, y)", "y", "y <= x"),
        ("max(x, y)", "y", "x <= y + 1"),
        ("select(x > b, b - x, 0)", "max(x, b) - b", ""),
        ("select(x < y, a, b)", "select(x <= y, a, b)", ""),
        ("select(x < y, a, b)", "select(y < x, a, b)", ""),
        ("bool:0 < a * b", "True", "0 <= a;0 <= b"),
        ("bool:min(x, y) <= min(x, z)", "True", ""),
        ("max(x, y)", "y", "x <= 4;3 <= y"),
        ("max(x, y)", "y", "3 <= x;3 <= y"),
        ("min(x + a, y + b)", "y + b", "-5 <= x;9 <= a;y <= 2;b <= 3"),
        ("max(x - y, a)", "a", "x <= 3;y <= 3 - 4;4 <= a"),
        ("max(2*x, y)", "y", "x <= 3;5 <= y"),
        ("max(x, y + b*z)", "y + b*z", "x <= 3;3 <= y"),
        ("max(x*x, y)", "y", "x <= 3;9 <= y"),  # a bound of an atom is none of its square
    ],
)
@pytest.mark.parametrize("type_", [I32, F64])
def test_what_differs_somewhere_is_not_shown(left: str, right: str, given: str, type_: Type) -> None:
    assert not shown(left, right, type_, given)


@pytest.mark.parametrize(
    ("choice", "extremum"),
    [
        ("select(x > 0, x - 1, 0)", "max(x - 1, 0)"),
        ("select(x >= 0, x, -1)", "max(x, -1)"),
        ("select(x < 3, x + 1, 3)", "min(x + 1, 3)"),
        ("select(x <= 3, x, 4)", "min(x, 4)"),
        ("select(x < y, 2*x + 1, 2*y)", "min(2*x + 1, 2*y)"),
        ("select(x > y, y - x + 1, 0)", "min(y - x + 1, 0)"),
    ],
)
def test_choices_between_whole_numbers_have_room(choice: str, extremum: str) -> None:
    assert shown(choice, extremum, I32)
    assert not shown(choice, extremum, F64)


@pytest.mark.parametrize(
    ("choice", "extremum"),
    [
        ("select(x > 0, x - 2, 0)", "max(x - 2, 0)"),
        ("select(x >= 0, x - 1, 0)", "max(x - 1, 0)"),
        ("select(x < 3, x + 2, 3)", "min(x + 2, 3)"),
        ("select(x <= 3, x + 1, 3)", "min(x + 1, 3)"),
        ("select(x < 3, x - 1, 3)", "min(x - 1, 3)"),
        ("select(x < y, 2*x + 3, 2*y)", "min(2*x + 3, 2*y)"),
    ],
)
def test_but_not_more_room_than_one_step(choice: str, extremum: str) -> None:
    assert not shown(choice, extremum, I32)


def test_sums_that_wrap_are_not_read() -> None:
    assert not shown("max(x, y) + a", "max(x + a, y + a)", I32, meaning=Meaning.WRAP)


def test_unsigned_variables_are_not_negative_and_their_differences_may_be() -> None:
    assert shown("max(x, y) * a", "max(x * a, y * a)", U32)
    assert shown("max(x, 0)", "x", U32)
    assert not shown("max(x - y, 0)", "x - y", U32)


@st.composite
def sums(draw: st.DrawFn, type_: Type, depth: int = 3) -> Expr:
    kind = draw(st.integers(0, 8))
    if depth == 0 or kind == 0:
        return (
            Var(type_, draw(st.sampled_from("xyz"))) if draw(st.booleans()) else Const(type_, draw(st.integers(0, 2)))
        )
    one, other = draw(sums(type_, depth - 1)), draw(sums(type_, depth - 1))
    if kind == 1:
        return apply(draw(st.sampled_from(["neg", "abs"])), one)
    if kind <= 3:
        less = apply(draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="])), one, other)
        condition = draw(st.sampled_from([less, Var(BOOL, "c"), apply("and", less, Var(BOOL, "c"))]))
        branches = draw(st.sampled_from([(one, other), (other, one), (draw(sums(type_, depth - 1)), other)]))
        return select(condition, *branches)
    return apply(draw(st.sampled_from(["min", "max", "+", "-", "*", "min", "max"])), one, other)


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from([I32, U32, F64]))
def test_what_is_shown_is_never_contradicted_by_values(data: st.DataObject, type_: Type) -> None:
    one, other = data.draw(sums(type_)), data.draw(sums(type_))
    z = Var(type_, "z")
    twins = [
        (one, other),
        (apply("+", apply("max", one, other), z), apply("max", apply("+", other, z), apply("+", one, z))),
        (apply("-", z, apply("min", one, other)), apply("max", apply("-", z, one), apply("-", z, other))),
        (apply("max", one, apply("min", one, other)), one),
        (apply("*", apply("max", one, other), z), apply("max", apply("*", one, z), apply("*", other, z))),
    ]
    assumption = data.draw(st.sampled_from([None, ("<=", "x", "y"), ("<=", "0", "z"), ("<", "y", "z")]))
    assumptions = []
    if assumption is not None:
        op, *ends = assumption
        assumptions = [apply(op, *(Const(type_, 0) if e == "0" else Var(type_, e) for e in ends))]
    for left, right in twins:
        if without_equal_sums([(left, right)], Meaning.MATH, assumptions):
            continue
        rng = np.random.default_rng(len(str(left)))
        env = {}
        for var in dict.fromkeys(v for e in (left, right, *assumptions) for v in variables(e)):
            drawn = rng.integers(0 if type_ == U32 else -4, 5, 300).tolist()
            values = [Fraction(v, 2) for v in drawn] if type_ == F64 else drawn
            env[var.name] = rng.random(300) < 0.5 if var.type == BOOL else as_array(type_, values, Meaning.MATH, "real")
        allowed = np.ones(300, dtype=bool)
        for claim in assumptions:
            allowed &= evaluate(claim, env, Meaning.MATH, "real").astype(bool)
        same = evaluate(left, env, Meaning.MATH, "real") == evaluate(right, env, Meaning.MATH, "real")
        assert (same | ~allowed).all(), (left, right, assumptions)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("(x + a - abs(x - a))//2", "min(a, x)", True),
        ("(3*x + 6*a)//3", "x + 2*a", True),
        ("(x + a - abs(x - a))//3", "min(a, x)", False),
        ("(2*x + 1)//2", "x", False),
        ("(x + a + abs(x - a))//2", "min(a, x)", False),
    ],
)
def test_floors_of_quotients_that_are_integers(left: str, right: str, equal: bool) -> None:
    assert shown(left, right, I32) == equal


@pytest.mark.parametrize(
    ("text", "type_", "form"),
    [
        ("x + max(a - x, 0)", I32, "max(a, x)"),
        ("x + a - max(x, a)", F64, "min(x, a)"),
        ("0.5*(x + a + abs(x - a)) + 1.5", F64, "max(a + 1.5, x + 1.5)"),
        ("x + select(a > x, a - x, 0)", I32, "max(a, x)"),
        ("x*y - y*x - 3", I32, "-3"),
        ("select(c, x, a)", I32, None),
        ("x % a", I32, None),
        ("min(x*a, y)*b", I32, None),
    ],
)
def test_normal_forms_are_written(text: str, type_: Type, form: str | None) -> None:
    expr = parse_expr(text, dict.fromkeys(NAMES, type_) | {"c": BOOL}, type_)
    written = normal_form(expr, Meaning.MATH)
    assert (None if written is None else str(written)) == form


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from([I32, U32, F64]))
def test_normal_forms_have_the_same_values(data: st.DataObject, type_: Type) -> None:
    expr = data.draw(sums(type_))
    form = normal_form(expr, Meaning.MATH)
    if form is None:
        return
    rng = np.random.default_rng(len(str(expr)))
    env = {}
    for var in dict.fromkeys((*variables(expr), *variables(form))):
        drawn = rng.integers(0 if type_ == U32 else -4, 5, 300).tolist()
        values = [Fraction(v, 2) for v in drawn] if type_ == F64 else drawn
        env[var.name] = rng.random(300) < 0.5 if var.type == BOOL else as_array(type_, values, Meaning.MATH, "real")
    same = evaluate(expr, env, Meaning.MATH, "real") == evaluate(form, env, Meaning.MATH, "real")
    assert np.all(same), (expr, form)
