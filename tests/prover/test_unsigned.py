"""Where integers are unbounded, unsigned parts that may fall below zero are only added, or there is no yes."""

from __future__ import annotations

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple, parse_update
from rfactor.ir.types import BOOL, U16, Type
from rfactor.matcher.check import check
from rfactor.prover.claim import Claim, Discharged, Failed, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.verdict import Unknown

DATA: dict[str, Type] = {"a": U16, "b": U16, "c": BOOL}


def lifted(update: str, types: tuple[Type, ...], data: str, operator: str, identity: str, apply: str) -> Claim:
    parsed = parse_update(update, U16, {"c": BOOL}, meaning=Meaning.MATH)
    pair = {f"{letter}{i}": t for letter in "xy" for i, t in zip(range(len(types)), types, strict=True)}
    own = {f"y{i}": t for i, t in zip(range(len(types)), types, strict=True)}
    lift = Lift(
        types,
        parse_tuple(data, DATA, types),
        parse_tuple(operator, pair, types),
        parse_tuple(identity, {}, types),
        parse_tuple(apply, {"x0": U16} | own, parsed.types),
    )
    return Claim(parsed, lift=lift)


def test_data_that_fall_below_zero_are_not_compared() -> None:
    """What a stock loses as a negative number, under which the laws were not proved, and which no machine has."""
    claim = lifted(
        "select(c, x + a, x - min(x, b))",
        (U16, U16, BOOL),
        "select(c, a, -b), 0, not c",
        "x0 + y0, select(x2, select(y2, max(x1 + y0, y1), x1 + y0), y1), x2 or y2",
        "0, 0, False",
        "select(y2, max(x0 + y0, y1), x0 + y0)",
    )
    result = discharge(claim)
    assert isinstance(result, Failed)
    assert isinstance(result.verdict, Unknown)
    assert "may fall below zero" in result.verdict.reason


def test_what_is_taken_and_given_apart_stays_above() -> None:
    claim = lifted(
        "select(c, x + a, x - min(x, b))",
        (U16, U16),
        "select(c, 0, b), select(c, a, 0)",
        "x0 + max(x1, y0) - x1, max(x1, y0) - y0 + y1",
        "0, 0",
        "max(x0, y0) - y0 + y1",
    )
    assert isinstance(discharge(claim), Discharged)


@pytest.mark.parametrize(
    "update", ["max(x, 9223372036854775809 - a)", "max(x, a - ~b)", "x + max(a, 18446744073709551615)"]
)
def test_literals_that_no_signed_type_holds_are_no_error(update: str) -> None:
    assert check(update, "u64", semantics="math").verdict in ("associative", "unknown")


@pytest.mark.parametrize(
    ("update", "operator", "data", "proved"),
    [
        ("x - a", "x0 + y0", "-a", True),  # only added: the machine's bits are right
        ("max(x, a - b)", "max(x0, y0)", "a - b", True),  # below zero only where the serial run is
        ("select(c, max(x, a - b), x)", "max(x0, y0)", "select(c, a - b, 0)", True),
        ("select(c, max(x, a - b), x)", "max(x0, y0)", "select(c, a - b, -b)", False),
        ("max(x, a)", "max(x0, y0)", "max(a, a - b)", True),
        ("max(x, a)", "max(x0, y0)", "a", True),
    ],
)
def test_plain_operators_of_unsigned_data(update: str, operator: str, data: str, proved: bool) -> None:
    parsed = parse_update(update, U16, {"c": BOOL}, meaning=Meaning.MATH)
    pair = {"x0": U16, "y0": U16}
    claim = Claim(
        parsed, parse_tuple(operator, pair, (U16,)), parse_tuple("0", {}, (U16,)), parse_tuple(data, DATA, (U16,))
    )
    assert isinstance(discharge(claim), Discharged if proved else Failed)


def test_what_the_operator_makes_of_operands_is_not_compared_below_zero() -> None:
    """The data stay above, a difference in the operator does not."""
    claim = lifted("x", (U16, U16), "a, 0", "x0 + y0, max(x1 - y0, y1)", "0, 0", "x0")
    assert isinstance(discharge(claim), Failed)
    kept = lifted("x", (U16, U16), "a, 0", "x0 + y0, max(x1, y1)", "0, 0", "x0")
    assert isinstance(discharge(kept), Discharged)
