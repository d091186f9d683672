"""Functions that are written with operations and other functions, by name: they are no nodes of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rfactor.ir.expr import Call, Const, Expr, apply, const, select


@dataclass(frozen=True, slots=True)
class Composed:
    """A function of `arity` arguments of one type, floats or integers, with a result of that type."""

    arity: int
    takes: Literal["floats", "integers"]
    build: Callable[..., Expr]


def _saturating_add(a: Expr, b: Expr) -> Expr:
    """`a + b`, held within the range of their type."""
    total = apply("+", a, b)
    if a.type.code == "uint":
        return select(apply("<", total, a), Const(a.type, int(a.type.max)), total)
    return _unless_over(apply("&", apply("^", a, total), apply("^", b, total)), a, total)


def _saturating_sub(a: Expr, b: Expr) -> Expr:
    """`a - b`, held within the range of their type."""
    rest = apply("-", a, b)
    if a.type.code == "uint":
        return select(apply("<", a, b), Const(a.type, 0), rest)
    return _unless_over(apply("&", apply("^", a, b), apply("^", a, rest)), a, rest)


def _unless_over(over: Expr, first: Expr, result: Expr) -> Expr:
    """`result`, or where `over` is negative the end of the type that it went over: the one of `first`'s sign."""
    none, least, most = (Const(first.type, value) for value in (0, int(first.type.min), int(first.type.max)))
    return select(apply("<", over, none), select(apply("<", first, none), least, most), result)


def _halving_add(a: Expr, b: Expr) -> Expr:
    """`(a + b) / 2` rounded down, without overflow."""
    return apply("+", apply("&", a, b), _half(apply("^", a, b)))


def _rounding_halving_add(a: Expr, b: Expr) -> Expr:
    """`(a + b + 1) / 2` rounded down, without overflow."""
    return apply("-", apply("|", a, b), _half(apply("^", a, b)))


def _halving_sub(a: Expr, b: Expr) -> Expr:
    """`(a - b) / 2` rounded down, without overflow on the way; of unsigned values it wraps where a < b."""
    borrowed = apply("&", apply("&", apply("~", a), b), Const(a.type, 1))
    return apply("-", apply("-", _half(a), _half(b)), borrowed)


def _half(value: Expr) -> Expr:
    return apply(">>", value, Const(value.type, 1))


def _hypot(a: Expr, b: Expr) -> Expr:
    return Call(a.type, "sqrt", (apply("+", apply("*", a, a), apply("*", b, b)),))


COMPOSED = {
    "exp2": Composed(1, "floats", lambda v: Call(v.type, "pow", (const(v.type, 2), v))),
    "expm1": Composed(1, "floats", lambda v: apply("-", Call(v.type, "exp", (v,)), const(v.type, 1))),
    "log1p": Composed(1, "floats", lambda v: Call(v.type, "log", (apply("+", const(v.type, 1), v),))),
    "log2": Composed(
        1, "floats", lambda v: apply("/", Call(v.type, "log", (v,)), Call(v.type, "log", (const(v.type, 2),)))
    ),
    "hypot": Composed(2, "floats", _hypot),
    "saturating_add": Composed(2, "integers", _saturating_add),
    "saturating_sub": Composed(2, "integers", _saturating_sub),
    "halving_add": Composed(2, "integers", _halving_add),
    "rounding_halving_add": Composed(2, "integers", _rounding_halving_add),
    "halving_sub": Composed(2, "integers", _halving_sub),
}
