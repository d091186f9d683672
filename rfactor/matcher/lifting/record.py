"""Liftings of what starts again at each new extremum and goes on otherwise: steps since the maximum, sums since.

`x0 := max(x0, a)`, and the others are set by data where `a > x0`, else do an inner step, each time or only where
`a == x0`. A run knows its own extremum, what the others are at its end if that was new, and the inner action of all
its steps, or of those that met its extremum, if it was not.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Op, apply, names
from rfactor.ir.graph import restrict
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Inner, choose, nought, operands
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.ordered import in_each_order
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift

_RECORDS = {"max": (">", ">="), "min": ("<", "<=")}


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for each component that is an extremum of data."""
    count = len(update.types)
    free = free_of(accumulator_names(update))
    for number in range(count) if count > 1 else ():
        others = tuple(i for i in range(count) if i != number)
        component = extremal(update.components[number], free)
        if not isinstance(component, Op) or component.op not in _RECORDS or f"x{number}" not in names(component):
            continue
        terms = [arg for arg in component.args if arg != update.accumulators[number]]
        if len(terms) != 1 or not free(terms[0]):
            continue
        yield from _tied(update, number, component.op, terms[0], inner)
        parts = [_parts(update, i, number, terms[0]) for i in others]
        found = [part for part in parts if part is not None]
        relations = {relation for relation, _, _ in found}
        if len(found) < len(parts) or len(relations) != 1 or not relations <= set(_RECORDS[component.op]):
            continue
        if any(not free(fresh) or f"x{number}" in names(going_on) for _, fresh, going_on in found):
            continue
        steps = list(update.components)
        for i, (_, _, going_on) in zip(others, found, strict=True):
            steps[i] = going_on
        action = inner(restrict(Update(tuple(steps), update.types, update.constants, update.meaning), others))
        if action is not None:
            fresh = tuple(tidy(part[1]) for part in found)
            yield _claim(update, number, component.op, relations.pop(), tidy(terms[0]), fresh, action)


def _tied(update: Update, number: int, op: str, term: Expr, inner: Inner) -> Iterator[Claim]:
    """The claim where the others are set at a new extremum, step where it is met again, and keep else."""
    others = tuple(i for i in range(len(update.types)) if i != number)
    free = free_of(accumulator_names(update))
    steps, fresh = list(update.components), []
    for i in others:
        above, equal, below = in_each_order(update.components[i], term, update.accumulators[number])
        new, left = (above, below) if op == "max" else (below, above)
        if left != update.accumulators[i] or not free(new) or f"x{number}" in names(equal):
            return
        steps[i] = equal
        fresh.append(new)
    action = inner(restrict(Update(tuple(steps), update.types, update.constants, update.meaning), others))
    if action is not None:
        yield _claim(update, number, op, _RECORDS[op][0], tidy(term), tuple(fresh), action, at_ties=True)


def _parts(update: Update, i: int, number: int, term: Expr) -> tuple[str, Expr, Expr] | None:
    """How the datum is related to the extremum where a component is set, what it is set to, and its step otherwise."""
    component, key = update.components[i], update.accumulators[number]
    if not isinstance(component, Op) or component.op != "select":
        return None
    condition, fresh, going_on = component.args
    if not isinstance(condition, Op) or condition.op not in OPPOSITE or set(condition.args) != {key, term}:
        return None
    relation = condition.op if condition.args[0] == term else MIRRORED[condition.op]
    if names(fresh) & accumulator_names(update):
        return OPPOSITE[relation], going_on, fresh
    return relation, fresh, going_on


def _claim(
    update: Update,
    number: int,
    op: str,
    relation: str,
    term: Expr,
    fresh: tuple[Expr, ...],
    action: Action,
    at_ties: bool = False,
) -> Claim:
    """State: whether there was an element, the extremum, the others where it was new, the inner action.

    `at_ties`: the inner action is of the steps that meet the extremum alone.
    """
    others = tuple(i for i in range(len(update.types)) if i != number)
    types = (BOOL, update.types[number], *(update.types[i] for i in others), *action.types)
    cut = 2 + len(others)
    first, second = operands("x", types), operands("y", types)
    some, best, own, run = first[0], first[1], first[2:cut], first[cut:]
    more, new_best, new, new_run = second[0], second[1], second[2:cut], second[cut:]
    beaten = apply(relation, new_best, best)
    tied = apply("==", new_best, best) if at_ties else TRUE
    onward = [choose(tied, a, b) for a, b in zip(action.act(own, new_run), own, strict=True)]
    after = [choose(beaten, a, b) for a, b in zip(new, onward, strict=True)]
    together = [choose(tied, a, b) for a, b in zip(action.combine(run, new_run), run, strict=True)]
    after += [choose(beaten, a, b) if at_ties else b for a, b in zip(new_run, together, strict=True)]
    operator = (
        apply("or", some, more),
        choose(some, choose(more, apply(op, best, new_best), best), new_best),
        *(choose(some, choose(more, a, b), c) for a, b, c in zip(after, first[2:], second[2:], strict=True)),
    )
    x = update.accumulators
    applied = {number: choose(more, apply(op, x[number], new_best), x[number])}
    kept = tuple(x[i] for i in others)
    met = apply("==", x[number], new_best) if at_ties else TRUE
    onward = [choose(met, a, b) for a, b in zip(action.act(kept, new_run), kept, strict=True)]
    replaced = apply(relation, new_best, x[number])
    for i, value, going_on in zip(others, new, onward, strict=True):
        applied[i] = choose(more, choose(replaced, value, going_on), x[i])
    empty = (FALSE, *map(nought, types[1:cut]), *action.identity)
    lift = Lift(types, (TRUE, term, *fresh, *action.data), operator, empty, tuple(applied[i] for i in range(len(x))))
    places = {i: cut + i for i in range(len(action.types))}
    return Claim(
        update, lift=lift, invariant=tuple(renumbered(c, places) for c in action.invariant), assumes=action.assumes
    )


__all__ = ["claims"]
