"""What an operator assumes of data is seen to hold where it does, of any data; else it is refused as before."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import FactorError
from rfactor.matcher.check import check

DATA = np.random.default_rng(0).standard_normal(1000).astype(np.float32)


def added(term: str, *, factored: bool) -> float:
    """log(sum of the term of all data and 1), by slices or not."""
    b, r, f = hl.Buffer(DATA, "terms"), hl.RDom([(0, len(DATA))]), hl.Func("f")
    value = {"exp": lambda v: hl.exp(v), "square": lambda v: v * v + 1.0, "plain": lambda v: v}[term](b[r.x])
    f[()] = hl.f32(0)
    f[()] = hl.log(hl.exp(f[()]) + value)
    if factored:
        ro, ri, u = hl.RVar("ro"), hl.RVar("ri"), hl.Var("u")
        f.update(0).split(r.x, ro, ri, 100)
        f.update(0).rfactor([(ro, u)]).compute_root()
    return float(np.asarray(f.realize([]))[()])


@pytest.mark.parametrize(("term", "of"), [("exp", np.exp), ("square", lambda v: v * v + 1)])
def test_terms_that_are_above_zero_are_factored(term: str, of: object) -> None:
    assert callable(of)
    wanted = math.log(1 + of(DATA.astype(np.float64)).sum())
    assert added(term, factored=False) == pytest.approx(wanted, rel=1e-5)
    assert added(term, factored=True) == pytest.approx(wanted, rel=1e-5)


def test_terms_that_may_be_below_zero_are_not() -> None:
    with pytest.raises(FactorError, match=r"is associative only if terms > 0\.0"):
        added("plain", factored=True)


def test_the_checker_assumes_nothing_that_always_holds() -> None:
    assert check("log(exp(x) + exp(a))", "f32").assumes == ()
    assert check("log(exp(x) + a)", "f32").assumes != ()


def test_nor_where_the_operator_is_not_in_the_table() -> None:
    answer = check("x0 + exp(s), (x1*x0 + v*exp(s))/(x0 + exp(s))", "f32")
    assert (answer.verdict, answer.source, answer.assumes) == ("associative", "synthesis", ())
    assert check("x0 + w, (x1*x0 + v*w)/(x0 + w)", "f32").assumes != ()
