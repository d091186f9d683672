"""An answer does not depend on what was asked before it: nothing that is kept for later changes what is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rfactor.cli.check import batch_line
from rfactor.ir.expr import Expr
from rfactor.kept import Kept
from rfactor.matcher import recognize
from rfactor.matcher.answer import Answer
from rfactor.matcher.check import check as decide
from rfactor.matcher.recall import Memory
from rfactor.prover import equality

QUESTIONS = [
    {"update": "x + a"},
    {"update": "x*a + b"},
    {"update": "x*p + q", "type": "u8"},
    {"update": "max(x*a + b, 0)", "type": "f64"},
    {"update": "max(0, p*x + q)", "type": "f32"},
    {"update": "max(x + a, b)"},
    {"update": "max(x + a, b)", "semantics": "math"},
    {"update": "x + max(a - x, 0)"},
    {"update": "x + max(a - x, 0)", "semantics": "math"},
    {"update": "x0 + a, max(x1, x0 + a)", "type": "f32"},
    {"update": "abs(x - a)"},
    {"update": "abs(x - b)", "type": "i8"},
    {"update": "min(x + 1, 10)", "type": "i16"},
    {"update": "select(a < x, a, x)", "type": "u16"},
    {"update": "(x*x + a) % 7", "type": "u32"},
]
SAID = (
    "verdict",
    "operator",
    "identity",
    "identity_kind",
    "data",
    "commutative",
    "groups",
    "lift",
    "invariant",
    "reason",
)


def answers(questions: list[dict[str, Any]], patch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What is said of each question by a process that was asked nothing else."""
    patch.setattr(recognize, "_ANSWERED", Kept(512))
    patch.setattr(recognize, "_MEMORY", Memory())
    patch.setattr(equality, "_SETTLED", Kept(4096))
    patch.setattr(equality, "_MODELLED", Kept(64))
    found = {}
    for question in questions:
        answer, read = batch_line(json.dumps(question), 60.0)
        assert read, answer
        found[json.dumps(question)] = {key: answer[key] for key in SAID}
    return found


def test_questions_in_any_order_have_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    forth = answers(QUESTIONS, monkeypatch)
    assert {answer["verdict"] for answer in forth.values()} >= {"associative", "lifted", "not_associative"}
    assert answers(QUESTIONS[::-1], monkeypatch) == forth


def test_what_time_left_open_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    update, types = "max(x0, a), select(x0 < a, i, x1)", {"x0": "f32", "x1": "i32", "a": "f32", "i": "i32"}

    def late(answer: Answer, limits: Any) -> tuple[int, Expr]:
        while not limits.expired:
            pass  # not asleep: tests count what is worked
        return 1, answer.update.components[0]

    recognize.forget()
    with monkeypatch.context() as patch:
        patch.setattr(recognize, "rounded_integer", late)
        assert decide(update, types=types, timeout=1.0).rounded is not None
    assert decide(update, types=types).rounded is None
