"""Wildcard matching against the table: what a pattern matches, what it must not, and that a match is a proof."""

from __future__ import annotations

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple, parse_update
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import I32, parse_type
from rfactor.matcher.operators import by_table
from rfactor.matcher.operators.wildcard import Matcher
from rfactor.matcher.recognize import recognize
from rfactor.prover.claim import Discharged
from rfactor.prover.discharge import discharge

NAMES = dict.fromkeys(("x0", "x1", "y0", "y1", "k"), I32)


def bindings(pattern: str, update: str) -> list[dict[str, str]]:
    """The ways in which an update is an instance of a pattern, as text."""
    given = parse_update(update)
    matcher = Matcher.of(given)
    patterns = [matcher.canonical(e) for e in parse_tuple(pattern, NAMES, given.types)]
    subjects = [matcher.canonical(e) for e in given.components]
    return [{name: str(e) for name, e in found.items()} for found in matcher.matches(patterns, subjects)]


@pytest.mark.parametrize(
    ("pattern", "update", "found"),
    [
        ("x0 + y0", "a + x", {"y0": "a"}),
        ("x0 + y0", "b + x + a", {"y0": "a + b"}),
        ("x0 + y0", "x - 5*a", {"y0": "a * -5"}),
        ("x0 * y0", "2*x*a", {"y0": "a * 2"}),
        ("x0 + x0*y0*k + y0", "x + a + 7*x*a", {"y0": "a", "k": "7"}),
        ("min(max(x0, k), y0)", "min(a, max(3, x))", {"y0": "a", "k": "3"}),
        ("min(x0, y0)", "min(b, min(x, a))", {"y0": "min(a, b)"}),
        ("min(x0, y0), select(x0 < y0, x1, y1)", "min(x0, a), select(a > x0, x1, i)", {"y0": "a", "y1": "i"}),
        ("x0*y0 - x1*y1, x0*y1 + x1*y0", "x0*a - x1*b, x1*a + x0*b", {"y0": "a", "y1": "b"}),
    ],
)
def test_wildcards_bind_whatever_is_free_of_accumulators(pattern, update, found):
    assert found in bindings(pattern, update)


@pytest.mark.parametrize(
    ("pattern", "update"),
    [
        ("x0 + y0", "x + x*a"),
        ("x0 * y0", "x*(x + a)"),
        ("min(x0, y0)", "min(x, max(x, a))"),
        ("x0 + x0*y0*k + y0", "x + a + b*x*a"),  # k is a constant of the loop, b is none
        ("min(x0, y0), select(x0 < y0, x1, y1)", "min(x0, a), select(a > x0, x1, x1 + i)"),
    ],
)
def test_wildcards_bind_no_accumulator_and_constants_no_data(pattern, update):
    assert bindings(pattern, update) == []


@pytest.mark.parametrize(
    ("pattern", "update"),
    [
        ("x0 + y0", "x + x*a"),  # y0 would hold x
        ("min(max(x0, k), y0)", "min(max(x, b), a)"),  # b changes from one iteration to the next
        ("x0 + y0", "2*x + a"),
        ("x0 * y0", "x*a + 1"),
        ("min(x0, y0), select(x0 < y0, x1, y1)", "min(x0, a), select(x0 < b, x1, i)"),  # one y0, two values
        ("x0*y0 - x1*y1, x0*y1 + x1*y0", "x0*a - x1*b, x1*a - x0*b"),
    ],
)
def test_a_wildcard_is_one_expression_free_of_accumulators(pattern, update):
    assert bindings(pattern, update) == []


@pytest.mark.parametrize(
    "update", ["x + a", "x - 5*a", "x + a + 7*x*a", "min(max(x, k), a)", "max(x, a*a + 3)", "x*a*b*3"]
)
def test_what_the_table_matches_is_discharged_with_its_row(update):
    given = parse_update(update)
    claim = next(by_table.claims(given, by_table.shipped()))
    proved = discharge(claim)
    assert isinstance(proved, Discharged)
    proofs = dict(proved.proofs)
    assert proofs["associative"].method == proofs["left_identity"].method == "table"
    row = next(r for r in by_table.shipped().rows(given.types, given.meaning) if r.id == proofs["associative"].row)
    assert row.identity_kind == proved.identity_kind
    assert proofs["step"].method != "table"


@pytest.mark.parametrize("update", ["max(x0, a), min(max(x0, b), x1)", "min(max(x1, b), x0), max(x1, a)"])
def test_the_order_of_components_does_not_matter(update):
    claim = next(by_table.claims(parse_update(update), by_table.shipped()))
    assert isinstance(discharge(claim), Discharged)


def test_the_answer_names_the_table_and_the_row():
    answer = recognize(parse_update("x + a"))
    assert answer.source == "table"
    assert show_tuple(answer.operator) == "x0 + y0"
    assert {p.claim: p.row for p in answer.proofs}["associative"] is not None


def test_an_update_that_no_row_matches_yields_nothing():
    assert list(by_table.claims(parse_update("(x + a) >> 1"), by_table.shipped())) == []
    assert list(by_table.claims(parse_update("x0 + a, x1 + b, x2 + c"), by_table.shipped())) == []


def test_a_rows_witness_against_commuting_counts_only_where_data_may_be_any_values():
    def known(text: str) -> set[str]:
        claim = next(by_table.claims(parse_update(text), by_table.shipped()))
        return {name for name, _ in claim.known}

    assert "not_commutative" in known("min(max(x, k), a)")
    assert "not_commutative" not in known("min(max(x, k), a & 1)")
    assert "not_commutative" not in known("min(max(x, k), k1)")  # one datum, always the same, commutes with itself


@pytest.mark.parametrize(
    ("update", "type_", "meaning", "identity"),
    [
        ("(x + 1)*(a + 1) - 1", "i32", "wrap", "0"),
        ("(x - 1)*(a - 1) + 1", "i32", "math", "2"),
        ("(x + 3)*(a + 3) - 3", "u8", "wrap", "254"),
        ("(x - 255)*(a - 255) + 255", "u8", "wrap", "0"),
        ("(x - 255)*(a - 255) + 255", "u8", "math", "255 + 1"),  # no u8 is 256
        ("(x - 0.5)*(a - 0.5) + 0.5", "f32", "wrap", "1.5"),
        ("(x - 0.1)*(a - 0.1) + 0.1", "f64", "wrap", "0.1 + 1.0"),  # no f64 is 1.1
    ],
)
def test_an_identity_is_shown_as_its_value_where_that_is_exact(update, type_, meaning, identity):
    given = parse_update(update, parse_type(type_), meaning=Meaning(meaning))
    claim = next(by_table.claims(given, by_table.shipped()))
    assert show_tuple(claim.identity) == identity
    assert isinstance(discharge(claim), Discharged)
