"""Extrema of products are told apart by the signs of their factors, and only what is equal is called equal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F64, I8, I32
from rfactor.prover.signs import equal_by_signs

NAMES = ("a", "b", "c", "d")
TYPES = dict.fromkeys(NAMES, F64) | {"f": BOOL}


def holds(claim: str, *assumed: str) -> bool:
    exprs = [parse_expr(t, TYPES, BOOL) for t in (claim, *assumed)]
    return equal_by_signs((exprs[0],), (parse_expr("True", TYPES, BOOL),), Meaning.WRAP, tuple(exprs[1:]))


def equal(left: str, right: str, *assumed: str, meaning: Meaning = Meaning.WRAP) -> bool:
    sides = [(parse_expr(text, TYPES, F64),) for text in (left, right)]
    return equal_by_signs(sides[0], sides[1], meaning, tuple(parse_expr(t, TYPES, BOOL) for t in assumed))


@pytest.mark.parametrize(
    ("left", "right", "assumed"),
    [
        ("max(a, b) * c", "select(0.0 <= c, max(a*c, b*c), min(a*c, b*c))", ()),
        ("max(a, b) * c", "select(c < 0.0, min(a*c, b*c), max(a*c, b*c))", ()),
        ("max(a*c, b*c)", "select(c >= 0.0, b*c, a*c)", ("a <= b",)),
        ("max(max(a, b)*c, min(a, b)*c)", "max(a*c, b*c)", ()),
        ("select(f, max(a, b)*c, d)", "select(not f, d, c*max(b, a))", ()),
        ("max(a, max(b*c, b*d)) * c * d", "max(a, max(b*d, b*c)) * (d * c)", ()),
        ("max(a, b)*c + d", "select(c >= 0.0, max(a*c + d, d + b*c), min(a*c, b*c) + d)", ()),
        ("max(a + c*d, b + c*d)", "c*d - min(-a, -b)", ()),
        ("max(a - b*c, 2.0)", "2.0 - min(b*c - a + 2.0, 0.0)", ()),
        ("max(b*c + d, a*c + d - 1.0)", "select(c < 0.0, max(b*c + d, a*c + d - 1.0), b*c + d)", ("a <= b",)),
        ("select(f, d, max(b*c, a*c))", "select(f, d, select(c < 0.0, a*c, b*c))", ("f or a <= b",)),
    ],
)
def test_equal_ones(left: str, right: str, assumed: tuple[str, ...]) -> None:
    assert equal(left, right, *assumed)


@pytest.mark.parametrize(
    ("left", "right", "assumed"),
    [
        ("max(a, b) * c", "max(a*c, b*c)", ()),
        ("max(a*c, b*c)", "select(c >= 0.0, b*c, a*c)", ()),
        ("max(a*c, b*c)", "select(c >= 0.0, b*c, a*c)", ("b <= a",)),
        ("max(a*c, b*c)", "select(c >= 0.0, a*c, b*c)", ("a <= b",)),
        ("max(a*a, b)", "max(a, b)", ()),
        ("max(a, b) * min(a, b)", "max(a*b, a*b) * c", ()),
        ("max(a, b) + c", "max(a + c, b + c)", ()),  # no product: there are other proofs
        ("max(a, b)*c + d", "max(a*c + d, b*c + d)", ()),
        ("max(b*c + d, a*c + d + 1.0)", "select(c < 0.0, max(b*c + d, a*c + d + 1.0), b*c + d)", ("a <= b",)),
        ("max(b*c + d, a*c + d)", "select(c < 0.0, max(b*c + d, a*c + d), b*c + d)", ("a <= d",)),
        ("max(b*c + d, a*c + d)", "select(c < 0.0, max(b*c + d, a*c + d), b*c + d)", ("f or a <= b",)),
        ("max(b*c, a*c)", "select(c < 0.0, b*c, a*c)", ("a <= b",)),
        ("max(a, b) * (c + d)", "max(a*c + a*d, b*c + b*d)", ()),
        ("max(a, b) * -2.0 + c*d", "max(a*-2.0, b*-2.0) + c*d", ()),
    ],
)
def test_others(left: str, right: str, assumed: tuple[str, ...]) -> None:
    assert not equal(left, right, *assumed)


def test_comparisons() -> None:
    assert holds("select(c >= 0.0, a*c, b*c) <= select(c >= 0.0, b*c, a*c)", "a <= b")
    assert holds("f or (min(a*c, b*c) <= a*c and max(a, b*c) >= a)")
    assert holds("max(min(select(c < 0.0, b, a)*c, 1.0), d) <= max(min(select(c < 0.0, a, b)*c, 1.0), d)", "a <= b")
    assert not holds("select(c >= 0.0, a*c, b*c) <= select(c >= 0.0, b*c, a*c)")
    assert not holds("select(c >= 0.0, a*c, b*c) >= select(c >= 0.0, b*c, a*c)", "a <= b")
    assert not holds("a*c <= b*c", "a <= b")
    assert not holds("f and min(a*c, b*c) <= a*c")
    assert not holds("min(a*c, b*c) <= a*c and max(a, b*c) <= a")
    assert not holds("not min(a*c, b*c) <= a*c")
    assert not holds("a*c < a*c + 1.0")  # strict ones are not read


def test_products_that_wrap_have_no_signs() -> None:
    types = dict.fromkeys(NAMES, I32)
    left, right = (parse_expr(t, types, I32) for t in ("max(a, b)*c", "select(c >= 0, max(a*c, b*c), min(a*c, b*c))"))
    assert equal_by_signs((left,), (right,), Meaning.MATH, ())
    assert not equal_by_signs((left,), (right,), Meaning.WRAP, ())


LEAVES = st.sampled_from(NAMES)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(("min", "max")), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(LEAVES, inner).map(lambda t: f"({t[0]} * {t[1]})"),
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"({t} * -2.0 + 1.0)"),
        st.tuples(LEAVES, inner, inner).map(lambda t: f"select({t[0]} >= 0.0, {t[1]}, {t[2]})"),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(TREES, TREES, st.lists(st.fractions(-3, 3, max_denominator=4), min_size=4, max_size=4))
def test_a_yes_holds_everywhere(left: str, right: str, point: list[Fraction]) -> None:
    holds = {"a <= b": point[0] <= point[1], "b <= a": point[1] <= point[0]}
    for one, other, assumed in (
        (left, right, ()),
        (f"max({left}, {right})", right, ()),
        (f"max({left}, {right}) - {right}", f"max({left} - {right}, 0.0)", ()),
        (f"({left}) * c", f"({right}) * c", ("a <= b",)),
        (f"max({left}*c, {left.replace('a', 'b')}*c)", f"{left}*c", ("b <= a",)),
    ):
        if equal(one, other, *assumed) and all(holds[claim] for claim in assumed):
            env = {name: float(value) for name, value in zip(NAMES, point, strict=True)}
            values = [evaluate_scalar(parse_expr(t, TYPES, F64), env, Meaning.WRAP) for t in (one, other)]
            assert abs(values[0] - values[1]) <= 1e-9 * (1 + abs(values[0]))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("min(a, 127)*b", "a*b"),
        ("select(a > 127, 0, a)*b", "a*b"),
        ("(a*16*16 + c)*b", "c*b"),
        ("max(a - b, -128)*c", "(a - b)*c"),
    ],
)
def test_ends_of_types_are_no_bounds_of_unbounded_integers(left: str, right: str) -> None:
    types = dict.fromkeys(NAMES, I8)
    one, other = ((parse_expr(text, types, I8),) for text in (left, right))
    assert not equal_by_signs(one, other, Meaning.MATH, ())
