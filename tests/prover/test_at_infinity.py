"""Laws hold where data put infinities into components, or the claim is not made."""

from __future__ import annotations

import math

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.types import BOOL, F64
from rfactor.matcher.check import check
from rfactor.prover.at_infinity import extends, infinite_components
from rfactor.prover.claim import Claim, Discharged, Lift
from rfactor.prover.defined import conditions
from rfactor.prover.discharge import discharge
from rfactor.prover.ledger import Ledger
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


def test_infinities_of_many_components_are_placed_in_one_after_the_other() -> None:
    guarded = ("min(x0, a)", "min(x1, b)", "max(x2, a)", "max(x3, b)")
    text = ", ".join(f"select(c, {one}, x{i})" for i, one in enumerate(guarded))
    update = parse_update(text, F64, {"c": BOOL}, (), Meaning.WRAP)
    types = {f"{letter}{i}": F64 for letter in "xy" for i in range(4)} | {"a": F64, "b": F64, "c": BOOL}

    def read(*texts: str) -> tuple:
        return tuple(parse_expr(text, types, F64) for text in texts)

    ends = ("inf", "inf", "-inf", "-inf")
    data = read(*(f"select(c, {'ab'[i % 2]}, {end})" for i, end in enumerate(ends)))
    operator = read("min(x0, y0)", "min(x1, y1)", "max(x2, y2)", "max(x3, y3)")
    found = discharge(Claim(update, operator, read(*ends), data))
    assert isinstance(found, Discharged)
    assert (found.identity_kind, found.commutative) == ("two-sided", True)
    wrong = discharge(Claim(update, (*operator[:3], *read("y3")), read(*ends), data))
    assert not isinstance(wrong, Discharged)


def test_sums_and_extrema_of_infinities_are_proved() -> None:
    assert check("select(c, max(x + a, b), x + a)", type=F64, types={"c": "bool"}).verdict == "lifted"
    masked = "select(b > 0, max(x0, a), x0), select(b > 0, x1*exp(x0 - max(x0, a)) + exp(a - max(x0, a)), x1)"
    assert check(masked, type=F64).verdict == "associative"


def test_equations_with_infinite_literals_extend_where_all_infinities_have_one_sign() -> None:
    names = {"y0": F64, "y1": F64, "a": F64}
    down = {0: frozenset({-math.inf})}

    def holds(text: str) -> bool:
        return extends([parse_expr(text, names, F64)], down, "y")

    assert holds("max(max(-inf + y1, y0), a)")
    assert holds("select(y1 > a, -inf + y0, y0)")
    assert not holds("max(inf, y0)")
    assert not holds("select(y0 > -inf, y0, 1.0)")
    assert not holds("y0 - (-inf)")
    assert not holds("y1 - y0")


def test_infinities_of_one_sign_are_followed_through_many_components() -> None:
    update = "max(-p, x0), max(x0 + p, x1), max(x1 - p, x2), max(x2 + p, x3)"
    answer = check(update, type=F64)
    assert answer.verdict == "lifted"
    names = {f"{letter}{i}": F64 for letter in "xy" for i in range(8)}
    operator = tuple(parse_expr(f"x{(i + 1) % 8} + y{(i + 1) % 8}", names, F64) for i in range(8))
    data = (parse_expr("-inf", names, F64), *(parse_expr("1.0", names, F64) for _ in range(7)))
    assert infinite_components(data, operator) == dict.fromkeys(range(8), frozenset({-math.inf}))
    mixed = (*operator[:7], parse_expr("max(x0 + y0, inf + y7)", names, F64))
    assert infinite_components(data, mixed)[0] == frozenset({math.inf, -math.inf})


def test_a_divisor_that_is_evidently_positive_is_no_condition() -> None:
    names = {"x0": F64, "y0": F64}

    def asked(text: str) -> bool:
        return bool(conditions([parse_expr(f"1.0 / ({text})", names, F64)]))

    for positive in (
        "exp(x0)",
        "exp(x0) + exp(y0)",
        "x0*x0 + 1.0",
        "sqrt(abs(x0) + 2.0)",
        "max(x0, 1.0)",
        "pow(2.0, x0)",
    ):
        assert not asked(positive)
    for other in (
        "x0",
        "x0*x0",
        "abs(x0)",
        "exp(x0) - 1.0",
        "x0*y0 + 1.0",
        "min(x0, 1.0)",
        "pow(x0, 2.0)",
        "exp(x0) + y0",
    ):
        assert asked(other)


def test_what_holds_for_one_infinity_and_not_for_the_other_is_not_entered() -> None:
    update = parse_update("max(x0, a)", F64, {}, (), Meaning.WRAP)
    ledger = Ledger(Claim(update, read("max(x0, y0)"), None, read("select(a > 0, inf, -inf)")), DEFAULT)
    left, right = read("x0 + max(y0, 0.0) - max(y0, 0.0)"), read("x0")
    assert not isinstance(ledger.equal("right_identity", left, right), Proven)
    assert "right_identity" not in ledger.proofs
    assert isinstance(ledger.equal("right_identity", read("max(x0, y0)"), read("max(y0, x0)")), Proven)
    assert "right_identity" in ledger.proofs
