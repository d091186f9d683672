"""Liftings of steps that add and clamp: x -> max(min(x + a, h), l).

Where nothing overflows, sums of the a's are exact. Where a narrow type is saturated through a wider one, they are kept
within the span of the narrow type: what is beyond clamps every x alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, bind, choose, nought, operands, pruned
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.terms import accumulator_names, free_of, run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, has_infinity, is_infinite

_WIDEST = 64
"""Bits of the widest integer."""


@dataclass(frozen=True, slots=True)
class _Step:
    """x -> max(min(scale * x + add, high), low)."""

    add: Expr
    high: Expr
    low: Expr
    scale: Expr


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one component that adds and clamps by data, on both sides."""
    if len(update.types) != 1:
        return
    (type_,) = update.types
    yield from _saturating(update)
    if not (type_.is_float or (type_.is_int and update.meaning is Meaning.MATH)):
        return
    reader = Reader(update, type_)
    step = reader.read(extremal(update.components[0], reader.free))
    if step is None:
        return
    if tidy(step.scale) != const(type_, 1):
        invariant = apply("<=", nought(type_), Var(type_, "y0"))
        yield Claim(update, lift=pruned(_flagged(step, type_)), invariant=(invariant,))
        return
    open_ended = is_infinite(step.high) or is_infinite(step.low)
    if open_ended and step.scale == const(type_, 1):
        return
    if open_ended or (type_.is_int and (has_infinity(step.high) or has_infinity(step.low))):
        yield Claim(update, lift=pruned(_flagged(step, type_)))
        return
    add, high, low = (Var(type_, f"x{i}") for i in range(3))
    more, top, bottom = (Var(type_, f"y{i}") for i in range(3))
    operator = (
        apply("+", add, more),
        apply("min", apply("+", high, more), top),
        apply("max", apply("min", apply("+", low, more), top), bottom),
    )
    applied = apply("max", apply("min", apply("+", Var(type_, "x0"), more), top), bottom)
    data = tuple(_tidied(part) for part in (step.add, step.high, step.low))
    identity = (const(type_, 0), _infinity(type_, True), _infinity(type_, False))
    yield Claim(update, lift=Lift((type_,) * 3, data, operator, identity, (applied,)))


def _tidied(part: Expr) -> Expr:
    return part if has_infinity(part) else tidy(part)


def _flagged(step: _Step, type_: Type) -> Lift:
    """The lifting where an end may be missing: a flag says whether it is there.

    State: the scale; what is added; whether there is a greatest value, and it; whether there is a least one, and it.
    A flag, not an infinity: a scale that has shrunk to 0 times an infinity is no number.
    """
    types = (type_, type_, BOOL, type_, BOOL, type_)
    scale, add, has_high, high, has_low, low = operands("x", types)
    times, more, has_top, top, has_bottom, bottom = operands("y", types)

    def moved(value: Expr) -> Expr:
        return apply("+", apply("*", value, times), more)

    def clamped(value: Expr) -> Expr:
        return choose(has_top, apply("min", value, top), value)

    below = clamped(moved(low))
    operator = (
        apply("*", scale, times),
        moved(add),
        apply("or", has_high, has_top),
        choose(has_high, clamped(moved(high)), top),
        apply("or", has_low, has_bottom),
        choose(has_low, choose(has_bottom, apply("max", below, bottom), below), bottom),
    )
    value = clamped(moved(Var(type_, "x0")))
    applied = choose(has_bottom, apply("max", value, bottom), value)
    ends = [part for end in (step.high, step.low) for part in _present(end, type_)]
    one, nothing = const(type_, 1), nought(type_)
    identity = (one, nothing, FALSE, nothing, FALSE, nothing)
    return Lift(types, (tidy(step.scale), tidy(step.add), *ends), operator, identity, (applied,))


