"""What an update chooses among floats is not computed by what is claimed of it."""

from __future__ import annotations

import math

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.types import BOOL, F32, I32
from rfactor.prover.chosen import lost
from rfactor.prover.claim import Claim, Discharged, Failed, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.verdict import Refuted

TYPES = {f"{letter}{i}": F32 for letter in "xy" for i in range(2)} | {"a": F32, "b": F32, "c": BOOL}


def read(*texts: str) -> tuple:
    return tuple(parse_expr(text, TYPES, F32) for text in texts)


def plain(update: str, operator: str, identity: str, data: str) -> Claim:
    parsed = parse_update(update, F32, {"c": BOOL}, (), Meaning.WRAP)
    return Claim(parsed, read(operator), read(identity), read(data))


def affine(update: str, factor: str, term: str) -> Claim:
    lift = Lift((F32, F32), read(factor, term), read("x0*y0", "x1*y0 + y1"), read("1.0", "0.0"), read("x0*y0 + y1"))
    return Claim(parse_update(update, F32, {"c": BOOL}, (), Meaning.WRAP), lift=lift)


@pytest.mark.parametrize(
    "claim",
    [
        plain("select(c, x, 0.0)", "x0*y0", "1.0", "select(c, 1.0, 0.0)"),
        plain("select(a > 0.0, x, 0.0)", "x0*y0", "1.0", "select(a > 0.0, 1.0, 0.0)"),
        plain("select(c, -x, 0.0)", "x0*y0", "1.0", "select(c, -1.0, 0.0)"),
        plain("max(x, a)", "x0 + max(y0 - x0, 0.0)", "-inf", "a"),
        affine("select(c, x, a)", "select(c, 1.0, 0.0)", "select(c, 0.0, a)"),
    ],
)
def test_an_operator_that_computes_what_is_chosen_is_none(claim: Claim) -> None:
    found = discharge(claim)
    assert isinstance(found, Failed)
    assert found.name == "step"
    assert isinstance(found.verdict, Refuted)
    assert found.verdict.left != found.verdict.right
    assert not math.isnan(float(found.verdict.left[0]))


@pytest.mark.parametrize(
    "claim",
    [
        plain("select(c, -x, x)", "x0*y0", "1.0", "select(c, -1.0, 1.0)"),
        plain("x*select(c, 1.0, 0.0)", "x0*y0", "1.0", "select(c, 1.0, 0.0)"),
        plain("select(c, x*a, 0.0)", "x0*y0", "1.0", "select(c, a, 0.0)"),
        plain("max(x, a)", "max(x0, y0)", "-inf", "a"),
        affine("x*a + b", "a", "b"),
        affine("select(c, x*a, b)", "select(c, a, 0.0)", "select(c, 0.0, b)"),
    ],
)
def test_an_operator_that_computes_as_the_update_does_or_exactly_is_one(claim: Claim) -> None:
    assert isinstance(discharge(claim), Discharged)


def test_components_that_are_computed_may_be_rounded_beside_those_that_are_chosen() -> None:
    update = parse_update("x0 + a, max(x1, b), x2 + 1", F32, {"x2": I32}, (), Meaning.WRAP)
    operator = (*read("x0 + y0", "max(x1, y1)"), parse_expr("x2 + y2", {"x2": I32, "y2": I32}, I32))
    data = (*read("a", "b"), parse_expr("1", {}, I32))
    assert lost(Claim(update, operator, None, data)) is None
    wrong = (operator[0], *read("x1 + max(y1 - x1, 0.0)"), operator[2])
    failed = lost(Claim(update, wrong, None, data))
    assert isinstance(failed, Failed)
