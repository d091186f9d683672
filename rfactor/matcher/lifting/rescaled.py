"""Liftings of sums relative to an extremum that decays: stabilised exponential gates, discounted online softmax.

The state is m := max(m + f, i) and sums of w * E(i - m), where E is an exponential, which a step scales by E(f) and
perhaps by a factor of their own. A run is what it adds to m and where it starts m anew, the factors, and its own sums
relative to that start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rfactor.ir.expr import Expr, apply, const, select, substitute
from rfactor.ir.graph import restrict
from rfactor.ir.update import Update
from rfactor.matcher.action import operands, pruned
from rfactor.matcher.lifting.semiring import OFFSET, affine, semirings
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.operators.guess import Column, Points
from rfactor.matcher.operators.rescaled import Exponential, exponentials, gap, scales
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity


@dataclass(frozen=True, slots=True)
class _Extremum:
    """The component x := op(x + add, start)."""

    at: int
    op: str
    add: Expr
    start: Expr


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of floats with one extremum to which all other components are relative."""
    type_, calls = update.types[0], exponentials(update)
    if not calls:
        return
    points = Points(update)
    for extremum in _extrema(update):
        for scale in scales(update, type_, calls):
            sums = _sums(update, points, extremum, scale)
            if sums is not None:
                yield Claim(update, lift=_lifting(update, extremum, scale, sums))
                return


def _extrema(update: Update) -> Iterator[_Extremum]:
    """Components that are affine over (max, +) or (min, +) in themselves alone."""
    type_ = update.types[0]
    for at in range(len(update.types)):
        if not free_of(accumulator_names(update) - {f"x{at}"})(update.components[at]):
            continue
        own = restrict(update, (at,))
        own = replace(own, components=(extremal(own.components[0], free_of(accumulator_names(own))),))
        for ring in semirings(type_, update.meaning):
            if ring.plus in ("max", "min") and ring.times == "+":
                rows = affine(own, ring)
                if rows is not None and rows[0].keys() == {0, OFFSET} and not any(map(has_infinity, rows[0].values())):
                    yield _Extremum(at, ring.plus, rows[0][0], rows[0][OFFSET])


def _sums(
    update: Update, points: Points, extremum: _Extremum, scale: Exponential
) -> dict[int, tuple[Expr, Expr]] | None:
    """For the other components p and w where f_i = x_i p E(m + f - m') + w E(start - m'); None if one is not so."""
    m = update.accumulators[extremum.at]
    kept = apply("+", m, extremum.add)
    after = apply(extremum.op, kept, extremum.start)
    found: dict[int, tuple[Expr, Expr]] = {}
    for i, x in zip(range(len(update.types)), update.accumulators, strict=True):
        if i == extremum.at:
            continue
        nothing, one = (substitute(update.components[i], {x.name: const(x.type, v)}) for v in (0, 1))
        factor = apply("/", apply("-", one, nothing), scale(gap(extremum.op, kept, after)))
        weight = apply("/", nothing, scale(gap(extremum.op, extremum.start, after)))
        shown = []
        for wanted in (factor, weight):

            def value(state: Mapping[str, Column], e: Expr = wanted) -> Column | None:
                return points.values(e, state)

            column = points.free_value(value)
            plain = None if column is None else points.plainest(x.type, column)
            if plain is None:
                return None
            shown.append(plain)
        found[i] = (shown[0], shown[1])
    return found


def _lifting(update: Update, extremum: _Extremum, scale: Exponential, sums: dict[int, tuple[Expr, Expr]]) -> Lift:
    """State: what is added to the extremum, where it starts anew; of each sum the factor and the sum from there."""
    type_, op = update.types[0], extremum.op
    types = (type_,) * (2 + 2 * len(sums))
    (add, start, *own), (more, new, *other) = operands("x", types), operands("y", types)

    def losing(first: Expr, second: Expr) -> Expr:
        return apply("<" if op == "max" else ">", first, second)

    def joined(reference: Expr, sum_: Expr, factor: Expr, new_sum: Expr) -> Expr:
        """A sum relative to `reference`, with one relative to `new`, relative to the extremum of both."""
        sum_ = apply("*", sum_, factor)
        rescaled = apply("+", apply("*", sum_, scale(gap(op, reference, new))), new_sum)
        beside = apply("+", sum_, apply("*", new_sum, scale(gap(op, new, reference))))
        return select(
            losing(reference, new), rescaled, select(losing(new, reference), beside, apply("+", sum_, new_sum))
        )

    operator: list[Expr] = [apply("+", add, more), apply(op, apply("+", start, more), new)]
    data = [tidy(extremum.add), tidy(extremum.start)]
    identity: list[Expr] = [const(type_, 0), const(type_, float("-inf") if op == "max" else float("inf"))]
    x = update.accumulators
    applied: dict[int, Expr] = {extremum.at: apply(op, apply("+", x[extremum.at], more), new)}
    for (i, (factor, weight)), at in zip(sums.items(), range(0, 2 * len(sums), 2), strict=True):
        operator.append(apply("*", own[at], other[at]))
        operator.append(joined(apply("+", start, more), own[at + 1], other[at], other[at + 1]))
        data += [factor, weight]
        identity += [const(type_, 1), const(type_, 0)]
        applied[i] = joined(apply("+", x[extremum.at], more), x[i], other[at], other[at + 1])
    lift = Lift(types, tuple(data), tuple(operator), tuple(identity), tuple(applied[i] for i in range(len(x))))
    return pruned(lift)


__all__ = ["claims"]
