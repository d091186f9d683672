"""Liftings of reductions that look at the element before: is it sorted, how often does it change, run lengths.

Some components only remember data of the iteration (`x1 := a`); the others read them beside the new data. A run is
its first data, what it remembers at its end, and the action of the inner update over the neighbours in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Var, apply, substitute, variables
from rfactor.ir.graph import restrict
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Inner, choose, marked, nought, operands
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names, free_of
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """Claims for an update with components that remember data."""
    free = free_of(accumulator_names(update))
    remembered = [i for i in range(len(update.types)) if free(update.components[i])]
    others = [i for i in range(len(update.types)) if i not in remembered]
    if not remembered or not others:
        return
    used = [i for i in remembered if any(f"x{i}" in _names(update.components[j]) for j in others)]
    if not used:
        return
    # The inner update: what is remembered becomes data.
    earlier = _earlier(update)
    before = {f"x{i}": Var(update.types[i], f"{earlier} {i}") for i in remembered}
    whole = Update(
        tuple(substitute(update.components[i], before) for i in range(len(update.types))),
        update.types,
        update.constants,
        update.meaning,
    )
    action = inner(restrict(whole, tuple(others)))
    if action is None:
        return
    data = tuple(dict.fromkeys(v for i in others for v in variables(update.components[i]) if _is_datum(v, update)))
    start = 1 + len(data) + len(remembered)
    kept = tuple(renumbered(c, {i: start + i for i in range(len(action.types))}) for c in action.invariant)
    yield Claim(update, lift=_lifting(update, others, remembered, data, action, earlier), invariant=kept)


def _earlier(update: Update) -> str:
    """What remembered values are called as data: a new name where the update is made of one like it."""
    taken = {name for component in update.components for name in _names(component)}
    name = "before"
    while any(other.startswith(f"{name} ") for other in taken):
        name = f"before_{name}"
    return name


def _names(expr: Expr) -> set[str]:
    return {var.name for var in variables(expr)}


def _is_datum(var: Var, update: Update) -> bool:
    return var.name not in update.constants and var.name not in accumulator_names(update)


def _lifting(
    update: Update, others: list[int], remembered: list[int], data: tuple[Var, ...], action: Action, earlier: str
) -> Lift:
    """State: whether there was an element, the first data, what is remembered at the end, the action in between."""
    memory = tuple(update.types[i] for i in remembered)
    wide = (BOOL, *(v.type for v in data), *memory, *action.types)
    cuts = (1, 1 + len(data), 1 + len(data) + len(memory))

    def parts(letter: str) -> tuple[Expr, tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
        all_parts = operands(letter, wide)
        return all_parts[0], all_parts[1 : cuts[1]], all_parts[cuts[1] : cuts[2]], all_parts[cuts[2] :]

    def crossing(memories: tuple[Expr, ...], firsts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The inner step from what is remembered to the first data of the next run."""
        values: dict[str, Expr] = {f"{earlier} {i}": m for i, m in zip(remembered, memories, strict=True)}
        values |= {v.name: first for v, first in zip(data, firsts, strict=True)}
        return marked(action.data, values)

    (some, first, last, run), (more, next_first, next_last, next_run) = parts("x"), parts("y")
    through = action.combine(action.combine(run, crossing(last, next_first)), next_run)
    tail_is_own = apply("and", some, apply("not", more))
    operator = (
        apply("or", some, more),
        *(choose(some, a, b) for a, b in zip(first, next_first, strict=True)),
        *(choose(tail_is_own, a, b) for a, b in zip(last, next_last, strict=True)),
        *(choose(some, choose(more, both, a), b) for both, a, b in zip(through, run, next_run, strict=True)),
    )
    x = update.accumulators
    old = tuple(x[i] for i in others)
    after = action.act(old, action.combine(crossing(tuple(x[i] for i in remembered), next_first), next_run))
    applied: dict[int, Expr] = {i: choose(more, new, x[i]) for i, new in zip(others, after, strict=True)}
    applied |= {i: choose(more, new, x[i]) for i, new in zip(remembered, next_last, strict=True)}
    start = (TRUE, *data, *(update.components[i] for i in remembered), *action.identity)
    empty = (FALSE, *map(nought, (v.type for v in data)), *map(nought, memory), *action.identity)
    return Lift(wide, start, operator, empty, tuple(applied[i] for i in range(len(x))))
