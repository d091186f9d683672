"""Liftings of integers that count down to 0 and are set again: `select(c, 10, select(x > 0, x - 1, 0))`, peaks.

x -> max(max(x, 0) - s, r) with s, r >= 0 is closed under composition, and nothing in it overflows: amounts add up to
MAX at most.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Op, apply, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, operands
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_FALLS = frozenset(("-", "select", "max"))


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one machine integer, read by what it does to 0 and to MAX."""
    (type_, *more) = update.types
    if more or not type_.is_int or update.meaning is not Meaning.WRAP:
        return
    if not any(isinstance(node, Op) and node.op in _FALLS for node in walk(update.components[0])):
        return
    nothing, most = Const(type_, 0), Const(type_, type_.max)
    (least,), (left,) = run_from(update, (nothing,)), run_from(update, (most,))
    fall = tidy(apply("-", most, left))
    (x,) = update.accumulators
    if sampling.refute(update.components, (_after(x, fall, least),), update.meaning, count=300) is not None:
        return
    yield (_signed if type_.is_signed else _unsigned)(update, fall, least)


def _after(value: Expr, fall: Expr, least: Expr) -> Expr:
    """max(max(value, 0) - fall, least)."""
    if value.type.is_signed:
        lower = apply("-", apply("max", value, Const(value.type, 0)), fall)
    else:
        lower = apply("-", value, apply("min", value, fall))
    return apply("max", lower, least)


def _falls(first: Expr, second: Expr) -> Expr:
    """The sum of two amounts, MAX at most."""
    room = apply("-", Const(first.type, first.type.max), second)
    return apply("+", apply("min", first, room), second)


def _unsigned(update: Update, fall: Expr, least: Expr) -> Claim:
    (type_,), (x,) = update.types, update.accumulators
    types, nothing = (type_, type_), Const(type_, 0)
    (fell, low), (falls, next_low) = operands("x", types), operands("y", types)
    operator = (_falls(fell, falls), _after(low, falls, next_low))
    lift = Lift(types, (fall, least), operator, (nothing, nothing), (_after(x, falls, next_low),))
    return Claim(update, lift=lift)


def _signed(update: Update, fall: Expr, least: Expr) -> Claim:
    """With a flag: a step that does nothing else still lifts a state below 0 to 0."""
    (type_,), (x,) = update.types, update.accumulators
    types, nothing = (type_, type_, BOOL), Const(type_, 0)
    (fell, low, some), (falls, next_low, more) = operands("x", types), operands("y", types)
    operator = (
        choose(some, choose(more, _falls(fell, falls), fell), falls),
        choose(some, choose(more, _after(low, falls, next_low), low), next_low),
        apply("or", some, more),
    )
    applied = choose(more, _after(x, falls, next_low), x)
    lift = Lift(types, (fall, least, TRUE), operator, (nothing, nothing, FALSE), (applied,))
    return Claim(update, lift=lift, invariant=(apply("<=", nothing, falls), apply("<=", nothing, next_low)))


__all__ = ["claims"]
