"""Liftings of machine sums that stop at ends: counters that saturate, sums for which no type is wide enough.

A run is x -> x + add where that is between low and high; else the end that is next. Where x + add wraps around is told
by x itself: it is below low - add or above high - add, and these do not wrap, unless both ends are one. A counter that
stops at a bound may leave alone what is beyond it: `select(c and x < 10, x + 1, x)`; then the bound is one of the ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import OPPOSITE, Const, Expr, Op, apply, cast, select, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.action import choose, nought, operands
from rfactor.matcher.terms import accumulator_names, free_of, run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_POINTS = 8
"""Most values of which it is tried whether what they grow by is what is added."""


def claims(update: Update) -> Iterator[Claim]:
    """The claims for one integer, by what becomes of the ends and of what is between them."""
    (type_, *more) = update.types
    if more or not type_.is_int or update.meaning is not Meaning.WRAP:
        return
    if not any(isinstance(node, Op) and node.op in ("select", "min", "max") for node in walk(update.components[0])):
        return
    (low,), (high,) = (run_from(update, (Const(type_, end),)) for end in (type_.min, type_.max))
    added = list(dict.fromkeys(_added(update)))
    for add in added:
        if _agree(update, _moved(update.accumulators[0], add, low, high)):
            yield _between(update, add, low, high)
            return
    for bound in _bounds(update):
        for above in (True, False):
            if _kept_beyond(update, bound, above):
                end = low if above else high
                for add in added:
                    if _agree(update, _stopped(update.accumulators[0], add, end, bound, above)):
                        yield _stopping(update, add, end, bound, above)
                        return


def _agree(update: Update, meant: Expr) -> bool:
    """Whether samples bear out that a step does what is meant."""
    return sampling.refute(update.components, (meant,), update.meaning, count=300) is None


def _added(update: Update) -> Iterator[Expr]:
    """What may be added: as it is written, and what it makes of some points."""
    (type_,), (component,) = update.types, update.components
    free = free_of(accumulator_names(update))

    def read(expr: Expr) -> Expr | None:
        if expr == update.accumulators[0]:
            return nought(type_)
        if not isinstance(expr, Op) or free(expr) or not expr.type.is_int:
            return None
        if expr.op == "cast":
            inner = read(expr.args[0])
            return None if inner is None else cast(expr.type, inner)
        if expr.op == "select":
            condition, *branches = expr.args
            first, second = map(read, branches)
            if free(condition) and first is not None and second is not None:
                return choose(condition, first, second)
            return second if first is None or branches[0] == update.accumulators[0] else first
        bound = [arg for arg in expr.args if not free(arg)]
        inner = read(bound[0])
        if inner is None or len(bound) > 1 or expr.op not in ("+", "-", "min", "max"):
            return inner if expr.op in ("min", "max") else None
        if expr.op in ("min", "max"):
            return inner
        loose = expr.args[1] if bound[0] == expr.args[0] else expr.args[0]
        return apply(expr.op, inner, loose) if expr.op == "+" or loose == expr.args[1] else None

    written = read(component)
    if written is not None and written.type == type_:
        yield tidy(written)
    near = [int(v) for values in sampling.literals([component]).values() for v in values if isinstance(v, int)]
    points = (0, 1 << (type_.bits - 2), *(v + by for v in near for by in (0, -1, 1)))
    for point in [p for p in dict.fromkeys(points) if type_.min <= p <= type_.max][:_POINTS]:
        (after,) = run_from(update, (Const(type_, point),))
        yield tidy(apply("-", after, Const(type_, point)))


def _bounds(update: Update) -> Iterator[Expr]:
    """What the state is compared with that stays the same through the loop."""
    (x,) = update.accumulators
    found: dict[Expr, None] = {}
    for node in walk(update.components[0]):
        if isinstance(node, Op) and (node.op in OPPOSITE or node.op in ("min", "max")) and x in node.args:
            other = node.args[node.args[0] == x]
            if all(v.name in update.constants for v in sampling.used((other,))):
                found.setdefault(other)
    yield from found


def _kept_beyond(update: Update, bound: Expr, above: bool) -> bool:
    """Whether samples bear out that x stays what it is at the bound and beyond it."""
    (x,) = update.accumulators
    beyond = apply("max" if above else "min", x, bound)
    there = substitute(update.components[0], {x.name: beyond})
    return sampling.refute((there,), (beyond,), update.meaning, count=300) is None


def _between(update: Update, add: Expr, low: Expr, high: Expr) -> Claim:
    """State: what is added; the least and the greatest value."""
    (type_,), (x,) = update.types, update.accumulators
    types = (type_, type_, type_)
    (own, bottom, top), (by, new_bottom, new_top) = operands("x", types), operands("y", types)
    operator = (
        apply("+", own, by),
        _moved(bottom, by, new_bottom, new_top),
        _moved(top, by, new_bottom, new_top),
    )
    identity = (nought(type_), Const(type_, type_.min), Const(type_, type_.max))
    lift = Lift(types, (add, low, high), operator, identity, (_moved(x, by, new_bottom, new_top),))
    return Claim(update, lift=lift, invariant=_ordered(by, new_bottom, new_top))


def _stopping(update: Update, add: Expr, end: Expr, bound: Expr, above: bool) -> Claim:
    """State: what is added; the value at the end that is not the bound."""
    (type_,), (x,) = update.types, update.accumulators
    (own, last), (by, new) = operands("x", (type_, type_)), operands("y", (type_, type_))
    operator = (apply("+", own, by), _stopped(last, by, new, bound, above))
    identity = (nought(type_), Const(type_, type_.min if above else type_.max))
    lift = Lift((type_, type_), (add, end), operator, identity, (_stopped(x, by, new, bound, above),))
    # At the bound itself nothing leads away from it.
    stays = apply("<=" if above else ">=", apply("-", bound, by), bound)
    ends = (new, bound) if above else (bound, new)
    return Claim(update, lift=lift, invariant=(*_ordered(by, *ends), apply("or", apply("==", new, bound), stays)))


def _stopped(value: Expr, add: Expr, end: Expr, bound: Expr, above: bool) -> Expr:
    """The value beyond the bound, else value + add between it and the other end."""
    low, high = (end, bound) if above else (bound, end)
    return select(apply("<" if above else ">", bound, value), value, _moved(value, add, low, high))


def _ordered(add: Expr, low: Expr, high: Expr) -> tuple[Expr, Expr]:
    return apply("<=", low, high), apply("<=", apply("-", low, add), apply("-", high, add))


def _moved(value: Expr, add: Expr, low: Expr, high: Expr) -> Expr:
    """value + add between the ends."""
    inside = select(apply(">=", value, apply("-", high, add)), high, apply("+", value, add))
    return select(apply("<=", value, apply("-", low, add)), low, inside)


__all__ = ["claims"]
