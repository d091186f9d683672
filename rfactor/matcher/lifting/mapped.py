"""Liftings of updates that keep a one-to-one map of a number that is easier to follow: its negative, its complement.

Where the state read through the inverse map makes a shorter update, runs act on it as they act there.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import apply, const
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, Inner, choose, flagged, operands
from rfactor.matcher.through import Through, through
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for an update whose components are maps of what is shorter."""
    other = through(update)
    action = None if other is None else inner(other.update)
    if other is None or action is None:
        return
    if other.functions:
        yield from _of_functions(update, other, action)
        return
    after = action.act(other.back(update.accumulators), operands("y", action.types))
    lift = Lift(action.types, action.data, action.operator, action.identity, other.forth(after))
    yield Claim(update, lift=lift, invariant=action.invariant, assumes=action.assumes)


def _of_functions(update: Update, other: Through, action: Action) -> Iterator[Claim]:
    """Where a root is kept, say, only a step makes one of the start: a flag says whether there was a step."""
    richer = flagged(action.types, action.operator, action.data)
    y = operands("y", richer.types)
    after = other.forth(action.act(other.back(update.accumulators), y[:-1]))
    ended = tuple(choose(y[-1], new, old) for new, old in zip(after, update.accumulators, strict=True))
    lift = Lift(richer.types, richer.data, richer.operator, richer.identity, ended)
    positive = tuple(apply(">=", v, const(v.type, 0)) for v in y if v.type.is_float)
    yield Claim(update, lift=lift, invariant=positive, assumes=action.assumes)
    yield Claim(update, lift=lift, assumes=action.assumes)


__all__ = ["claims"]
