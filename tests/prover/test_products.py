"""Laws of products are true of products, and they prove what the solver alone gives up on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate_all
from rfactor.ir.expr import Call, Const, Expr, Var, apply, select, transform
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_tuple
from rfactor.ir.types import BOOL, F32, I8, I32, U8, U32, Type
from rfactor.prover.equality import prove_equal
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.products import without_products
from rfactor.prover.smt import Unsat, solve
from rfactor.prover.verdict import Proven

KINDS = [(I8, Meaning.WRAP), (U8, Meaning.WRAP), (I8, Meaning.MATH), (U8, Meaning.MATH), (F32, Meaning.WRAP)]
POINTS = 200


def values(type_: Type, rng: np.random.Generator, meaning: Meaning) -> np.ndarray:
    """Random values, many of them small or at the ends; rationals for floats, unbounded for `math`."""
    if type_.is_float:
        parts = zip(rng.integers(-12, 13, POINTS).tolist(), rng.integers(1, 6, POINTS).tolist(), strict=True)
        return np.array([Fraction(a, b) for a, b in parts], object)
    low, high = (0, 255) if type_ == U8 else (-128, 127)
    drawn = np.where(rng.random(POINTS) < 0.6, rng.integers(max(low, -4), 5, POINTS), rng.integers(low, high, POINTS))
    return drawn.astype(object) if meaning is Meaning.MATH else drawn.astype(f"{type_.code[0]}1")


@st.composite
def exprs(draw: st.DrawFn, type_: Type, depth: int = 3) -> Expr:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.integers(0, 3)) == 0:
            return Const(type_, draw(st.integers(0, 3)))
        return Var(type_, draw(st.sampled_from("abc")))
    op = draw(st.sampled_from(["+", "-", "*", "*", "*", "min", "max", "select"]))
    one, other = draw(exprs(type_, depth - 1)), draw(exprs(type_, depth - 1))
    if op == "select":
        return select(apply("<", one, other), other, one)
    return apply(op, one, other)


def multiplied(expr: Expr) -> Expr:
    """The opaque products of a condition as products again."""
    return transform(expr, lambda e: apply("*", *e.args) if isinstance(e, Call) else None)


@pytest.mark.parametrize(("type_", "meaning"), KINDS)
@pytest.mark.parametrize("spread", [False, True])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_every_law_is_true_of_products(type_: Type, meaning: Meaning, spread: bool, data: st.DataObject) -> None:
    condition = apply("!=", data.draw(exprs(type_)), data.draw(exprs(type_)))
    found = without_products([condition], meaning, spread=spread)
    if found is None:
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    env = {name: values(type_, rng, meaning) for name in "abc"}

    image, *laws = found
    # Together: laws share products of products, which take long where numbers are rational.
    true, said, *lawful = evaluate_all([condition, *map(multiplied, found)], env, meaning, floats="real")
    assert (np.asarray(said, bool) == np.asarray(true, bool)).all(), image
    for law, holds in zip(laws, lawful, strict=True):
        assert np.asarray(holds, bool).all(), law


OPEN_BEFORE = [
    (U32, "max(min(x0, x0 * min(x0, k) - x0), y0)"),
    (I32, "min(max(x0, max(y0 * k, k) + k), y0)"),
    (I32, "max(max(x0, min(x0 * k, k)), y0)"),
    (U32, "min(x0 * y0, max(x0, min(x0, x0 * k) + y0))"),
]


@pytest.mark.parametrize(("type_", "text"), OPEN_BEFORE)
def test_small_operators_that_multiply_are_proved_within_a_small_limit(type_: Type, text: str) -> None:
    kinds = dict.fromkeys(("x0", "y0", "k"), type_)
    op = Operator(parse_tuple(text, kinds, [type_]), (type_,), Meaning.MATH)
    x, y, z = map(op.operands, "xyz")
    verdict = prove_equal(op(op(x, y), z), op(x, op(y, z)), meaning=Meaning.MATH, limits=Limits(rlimit=1_000_000))
    assert isinstance(verdict, Proven), verdict


def test_what_can_be_is_not_excluded() -> None:
    """Each has a solution that the laws must leave: extremes, wrapped products, fractions."""
    for type_, meaning, text in [
        (I32, Meaning.MATH, "a * b == 6 and a < 3 and 1 < a"),
        (I32, Meaning.WRAP, "a * a < 0"),
        (U32, Meaning.WRAP, "a * b == 0 and 0 < a and 0 < b"),
        (F32, Meaning.WRAP, "0.0 < a * a and a * a < a"),
        (U32, Meaning.MATH, "(a - b) * c < 0"),
    ]:
        condition = parse_expr(text, dict.fromkeys("abc", type_), BOOL)
        for spread in (False, True):
            found = without_products([condition], meaning, spread=spread)
            assert found is not None
            assert not isinstance(solve(found, meaning, Limits()), Unsat), text
