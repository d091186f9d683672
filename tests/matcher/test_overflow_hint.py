"""What unbounded integers would make of an update is looked up before it is searched for."""

from __future__ import annotations

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import I32
from rfactor.ir.update import Update
from rfactor.matcher import recognize as recognition
from rfactor.matcher.answer import Answer
from rfactor.table.known import KnownTable

HINT = "if nothing overflows (--semantics math)"
UPDATE = "max(x + a, b) - min(a, 3)"


def asked(monkeypatch: pytest.MonkeyPatch, verdict: str | None, *, known: bool = True) -> tuple[Answer, list[Meaning]]:
    """The answer where a table says so of unbounded integers, and which meanings it was asked about."""
    meanings: list[Meaning] = []

    def held(update: Update, table: KnownTable | None) -> Answer | None:
        meanings.append(update.meaning)
        return None if verdict is None or update.meaning is Meaning.WRAP else Answer(update, verdict)  # type: ignore[arg-type]

    monkeypatch.setattr(recognition, "known_answer", held)
    recognition.forget()
    return recognition.recognize(parse_update(UPDATE, I32), known=known), meanings


def test_a_known_yes_of_unbounded_integers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, meanings = asked(monkeypatch, "associative")
    assert answer.verdict == "not_associative"
    assert meanings == [Meaning.WRAP, Meaning.MATH]
    assert (answer.reason or "").endswith(f"it is associative {HINT}")


def test_a_known_no_of_unbounded_integers_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = asked(monkeypatch, "not_associative")
    assert HINT not in (answer.reason or "")


def test_what_is_not_known_is_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = asked(monkeypatch, None)
    assert (answer.reason or "").endswith(f"it is associative on a richer state {HINT}")


def test_without_the_table_nothing_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, meanings = asked(monkeypatch, "associative", known=False)
    assert meanings == []
    assert (answer.reason or "").endswith(f"it is associative on a richer state {HINT}")
