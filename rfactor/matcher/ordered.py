"""An expression in each order that two of its operands may be in: above, equal, below."""

from __future__ import annotations

import operator

from rfactor.ir.expr import Expr, Op, apply, const, replace
from rfactor.ir.types import BOOL
from rfactor.matcher.terms import tidy

_RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def in_each_order(expr: Expr, one: Expr, other: Expr) -> tuple[Expr, Expr, Expr]:
    """What `expr` is where `one` is greater than `other`, where they are equal, and where it is less.

    The operands are of one type, and no NaN. Where they are equal `other` stands for both.
    """

    def where(sign: int) -> Expr:
        greater, less = (one, other) if sign > 0 else (other, one) if sign else (other, other)
        known: dict[Expr, Expr] = {} if sign else {one: other}
        for args, way in (((one, other), sign), ((other, one), -sign)):
            known |= {Op(BOOL, name, args): const(BOOL, holds(way, 0)) for name, holds in _RELATIONS.items()}
            known |= {Op(one.type, "max", args): greater, Op(one.type, "min", args): less}
        return tidy(replace(expr, known))

    return where(1), where(0), where(-1)


def chosen_by_order(expr: Expr, one: Expr, other: Expr) -> Expr:
    """`expr` as a choice by the order of two of its operands."""
    above, equal, below = in_each_order(expr, one, other)
    return _choice(apply(">", one, other), above, _choice(apply("==", one, other), equal, below))


def _choice(condition: Expr, true: Expr, false: Expr) -> Expr:
    return true if true == false else Op(true.type, "select", (condition, true, false))
