"""Answers do not depend on how fast the machine is: only the user's time limit looks at the clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rfactor.ir.expr import apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.types import I32, parse_type
from rfactor.kept import Kept
from rfactor.matcher import recognize
from rfactor.prover.limits import Limits
from rfactor.prover.smt import GaveUp, Unsat, solve

LISTING_2 = (
    "select(a*a + b*b > x0*x0 + x1*x1, a, x0), select(a*a + b*b > x0*x0 + x1*x1, b, x1), "
    "select(a*a + b*b > x0*x0 + x1*x1, i, x2), select(a*a + b*b > x0*x0 + x1*x1, j, x3)"
)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (LISTING_2, "i32"),  # an identity is solved for
        ("x*x*a + x*b", "i32"),  # a refutation
        ("max(x + a, b)", "i32"),  # a refutation, and what unbounded integers would make of it
    ],
)
def test_no_search_has_a_clock_of_its_own(text: str, type_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> float:
        raise AssertionError("the clock was asked without a time limit")

    seen: list[float | None] = []
    remaining = Limits.remaining

    def noted(self: Limits) -> float | None:
        seen.append(remaining(self))
        return seen[-1]

    monkeypatch.setattr("rfactor.prover.limits.time", SimpleNamespace(monotonic=never))
    monkeypatch.setattr(Limits, "remaining", noted)
    monkeypatch.setattr(recognize, "_ANSWERED", Kept(1))
    recognize.recognize(parse_update(text, parse_type(type_)), limits=Limits())
    assert seen
    assert set(seen) == {None}


def test_an_identity_that_is_solved_for_is_found_under_any_load() -> None:
    answer = recognize.recognize(parse_update(LISTING_2), limits=Limits())
    assert answer.identity_kind == "two-sided"


def test_a_run_of_queries_ends_when_its_units_are_spent() -> None:
    condition = parse_expr("x*x*x == y*y + 7 and x > 100", {"x": I32, "y": I32})
    limits = Limits(rlimit=20_000).with_purse(15_000)
    before = limits.expired
    solve([condition], Meaning.WRAP, limits.at_most(rlimit=10_000))
    assert (before, limits.expired) == (False, True)
    never = apply("!=", parse_expr("x", {"x": I32}), parse_expr("x", {"x": I32}))
    assert isinstance(solve([never], Meaning.WRAP, limits), GaveUp)
    assert isinstance(solve([never], Meaning.WRAP, Limits()), Unsat)
