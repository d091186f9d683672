"""An identity that is computed of constants is one as the machine stores it, or another one is given, or none."""

from __future__ import annotations

import numpy as np
import pytest

import rfactor as hl
from rfactor.matcher.check import check


@pytest.mark.parametrize(
    ("update", "identity"),
    [
        ("select(x < k, a, x)", ["-inf"]),  # k - 1.0 is k where k is 1e30
        ("select(k + k1 < x, a, x)", ["inf"]),
        ("select(x < 1e30, a, x)", ["-inf"]),
        ("select(x != k, a, x)", None),
        ("select(x < 3.0, a, x)", ["2.0"]),
        ("select(x == k, a, x)", ["k"]),
    ],
)
def test_an_operator_that_compares_has_an_identity_that_is_not_rounded_away(
    update: str, identity: list[str] | None
) -> None:
    answer = check(update, type="f32", const=["k", "k1"])
    assert answer.verdict == "associative"
    assert identity == (None if answer.identity is None else [str(part) for part in answer.identity])
    assert (answer.identity_kind == "none") == (identity is None)


@pytest.mark.parametrize("bound", [1e30, 1.0])
def test_the_first_that_passes_a_bound_is_found_by_slices(bound: float) -> None:
    data = np.array([-3.0, 2e30, 5.0, 3e30, -1.0, 2.0, 4e30, 7.0], np.float32)
    values = []
    for factored in (False, True):
        a, r, f = hl.Buffer(data), hl.RDom([(0, 8)]), hl.Func("f")
        f[()] = hl.f32(0.0)
        f[()] = hl.select(f[()] < hl.f32(bound), a[r.x], f[()])
        if factored:
            outer, inner = hl.RVar("outer"), hl.RVar("inner")
            f.update(0).split(r.x, outer, inner, 2).rfactor([(outer, hl.Var("u"))])
        values.append(float(np.array(f.realize())[()]))
    assert values[0] == values[1]
