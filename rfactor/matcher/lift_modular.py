"""Liftings of affine steps under a remainder: `(x*31 + a) % 1009`, `(x + a) & 7`, `(2*x + bit) % k`.

Remainders may be left out inside a remainder by the same modulus, if nothing wraps or the modulus is a power of two. A
run of at least one step is then x -> (x*m + v) % modulus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought
from rfactor.matcher.semiring import OFFSET, affine, semirings
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one integer that ends in a remainder by a constant."""
    (type_, *more) = update.types
    component = update.components[0]
    if more or not type_.is_int or not isinstance(component, Op):
        return
    parts = _remainder(component)
    if parts is None or not names(parts[1]) <= update.constants:
        return
    inside, modulus = parts
    plain = replace(update, components=(_without(inside, modulus),))
    rows = affine(plain, next(semirings(type_, update.meaning)))
    if rows is None:
        return
    slope = rows[0].get(0, nought(type_))
    offset = rows[0].get(OFFSET, nought(type_))
    yield Claim(update, lift=_lifting(slope, offset, modulus))


def _remainder(expr: Op) -> tuple[Expr, Expr] | None:
    """What is reduced, and by what; a mask of low bits is a remainder."""
    if expr.op == "%":
        return expr.args[0], expr.args[1]
    if expr.op == "&":
        for mask, other in (expr.args[::-1], expr.args):
            if isinstance(mask, Const) and 0 < mask.value < mask.type.max:
                size = int(mask.value) + 1
                return None if size & (size - 1) else (other, Const(mask.type, size))
    return None


def _without(expr: Expr, modulus: Expr) -> Expr:
    """`expr` with remainders by the modulus left out of its sums and products."""
    if not isinstance(expr, Op):
        return expr
    if expr.op in ("+", "-", "*", "neg"):
        return Op(expr.type, expr.op, tuple(_without(arg, modulus) for arg in expr.args))
    parts = _remainder(expr)
    return _without(parts[0], modulus) if parts is not None and parts[1] == modulus else expr


def _lifting(slope: Expr, offset: Expr, modulus: Expr) -> Lift:
    """State: whether there was an element, the offset, and the slope unless it is always 1."""
    type_ = modulus.type
    one = Const(type_, 1)
    scales = slope != one

    def reduced(value: Expr) -> Expr:
        return tidy(apply("%", value, modulus))

    some, added, factor = Var(BOOL, "x0"), Var(type_, "x1"), Var(type_, "x2")
    more, next_added, next_factor = Var(BOOL, "y0"), Var(type_, "y1"), Var(type_, "y2")

    def through(value: Expr) -> Expr:
        return reduced(apply("+", apply("*", value, next_factor) if scales else value, next_added))

    def joined(both: Expr, own: Expr, other: Expr) -> Expr:
        return choose(some, choose(more, both, own), other)

    applied = choose(more, through(Var(type_, "x0")), Var(type_, "x0"))
    types, data = (BOOL, type_), (TRUE, reduced(offset))
    operator = (apply("or", some, more), joined(through(added), added, next_added))
    identity: tuple[Expr, ...] = (FALSE, nought(type_))
    if not scales:
        return Lift(types, data, operator, identity, (applied,))
    product = reduced(apply("*", factor, next_factor))
    return Lift(
        (*types, type_),
        (*data, reduced(slope)),
        (*operator, joined(product, factor, next_factor)),
        (*identity, one),
        (applied,),
    )
