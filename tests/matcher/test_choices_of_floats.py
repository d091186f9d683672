"""An update that only chooses among floats has an operator that does: no number is told that is not in the data."""

from __future__ import annotations

import numpy as np
import pytest

import rfactor as hl
from rfactor.matcher.check import check

_TYPES = {"x0": "f32", "x1": "i32", "a": "f32", "i": "i32"}


@pytest.mark.parametrize(
    ("update", "operator", "identity"),
    [
        (
            "select(abs(x0 - 0.1) < abs(a - 0.1), a, x0)",
            ["select(abs(x0 - 0.1) < abs(y0 - 0.1), y0, x0)"],
            ["0.1"],
        ),
        ("select(abs(a - 0.1) < abs(x0 - 0.1), a, x0)", ["select(abs(y0 - 0.1) < abs(x0 - 0.1), y0, x0)"], None),
        (
            "select(abs(a - 0.1) < abs(x0 - 0.1), a, x0), select(abs(a - 0.1) < abs(x0 - 0.1), i, x1)",
            ["select(abs(y0 - 0.1) < abs(x0 - 0.1), y0, x0)", "select(abs(y0 - 0.1) < abs(x0 - 0.1), y1, x1)"],
            None,
        ),
    ],
)
def test_what_is_chosen_is_not_computed(update: str, operator: list[str], identity: list[str] | None) -> None:
    answer = check(update, types=_TYPES if len(operator) == 2 else {"x0": "f32", "a": "f32"})
    assert answer.operator is not None
    assert [str(e) for e in answer.operator] == operator
    assert (None if answer.identity is None else [str(e) for e in answer.identity]) == identity
    assert answer.rounded is None


def test_the_nearest_number_is_one_of_the_data() -> None:
    data = (np.random.default_rng(3).normal(size=256) / 1000).astype(np.float32)  # less 0.1 they are rounded
    found = []
    for factored in (False, True):
        a, f, r = hl.Buffer(data), hl.Func("f"), hl.RDom([(0, 256)])
        f[()] = hl.f32(1e9)
        f[()] = hl.select(hl.abs(a[r] - hl.f32(0.1)) < hl.abs(f[()] - hl.f32(0.1)), a[r], f[()])
        if factored:
            outer, inner = hl.RVar("outer"), hl.RVar("inner")
            f.update(0).split(r.x, outer, inner, 32)
            f.update(0).rfactor([(outer, hl.Var("u"))])
        found.append(float(f.realize()[()]))
    assert found[0] == found[1]
    assert np.float32(found[1]) in data
