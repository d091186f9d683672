"""Liftings of a component that, less or with another, only adds data: unmatched brackets, idle time, lost tokens.

In `max(x0 + a, 0), x1 + max(-(x0 + a), 0)` every step adds -a to x1 - x0. A run is then how the other component acts,
and a sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from rfactor.ir.expr import Expr, apply, names
from rfactor.ir.graph import restrict
from rfactor.ir.update import Update
from rfactor.matcher.action import Inner, nought, operands
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import Undefined


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """Claims for an update with a component that no other reads, and that reads another."""
    count = len(update.types)
    for at, other in permutations(range(count), 2):
        own = f"x{at}"
        type_ = update.types[at]
        if type_.is_bool or update.types[other] != type_ or f"x{other}" not in names(update.components[at]):
            continue
        if any(own in names(component) for i, component in enumerate(update.components) if i != at):
            continue
        for op in ("-", "+"):
            added = _added(update, at, other, op)
            if added is None:
                continue
            rest = tuple(i for i in range(count) if i != at)
            action = inner(restrict(update, rest))
            if action is None:
                break
            states = operands("x", update.types)
            last = len(action.types)
            (total,), (more,) = operands("x", (type_,), last), operands("y", (type_,), last)
            after = dict(zip(rest, action.act([states[i] for i in rest], operands("y", action.types)), strict=True))
            # x_at op x_other and the sum, less (or with) what the other has become.
            before = apply("+", apply(op, states[at], states[other]), more)
            after[at] = apply("+" if op == "-" else "-", before, after[other])
            lift = Lift(
                (*action.types, type_),
                (*action.data, added),
                (*action.operator, apply("+", total, more)),
                (*action.identity, nought(type_)),
                tuple(after[i] for i in range(count)),
            )
            yield Claim(update, lift=lift, invariant=action.invariant, assumes=action.assumes)
            break


def _added(update: Update, at: int, other: int, op: str) -> Expr | None:
    """What each step adds to x_at op x_other, on samples; None if that depends on the state."""
    try:
        start = run_from(update, tuple(map(nought, update.types)))
    except Undefined:
        return None
    added = tidy(apply(op, start[at], start[other]))
    one, two = update.components[at], update.components[other]
    x, y = update.accumulators[at], update.accumulators[other]
    left = apply(op, one, two)
    right = apply("+", apply(op, x, y), added)
    return None if sampling.refute((left,), (right,), update.meaning) is not None else added


__all__ = ["claims"]
