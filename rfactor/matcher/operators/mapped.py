"""Operators of updates that keep a one-to-one map of a number: `((x ^ k) + a) ^ k` adds what x is with bits turned.

The operator is that of the numbers followed, between the maps; so are its identity and its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rfactor.ir.update import Update
from rfactor.matcher.action import bind, operands
from rfactor.matcher.terms import tidy
from rfactor.matcher.through import through
from rfactor.prover.claim import Claim, Discharged
from rfactor.prover.infinity import has_infinity


def claims(update: Update, solve: Callable[[Update], Discharged | None]) -> Iterator[Claim]:
    """The claim for an update whose components are maps of what is shorter."""
    other = through(update)
    found = None if other is None or other.functions else solve(other.update)
    claim = None if found is None else found.claim
    if other is None or claim is None or claim.operator is None or claim.data is None:
        return
    x, y = other.back(update.accumulators), other.back(operands("y", update.types))
    identity = claim.identity
    if identity is not None and any(map(has_infinity, identity)):
        identity = None  # what a map of it is need not be a number
    yield Claim(
        update,
        operator=tuple(map(tidy, other.forth(bind(claim.operator, x, y)))),
        identity=None if identity is None else tuple(map(tidy, other.forth(identity))),
        data=tuple(map(tidy, other.forth(claim.data))),
        invariant=bind(claim.invariant, (), y),
        assumes=claim.assumes,
    )


__all__ = ["claims"]
