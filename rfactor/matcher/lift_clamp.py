"""Liftings of steps that add and clamp: x -> max(min(x + a, h), l).

Where nothing overflows, sums of the a's are exact. Where a narrow type is saturated through a wider one, they are kept
within the span of the narrow type: what is beyond clamps every x alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.action import bind
from rfactor.matcher.terms import accumulator_names, free_of, run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, is_infinite

_WIDEST = 64
"""Bits of the widest integer."""


@dataclass(frozen=True, slots=True)
class _Step:
    """x -> max(min(x + add, high), low)."""

    add: Expr
    high: Expr
    low: Expr


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one component that adds and clamps by data, on both sides."""
    if len(update.types) != 1:
        return
    (type_,) = update.types
    yield from _saturating(update)
    if not (type_.is_float or (type_.is_int and update.meaning is Meaning.MATH)):
        return
    step = _Reader(update, type_).read(update.components[0])
    if step is None or is_infinite(step.high) or is_infinite(step.low):
        return
    add, high, low = (Var(type_, f"x{i}") for i in range(3))
    more, top, bottom = (Var(type_, f"y{i}") for i in range(3))
    operator = (
        apply("+", add, more),
        apply("min", apply("+", high, more), top),
        apply("max", apply("min", apply("+", low, more), top), bottom),
    )
    applied = apply("max", apply("min", apply("+", Var(type_, "x0"), more), top), bottom)
    data = tuple(tidy(part) for part in (step.add, step.high, step.low))
    identity = (const(type_, 0), _infinity(type_, True), _infinity(type_, False))
    yield Claim(update, lift=Lift((type_,) * 3, data, operator, identity, (applied,)))


def _saturating(update: Update) -> Iterator[Claim]:
    """The claim for a narrow integer that is added to and clamped in a wider type."""
    (narrow,) = update.types
    component = update.components[0]
    (x,) = update.accumulators
    if not (narrow.is_int and isinstance(component, Op) and update.meaning is Meaning.WRAP):
        return
    if component.op == "select" and narrow.bits <= _WIDEST // 2:
        wide = parse_type(f"i{2 * narrow.bits}")
        step = _by_meaning(update, wide)
    elif component.op == "cast" and component.args[0].type.is_int:
        wide = component.args[0].type
        if wide.code != "int" or wide.bits < 2 * narrow.bits:
            return
        step = _Reader(update, wide, cast(wide, x)).read(component.args[0])
    else:
        return
    low, high = Const(wide, narrow.min), Const(wide, narrow.max)
    span = int(narrow.max) - int(narrow.min) + 1
    if step is None or is_infinite(step.high) or is_infinite(step.low):
        return
    added, top, bottom = (Var(wide, f"x{i}") for i in range(3))
    more, new_top, new_bottom = (Var(wide, f"y{i}") for i in range(3))

    def clamped(value: Expr, least: Expr, most: Expr) -> Expr:
        return apply("max", apply("min", value, most), least)

    operator = (
        clamped(apply("+", added, more), Const(wide, -span), Const(wide, span)),
        clamped(apply("+", top, more), new_bottom, new_top),
        clamped(apply("+", bottom, more), new_bottom, new_top),
    )
    applied = cast(narrow, clamped(apply("+", cast(wide, x), more), new_bottom, new_top))
    invariant = [apply("<=", Const(wide, -span), more), apply("<=", more, Const(wide, span))]
    invariant += [apply("<=", low, new_bottom), apply("<=", new_bottom, new_top), apply("<=", new_top, high)]
    # The ends are kept as tight as the narrow type makes them, so that each map is written in one way.
    invariant += [
        apply("<=", new_top, apply("max", apply("+", high, more), new_bottom)),
        apply("<=", apply("min", apply("+", low, more), new_top), new_bottom),
    ]
    identity = (Const(wide, 0), high, low)
    data = tuple(map(tidy, bind(operator, identity, (step.add, step.high, step.low))))
    lift = Lift((wide,) * 3, data, operator, identity, (applied,))
    yield Claim(update, lift=lift, invariant=tuple(invariant))


def _by_meaning(update: Update, wide: Type) -> _Step | None:
    """A sum kept within the narrow type by choices: what is added to 0 is what is added to any x."""
    (narrow,) = update.types
    (nothing,) = run_from(update, (Const(narrow, 0),))
    step = _Step(cast(wide, nothing), Const(wide, narrow.max), Const(wide, narrow.min))
    total = apply("+", cast(wide, update.accumulators[0]), step.add)
    meant = cast(narrow, apply("max", apply("min", total, step.high), step.low))
    return step if sampling.refute(update.components, (meant,), update.meaning) is None else None


def _infinity(type_: Type, positive: bool) -> Expr:
    if type_.is_float:
        return const(type_, float("inf") if positive else float("-inf"))
    return INFINITY if positive else MINUS_INFINITY


class _Reader:
    def __init__(self, update: Update, type_: Type, x: Expr | None = None) -> None:
        self.x, self.type = x or update.accumulators[0], type_
        self.free = free_of(accumulator_names(update))

    def read(self, expr: Expr) -> _Step | None:
        if expr == self.x:
            return _Step(const(self.type, 0), _infinity(self.type, True), _infinity(self.type, False))
        if not isinstance(expr, Op) or expr.op not in ("+", "-", "min", "max"):
            return None
        first, second = expr.args
        if expr.op != "-" and self.free(first):
            first, second = second, first
        if not self.free(second):
            return None
        step = self.read(first)
        if step is None:
            return None
        if expr.op == "min":
            return _Step(step.add, _extremum("min", step.high, second), _extremum("min", step.low, second))
        if expr.op == "max":
            return _Step(step.add, step.high, _extremum("max", step.low, second))
        return _Step(*(p if is_infinite(p) else apply(expr.op, p, second) for p in (step.add, step.high, step.low)))


def _extremum(op: str, a: Expr, b: Expr) -> Expr:
    """min or max where `a` may be infinite."""
    if is_infinite(a):
        positive = a in (INFINITY,) or str(a) == "inf"
        return b if positive == (op == "min") else a
    return apply(op, a, b)
