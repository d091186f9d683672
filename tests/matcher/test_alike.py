"""A yes about an update is one about every update that differs in names alone, and about no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rfactor.ir.expr import Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import parse_type
from rfactor.ir.update import Update
from rfactor.kept import Kept
from rfactor.matcher import recognize as module
from rfactor.matcher.alike import Form
from rfactor.matcher.answer import Answer


def update(text: str, type_: str = "i32", constants: frozenset[str] = frozenset()) -> Update:
    """The update that the text is of."""
    return replace(parse_update(text, parse_type(type_)), constants=constants)


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWERED", Kept(64))


PAIRS = [
    ("x0*a - x1*b, x0*b + x1*a", "x0*first - x1*second, x0*second + x1*first"),
    ("min(x0, a), select(a < x0, r_x, x1)", "min(x0, in_), select(in_ < x0, r_1_x, x1)"),
    ("x*a + b", "x*m + n"),
    ("min(max(x + a, 0), 10)", "min(max(x + g, 0), 10)"),
]


@pytest.mark.parametrize(("text", "other"), PAIRS)
def test_an_answer_is_kept_for_other_names(text: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = replace(module.recognize(update(other)), ms=0.0)
    module.forget()
    module.recognize(update(text))
    monkeypatch.setattr(module, "_first_answer", lambda *_: pytest.fail("searched"))
    kept = replace(module.recognize(update(other)), ms=0.0)
    assert searched.verdict in ("associative", "lifted")
    assert replace(kept, proofs=()) == replace(searched, proofs=())
    assert [proof.claim for proof in kept.proofs] == [proof.claim for proof in searched.proofs]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (update("x + a*b"), update("x + a*a")),
        (update("x + a*b"), update("x + b*b")),
        (update("x - a"), update("x + a")),
        (update("x + a", "u8"), update("x + a", "i8")),
        (update("x + a + 1"), update("x + a + 2")),
        (update("x*a + b", constants=frozenset("a")), update("x*a + b", constants=frozenset("b"))),
        (update("x*a + b"), update("x*a + b", constants=frozenset("a"))),
        (update("x + a"), replace(update("x + a"), meaning=Meaning.MATH)),
        (update("x0 + a, x1 + b"), update("x0 + b, x1 + a")),
        (update("x*a + b"), update("x*b + a")),
    ],
)
def test_updates_that_differ_in_more_have_other_forms(one: Update, other: Update) -> None:
    forms = Form.of(one), Form.of(other)
    assert None not in forms
    assert forms[0].update != forms[1].update  # type: ignore[union-attr]


def test_another_update_is_asked_about_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Update] = []

    def searched(one: Update, *_: object) -> Answer:
        asked.append(one)
        return Answer(one, "associative")

    monkeypatch.setattr(module, "_first_answer", searched)
    sums = (
        update("x + a"),
        update("x + b"),
        update("x*b"),
        update("x + b", constants=frozenset("b")),
        update("x + b", "u8"),
    )
    assert [module.recognize(one).update for one in sums] == list(sums)
    assert asked == [sums[0], *sums[2:]]
    assert module.recognize(sums[1], known=False).update == sums[1]
    assert asked[-1] == sums[1]


def test_only_a_yes_is_kept_for_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A no names an instance, in a sentence."""
    asked: list[Update] = []

    def searched(one: Update, *_: object) -> Answer:
        asked.append(one)
        return Answer(one, "not_associative", counterexample={"a": 1}, reason="because of a")

    monkeypatch.setattr(module, "_first_answer", searched)
    module.recognize(update("abs(x - a)"))
    module.recognize(update("abs(x - b)"))
    assert asked == [update("abs(x - a)"), update("abs(x - b)")]


def test_names_like_those_of_operands_have_no_form() -> None:
    assert Form.of(update("x + y")) is None
    assert Form.of(update("x + z1")) is None
    assert Form.of(update("x + x_")) is None
    assert Form.of(update("x + a")) is not None


def test_an_answer_about_another_form_says_nothing() -> None:
    form = Form.of(update("x + a"))
    assert form is not None
    assert form.said_of(Answer(update("x*b"), "associative"), update("x + a")) is None


def test_names_are_exchanged_at_once() -> None:
    """`a` and `b` become `b` and `c`."""
    one, other = update("x*a + b"), update("x*b + c")
    form = Form.of(other)
    assert form is not None
    i32 = parse_type("i32")
    said = form.said_of(Answer(one, "associative", data=(Var(i32, "a"), Var(i32, "b"))), other)
    assert said is not None
    assert said.data == (Var(i32, "b"), Var(i32, "c"))
