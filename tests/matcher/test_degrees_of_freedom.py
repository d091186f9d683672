"""Runs that differ in more ways than a state has room for refute every start at once; what has an operator has none."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Value
from rfactor.ir.parser import parse_update
from rfactor.ir.types import F32, F64, I32, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.check import check
from rfactor.matcher.refusal import at_infinity, degrees_of_freedom
from rfactor.matcher.refusal.slopes import NotSmooth, Sloped, rank, real, sloped


def _refuted(update: Update, part: bool = False) -> bool:
    return degrees_of_freedom.refute(update, update, {}, part) is not None


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("x0*x1 + a, x1 - x0", "f32"),
        ("x0*x0 - x1*x1 + a, 2.0*x0*x1 + b", "f64"),
        ("x0 + 1.5*a, x1*x0 + b", "f32"),
        ("select(abs(a - x) >= 1.0, a, x)", "f64"),
        ("select(a*b > x0 + x1, a, x0), select(a*b > x0 + x1, b, x1)", "f32"),
        ("max(x0, a)*x1, x1 + x0", "f64"),
        ("min(x0, a), select(b < x0, i, x1)", "f32"),
        ("max(x0, a), x1*exp(a - max(x0, a)) + exp(x0 - max(x0, a))", "f64"),
        ("max(x0, a), x1*exp(max(x0, a) - x0) + exp(a - max(x0, a))", "f64"),
        ("max(x0, a), x1*exp(x0 - max(x0, a)) + exp(max(x0, a) - a)", "f32"),
        ("max(x0, a), x1 + exp(a - max(x0, a))", "f64"),
        ("max(x0, a), x1*exp(x0 - a) + 1.0", "f64"),
        ("x0 + cos(x2 + a), x1 + sin(x2), x2 + a*x1", "f64"),
        ("x0 + a, x1 + atan(x0)*a + tanh(x0)", "f64"),
    ],
)
def test_what_needs_more_reals_than_a_state_has_is_refuted(text: str, type_: str) -> None:
    answer = check(text, type=type_)
    assert answer.verdict == "not_associative"
    assert answer.counterexample is not None


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("x0 + a, x1 - b", {}),
        ("x0*a - x1*b, x0*b + x1*a", {}),
        ("x0 + 1.5*a, x1*b", {}),
        ("select(abs(a) >= abs(x), a, x)", {}),
        ("select(a*b > x0*x1, a, x0), select(a*b > x0*x1, b, x1)", {}),
        ("max(x0, a), x1 + b", {}),
        ("min(x0, a), select(a < x0, i, x1)", {}),
        ("0.5*(x + a + abs(x - a))", {}),
        ("x + a + 0.1*(3.0*x*a) - 0.3*x*a", {}),
        ("max(x0, a), x1*exp(x0 - max(x0, a)) + exp(a - max(x0, a))", {}),
        (
            "max(x0,a), x1*exp(x0-max(x0,a)) + exp(a-max(x0,a)), x2*exp(x0-max(x0,a)) + v*exp(a-max(x0,a))",
            {},
        ),
        ("x0 + a, x1*exp(-a) + b", {}),
        ("x0 + b*exp(-x1), x1 + a", {}),
        ("x0*cos(a) - x1*sin(a), x0*sin(a) + x1*cos(a)", {}),
        ("x0 + b*cos(x2) - c*sin(x2), x1 + b*sin(x2) + c*cos(x2), x2 + a", {}),
        ("x + exp(a) + exp(x - x)", {}),
        ("max(x0, a), select(a > x0, i, x1), select(a > x0, x0, max(x2, a))", {"x1": "i32", "i": "i32"}),
    ],
)
def test_what_has_an_operator_is_not(text: str, types: dict[str, str]) -> None:
    assert not _refuted(parse_update(text, F64, {name: parse_type(t) for name, t in types.items()}))


def test_what_may_have_no_value_is_left_alone() -> None:
    """Where runs from a start divide by zero nothing is claimed of it; of functions no slopes are known here."""
    for text in ("x*x/(x + a)", "x*x + sqrt(x) + a", "x*x*h(x) + a"):
        assert not _refuted(parse_update(text, F32))
    for divisor, refuted in (("x1", False), ("3", True)):
        text = f"select(i // {divisor} == 0, x0*x0 + a, x0 + a*a), x1 + i"
        assert _refuted(parse_update(text, F64, {"x1": I32, "i": I32})) is refuted


def test_infinite_starts_of_a_part_stay_open() -> None:
    """What else the operands of the whole update hold may tell apart data that agree in those of the part."""
    update = parse_update("max(x0, a)*x1, x1 + x0", F64)
    assert _refuted(update)
    assert not _refuted(update, part=True)
    assert _refuted(parse_update("x0*x1 + a, x1 - x0", F64), part=True)


def test_slopes_are_exact_and_none_is_told_at_a_boundary() -> None:
    (step,) = parse_update("max(x*x, a) + abs(x)*0.5", F64).components
    values = {"x0": Sloped(Fraction(-3), (Fraction(1),)), "a": real(2, 1)}
    found = sloped(step, values, 1)
    assert isinstance(found, Sloped)
    assert found == Sloped(Fraction(21, 2), (Fraction(-13, 2),))
    with pytest.raises(NotSmooth):
        sloped(step, values | {"a": real(9, 1)}, 1)
    with pytest.raises(NotSmooth):
        sloped(step, values | {"x0": real(0, 1)}, 1)
    assert rank([(Fraction(n), Fraction(2 * n)) for n in range(4)]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "max(x0, a)*x1, x1 + x0",
        "x0*x0 - x1*x1 + a, 2.0*x0*x1 + b",
        "min(x0, a), x1 + max(x1, a) - min(x0, b)",
        "select(a < x0 or x1 >= b, a - x0, x1*0.5), -abs(x1)*a",
        "select(x0 == x1, x0*x1, x0 - a), min(x0, min(x1, a*b))",
        "x0 + exp(a*x1), x1*exp(a - x0) - x0",
        "tanh(x0 - a)*x1, max(x0, exp(x1)) - exp(x0)",
        "cos(x0)*a + max(x1, a), sin(x0*a - x1) - x1",
    ],
)
def test_what_is_said_of_infinite_states_is_so_of_numbers(text: str) -> None:
    update = parse_update(text, F64)
    random = np.random.default_rng(3)
    said = 0
    for case in at_infinity.cases(update):
        data: dict[str, Value] = {v.name: float(random.integers(1, 5) * random.choice([-1, 1])) for v in update.data}
        after = at_infinity.varying_after(update, case.start, data)
        if after is None:
            continue
        for _ in range(4):
            state = {f"x{i}": _drawn(size, random) for i, size in enumerate(case.start)}
            near: dict[str, Value] = {name: float(value) * random.uniform(0.2, 2.0) for name, value in data.items()}
            for component, size in zip(update.components, after[0], strict=True):
                value = float(evaluate_scalar(component, state | near))
                assert size is not None
                if math.isnan(value):  # a value that no datum changes
                    assert size.infinite
                    assert size.sign is None
                    assert not size.varies
                    said += 1
                    continue
                assert size.infinite in (None, math.isinf(value))
                assert size is not at_infinity.NO_NUMBER
                assert size.sign in (None, np.sign(value))
                said += size.infinite is not None
    assert said > 30


def _drawn(size: at_infinity.Size | None, random: np.random.Generator) -> Value:
    assert size is not None
    assert size.sign is not None
    return size.sign * (math.inf if size.infinite else float(random.uniform(0.1, 9.0)))


@pytest.mark.filterwarnings("error")
def test_slopes_that_overflow_are_not_told_of() -> None:
    text = "(abs(k) + (x1 - k))*((k + x0)*(x0*x1 + x0) + x1), max(x1, x0*a + k)"
    assert check(text, "f64").verdict in ("not_associative", "unknown")
