"""Identities for operators that were proved without one.

If `e` is a left identity then `y = f(e; d)` will do for the data: what `e` leaves of them is all that the operator may
read. So `min(x0, y0), x1 + select(y0 < x0, y1 - x1, 0)` starts from (MAX, 0) with the data `a, select(a < MAX, i, 0)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, islice, product

from rfactor.ir.update import Update
from rfactor.matcher.operators import substitution
from rfactor.matcher.terms import State, run_from
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import Undefined, without_infinities, writable
from rfactor.prover.operator import Operator, constants_of

_FEW = 4
"""Components from which the identities tried first are far from all."""
_CLAIMED = 3


def claims(claim: Claim) -> Iterator[Claim]:
    """The claims that the operator has an identity, and other data to go with it, where samples bear it out."""
    update = claim.update
    if claim.operator is None:
        return
    op = Operator(claim.operator, update.types, update.meaning)
    # Laws that were known are those of another identity, but for these.
    known = tuple(law for law in claim.known if law[0] in ("associative", "commutative"))
    given = [] if claim.identity is None else [claim.identity]
    others = substitution.starts(update, substitution.Solved({}, {}), infinite=True)
    found = (
        replace(claim, identity=e, data=data, known=known)
        for e in chain(given, others, _of_two(update))
        for data in _data(op, claim, e)
    )
    yield from islice(found, _CLAIMED)


def _of_two(update: Update) -> Iterator[State]:
    """Where components are many: states of two values, as the units of matrices are."""
    (type_, *more) = dict.fromkeys(update.types)
    if more or len(update.types) < _FEW:
        return
    for pair in combinations(constants_of(type_, (), update.meaning, infinite=True), 2):
        yield from product(pair, repeat=len(update.types))


def _data(op: Operator, claim: Claim, e: State) -> Iterator[State]:
    """What `e` leaves of the data, if samples show it to be enough and `e` to be a left identity on it."""
    update = claim.update
    try:
        data = run_from(update, e)
        sides = [(update.components, op(op.operands("x"), data)), (data, op(e, data))]
        for one, other in sides:
            plain = tuple(without_infinities(part) for part in other)
            if not all(map(writable, (*one, *plain))):
                return
            if sampling.refute(one, plain, update.meaning, claim.assumes) is not None:
                return
    except Undefined:
        return
    yield data


__all__ = ["claims"]
