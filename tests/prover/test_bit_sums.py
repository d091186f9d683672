"""Bitwise operations as sums: what is equal bit by bit has one normal form, and nothing else is said to be equal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Var, apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import I16, U8, U64, Type
from rfactor.prover.bit_sums import combined
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.limits import Limits
from rfactor.prover.polynomial import Key

NAMES = ("x", "y", "z")


def word(atom: int) -> frozenset[Key]:
    """A conjunction of one word, which is an atom."""
    return frozenset([frozenset([(((atom, 1),), 1)])])


def method(left: str, right: str, type_: Type, meaning: Meaning = Meaning.WRAP) -> str | None:
    types = dict.fromkeys(NAMES, type_)
    sides = [(parse_expr(side, types, type_),) for side in (left, right)]
    return prove_by_cases(sides[0], sides[1], meaning, (), Limits(cases=0))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(x | y) + (x & y)", "x + y"),
        ("(x ^ y) + 2*(x & y)", "y + x"),
        ("(x | y) | z", "y | (z | x)"),
        ("(x ^ y) ^ z", "x ^ (z ^ y)"),
        ("x & (y | z)", "(x & y) | (z & x)"),
        ("~(x & ~y)", "~x | y"),
        ("(x | (x & y)) ^ x", "0"),
        ("(x*y | z) - (z & y*x)", "z ^ x*y"),
        ("~x ^ ~y", "y ^ x"),
        ("~x + x", "-1"),
    ],
)
@pytest.mark.parametrize("type_", [I16, U64])
def test_what_is_equal_bit_by_bit_has_one_form(left: str, right: str, type_: Type) -> None:
    right = right if right != "-1" else "0 - 1"
    assert method(left, right, type_) == "normal_form"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("(x | y) + (x & y)", "x + y + 1"),
        ("(x ^ y) + (x & y)", "x + y"),
        ("x & (y + z)", "(x & y) + (x & z)"),
        ("x | (y ^ z)", "(x | y) ^ (x | z)"),
        ("~x", "-x"),
    ],
)
def test_what_differs_is_not_said_to_be_equal(left: str, right: str) -> None:
    assert method(left, right, I16) is None


def test_unbounded_integers_are_left_alone() -> None:
    assert method("(x | y) + (x & y)", "x + y", U8, Meaning.MATH) is None


def test_long_sums_are_given_up() -> None:
    long = {word(atom): 1 for atom in range(40)}
    assert combined("&", long, long) is None
    assert combined("|", {word(0): 1}, {word(1): 1}) == {word(0): 1, word(1): 1, word(0) | word(1): -1}


def words() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([*(Var(U8, name) for name in NAMES), Const(U8, 0), Const(U8, 255), Const(U8, 90)])

    def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        two = st.builds(apply, st.sampled_from(["&", "|", "^", "+", "-"]), inner, inner)
        return two | st.builds(lambda e: apply("~", e), inner)

    return st.recursive(leaves, larger, max_leaves=8)


POINTS = {
    name: np.array(column, dtype=np.uint8)
    for name, column in zip(
        NAMES, zip(*itertools.product([0, 1, 2, 3, 90, 127, 128, 165, 254, 255], repeat=3), strict=True), strict=True
    )
}


@settings(max_examples=60, deadline=None)
@given(words(), words())
def test_one_form_means_one_function(left: Expr, right: Expr) -> None:
    sums = apply("+", left, right), apply("+", apply("|", left, right), apply("&", left, right))
    for one, other in ((left, right), sums):
        if prove_by_cases((one,), (other,), Meaning.WRAP, (), Limits(cases=0)) is not None:
            values = [np.broadcast_to(evaluate(e, POINTS, Meaning.WRAP), (1000,)) for e in (one, other)]
            assert (values[0] == values[1]).all()
