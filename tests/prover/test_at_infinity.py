"""Laws hold where data put infinities into components, or the claim is not made."""

from __future__ import annotations

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.types import F64
from rfactor.matcher.check import check
from rfactor.prover.claim import Claim, Discharged, Ledger, Lift, discharge
from rfactor.prover.limits import DEFAULT
from rfactor.prover.verdict import Proven

TYPES = {f"{letter}{i}": F64 for letter in "xy" for i in range(2)} | {"a": F64}


def read(*texts: str) -> tuple:
    return tuple(parse_expr(text, TYPES, F64) for text in texts)


def test_an_operator_that_tells_an_infinity_by_arithmetic_is_not_associative_there() -> None:
    update = parse_update("x0 + a, x1", F64, {}, (), Meaning.WRAP)
    operator = read("x0 + y0 + select(x1 == x1 - 1.0, 5.0, 0.0)", "max(x1, y1)")
    assert not isinstance(discharge(Claim(update, operator, None, read("a", "-inf"))), Discharged)


def test_a_lifting_whose_operator_subtracts_infinities_is_none() -> None:
    update = parse_update("x + a", F64, {}, (), Meaning.WRAP)
    operator = read("x0 + y0 + (max(x1, y1) - max(x1, y1))", "y1")
    lift = Lift((F64, F64), read("a", "-inf"), operator, read("0.0", "0.0"), read("x0 + y0"))
    assert not isinstance(discharge(Claim(update, lift=lift)), Discharged)


def test_sums_and_extrema_of_infinities_are_proved() -> None:
    assert check("select(c, max(x + a, b), x + a)", type=F64, types={"c": "bool"}).verdict == "lifted"
    masked = "select(b > 0, max(x0, a), x0), select(b > 0, x1*exp(x0 - max(x0, a)) + exp(a - max(x0, a)), x1)"
    assert check(masked, type=F64).verdict == "associative"


def test_what_holds_for_one_infinity_and_not_for_the_other_is_not_entered() -> None:
    update = parse_update("max(x0, a)", F64, {}, (), Meaning.WRAP)
    ledger = Ledger(Claim(update, read("max(x0, y0)"), None, read("select(a > 0, inf, -inf)")), DEFAULT)
    left, right = read("x0 + max(y0, 0.0) - max(y0, 0.0)"), read("x0")
    assert not isinstance(ledger.equal("right_identity", left, right), Proven)
    assert "right_identity" not in ledger.proofs
    assert isinstance(ledger.equal("right_identity", read("max(x0, y0)"), read("max(y0, x0)")), Proven)
    assert "right_identity" in ledger.proofs
