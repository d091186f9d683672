"""Claims read bit by bit agree with all values of two small variables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Var, apply, cast, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F32, I8, I16, I64, U8, U16, Type
from rfactor.prover.bit_polynomials import equal_as_bits


@st.composite
def words(draw: st.DrawFn, type_: Type, depth: int = 3) -> Expr:
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        if draw(st.booleans()):
            return Var(type_, draw(st.sampled_from("ab")))
        return Const(type_, draw(st.integers(0, 127)))
    kind = draw(st.sampled_from(["^", "^", "&", "|", "~", "<<", ">>", "bit", "mask", "select", "wide"]))
    one, other = draw(words(type_, depth - 1)), draw(words(type_, depth - 1))
    amount = Const(type_, draw(st.integers(0, 9)))
    unit = Const(type_, 1)
    if kind == "~":
        return apply("~", one)
    if kind in ("<<", ">>"):
        return apply(kind, one, amount)
    if kind == "bit":
        return apply("*", apply("&", apply(">>", one, amount), unit), other)
    if kind == "mask":
        return apply("&", apply("neg", apply("&", one, unit)), other)
    if kind == "select":
        tests = [
            apply("!=", apply("&", one, Const(type_, 4)), Const(type_, 0)),
            apply("==", apply("&", one, Const(type_, 5)), Const(type_, 4)),
            apply("<", one, Const(type_, 0)),
            apply("not", apply("==", apply("&", other, unit), unit)),
        ]
        return select(draw(st.sampled_from(tests)), one, other)
    if kind == "wide":
        return cast(
            type_,
            apply("<<", cast(I16 if type_.code == "int" else U16, one), Const(I16 if type_.code == "int" else U16, 3)),
        )
    return apply(kind, one, other)


def everywhere(expr: Expr) -> np.ndarray:
    every = np.arange(256, dtype=np.uint8)
    a, b = (part.ravel().view(f"{expr.type.code[0]}1") for part in np.meshgrid(every, every))
    return np.broadcast_to(evaluate(expr, {"a": a, "b": b}, Meaning.WRAP), a.shape)


@pytest.mark.parametrize("type_", [U8, I8])
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_equality_of_bits_is_equality_of_values(type_: Type, data: st.DataObject) -> None:
    one, other = data.draw(words(type_)), data.draw(words(type_))
    for left, right in ((one, other), (one, apply("^", one, apply("&", other, Const(type_, 16))))):
        found = equal_as_bits([left], [right])
        if found is not None:
            assert found == bool((everywhere(left) == everywhere(right)).all()), (left, right)


def test_a_checksum_step_in_three_spellings() -> None:
    kinds = {"x": U8}
    texts = [
        "select((x & 1) != 0, (x >> 1) ^ 237, x >> 1)",
        "(x >> 1) ^ (-(x & 1) & 237)",
        "(x >> 1) ^ ((x & 1) * 237)",
    ]
    forms = [parse_expr(text, kinds, U8) for text in texts]
    assert equal_as_bits(forms[:2], forms[1:])
    assert equal_as_bits([forms[0]], [parse_expr("(x >> 1) ^ ((x & 1) * 236)", kinds, U8)]) is False


def test_what_it_does_not_read_it_leaves_open() -> None:
    kinds = {"x": U8, "y": U8}
    for text in ("x + y", "x * y", "min(x, y)", "x << y"):
        expr = parse_expr(text, kinds, U8)
        assert equal_as_bits([expr], [expr]) is None
    condition = parse_expr("x == y", kinds, BOOL)
    assert equal_as_bits([condition], [condition]) in (True, None)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("(x & 1)*y ^ z", "z ^ select((x & 1) == 1, y, 0)", True),
        ("(x & 1)*(y ^ z)", "(x & 1)*y ^ (x & 1)*z", True),
        ("(x & 1)*x", "x & 1", False),
        ("select((y & 1) == 1, y, 0)", "y & 1", False),
        ("y ^ 2", "y", False),
        ("y & 1", "y", False),
        ("(x & 1)*y", "(x & 1)*(y & 127)", False),
        ("y ^ (y << 1)", "y", False),
        ("~y & y", "0", True),
    ],
)
def test_one_place_shows_all_only_where_places_are_alike(left: str, right: str, same: bool) -> None:
    types = dict.fromkeys("xyz", U8)
    one, other = (parse_expr(text, types, U8) for text in (left, right))
    assert equal_as_bits((one,), (other,)) is same


@pytest.mark.parametrize("text", ["i64(f) >> 40", "i64(f) & (255 << 32)", "x ^ (i64(f) >> 40)"])
def test_a_number_of_a_float_has_no_bits_that_are_known(text: str) -> None:
    """Neither beyond the float's width: i64(2.0**42) >> 40 is 4."""
    kinds = {"f": F32, "x": I64}
    right = parse_expr("x" if "x" in text else "0", kinds, I64)
    assert equal_as_bits([parse_expr(text, kinds, I64)], [right]) is None
