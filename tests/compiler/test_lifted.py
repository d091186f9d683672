"""Updates that associate on a richer state: the intermediate reduces that state, the merge applies it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import FactorError
from tests.compiler.pipelines import computed, expected, same

u, v = hl.Var("u"), hl.Var("v")
DATA = np.random.default_rng(1).integers(-9, 9, (8, 40)).astype(np.int32)


def update(step: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    f, r = hl.Func("f"), hl.RDom([(0, 40), (0, 8)], "r")
    f[()] = 3
    f[()] = step(f[()], hl.Buffer(DATA)[r.x, r.y])
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


def test_what_cannot_be_lifted_is_refused() -> None:
    f, r = update(lambda f, a: f * f + a)
    with pytest.raises(FactorError, match=r"rfactor of f\.update\(0\) over r\.y: .* is not associative"):
        f.update(0).rfactor(r.y, u)
