"""Sums held within a narrow type by a wider one are one instruction, and what is none of these is what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast
from rfactor.ir.types import I8, I16, I32, I64, U8, U16, U32, Type
from rfactor.native.evaluator import compile_evaluator
from rfactor.native.narrowing import saturated


def held(narrow: Type, op: str, wide: Type, *ends: tuple[str, int], last: Type | None = None, b: Any = None) -> Expr:
    """`narrow(ends(last(wide(a) op wide(b))))`."""
    right = Var(narrow, "b") if b is None else b
    value: Expr = apply(op, cast(wide, Var(narrow, "a")), cast(wide, right) if b is None else b)
    value = value if last is None else cast(last, value)
    for end, number in ends:
        value = apply(end, value, Const(value.type, number))
    return cast(narrow, value)


FULL = (("min", 127), ("max", -128))
FOUND: dict[str, tuple[Expr, str]] = {
    "u8 sum": (held(U8, "+", U16, ("min", 255)), "uadd.sat"),
    "u8 sum of i32": (held(U8, "+", U16, ("min", 255), last=I32), "uadd.sat"),
    "u8 sum, both ends": (held(U8, "+", I16, ("max", 0), ("min", 255)), "uadd.sat"),
    "u8 difference": (held(U8, "-", I16, ("max", 0)), "usub.sat"),
    "u8 difference, both ends": (held(U8, "-", I32, ("min", 255), ("max", 0)), "usub.sat"),
    "u8 and a number": (held(U8, "+", U16, ("min", 255), b=Const(U16, 77)), "uadd.sat"),
    "i8 sum": (held(I8, "+", I16, *FULL), "sadd.sat"),
    "i8 difference": (held(I8, "-", I64, *FULL[::-1]), "ssub.sat"),
    "u16 sum": (held(U16, "+", U32, ("min", 65535)), "uadd.sat"),
    "u32 difference": (held(U32, "-", I64, ("max", 0)), "usub.sat"),
}
OTHERS: dict[str, Expr] = {
    "it wraps before": held(U8, "-", U16, ("min", 255)),
    "another end": held(U8, "+", U16, ("min", 254)),
    "an end that the type does not hold": held(U8, "+", U16, ("min", 300)),
    "an end above the least": held(U8, "+", U16, ("min", 255), ("max", 3)),
    "one end of two": held(I8, "+", I16, ("min", 127)),
    "no end": held(U8, "-", I16, ("min", 255)),
    "a number that is wide": held(U8, "+", U16, ("min", 255), b=Const(U16, 300)),
    "a negative number": held(U8, "+", I16, ("min", 255), ("max", 0), b=Const(I16, -3)),
    "a cast that wraps between": held(U8, "+", U16, ("min", 127), ("max", -128), last=I8),
    "a cast of what is negative": held(U8, "-", I16, ("min", 255), last=U16),
    "a product": held(U8, "*", U16, ("min", 255)),
    "it is as wide": held(U8, "+", U8, ("min", 255)),
}


def arrays(expr: Expr) -> dict[str, Any]:
    """All pairs of values of 8 bits; boundary and random ones of wider types."""
    type_ = expr.type
    if type_.bits == 8:
        values = np.arange(256).astype(dtype_of(type_))
    else:
        low, high = int(type_.min), int(type_.max)
        rng = np.random.default_rng(1)
        near = [*range(low, low + 3), *range(high - 3, high + 1), (low + high) // 2, (low + high) // 2 + 1]
        values = np.concatenate([np.array(near, dtype_of(type_)), rng.integers(low, high, 50, dtype_of(type_))])
    a, b = np.meshgrid(values, values)
    return {"a": a.ravel(), "b": b.ravel()}


def same(expr: Expr) -> bool:
    given = arrays(expr)
    (found,) = compile_evaluator((expr,), (Var(expr.type, "a"), Var(expr.type, "b")))(given)
    return np.array_equal(found, evaluate(expr, given))


@pytest.mark.parametrize("name", FOUND)
def test_a_sum_that_is_held_is_one_instruction_of_the_narrow_type(name: str) -> None:
    expr, instruction = FOUND[name]
    assert isinstance(expr, Op)
    found = saturated(expr)
    assert found is not None
    assert found[0] == instruction
    assert same(expr)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_held_otherwise_is_computed_as_it_is_written(name: str) -> None:
    expr = OTHERS[name]
    assert not isinstance(expr, Op) or saturated(expr) is None
    assert same(expr)
