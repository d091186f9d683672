"""Liftings of clamped affine steps by factors of any sign: max(x*a + b, 0), min(max(x*k + a, low), high).

A run is x -> clamp(scale*x + add, low, high), where an end may be missing; a factor below 0 exchanges the ends. Ends
are kept in order, so that it does not matter which is met first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, apply, const, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands
from rfactor.matcher.lifting.semiring import divisors
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity

_READ = frozenset(("+", "-", "*", "/", "neg", "min", "max", "select"))


@dataclass(frozen=True, slots=True)
class _End:
    """Whether there is an end, and where."""

    there: Expr
    value: Expr

    def changed(self, change: Callable[[Expr], Expr]) -> _End:
        return self if self.there == FALSE else _End(self.there, change(self.value))


@dataclass(frozen=True, slots=True)
class _Step:
    """x -> clamp(scale * x + add, low, high)."""

    scale: Expr
    add: Expr
    low: _End
    high: _End


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one number that is scaled, added to and clamped."""
    (type_, *more) = update.types
    exact = type_.is_float or (type_.is_int and type_.is_signed and update.meaning is Meaning.MATH)
    if more or not exact or not _clamps(update.components[0]):
        return
    reader = _Reader(update, type_)
    step = reader.read(extremal(update.components[0], reader.free))
    if step is None or (step.low.there, step.high.there) == (FALSE, FALSE):
        return
    if isinstance(step.scale, Const) and step.scale.value > 0:
        return  # no end becomes the other
    parts = (step.scale, step.add, step.low.value, step.high.value)
    if any(map(has_infinity, parts)):
        return  # a scale of 0 would meet it
    assumes = tuple(apply("!=", divisor, const(divisor.type, 0)) for divisor in divisors(update))
    lift, invariant = (_between if step.low.there == step.high.there == TRUE else _open)(step, type_)
    yield Claim(update, lift=lift, invariant=(invariant,), assumes=assumes)


def _clamps(component: Expr) -> bool:
    return any(isinstance(node, Op) and node.op in ("min", "max", "select") for node in walk(component))


def _clamped(value: Expr, low: _End, high: _End) -> Expr:
    value = choose(high.there, apply("min", value, high.value), value)
    return choose(low.there, apply("max", value, low.value), value)


def _between(step: _Step, type_: Type) -> tuple[Lift, Expr]:
    """The lifting where every step has both ends: a flag says whether there was one."""
    types = (BOOL, type_, type_, type_, type_)
    (some, scale, add, low, high), (more, times, added, bottom, top) = operands("x", types), operands("y", types)

    def moved(value: Expr) -> Expr:
        return apply("+", apply("*", value, times), added)

    def clamped(value: Expr) -> Expr:
        return _clamped(value, _End(TRUE, bottom), _End(TRUE, top))

    def joined(both: Expr, own: Expr, other: Expr) -> Expr:
        return choose(some, choose(more, both, own), other)

    up = apply("<=", nought(type_), times)
    operator = (
        apply("or", some, more),
        joined(apply("*", scale, times), scale, times),
        joined(moved(add), add, added),
        joined(clamped(choose(up, moved(low), moved(high))), low, bottom),
        joined(clamped(choose(up, moved(high), moved(low))), high, top),
    )
    (x,) = operands("x", (type_,))
    nothing = nought(type_)
    data = (TRUE, tidy(step.scale), tidy(step.add), tidy(step.low.value), tidy(step.high.value))
    identity = (FALSE, const(type_, 1), nothing, nothing, nothing)
    lift = Lift(types, data, operator, identity, (choose(more, clamped(moved(x)), x),))
    return lift, apply("<=", bottom, top)


