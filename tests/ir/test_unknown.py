"""Functions of which only the types are known: read, typed, printed, sampled, and proved about."""

from __future__ import annotations

import numpy as np
import pytest

from rfactor.errors import ParseError
from rfactor.ir.evaluate import evaluate
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.printer import show, show_tuple
from rfactor.ir.types import BOOL, F32, I32, U8
from rfactor.ir.unknown import Signature, parse_signature, signatures
from rfactor.prover.equality import prove_equal
from rfactor.prover.verdict import Proven, Refuted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select(h(a) > h(x), a, x)", "i32 -> i32"),
        ("select(h(a), a, x)", "i32 -> bool"),
        ("x + i32(h(u8(3)))", "u8 -> u8"),
        ("x + h(u8(a), a)", "u8, i32 -> i32"),
    ],
)
def test_types_are_inferred_from_all_calls(text: str, expected: str) -> None:
    update = parse_update(text)
    assert str(signatures(update.components)["h"]) == expected
    again = parse_update(show_tuple(update.components), I32, {"a": I32})
    assert again == update


def test_declared_types_are_kept_and_others_refused() -> None:
    declared = {"h": parse_signature("i32, u8 -> f32")}
    assert declared["h"] == Signature((I32, U8), F32)
    update = parse_update("select(h(a, b) > 0.5, a, x)", functions=declared)
    assert {var.name: var.type for var in update.data} == {"a": I32, "b": U8}
    for text, message in (
        ("i32(x) + h(a, b)", "do not mix"),
        ("select(h(a) > 0.5, a, x)", "h takes 2 arguments, 1 given"),
    ):
        with pytest.raises(ParseError, match=message):
            parse_update(text, functions=declared)
    for text in ("i32", "-> i32", "i32 -> i33", "i32 -> i32, i32"):
        with pytest.raises(ValueError, match="type"):
            parse_signature(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maxx(x, a)", "unknown function 'maxx'; is max meant"),
        ("gcd(x, a)", "unknown function 'gcd'; functions are"),
        ("sum(x, a)", "unknown function 'sum'; functions are"),
        ("reinterpret_f32(x)", "unknown function 'reinterpret_f32'; functions are"),
        ("x + i32(popcount(f32(a)))", "popcount takes integers, not f32"),
        ("log1p(i32(x))", "log1p takes floats, not i32"),
        ("absd(x, a)", "unknown function 'absd'; functions are"),
        ("select(h(a) > 0.5, a, x)", "0.5 is a float where i32 is needed"),
        ("h()", "h has no arguments"),
        ("h(x) + h(x, a)", "h takes 1 argument, 2 given"),
        ("x + h(i32(a)) + h(u8(b))", "do not mix"),
    ],
)
def test_functions_with_a_meaning_are_not_any_function(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_update(text)


@pytest.mark.parametrize("type_", [BOOL, U8, I32, F32])
@pytest.mark.parametrize("meaning", list(Meaning))
def test_samples_are_of_the_type_with_ties_and_agree_between_calls(type_: object, meaning: Meaning) -> None:
    expr = parse_expr("h(x)", {"x": I32}, functions={"h": parse_signature(f"i32 -> {type_}")})
    kind = object if meaning is Meaning.MATH else np.int32
    values = np.array([1, 2, 1, *range(100)], dtype=kind)
    for floats in ("ieee", "real"):
        result = evaluate(expr, {"x": values}, meaning, floats).tolist()
        assert result[0] == result[2] == result[4]
        assert 1 < len(set(result)) < 20
        assert type_ != U8 or meaning is Meaning.MATH or set(result) <= set(range(256))


def test_equal_arguments_give_equal_values_and_no_others_do() -> None:
    names = {"x": I32, "y": I32, "a": I32}
    h_sum, h_mus, h_x = (parse_expr(text, names, I32) for text in ("h(x + y)", "h(y + x)", "h(x)"))
    assert isinstance(prove_equal((h_sum,), (h_mus,)), Proven)
    assert isinstance(prove_equal((h_sum,), (h_x,)), Refuted)
    same = parse_expr("x == y", names, BOOL)
    assert isinstance(prove_equal((h_x,), (parse_expr("h(y)", names, I32),), assumptions=(same,)), Proven)
    assert isinstance(prove_equal((h_x,), (parse_expr("g(x)", names, I32),)), Refuted)
    assert show(h_sum) == "h(x + y)"
