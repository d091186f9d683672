"""Liftings of updates that keep a one-to-one map of a number that is easier to follow: its negative, its complement.

In `~max(min(~x, a), b)` the complement of x is clamped. Where the state read through the inverse map makes a shorter
update, runs act on it as they act there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace as replaced

from rfactor.ir.expr import Expr, replace, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, operands
from rfactor.matcher.terms import tidy
from rfactor.prover.bijections import cancelled, inverse, mapped
from rfactor.prover.claim import Claim, Lift

Map = Callable[[Expr], Expr]


def claims(update: Update, inner: Callable[[Update], Action | None]) -> Iterator[Claim]:
    """The claim for an update whose components are maps of what is shorter."""
    maps = {i: found for i, e in enumerate(update.components) if (found := _map(e, update.meaning)) is not None}
    for i, (forth, back) in dict(maps).items():
        alone = _through({i: (forth, back)}, update)
        if _size(alone) >= _size(update):
            del maps[i]
    if not maps:
        return
    action = inner(_through(maps, update))
    if action is None:
        return
    state = [maps[i][1](x) if i in maps else x for i, x in enumerate(update.accumulators)]
    after = action.act(state, operands("y", action.types))
    applied = tuple(maps[i][0](e) if i in maps else e for i, e in enumerate(after))
    lift = Lift(action.types, action.data, action.operator, action.identity, applied)
    yield Claim(update, lift=lift, invariant=action.invariant, assumes=action.assumes)


def _map(expr: Expr, meaning: Meaning) -> tuple[Map, Map] | None:
    """The map that gives an expression, and its inverse."""
    operand = mapped(expr, meaning)
    back = None if operand is None else inverse(expr, operand)
    if operand is None or back is None:
        return None
    return (lambda e: replace(expr, {operand: e})), (lambda e: replace(back, {operand: e}))


def _through(maps: dict[int, tuple[Map, Map]], update: Update) -> Update:
    """The update of what the maps are of."""
    values = {f"x{i}": forth(update.accumulators[i]) for i, (forth, _) in maps.items()}
    components = [substitute(e, values) for e in update.components]
    components = [maps[i][1](e) if i in maps else e for i, e in enumerate(components)]
    return replaced(update, components=tuple(tidy(cancelled(e, update.meaning)) for e in components))


def _size(update: Update) -> int:
    return sum(1 for e in update.components for _ in walk(e))


__all__ = ["claims"]
