"""Liftings of averages kept divided beside weights that decay: `x0*d + w, (x0*d*x1 + w*a)/(x0*d + w)`.

The weight n is affine in itself, and n*m affine in n*m for each average m: that is how they are told, on samples. A run
is both affine maps; the average is divided once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rfactor.ir.expr import Expr, Op, Var, apply, const, substitute, walk
from rfactor.ir.graph import restrict
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, pruned
from rfactor.matcher.lifting.semiring import OFFSET, affine, semirings
from rfactor.matcher.operators.guess import ROWS, Column, Points
from rfactor.matcher.terms import accumulator_names, free_of
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift


@dataclass(frozen=True, slots=True)
class _Map:
    """v -> scale * v + add."""

    scale: Expr
    add: Expr


def claims(update: Update) -> Iterator[Claim]:
    """The claim for floats of which one weighs all others."""
    type_ = update.types[0]
    if len(update.types) < 2 or not type_.is_float or any(t != type_ for t in update.types):
        return
    if not any(isinstance(node, Op) and node.op == "/" for c in update.components for node in walk(c)):
        return
    for at in range(len(update.types)):
        weight = _weight(update, at)
        if weight is None:
            continue
        points = Points(update, frozenset((at,)))
        if not _defined(points, update):
            continue
        averages = {i: _average(update, points, at, i, weight) for i in range(len(update.types)) if i != at}
        found = {i: average for i, average in averages.items() if average is not None}
        if len(found) == len(averages):
            yield Claim(update, lift=_lifting(update, at, weight, found))
            return


def _defined(points: Points, update: Update) -> bool:
    """Keep the samples at which the update divides by no zero; whether enough are left."""
    fine = np.ones(ROWS, dtype=bool)
    for state in points.states:
        for component in update.components:
            values = points.values(component, state)
            if values is None:
                return False
            fine &= np.isfinite(values.astype(float))
    return points.keep(fine)


def _weight(update: Update, at: int) -> _Map | None:
    """A component that is affine in itself alone."""
    if not free_of(accumulator_names(update) - {f"x{at}"})(update.components[at]):
        return None
    own = restrict(update, (at,))
    type_ = update.types[at]
    rows = affine(own, next(semirings(type_, update.meaning)))
    if rows is None or 0 not in rows[0]:
        return None
    return _Map(rows[0][0], rows[0].get(OFFSET, const(type_, 0)))


def _average(update: Update, points: Points, at: int, i: int, weight: _Map) -> _Map | None:
    """What a step makes of the product of a component and the weight; None where that is no affine map of it."""
    n, m = update.accumulators[at], update.accumulators[i]
    type_ = m.type
    total = apply("*", update.components[at], update.components[i])
    added, one = (substitute(total, {m.name: const(type_, v)}) for v in (0, 1))
    slope = apply("/", apply("-", one, added), n)
    scale = weight.scale if _agree(points, slope, weight.scale) else _shown(points, slope)
    if scale is None:
        return None
    add = _shown(points, added)
    if add is None:
        share = _shown(points, apply("/", added, weight.add)) if weight.add != const(type_, 0) else None
        add = None if share is None else apply("*", weight.add, share)
    if add is None or not _agree(points, total, apply("+", apply("*", apply("*", n, m), scale), add)):
        return None
    return _Map(scale, add)


def _agree(points: Points, first: Expr, second: Expr) -> bool:
    """Whether two expressions have the same values in all states."""
    for state in points.states:
        values = points.values(first, state), points.values(second, state)
        if values[0] is None or values[1] is None or np.any(sampling.differs(values[0], values[1])):
            return False
    return True


def _shown(points: Points, expr: Expr) -> Expr | None:
    """A plain expression of data with the values of `expr`; None where these depend on the state."""

    def value(state: Mapping[str, Column]) -> Column | None:
        return points.values(expr, state)

    column = points.free_value(value)
    return None if column is None else points.plainest(expr.type, column)


def _lifting(update: Update, at: int, weight: _Map, averages: Mapping[int, _Map]) -> Lift:
    """State: whether there was a step; the map of the weight; those of the averages times the weight."""
    type_ = update.types[at]
    x = update.accumulators
    some, more = Var(BOOL, "x0"), Var(BOOL, "y0")
    types: list[Type] = [BOOL]
    data: list[Expr] = [TRUE]
    operator: list[Expr] = [apply("or", some, more)]
    identity: list[Expr] = [FALSE]
    maps: list[_Map] = []
    scales: dict[Expr, tuple[Expr, Expr]] = {}

    def part(datum: Expr, unit: int) -> tuple[Expr, Expr]:
        at = len(types)
        types.append(type_)
        data.append(datum)
        identity.append(const(type_, unit))
        return Var(type_, f"x{at}"), Var(type_, f"y{at}")

    def joined(both: Expr, own: Expr, other: Expr) -> Expr:
        return choose(some, choose(more, both, own), other)

    for own in (weight, *averages.values()):
        if own.scale not in scales:
            old, new = scales[own.scale] = part(own.scale, 1)
            operator.append(joined(apply("*", old, new), old, new))
        times = scales[own.scale][1]
        old, new = part(own.add, 0)
        operator.append(joined(apply("+", apply("*", old, times), new), old, new))
        maps.append(_Map(times, new))

    def mapped(map_: _Map, value: Expr) -> Expr:
        return apply("+", apply("*", value, map_.scale), map_.add)

    total = mapped(maps[0], x[at])
    applied: dict[int, Expr] = {at: choose(more, total, x[at])}
    for i, map_ in zip(averages, maps[1:], strict=True):
        applied[i] = choose(more, apply("/", mapped(map_, apply("*", x[at], x[i])), total), x[i])
    return pruned(
        Lift(tuple(types), tuple(data), tuple(operator), tuple(identity), tuple(applied[i] for i in range(len(x))))
    )


__all__ = ["claims"]
