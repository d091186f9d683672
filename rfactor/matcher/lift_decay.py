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

    def after(value: Expr, fall: Expr, least: Expr) -> Expr:
        lowest = apply("max", value, nothing) if type_.is_signed else value
        if type_.is_signed:
            return apply("max", apply("-", lowest, fall), least)
        return apply("max", apply("-", lowest, apply("min", lowest, fall)), least)

    (x,) = update.accumulators
    if sampling.refute(update.components, (after(x, fall, least),), update.meaning, count=300) is not None:
        return
    # The state below 0 is not what it was after a step that does nothing else: a flag says whether there was one.
    types = (type_, type_, BOOL) if type_.is_signed else (type_, type_)
    first, second = operands("x", types), operands("y", types)
    more_fall = second[0]
    total = apply("+", apply("min", first[0], apply("-", most, more_fall)), more_fall)
    joined = after(first[1], more_fall, second[1])
    if type_.is_signed:
        some, more_too = first[2], second[2]
        both = zip((total, joined), first, second, strict=False)
        parts = [choose(some, choose(more_too, part, own), other) for part, own, other in both]
        operator: tuple[Expr, ...] = (*parts, apply("or", some, more_too))
        data: tuple[Expr, ...] = (fall, least, TRUE)
        identity: tuple[Expr, ...] = (nothing, nothing, FALSE)
        applied = choose(second[2], after(x, more_fall, second[1]), x)
    else:
        operator, data, identity = (total, joined), (fall, least), (nothing, nothing)
        applied = after(x, more_fall, second[1])
    invariant = tuple(apply("<=", nothing, part) for part in second[:2]) if type_.is_signed else ()
    yield Claim(update, lift=Lift(types, data, operator, identity, (applied,)), invariant=invariant)


__all__ = ["claims"]
