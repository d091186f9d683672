"""Liftings of updates that keep a one-to-one map of a number that is easier to follow: its negative, its complement.

Where the state read through the inverse map makes a shorter update, runs act on it as they act there.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.update import Update
from rfactor.matcher.action import Inner, operands
from rfactor.matcher.through import through
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for an update whose components are maps of what is shorter."""
    other = through(update)
    action = None if other is None else inner(other.update)
    if other is None or action is None:
        return
    after = action.act(other.back(update.accumulators), operands("y", action.types))
    lift = Lift(action.types, action.data, action.operator, action.identity, other.forth(after))
    yield Claim(update, lift=lift, invariant=action.invariant, assumes=action.assumes)


__all__ = ["claims"]