def _open(step: _Step, type_: Type) -> tuple[Lift, Expr]:
    """The lifting where an end may be missing: a flag each says whether it is there."""
    types = (type_, type_, BOOL, type_, BOOL, type_)
    (scale, add, *ends), (times, added, *next_ends) = operands("x", types), operands("y", types)
    low, high = _End(*ends[:2]), _End(*ends[2:])
    bottom, top = _End(*next_ends[:2]), _End(*next_ends[2:])

    def moved(value: Expr) -> Expr:
        return apply("+", apply("*", value, times), added)

    def chosen(same: _End, other: _End) -> _End:
        """The end that becomes this one."""
        up = apply("<=", nought(type_), times)
        return _End(choose(up, same.there, other.there), moved(choose(up, same.value, other.value)))

    operator = [apply("*", scale, times), moved(add)]
    for old, new in ((chosen(low, high), bottom), (chosen(high, low), top)):
        operator += [
            apply("or", old.there, new.there),
            choose(old.there, _clamped(old.value, bottom, top), new.value),
        ]
    (x,) = operands("x", (type_,))
    nothing = nought(type_)
    shown = [tidy(part) for end in (step.low, step.high) for part in (end.there, end.value)]
    identity = (const(type_, 1), nothing, FALSE, nothing, FALSE, nothing)
    applied = _clamped(moved(x), bottom, top)
    lift = Lift(types, (tidy(step.scale), tidy(step.add), *shown), tuple(operator), identity, (applied,))
    both = apply("and", bottom.there, top.there)
    return lift, apply("or", apply("not", both), apply("<=", bottom.value, top.value))


class _Reader:
    def __init__(self, update: Update, type_: Type) -> None:
        (self.x,), self.type = update.accumulators, type_
        self.free = free_of(accumulator_names(update))

    def read(self, expr: Expr) -> _Step | None:
        nothing = nought(self.type)
        if expr == self.x:
            return _Step(const(self.type, 1), nothing, _End(FALSE, nothing), _End(FALSE, nothing))
        if not isinstance(expr, Op) or expr.op not in _READ:
            return None
        if expr.op == "select":
            return self.choice(*expr.args)
        if expr.op == "neg":
            return self.scaled(expr.args[0], "*", const(self.type, -1))
        first, second = expr.args
        if self.free(first):
            if expr.op == "/":
                return None
            if expr.op == "-":
                step = self.scaled(second, "*", const(self.type, -1))
                return None if step is None else _changed(step, lambda part: apply("+", part, first))
            first, second = second, first
        if not self.free(second):
            return None
        if expr.op in ("*", "/"):
            return self.scaled(first, expr.op, second)
        step = self.read(first)
        if step is None:
            return None
        if expr.op in ("+", "-"):
            return _changed(step, lambda part: apply(expr.op, part, second))
        # The ends are in order, and both stay so; the one that is asked for may be new.
        low, high = (end.changed(lambda part: apply(expr.op, part, second)) for end in (step.low, step.high))
        if expr.op == "max":
            return _Step(step.scale, step.add, _with(low, second), high)
        return _Step(step.scale, step.add, low, _with(high, second))

    def scaled(self, expr: Expr, op: str, factor: Expr) -> _Step | None:
        """A step times, or divided by, what is free of the state."""
        step = self.read(expr)
        if step is None or (isinstance(factor, Const) and not math.isfinite(factor.value)):
            return None

        def times(part: Expr) -> Expr:
            return apply(op, part, factor)

        low, high = step.low.changed(times), step.high.changed(times)
        scale = times(step.scale)
        if isinstance(factor, Const):
            if op == "/" and not factor.value:
                return None
            low, high = (low, high) if factor.value >= 0 else (high, low)
            return _Step(tidy(scale), times(step.add), low, high)
        up = apply("<=", nought(self.type), factor)
        return _Step(scale, times(step.add), _chosen(up, low, high), _chosen(up, high, low))

    def choice(self, condition: Expr, true: Expr, false: Expr) -> _Step | None:
        """Steps that data choose between."""
        first, second = (self.read(branch) if self.free(condition) else None for branch in (true, false))
        if first is None or second is None:
            return None
        return _Step(
            choose(condition, first.scale, second.scale),
            choose(condition, first.add, second.add),
            _chosen(condition, first.low, second.low),
            _chosen(condition, first.high, second.high),
        )


def _chosen(condition: Expr, first: _End, second: _End) -> _End:
    if FALSE in (first.there, second.there) and first.there != second.there:
        value = second.value if first.there == FALSE else first.value
        return _End(choose(condition, first.there, second.there), value)
    return _End(choose(condition, first.there, second.there), choose(condition, first.value, second.value))


def _with(end: _End, value: Expr) -> _End:
    """An end already brought to its extremum with `value`, or `value` where it was missing."""
    return _End(TRUE, choose(end.there, end.value, value))


def _changed(step: _Step, change: Callable[[Expr], Expr]) -> _Step:
    """What a step leads to, changed by a map that keeps order."""
    return _Step(step.scale, change(step.add), step.low.changed(change), step.high.changed(change))