def _present(end: Expr, type_: Type) -> tuple[Expr, Expr]:
    """Whether an end is there, and its value, by choices."""
    if is_infinite(end):
        return FALSE, nought(type_)
    if isinstance(end, Op) and end.op == "select" and has_infinity(end):
        condition, true, false = end.args
        (first, a), (second, b) = _present(true, type_), _present(false, type_)
        return tidy(choose(condition, first, second)), tidy(choose(condition, a, b))
    return TRUE, tidy(end)


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
        step = Reader(update, wide, cast(wide, x)).read(component.args[0])
    else:
        return
    low, high = Const(wide, narrow.min), Const(wide, narrow.max)
    span = int(narrow.max) - int(narrow.min) + 1
    if step is None or step.scale != Const(wide, 1) or is_infinite(step.high) or is_infinite(step.low):
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
    """A sum kept within the narrow type by choices: what is added to 0, or to the middle, is what is added to any x."""
    (narrow,) = update.types
    for point in dict.fromkeys((0, (int(narrow.max) + int(narrow.min) + 1) // 2)):
        (after,) = run_from(update, (Const(narrow, point),))
        added = cast(wide, after) if point == 0 else apply("-", cast(wide, after), Const(wide, point))
        step = _Step(added, Const(wide, narrow.max), Const(wide, narrow.min), Const(wide, 1))
        total = apply("+", cast(wide, update.accumulators[0]), step.add)
        meant = cast(narrow, apply("max", apply("min", total, step.high), step.low))
        if sampling.refute(update.components, (meant,), update.meaning) is None:
            return step
    return None


def _infinity(type_: Type, positive: bool) -> Expr:
    if type_.is_float:
        return const(type_, float("inf") if positive else float("-inf"))
    return INFINITY if positive else MINUS_INFINITY


class Reader:
    def __init__(self, update: Update, type_: Type, x: Expr | None = None) -> None:
        self.x, self.type = x or update.accumulators[0], type_
        self.free = free_of(accumulator_names(update))

    def read(self, expr: Expr) -> _Step | None:
        if expr == self.x:
            one = const(self.type, 1)
            return _Step(const(self.type, 0), _infinity(self.type, True), _infinity(self.type, False), one)
        if self.free(expr):
            return _Step(const(self.type, 0), expr, expr, const(self.type, 1))
        if not isinstance(expr, Op) or expr.op not in ("+", "-", "*", "/", "min", "max", "select"):
            return None
        if expr.op == "select":
            return self.choice(*expr.args)
        first, second = expr.args
        if expr.op not in ("-", "/") and self.free(first):
            first, second = second, first
        if not self.free(second):
            return None
        step = self.read(first)
        if step is None:
            return None
        if expr.op == "min":
            high, low = (_extremum("min", end, second) for end in (step.high, step.low))
            return replace(step, high=high, low=low)
        if expr.op == "max":
            return replace(step, low=_extremum("max", step.low, second))
        scales = expr.op in ("*", "/")
        if scales and not (isinstance(second, Const) and 0 < second.value < float("inf")):
            return None
        add, high, low = (_moved(part, expr.op, second) for part in (step.add, step.high, step.low))
        return _Step(add, high, low, apply(expr.op, step.scale, second) if scales else step.scale)

    def choice(self, condition: Expr, true: Expr, false: Expr) -> _Step | None:
        """Steps that data choose between."""
        first, second = (self.read(branch) if self.free(condition) else None for branch in (true, false))
        if first is None or second is None:
            return None
        return _Step(
            choose(condition, first.add, second.add),
            choose(condition, first.high, second.high),
            choose(condition, first.low, second.low),
            choose(condition, first.scale, second.scale),
        )


def _branches(end: Expr, change: Callable[[Expr], Expr]) -> Expr | None:
    """An end of which data choose whether it is infinite, changed branch by branch; None if it is no such choice."""
    if isinstance(end, Op) and end.op == "select" and has_infinity(end):
        condition, true, false = end.args
        return choose(condition, change(true), change(false))
    return None


def _moved(end: Expr, op: str, by: Expr) -> Expr:
    """A sum or difference where the end may be infinite."""
    if is_infinite(end):
        return end
    return _branches(end, lambda branch: _moved(branch, op, by)) or apply(op, end, by)


def _extremum(op: str, end: Expr, other: Expr) -> Expr:
    """min or max where the end may be infinite."""
    if is_infinite(end):
        assert isinstance(end, Const)
        return other if (end.value > 0) == (op == "min") else end
    return _branches(end, lambda branch: _extremum(op, branch, other)) or apply(op, end, other)
