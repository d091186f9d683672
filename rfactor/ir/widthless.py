"""Expressions that are written alike at every width of an integer."""

from __future__ import annotations

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Const, Expr, Op, Var, apply, select
from rfactor.ir.types import I64, Type


def twin(type_: Type) -> Type:
    """The type among whose expressions canonical form is made: i64 for every integer type."""
    return I64 if type_.is_int else type_


def canonical_at(expr: Expr, type_: Type) -> Expr:
    """The canonical form of an expression of the twin type, with variables of `type_`."""
    found = canonical(expr)
    return retyped(found, type_) if type_.is_int else found


def retyped(expr: Expr, type_: Type) -> Expr:
    """A tree of i64 with every variable of another integer type; for unsigned ones, signs stand before products."""
    if isinstance(expr, Var):
        return Var(type_, expr.name)
    if isinstance(expr, Const):
        if expr.type.is_bool:
            return expr
        value = int(expr.value)
        if value < 0 and type_.code == "uint":
            return apply("neg", Const(type_, -value))
        return Const(type_, value)
    assert isinstance(expr, Op)
    if expr.op == "*" and type_.code == "uint" and isinstance(expr.args[1], Const) and int(expr.args[1].value) < 0:
        return apply("neg", apply("*", retyped(expr.args[0], type_), Const(type_, -int(expr.args[1].value))))
    args = tuple(retyped(arg, type_) for arg in expr.args)
    return select(*args) if expr.op == "select" else apply(expr.op, *args)
