"""Linear claims about integers of every width at once, as claims about reals.

*Two's complement.* A value v of w bits is the point v / 2^w of the circle of reals modulo 1, cut open at the least
value: [-1/2, 1/2) for signed types, [0, 1) for unsigned ones. Sums, differences, order and equality of values are
those of the points. So a claim made of them alone that holds at all points of the circle holds at every width.
(Products are not: the product of two points is no function of points.)

*Unbounded integers* are reals: a claim made of sums, differences, order and products that holds of all reals, or of all
reals >= 0, holds of the integers.

Either claim goes to the prover as one about floats, which it reads as reals; linear ones are decided in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.expr import Const, Expr, Op, Var, apply, select, variables
from rfactor.ir.types import BOOL, F64, Type

_KEPT = frozenset(("min", "max", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "select"))


_REAL = _KEPT | {"+", "-", "*", "neg"}


class NotLinear(Exception):
    """The expression multiplies variables, or does something else that the circle does not know."""


def on_circle(exprs: Sequence[Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """(images, assumptions): the expressions, of one integer type, over points, and where the variables lie.

    Raises `NotLinear`.
    """
    memo: dict[Expr, Expr] = {}
    images = tuple(_image(e, memo) for e in exprs)
    greatest = memo.get(_GREATEST)
    ranges: list[Expr] = []
    for var in dict.fromkeys(v for e in exprs for v in variables(e)):
        low, high = _cut(var.type)
        point = _image(var, memo)
        ranges += [apply("<=", Const(F64, low), point), apply("<", point, Const(F64, high))]
        if greatest is not None:
            ranges.append(apply("<=", point, greatest))
    if greatest is not None:
        ranges.append(apply("<", greatest, Const(F64, 1.0)))
    return images, tuple(ranges)


_GREATEST = Var(F64, "the greatest value")
"""The end of a type has no point of its own for all widths: any point at or above all the others stands for it."""


def over_reals(exprs: Sequence[Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """(images, assumptions): expressions over unbounded integers, over reals; unsigned variables are >= 0.

    Raises `NotLinear` for an operation that the reals do not share.
    """

    def image(expr: Expr) -> Expr:
        if isinstance(expr, Var):
            return Var(F64, expr.name)
        if isinstance(expr, Const):
            return expr if expr.type in (BOOL, F64) else Const(F64, expr.value)
        if not isinstance(expr, Op) or expr.op not in _REAL:
            raise NotLinear
        args = tuple(map(image, expr.args))
        return select(*args) if expr.op == "select" else apply(expr.op, *args)

    seen = dict.fromkeys(v for e in exprs for v in variables(e))
    natural = [apply("<=", Const(F64, 0.0), Var(F64, v.name)) for v in seen if v.type.code == "uint"]
    return tuple(map(image, exprs)), tuple(natural)


def _cut(type_: Type) -> tuple[float, float]:
    return (-0.5, 0.5) if type_.code == "int" else (0.0, 1.0)


def _image(expr: Expr, memo: dict[Expr, Expr]) -> Expr:
    found = memo.get(expr)
    if found is None:
        found = memo[expr] = _compute(expr, memo)
    return found


def _compute(expr: Expr, memo: dict[Expr, Expr]) -> Expr:
    if isinstance(expr, Var):
        return Var(F64, expr.name)
    if isinstance(expr, Const):
        if expr.type == BOOL:
            return expr
        if expr.value == 0:
            return Const(F64, 0.0)
        if expr.value == expr.type.min:
            return Const(F64, -0.5)
        if expr.value == expr.type.max:
            memo[_GREATEST] = _GREATEST
            return _GREATEST
        raise NotLinear
    if not isinstance(expr, Op):
        raise NotLinear
    if expr.op == "*":
        for number, factor in (expr.args, expr.args[::-1]):
            if isinstance(number, Const) and abs(int(number.value)) <= 64:
                return _multiple(int(number.value), _image(factor, memo), expr.type)
        raise NotLinear
    args = tuple(_image(arg, memo) for arg in expr.args)
    if expr.op == "select":
        return select(*args)
    if expr.op in _KEPT:
        return apply(expr.op, *args)
    if expr.op == "+":
        return _turned(apply("+", *args), expr.type, down=True, up=expr.type.code == "int")
    if expr.op == "-":
        return _turned(apply("-", *args), expr.type, down=expr.type.code == "int", up=True)
    if expr.op == "neg":
        return _turned(apply("-", Const(F64, 0.0), *args), expr.type, down=expr.type.code == "int", up=True)
    raise NotLinear


def _multiple(factor: int, value: Expr, type_: Type) -> Expr:
    result, term = None, value
    if factor < 0:
        term = _turned(apply("-", Const(F64, 0.0), value), type_, down=type_.code == "int", up=True)
    for _ in range(abs(factor)):
        both = None if result is None else apply("+", result, term)
        result = term if both is None else _turned(both, type_, down=True, up=type_.code == "int")
    return Const(F64, 0.0) if result is None else result


def _turned(value: Expr, type_: Type, *, down: bool, up: bool) -> Expr:
    """`value` brought back into the cut by one turn, where a sum (`down`) or a difference (`up`) can leave it."""
    low, high = _cut(type_)
    one = Const(F64, 1.0)
    result = value
    if up:
        result = select(apply("<", value, Const(F64, low)), apply("+", value, one), result)
    if down:
        result = select(apply("<=", Const(F64, high), value), apply("-", value, one), result)
    return result
