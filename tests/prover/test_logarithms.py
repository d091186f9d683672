"""What the proof by cases knows of logarithms, and of exponentials of logarithms that divide."""

from __future__ import annotations

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F64
from rfactor.prover.equality import prove_equal
from rfactor.prover.verdict import Proven, Verdict

NAMES = dict.fromkeys("abxyz", F64)
POSITIVE = ("x > 0.0", "y > 0.0")


def parsed(left: str, right: str, assumed: tuple[str, ...]) -> tuple[Expr, Expr, Verdict]:
    one, other = (parse_expr(text, NAMES) for text in (left, right))
    given = tuple(parse_expr(text, NAMES, BOOL) for text in assumed)
    return one, other, prove_equal((one,), (other,), assumptions=given)


@pytest.mark.parametrize(
    ("left", "right", "assumed"),
    [
        ("log(x*exp(a))", "a + log(x)", ()),
        ("exp(log(x) + log(y))", "x*y", POSITIVE),
        ("exp(a - log(exp(a) + exp(b)))", "1.0/(1.0 + exp(b - a))", ()),
        ("y/(exp(a - log(exp(x) + exp(b))) + 1.0)", "y*(exp(x) + exp(b))/(exp(a) + exp(x) + exp(b))", ()),
    ],
)
def test_what_is_equal(left: str, right: str, assumed: tuple[str, ...]) -> None:
    one, other, verdict = parsed(left, right, assumed)
    assert isinstance(verdict, Proven)
    random = np.random.default_rng(0)
    values = {name: random.uniform(0.1, 4.0, 500) for name in NAMES}
    assert np.allclose(evaluate(one, values), evaluate(other, values))


@pytest.mark.parametrize(
    ("left", "right", "assumed"),
    [
        ("log(x*y)", "log(x) + log(y)", POSITIVE[:1]),
        ("log(x*x)", "2.0*log(x)", ()),
        ("log(x*y)", "log(x) + log(y)", ("x*y > 0.0",)),
        ("log(x - y)", "log(x) - log(y)", POSITIVE),
        ("log(-x*y)", "log(x) + log(y)", POSITIVE),
        ("exp(log(x) + log(y))", "x*y", ()),
        ("exp(a - log(exp(a) - exp(b)))", "1.0/(1.0 - exp(b - a))", ()),
        ("exp(a - log(exp(a) + exp(b)))", "1.0/(1.0 + exp(a - b))", ()),
        ("1.0/(exp(-log(x)) + 1.0)", "x/(1.0 + x)", ()),
    ],
)
def test_what_is_not_or_not_everywhere(left: str, right: str, assumed: tuple[str, ...]) -> None:
    assert not isinstance(parsed(left, right, assumed)[2], Proven)
