"""Liftings of components that others make of their new values: copies, a hash and its bucket.

In `x0*31 + a, (x0*31 + a) & 255` only the first is followed. A run is how it acts on that, and whether there was a
step: before the first one what is made of it has a value of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import apply, substitute
from rfactor.ir.graph import restrict
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Inner, choose, joined, operands
from rfactor.matcher.operators.derived import made_of, new_value
from rfactor.matcher.solve import renumbered
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for components that no other reads and that read the new values of others alone."""
    parts = made_of(update)
    if parts is None:
        return
    rest, made = parts
    action = inner(restrict(update, rest))
    if action is None:
        return
    types = (BOOL, *action.types)
    (some, *first), (more, *second) = operands("x", types), operands("y", types)
    x = update.accumulators
    after = action.act(tuple(x[i] for i in rest), second)
    values = {new_value(update, i).name: value for i, value in zip(rest, after, strict=True)}
    applied = {i: choose(more, value, x[i]) for i, value in zip(rest, after, strict=True)}
    applied |= {i: choose(more, substitute(expr, values), x[i]) for i, expr in made.items()}
    runs = joined(some, more, action.combine(first, second), first, second)
    lift = Lift(
        types,
        (TRUE, *action.data),
        (apply("or", some, more), *runs),
        (FALSE, *action.identity),
        tuple(applied[i] for i in range(len(x))),
    )
    places = {i: i + 1 for i in range(len(action.types))}
    invariant = tuple(renumbered(condition, places) for condition in action.invariant)
    yield Claim(update, lift=lift, invariant=invariant, assumes=action.assumes)
