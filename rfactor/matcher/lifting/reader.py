"""Liftings of updates that end with a look at the last step: was the last element a new maximum, the last difference.

Some components only read others, as these were before the step, and the data. A run is how it acts on those others, how
all of it but its last step acts on them, and the last data.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Var, apply, names, substitute, variables
from rfactor.ir.graph import restrict
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Inner, choose, nought, operands
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for an update with components that nothing reads, and that read others."""
    own = accumulator_names(update)
    count = range(len(update.types))
    readers = [i for i in count if not any(f"x{i}" in names(component) for component in update.components)]
    others = [i for i in count if i not in readers]
    if not others or not any(names(update.components[i]) & own for i in readers):
        return
    action = inner(restrict(update, tuple(others)))
    if action is None or any(e.type != t for e, t in zip(action.identity, action.types, strict=True)):
        return
    read = dict.fromkeys(v for i in readers for v in variables(update.components[i]))
    last = tuple(v for v in read if v.name not in own and v.name not in update.constants)
    lift = _lifting(update, readers, others, last, action)
    starts = (1, 1 + len(action.types))
    kept = [
        renumbered(c, {i: start + i for i in range(len(action.types))}) for start in starts for c in action.invariant
    ]
    yield Claim(update, lift=lift, invariant=tuple(kept), assumes=action.assumes)


def _lifting(update: Update, readers: list[int], others: list[int], last: tuple[Var, ...], action: Action) -> Lift:
    """State: whether there was an element, the action of all, of all but the last, the last data."""
    wide = (BOOL, *action.types, *action.types, *(v.type for v in last))
    size = len(action.types)

    def parts(letter: str) -> tuple[Expr, tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
        some, *rest = operands(letter, wide)
        return some, tuple(rest[:size]), tuple(rest[size : 2 * size]), tuple(rest[2 * size :])

    (some, whole, before, old), (more, next_whole, next_before, new) = parts("x"), parts("y")
    earlier = action.combine(whole, next_before)
    was_last = apply("and", some, apply("not", more))
    operator = (
        apply("or", some, more),
        *action.combine(whole, next_whole),
        *(choose(was_last, a, b) for a, b in zip(before, earlier, strict=True)),
        *(choose(was_last, a, b) for a, b in zip(old, new, strict=True)),
    )
    x = update.accumulators
    state = [x[i] for i in others]
    values: dict[str, Expr] = dict(zip([f"x{i}" for i in others], action.act(state, next_before), strict=True))
    values |= {v.name: e for v, e in zip(last, new, strict=True)}
    applied: dict[int, Expr] = dict(zip(others, action.act(state, next_whole), strict=True))
    applied |= {i: choose(more, substitute(update.components[i], values), x[i]) for i in readers}
    start = (TRUE, *action.data, *action.identity, *last)
    empty = (FALSE, *action.identity, *action.identity, *(nought(v.type) for v in last))
    return Lift(wide, start, operator, empty, tuple(applied[i] for i in range(len(x))))
