"""Liftings of machine sums that stop at ends: counters that saturate, sums for which no type is wide enough.

A run is x -> clamp(x, low, high) + add: x is clamped first, so that the sum wraps around for no x between the ends, or
for all of them. A counter that stops at a bound may leave alone what is beyond it, as `select(c and x < 10, x + 1, x)`
does: then the bound is where one of the ends leads. Of integers that do not wrap, it is what is added alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Op, apply, cast, select, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import OPPOSITE
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
    if more or not type_.is_int:
        return
    if not any(isinstance(node, Op) and node.op in ("select", "min", "max") for node in walk(update.components[0])):
        return
    if update.meaning is Meaning.MATH:
        yield from _unbounded(update)
        return
    (x,), least, most = update.accumulators, Const(type_, type_.min), Const(type_, type_.max)
    (low,), (high,) = (run_from(update, (end,)) for end in (least, most))
    added = list(dict.fromkeys(_added(update)))
    for add in added:
        ends = _less(low, add), _less(high, add)
        if _agree(update, _moved(x, add, *ends)):
            yield _between(update, add, *ends)
            return
    bounds = [(bound, above) for bound in _bounds(update) for above in (True, False) if _kept(update, bound, above)]
    for bound, above in bounds:
        for add in added:
            end = _less(low if above else high, add)
            if _agree(update, _stopped(x, add, end, bound, above)):
                yield _stopping(update, add, end, bound, above)
                return


def _unbounded(update: Update) -> Iterator[Claim]:
    """The claim for an integer that does not wrap, goes towards a bound and stops there, and stays where it is beyond:
    what is added is all that a run is."""
    (type_,), (x,) = update.types, update.accumulators
    (own,), (by,) = operands("x", (type_,)), operands("y", (type_,))
    for bound, above in ((bound, above) for bound in _bounds(update) for above in (True, False)):
        if not _kept(update, bound, above):
            continue
        for add in dict.fromkeys(_added(update)):
            if _agree(update, _stopped_far(x, add, bound, above)):
                applied = (_stopped_far(x, by, bound, above),)
                lift = Lift((type_,), (add,), (apply("+", own, by),), (nought(type_),), applied)
                yield Claim(update, lift=lift, invariant=(apply(">=" if above else "<=", by, nought(type_)),))
                return


def _stopped_far(value: Expr, add: Expr, bound: Expr, above: bool) -> Expr:
    """The value beyond the bound, else with what is added, up to the bound."""
    there = apply("min" if above else "max", apply("+", value, add), bound)
    return select(apply("<" if above else ">", bound, value), value, there)


def _less(value: Expr, by: Expr) -> Expr:
    return tidy(apply("-", value, by))


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


def _kept(update: Update, bound: Expr, above: bool) -> bool:
    """Whether samples bear out that x stays what it is at the bound and beyond it."""
    (x,) = update.accumulators
    beyond = apply("max" if above else "min", x, bound)
    there = substitute(update.components[0], {x.name: beyond})
    return sampling.refute((there,), (beyond,), update.meaning, count=300) is None


def _between(update: Update, add: Expr, low: Expr, high: Expr) -> Claim:
    """State: what is added; the ends between which it is added."""
    (type_,), (x,) = update.types, update.accumulators
    types = (type_, type_, type_)
    (own, *ends), (by, low_next, high_next) = operands("x", types), operands("y", types)
    operator = (
        apply("+", own, by),
        *(apply("-", _clamped(apply("+", end, own), low_next, high_next), own) for end in ends),
    )
    identity = (nought(type_), Const(type_, type_.min), Const(type_, type_.max))
    lift = Lift(types, (add, low, high), operator, identity, (_moved(x, by, low_next, high_next),))
    return Claim(update, lift=lift, invariant=_ordered(by, low_next, high_next))


def _stopping(update: Update, add: Expr, end: Expr, bound: Expr, above: bool) -> Claim:
    """State: what is added; the end that does not lead to the bound."""
    (type_,), (x,) = update.types, update.accumulators
    (own, last), (by, new) = operands("x", (type_, type_)), operands("y", (type_, type_))
    ends = _ends(by, new, bound, above)
    operator = (apply("+", own, by), apply("-", _clamped(apply("+", last, own), *ends), own))
    identity = (nought(type_), Const(type_, type_.min if above else type_.max))
    lift = Lift((type_, type_), (add, end), operator, identity, (_stopped(x, by, new, bound, above),))
    # At the bound itself nothing leads away from it.
    to_bound = apply("-", bound, by)
    stays = apply("or", apply("==", new, to_bound), apply("<=" if above else ">=", to_bound, bound))
    return Claim(update, lift=lift, invariant=(*_ordered(by, *ends), stays))


def _ends(add: Expr, end: Expr, bound: Expr, above: bool) -> tuple[Expr, Expr]:
    """The end that leads to the bound, and the other."""
    to_bound = apply("-", bound, add)
    return (end, to_bound) if above else (to_bound, end)


def _stopped(value: Expr, add: Expr, end: Expr, bound: Expr, above: bool) -> Expr:
    """The value beyond the bound, else what it is moved to."""
    moved = _moved(value, add, *_ends(add, end, bound, above))
    return select(apply("<" if above else ">", bound, value), value, moved)


def _ordered(add: Expr, low: Expr, high: Expr) -> tuple[Expr, Expr]:
    return apply("<=", low, high), apply("<=", apply("+", low, add), apply("+", high, add))


def _moved(value: Expr, add: Expr, low: Expr, high: Expr) -> Expr:
    return apply("+", _clamped(value, low, high), add)


def _clamped(value: Expr, low: Expr, high: Expr) -> Expr:
    return apply("max", apply("min", value, high), low)


__all__ = ["claims"]
