"""Updates that associate on a richer state: the intermediate reduces that state, the merge applies it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import FactorError
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from tests.compiler.pipelines import computed, expected, same

u, v = hl.Var("u"), hl.Var("v")
DATA = np.random.default_rng(1).integers(-9, 9, (8, 40)).astype(np.int32)


def update(step: Callable[[Any, Any], Any], data: Any = DATA) -> tuple[Any, Any]:
    f, r = hl.Func("f"), hl.RDom([(0, 40), (0, 8)], "r")
    f[()] = 3
    f[()] = step(f[()], hl.Buffer(data)[r.x, r.y])
    return f, r


@pytest.mark.parametrize(
    ("step", "again"),
    [
        (lambda f, a: hl.min(hl.max(f + a, 0), 10), False),
        (lambda f, a: f * a + 3, True),
        (lambda f, a: hl.select(a > 5, a, f + a), True),
    ],
)
def test_a_lifted_update_is_factored_once_and_again(step: Callable[[Any, Any], Any], again: bool) -> None:
    f, r = update(step)
    before = expected(f, [])
    f.update(0).split(r.x, "ro", "ri", 7)
    rows = f.update(0).rfactor(r.y, u)
    assert rows.answer.verdict == "lifted"
    rows.update(0).parallel(u)
    assert same(before[0], computed(f, [])[0])
    if not again:
        return
    pieces = rows.update(0).rfactor("ro", v)
    pieces.compute_root().update(0).parallel(v)
    assert same(before[0], computed(f, [])[0])


def test_functions_that_differ_in_names_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each is factored over its own data; one that differs in more is asked about itself."""
    from rfactor.matcher import recognize

    both = [update(lambda f, a: f * a + 3, data) for data in (DATA, DATA[::-1].copy())]
    before = [expected(f, [])[0] for f, _ in both]
    asked, answer = [], recognize._first_answer

    def noted(one: Update, *rest: Any) -> Answer:
        asked.append(one)
        return answer(one, *rest)

    monkeypatch.setattr(recognize, "_first_answer", noted)
    recognize.forget()
    answers = [f.update(0).rfactor(r.y, u).answer for f, r in both]
    assert len(asked) == 1
    assert answers[0].lift.data != answers[1].lift.data
    assert [computed(f, [])[0] for f, _ in both] == before
    assert before[0] != before[1]
    f, r = update(lambda f, a: f * a + 4)
    f.update(0).rfactor(r.y, u)
    assert len(asked) == 2


def test_what_cannot_be_lifted_is_refused() -> None:
    f, r = update(lambda f, a: f * f + a)
    with pytest.raises(FactorError, match=r"rfactor of f\.update\(0\) over r\.y: .* is not associative"):
        f.update(0).rfactor(r.y, u)


def test_what_remainders_of_data_may_be_is_seen() -> None:
    a = hl.Buffer(np.arange(-20, 22, dtype=np.int32).reshape(6, 7))
    steps: list[Callable[[Any, Any], Any]] = [
        lambda f, d: hl.select(d % 8 < 8, f + d, f * f),
        lambda f, d: f << (d % 3 + 1),
    ]
    for step in steps:
        f, r = hl.Func("f"), hl.RDom([(0, 7), (0, 6)], "r")
        f[()] = 12345
        f[()] = step(f[()], a[r.x, r.y])
        before = expected(f, [])
        f.update(0).rfactor(r.y, u).compute_root()
        assert same(before[0], computed(f, [])[0])


def test_remainders_of_data_that_may_be_anything_prove_nothing() -> None:
    a = hl.Buffer(np.arange(42, dtype=np.int32).reshape(6, 7))
    f, r = hl.Func("f"), hl.RDom([(0, 7), (0, 6)], "r")
    f[()] = 12345
    f[()] = hl.select(a[r.x, r.y] % 8 < 7, f[()] + 1, f[()] * f[()])
    with pytest.raises(FactorError, match="was not proved to be associative"):
        f.update(0).rfactor(r.y, u)
