"""Shifts by bounded amounts: what is shown equal is equal for every value, and what is equal is shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F64, I8, I64, U8, U32, U64, Type
from rfactor.prover.shifts import equal_under_shifts

NAMES = ("x", "y", "n", "m")


def read(text: str, type_: Type) -> Expr:
    return parse_expr(text, dict.fromkeys(NAMES, type_), type_)


def bounds(type_: Type, most: int) -> tuple[Expr, ...]:
    return tuple(parse_expr(f"{name} <= {most}", dict.fromkeys(NAMES, type_), BOOL) for name in ("n", "m"))


@pytest.mark.parametrize(
    ("left", "right", "type_", "most"),
    [
        ("(x << n) << m", "x << (n + m)", U32, 32),
        ("((x << n) ^ y) << m", "(x << (n + m)) ^ (y << m)", U64, 64),
        ("(x >> n) >> m", "x >> (n + m)", U32, 32),
        ("(x << n) >> n", "x & (4294967295 >> n)", U32, 32),
        ("(x << n) ^ (x << m) ^ (x << n)", "x << m", U32, 32),
        ("(x << n) ^ (y << m) ^ (x << m)", "(x << m) ^ (x << n) ^ (y << m)", U32, 32),
        ("(x | y) << n", "(x << n) | (y << n)", U32, 40),
        ("x << n << m", "x << (n + m)", I8, 8),
    ],
)
def test_what_is_equal_for_every_amount_is_shown(left: str, right: str, type_: Type, most: int) -> None:
    low = tuple(parse_expr(f"0 <= {name}", dict.fromkeys(NAMES, type_), BOOL) for name in ("n", "m"))
    assumptions = bounds(type_, most) + (low if type_ != I8 else ())
    found = equal_under_shifts((read(left, type_),), (read(right, type_),), assumptions)
    assert found is (None if type_ == I8 else True)  # the amounts of i8 may be negative, and are too many


@pytest.mark.parametrize(
    ("left", "right", "most"),
    [
        ("(x << n) << m", "x << (n + m)", 255),  # the sum of the amounts wraps
        ("(x << n) >> n", "x", 4),
        ("x << n", "x << m", 1),
        ("(x << n) | (x << m)", "(x << n) ^ (x << m)", 3),  # where n == m
        ("(x >> n) << m", "x << (m - n)", 8),
    ],
)
def test_what_differs_for_one_amount_is_not_shown(left: str, right: str, most: int) -> None:
    assert equal_under_shifts((read(left, U8),), (read(right, U8),), bounds(U8, most)) is not True


def test_amounts_that_are_made_of_floats_are_not_read() -> None:
    amount = Op(I8, "cast", (Var(F64, "n"),))
    shifted = apply("<<", Var(I8, "x"), amount)
    assert equal_under_shifts((shifted,), (shifted,), ()) is None


def test_the_sign_is_shifted_in() -> None:
    low = tuple(parse_expr(f"0 <= {name}", dict.fromkeys(NAMES, I64), BOOL) for name in ("n", "m"))
    one = read("x >> n >> m", I64)
    for right, equal in (
        ("x >> min(n + m, 64)", True), ("~(~x >> n + m)", True), ("x >> (n | m)", False), ("x ^ y >> n + m", False),
    ):  # fmt: skip
        assert equal_under_shifts((one,), (read(right, I64),), bounds(I64, 64) + low) is equal
    assert equal_under_shifts((read("x >> n", I8),), (read("x >> n >> 0", I8),), ()) is None  # where n is below 0


@st.composite
def shifted(draw: st.DrawFn, type_: Type = U8, depth: int = 3) -> Expr:
    kind = draw(st.integers(0, 7))
    if depth == 0 or kind == 0:
        return (
            Var(type_, draw(st.sampled_from("xy"))) if draw(st.booleans()) else Const(type_, draw(st.integers(0, 127)))
        )
    inner = draw(shifted(type_, depth - 1))
    if kind == 1:
        return apply("~", inner)
    if kind <= 4:
        amount: Expr = Var(type_, draw(st.sampled_from("nm")))
        amount = draw(st.sampled_from([amount, Const(type_, 3), apply("+", Var(type_, "n"), Var(type_, "m"))]))
        return apply(draw(st.sampled_from(["<<", ">>"])), inner, amount)
    return apply(draw(st.sampled_from(["&", "|", "^"])), inner, draw(shifted(type_, depth - 1)))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([U8, I8]).flatmap(lambda t: st.tuples(shifted(t), shifted(t))), st.booleans())
def test_the_answer_is_that_of_all_values(sides: tuple[Expr, Expr], twisted: bool) -> None:
    """The oracle evaluates both sides everywhere."""
    one, other = sides
    if twisted:  # what is likely to be equal
        other = apply("^", apply("^", other, one), other)
    most = 9
    low = tuple(parse_expr(f"0 <= {name}", dict.fromkeys(NAMES, one.type), BOOL) for name in ("n", "m"))
    found = equal_under_shifts((one,), (other,), bounds(one.type, most) + low)
    names = list(dict.fromkeys(v.name for e in (one, other) for v in variables(e)))
    ranges = [np.arange(256) if name in "xy" else np.arange(most + 1) for name in names]
    word = np.uint8 if one.type == U8 else np.int8
    env = {n: axis.ravel().astype(np.uint8).astype(word) for n, axis in zip(names, np.meshgrid(*ranges), strict=True)}
    equal = not np.any(evaluate(one, env, Meaning.WRAP) != evaluate(other, env, Meaning.WRAP))
    if found:
        assert equal
    if twisted:
        assert found is not False
