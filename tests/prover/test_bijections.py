"""One-to-one maps of a type onto itself: which they are, what undoes them, and what they leave of a claim."""

from __future__ import annotations

import itertools

import pytest

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import Type, parse_type
from rfactor.prover.bijections import cancelled, inverse, mapped, without_bijections
from rfactor.prover.equality import prove_equal
from rfactor.prover.verdict import Proven, Refuted

I8, U8, F64, BOOL = map(parse_type, ("i8", "u8", "f64", "bool"))
MAPS = ("-x", "~x", "x + 5", "x - 5", "5 - x", "5 + x", "x ^ 5")


@pytest.mark.parametrize(("text", "type_"), list(itertools.product(MAPS, (I8, U8))))
def test_a_map_takes_every_value_once_and_its_inverse_undoes_it(text: str, type_: Type) -> None:
    expr = parse_expr(text, {"x": type_})
    operand = mapped(expr, Meaning.WRAP)
    assert operand == Var(type_, "x")
    back = inverse(expr, operand)
    assert back is not None
    every = range(int(type_.min), int(type_.max) + 1)
    images = [evaluate_scalar(expr, {"x": v}) for v in every]
    assert sorted(images) == list(every)
    assert [evaluate_scalar(back, {"x": v}) for v in images] == list(every)


@pytest.mark.parametrize("text", ["abs(x)", "x*3", "x + y", "x & 5", "x << 1", "max(x, 5)", "select(c, x, 5)", "x - x"])
def test_what_may_take_a_value_twice_is_no_map(text: str) -> None:
    assert mapped(parse_expr(text, {"x": I8, "y": I8, "c": BOOL}), Meaning.WRAP) is None


def test_unsigned_numbers_that_are_unbounded_have_no_negatives() -> None:
    for text in MAPS:
        assert mapped(parse_expr(text, {"x": U8}), Meaning.MATH) is None
    assert mapped(parse_expr("x*0.0", {"x": F64}), Meaning.WRAP) is None
    assert mapped(parse_expr("x + inf", {"x": F64}), Meaning.WRAP) is None


def test_a_map_after_its_inverse_is_nothing() -> None:
    for text in ("~~x", "-(-x)", "x + 5 - 5", "5 - (5 - x)", "x ^ 5 ^ 5"):
        assert cancelled(parse_expr(text, {"x": I8}), Meaning.WRAP) == Var(I8, "x")
    assert cancelled(parse_expr("x*2.0*0.5", {"x": F64}), Meaning.WRAP) == Var(F64, "x")
    for text in ("x + 5 - 4", "4 - (5 - x)", "~(-x)"):
        expr = parse_expr(text, {"x": I8})
        assert cancelled(expr, Meaning.WRAP) == expr


def test_a_claim_of_complements_is_one_of_values() -> None:
    types = {"x": I8, "y": I8}
    left, right = (parse_expr(text, types) for text in ("~max(~x, y)", "~max(y, ~x)"))
    plainer = without_bijections([(left, right)], (), Meaning.WRAP)
    assert plainer is not None
    ((one, other),) = plainer[0]
    assert "~" not in f"{one} {other}"
    assert isinstance(prove_equal((left,), (right,)), Proven)


def test_a_variable_that_stands_elsewhere_too_stays() -> None:
    types = {"x": I8, "y": I8}
    left, right = (parse_expr(text, types) for text in ("max(~x, y) + x", "max(y, ~x) + x"))
    assert without_bijections([(left, right)], (), Meaning.WRAP) is None
    assumed = parse_expr("x < 3", types)
    assert without_bijections([(parse_expr("~x", types), parse_expr("y", types))], (assumed,), Meaning.WRAP) is None


def test_maps_that_differ_are_not_taken_off() -> None:
    left, right = (parse_expr(text, {"x": I8}) for text in ("x + 5", "x + 6"))
    assert isinstance(prove_equal((left,), (right,)), Refuted)
