"""Which starts the search by substitution tries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rfactor.ir.expr import Const
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import parse_type
from rfactor.ir.update import Update
from rfactor.matcher.check import check
from rfactor.matcher.operators import substitution
from rfactor.matcher.refusal.separation import promising
from rfactor.matcher.terms import State
from rfactor.prover.claim import Claim


@pytest.mark.parametrize(
    ("text", "totals"),
    [
        ("x0 + 1, x1 + select(x0 == 2, a, 0)", {1}),  # x0 is read by x1
        ("max(x0, a), select(x0 < a, x1 - b, x1)", {1}),
        ("x0 + a, (b - c) + x1", {0, 1}),
        ("x0 + a, x0 + a", set()),  # x0 is read by x1, which has the same text
        ("x + x", set()),
        ("a - x", set()),
        ("select(x > 0, x + a, x)", set()),
        ("select(a > 0, x + a, a)", set()),
        ("x*2 + a", set()),
    ],
)
def test_totals_start_from_0_alone(text: str, totals: set[int]) -> None:
    update = parse_update(text)
    starts = list(substitution.likely(update))
    for i, type_ in enumerate(update.types):
        tried = {e[i] for e in starts}
        assert (tried == {Const(type_, 0)}) == (i in totals)


def test_unsigned_numbers_without_end_have_no_total() -> None:
    """What is moved by an amount must not leave them."""
    update = parse_update("x + a", parse_type("u32"))
    assert len(list(substitution.likely(update))) == 1
    unbounded = Update(update.components, update.types, update.constants, Meaning.MATH)
    assert len(list(substitution.likely(unbounded))) > 1


def test_an_answer_about_starts_is_the_same_again() -> None:
    update = parse_update("max(x, a)")
    starts = list(substitution.starts(update, substitution.Solved({}, {}), infinite=False))
    first = list(promising(update, starts))
    assert first
    assert first != starts
    assert list(promising(update, starts)) == first
    assert list(promising(update, starts[::-1])) == first[::-1]  # asked for in another order


def test_a_search_ends_where_the_likeliest_starts_give_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    from_start = substitution._Search.from_start

    def counted(search: substitution._Search, e: State) -> Iterator[tuple[Claim, bool]]:
        nonlocal tried
        tried += 1
        return from_start(search, e)

    monkeypatch.setattr(substitution._Search, "from_start", counted)
    update = parse_update("(x0 + x2) % 10, x0, x1")  # every start tells its data apart
    assert not list(substitution.claims(update))
    assert tried == substitution._FRUITLESS
    tried = 0
    assert list(substitution.claims(parse_update("min(x0, a), x1 + select(a < x0, i - x1, 0)")))
    assert tried > 0


def test_what_leaves_a_datum_out_starts_as_the_whole_does() -> None:
    assert check("x0 + a, x1 + select(x0 + a < x0, 1, 0)", type="u32").verdict == "associative"
    assert check("max(x0, a), max(x1, x0)").verdict == "associative"
