"""Conditions that hold of all real numbers are told from others."""

from __future__ import annotations

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Call, apply, const, variables
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F64, I32
from rfactor.prover.defined import is_evident

NAMES = {"a": F64, "b": F64, "i": I32, "j": I32}


@pytest.mark.parametrize(
    "condition",
    [
        "exp(a) > 0.0", "exp(a) != 0.0", "0.0 < exp(a)*exp(b)", "1.0 + a*a > 0.0", "abs(a) >= 0.0",
        "sqrt(1.0 + b*b) != 0.0", "a == 0.0 or exp(b) > 0.0", "exp(a) > 0.0 and 0.0 <= a*a", "max(a, exp(b)) > 0.0",
        "0.0 <= abs(a) + exp(b)", "select(a > 0.0, exp(b), 2.0) > 0.0", "pow(2.0, a) > 0.0",
    ],
)  # fmt: skip
def test_what_holds_of_all_numbers(condition: str) -> None:
    expr = parse_expr(condition, NAMES, BOOL)
    assert is_evident(expr)
    random = np.random.default_rng(0)
    values = {v.name: random.uniform(-20, 20, 1000) for v in variables(expr)}
    assert np.all(evaluate(expr, values))


@pytest.mark.parametrize(
    "condition",
    [
        "a > 0.0", "log(a) > 0.0", "abs(a) > 0.0", "a*b >= 0.0", "a*a > 0.0", "exp(a) > 1.0", "exp(a) < 0.0",
        "exp(a) <= 0.0", "exp(a) == 0.0", "exp(a) - 1.0 > 0.0", "max(a, b) != 0.0", "min(exp(a), b) > 0.0",
        "exp(a) > 0.0 and a > 0.0", "a > 0.0 or b > 0.0", "not exp(a) > 0.0", "-exp(a) != -1.0", "pow(a, 2.0) > 0.0",
        "abs(i) >= 0", "i*i >= 0", "f64(abs(i)) >= 0.0",
    ],
)  # fmt: skip
def test_what_need_not(condition: str) -> None:
    assert not is_evident(parse_expr(condition, NAMES, BOOL))


def test_a_function_of_the_user_that_is_called_as_an_exponential_is_none() -> None:
    zero = const(F64, 0)
    for name in ("exp", "sqrt", "pow"):
        mine = Call(F64, name, (const(I32, 3),), "func", 0)
        assert not is_evident(apply(">", mine, zero))
        assert not is_evident(apply(">=", mine, zero))
