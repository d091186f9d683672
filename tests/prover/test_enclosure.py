"""Enclosures hold the real, are narrow, and say nothing where they cannot."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.expr import Expr
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import F64
from rfactor.prover.enclosure import Undecided, Within, enclose, exactly

NUMBERS = st.floats(-4.0, 4.0)


def expr(text: str) -> Expr:
    return parse_expr(text, {"a": F64, "b": F64}, F64)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("exp(a)*b", "sin(a - b)", "cos(a*b)", "abs(a)/(1.5 + abs(b))", "max(a, tanh(b)) - min(a, 0.1)")),
    *(st.tuples(NUMBERS, st.floats(0.0, 0.5)) for _ in "ab"),
    *(st.floats(0.0, 1.0) for _ in "ab"),
)
def test_every_value_of_wide_arguments_is_inside(
    text: str, a: tuple[float, float], b: tuple[float, float], at_a: float, at_b: float
) -> None:
    ranges = {name: (low, low + width) for name, (low, width) in (("a", a), ("b", b))}
    low, high = enclose(expr(text), ranges)
    point = {"a": min(a[0] + at_a * a[1], a[0] + a[1]), "b": min(b[0] + at_b * b[1], b[0] + b[1])}
    functions = {"exp": math.exp, "sin": math.sin, "cos": math.cos, "tanh": math.tanh}
    value = eval(text, {"__builtins__": {}, "abs": abs, "max": max, "min": min, **functions}, point)
    assert low - 1e-12 <= value <= high + 1e-12


def test_at_a_point_it_is_narrow_and_decimals_are_inside() -> None:
    low, high = enclose(expr("exp(a) + 0.1"), {"a": exactly(1.0)})
    assert low < math.e + 0.1 < high
    assert high - low < 1e-13
    assert enclose(expr("floor(a) + ceil(b)"), {"a": (1.25, 1.5), "b": (1.25, 1.5)}) == pytest.approx((3.0, 3.0))


@pytest.mark.parametrize(
    "text", ["1.0/a", "log(a)", "sqrt(a)", "select(a < 0.0, 1.0, 2.0)", "exp(1000.0*b)", "sin(1e9*b)", "atan2(a, b)"]
)
def test_where_it_cannot_tell_it_says_so(text: str) -> None:
    with pytest.raises(Undecided):
        enclose(expr(text), {"a": (-0.5, 0.5), "b": (1.0, 1.0)})


@pytest.mark.parametrize(
    ("text", "value"),
    [("a < b", 2.0), ("a <= b", 1.0), ("a > b", 2.0), ("a >= b", 1.0), ("a + 1.0 > b", 1.0), ("b < a - 1.0", 2.0)],
)
def test_comparisons_of_points_are_exact(text: str, value: float) -> None:
    assert enclose(expr(f"select({text}, 1.0, 2.0)"), {"a": exactly(3.0), "b": exactly(3.0)}) == (value, value)


@settings(max_examples=60, deadline=None)
@given(NUMBERS, NUMBERS)
def test_numbers_within_bounds_compute_as_exact_ones_do(a: float, b: float) -> None:
    one, other = Within.of(Fraction(a)), Fraction(b)
    third = Within.of(Fraction(1, 3))
    for found, wanted in (
        (one + other, a + b),
        (other - one, b - a),
        (2 * one * third, 2 * a / 3),
        (one / (other * other + 1), a / (b * b + 1)),
        (1 / (one * one + third), 1 / (a * a + 1 / 3)),
        (-one.function("exp"), -math.exp(a)),
    ):
        assert found.bounds[0] - 1e-12 <= wanted <= found.bounds[1] + 1e-12
        assert found.bounds[1] - found.bounds[0] < 1e-9


def test_what_bounds_do_not_decide_is_undecided() -> None:
    third = Within.of(Fraction(1, 3))
    assert third > 0
    assert third < Fraction(1, 2) <= third + 1
    assert third != 1
    assert third.magnitude > 0.3
    assert (third - Fraction(1, 3)).magnitude == 0.0
    for undecided in (lambda: third == Fraction(1, 3), lambda: third < Fraction(1, 3), lambda: 1 / (third - third)):
        with pytest.raises(Undecided):
            undecided()
