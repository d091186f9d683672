"""Liftings of sums that saturate at the ends of the widest integers, for which no type is wide enough to hold them.

A run is x -> x + add where that is between low and high; else the end that is next. Where x + add wraps around is told
by x itself: it is below low - add or above high - add, and these do not wrap, unless both ends are one.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Op, apply, select, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.action import operands
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_WIDEST = 64


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one integer of the widest, by what becomes of the ends and of what is between them."""
    (type_, *more) = update.types
    if more or not type_.is_int or type_.bits < _WIDEST or update.meaning is not Meaning.WRAP:
        return
    if not any(isinstance(node, Op) and node.op in ("select", "min", "max") for node in walk(update.components[0])):
        return
    (x,) = update.accumulators
    least, most = Const(type_, type_.min), Const(type_, type_.max)
    (low,), (high,) = run_from(update, (least,)), run_from(update, (most,))
    for point in (0, 1 << (type_.bits - 2)):
        middle = Const(type_, point)
        (after,) = run_from(update, (middle,))
        add = tidy(apply("-", after, middle))
        if sampling.refute(update.components, (_moved(x, add, low, high),), update.meaning, count=300) is None:
            break
    else:
        return
    types = (type_, type_, type_)
    (own, bottom, top), (by, new_bottom, new_top) = operands("x", types), operands("y", types)
    operator = (
        apply("+", own, by),
        _moved(bottom, by, new_bottom, new_top),
        _moved(top, by, new_bottom, new_top),
    )
    applied = _moved(x, by, new_bottom, new_top)
    lift = Lift(types, (add, low, high), operator, (Const(type_, 0), least, most), (applied,))
    invariant = (
        apply("<=", new_bottom, new_top),
        apply("<=", apply("-", new_bottom, by), apply("-", new_top, by)),
    )
    yield Claim(update, lift=lift, invariant=invariant)


def _moved(value: Expr, add: Expr, low: Expr, high: Expr) -> Expr:
    """value + add between the ends."""
    inside = select(apply(">=", value, apply("-", high, add)), high, apply("+", value, add))
    return select(apply("<=", value, apply("-", low, add)), low, inside)


__all__ = ["claims"]
