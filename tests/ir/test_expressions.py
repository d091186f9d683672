"""Expressions are values: immutable, hashable, compared by structure, checked by type."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from rfactor.errors import TypeMismatch
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import (
    Call,
    Const,
    Expr,
    Op,
    Var,
    apply,
    cast,
    const,
    intrinsic,
    leaves,
    replace,
    select,
    substitute,
    variables,
)
from rfactor.ir.loopnest import Broadcast, Load, Ramp
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, F32, I8, I32, U8, parse_type

x, y = Var(I32, "x"), Var(I32, "y")


def test_equality_is_structural_and_hashes_agree():
    assert apply("+", x, y) == apply("+", x, y)
    assert hash(apply("+", x, y)) == hash(apply("+", x, y))
    assert apply("+", x, y) != apply("+", y, x)
    assert Var(I32, "x") != Var(U8, "x")
    assert Const(F32, 0.0) != Const(F32, -0.0)
    assert Const(F32, float("nan")) == Const(F32, float("nan"))


def test_equal_expressions_are_one_object_while_they_are_held(monkeypatch):
    total = apply("+", x, y)
    assert apply("+", x, y) is total
    assert pickle.loads(pickle.dumps(total)) is total
    assert Const(F32, 0.0) is not Const(F32, -0.0)
    assert apply("+", Var(F32, "f"), Const(F32, 0.0)) is not apply("+", Var(F32, "f"), Const(F32, -0.0))
    assert Const(I32, 1) is not Const(BOOL, True)
    assert Const(I32, True).value == 1
    read = Call(I32, "f", (x, y), "func")
    assert Call(I32, "f", (x, y), "func") is read
    assert pickle.loads(pickle.dumps(read)) is read
    others = (
        Call(I8, "f", (x, y), "func"),
        Call(I32, "g", (x, y), "func"),
        Call(I32, "f", (y, x), "func"),
        Call(I32, "f", (x,), "func"),
        Call(I32, "f", (x, y), "image"),
        Call(I32, "f", (x, y), "func", 1),
    )
    assert len({read, *others}) == 7
    monkeypatch.setattr("rfactor.ir.nodes._MOST_HELD", 0)  # all are let go with the next one
    apply("-", x, Const(I32, 1_234_567))
    Call(I32, "of_this_test_alone", (x,), "func")
    again = apply("+", x, y)
    assert again is not total
    assert again == total
    assert Call(I32, "f", (x, y), "func") is not read
    assert Call(I32, "f", (x, y), "func") == read


@pytest.mark.parametrize(
    "made",
    [
        lambda: intrinsic("sqrt", Var(F32, "f")),
        lambda: Call(I32, "g", (x, y), "func", 1),
        lambda: Load(I32, "a", x),
        lambda: Load(I32, "a", x, Var(BOOL, "p")),
        lambda: Ramp(x, Const(I32, 1), 8),
        lambda: Broadcast(x, 8),
    ],
)
def test_what_calls_and_reads_is_one_object_too(monkeypatch: pytest.MonkeyPatch, made: Callable[[], Expr]) -> None:
    one = made()
    assert made() is one
    assert pickle.loads(pickle.dumps(one)) is one
    monkeypatch.setattr("rfactor.ir.nodes._MOST_HELD", 0)
    different = replace(one, {x: y, Var(F32, "f"): Var(F32, "g")})
    again = made()
    assert again is not one
    assert again == one != different
    assert hash(again) == hash(one)


def test_expressions_cannot_be_changed_and_survive_pickling():
    total = apply("+", x, y)
    with pytest.raises(AttributeError):
        total.op = "-"
    assert pickle.loads(pickle.dumps(total)) == total


@pytest.mark.parametrize(
    ("op", "operands", "says"),
    [
        ("+", (x, Var(U8, "z")), "mixed types need a cast"),
        ("/", (x, y), "write // for integers"),
        ("//", (Var(F32, "f"), Var(F32, "g")), "write / for floats"),
        ("and", (x, y), "takes bool operands"),
        ("&", (Var(F32, "f"), Var(F32, "g")), "integers or bool"),
        ("+", (Var(BOOL, "b"), Var(BOOL, "c")), "cast to an integer"),
        ("neg", (x, y), "takes 1 operands"),
    ],
)
def test_ill_typed_operations_are_refused(op, operands, says):
    with pytest.raises(TypeMismatch, match=says):
        apply(op, *operands)


def test_constants_fit_their_type_and_floats_are_rounded_to_it():
    with pytest.raises(TypeMismatch, match="300 does not fit u8"):
        Const(U8, 300)
    assert const(F32, 0.1).value == 0.10000000149011612
    with pytest.raises(ValueError, match="types are bool u8"):
        parse_type("i7")


def test_comparisons_give_bool_and_casts_to_the_same_type_vanish():
    assert apply("<", x, y).type == BOOL
    assert cast(I32, x) is x
    assert cast(I8, x).type == I8
    with pytest.raises(TypeMismatch, match="condition of select"):
        select(x, x, y)


def test_replacement_is_simultaneous_and_shares_what_does_not_change():
    swapped = substitute(apply("-", x, y), {"x": y, "y": x})
    assert swapped == apply("-", y, x)
    nested = apply("+", apply("*", x, y), y)
    assert replace(nested, {apply("*", x, y): x}) == apply("+", x, y)
    assert substitute(nested, {"z": x}) is nested
    assert leaves(nested) == 3
    assert [v.name for v in variables(nested)] == ["x", "y"]
    assert isinstance(nested, Op)


def test_expressions_may_be_deeper_than_pythons_stack():
    total = x
    for i in range(5000):
        total = apply("+", total, Var(I32, f"a{i}"))
    assert leaves(total) == 5001
    assert len(variables(total)) == 5001
    assert leaves(substitute(total, {"x": apply("*", x, x)})) == 5002
    env = {v.name: np.ones(3, np.int32) for v in variables(total)}
    assert evaluate(total, env).tolist() == [5001] * 3
    least = x
    for i in range(5000):
        least = apply("min", least, Var(I32, f"a{i}"))
    assert leaves(simplify(least)) == 5001


def test_what_is_shared_is_compared_once_though_it_was_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2^200 ways to the variable."""

    def doubled(value: Expr) -> Expr:
        for _ in range(200):
            value = Op(I32, "+", (value, value))
        return value

    one = doubled(Var(I32, "x"))
    monkeypatch.setattr("rfactor.ir.nodes._OPS", {})
    other, different = doubled(Var(I32, "x")), doubled(Var(I32, "y"))
    assert one is not other
    assert one == other
    assert one.children[0] is other.children[0]
    assert one != different
