"""Liftings of "start again, or go on": conditional assignment, run lengths, segmented reductions.

Where a datum says so the state is set to a value that depends on data alone, otherwise an inner update is done. A run
is then "set to v, if ever, and then this action of the inner update": a flag, the value, the inner action.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.ir.expr import Const, Expr, Op, apply
from rfactor.ir.expr import replace as exchange
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, Action, Exprs, Inner, bind, choose, nought, operands
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """Claims for an update all of whose components are reset under one condition, else kept or joined plainly."""
    for condition, resets, going_on in _splits(update):
        if going_on == update.accumulators:
            yield _assigned(update, condition, resets)
            continue
        action = inner(replace(update, components=going_on))
        if action is not None and action.types == update.types and action.apply == action.operator:
            yield _plain(update, condition, resets, action)


def lifted(update: Update, inner: Inner) -> Iterator[Claim]:
    """Claims for an update all of whose components are reset under one condition."""
    for condition, resets, going_on in _splits(update):
        action = None if going_on == update.accumulators else inner(replace(update, components=going_on))
        if action is not None:
            yield from _started(update, condition, resets, action)


def _splits(update: Update) -> Iterator[tuple[Expr, Exprs, Exprs]]:
    """Conditions on data, what the components are set to where they hold, and what is done where they do not."""
    free = free_of(accumulator_names(update))
    for condition in conditions(update):
        parts = [split(component, condition) for component in update.components]
        if not all(free(reset) for reset, _ in parts):
            continue
        going_on = tuple(tidy(other) for _, other in parts)
        resets = tuple(tidy(reset) for reset, _ in parts)
        yield tidy(condition), resets, going_on


def conditions(update: Update) -> list[Expr]:
    """Conditions on data that every component's outermost select may turn on, each with its negation."""
    is_free = free_of(accumulator_names(update))
    found: dict[Expr, None] = {}
    for component in update.components:
        if isinstance(component, Op) and component.op == "select" and is_free(component.args[0]):
            found.setdefault(component.args[0])
            found.setdefault(apply("not", component.args[0]))
        chosen = isinstance(component, Op) and component.op == "select"
        condition = component.children[0] if chosen else component
        if condition.type.is_bool and isinstance(condition, Op) and condition.op in ("and", "or"):
            for arg in condition.args:
                if is_free(arg):
                    found.setdefault(arg if condition.op == "or" else apply("not", arg))
    return list(found)


def split(component: Expr, condition: Expr) -> tuple[Expr, Expr]:
    """What a component is where the condition holds, and where it does not."""
    negated = condition.args[0] if isinstance(condition, Op) and condition.op == "not" else None
    known = apply("not", condition) if negated is None else negated

    def under(holds: bool) -> Expr:
        values = {condition: Const(BOOL, holds), known: Const(BOOL, not holds)}
        return tidy(exchange(component, values))

    return under(True), under(False)


def _assigned(update: Update, condition: Expr, resets: Exprs) -> Claim:
    """The last value that was set, and whether there was one."""
    types, count = update.types, len(update.types)
    old, values = operands("x", types), operands("y", types)
    (flag,), (more,) = operands("x", [BOOL], count), operands("y", [BOOL], count)
    merged = tuple(choose(more, new, before) for new, before in zip(values, old, strict=True))
    lift = Lift(
        (*types, BOOL),
        (*resets, condition),
        (*merged, apply("or", flag, more)),
        (*map(nought, types), FALSE),
        merged,
    )
    return Claim(update, lift=lift)


def _started(update: Update, condition: Expr, resets: Exprs, action: Action) -> Iterator[Claim]:
    """Whether and to what the state was set, and how the run acts from there."""
    types, count = update.types, len(update.types)
    x = update.accumulators
    wide = (*types, BOOL, *action.types)
    first, second = operands("x", wide), operands("y", wide)
    start, flag, run = first[:count], first[count], first[count + 1 :]
    new_start, new_flag, new_run = second[:count], second[count], second[count + 1 :]
    merged = tuple(choose(new_flag, new, old) for new, old in zip(new_start, start, strict=True))
    joined = action.combine(run, new_run)
    runs = tuple(choose(new_flag, new, both) for new, both in zip(new_run, joined, strict=True))
    applied = action.act(tuple(choose(new_flag, new, old) for new, old in zip(new_start, x, strict=True)), new_run)
    data = tuple(choose(condition, unit, value) for unit, value in zip(action.identity, action.data, strict=True))
    if any(value.type != type_ for value, type_ in zip(data, action.types, strict=True)):
        return
    starts = tuple(tidy(choose(condition, reset, nought(reset.type))) for reset in resets)
    lift = Lift(
        wide,
        (*starts, condition, *map(tidy, data)),
        (*merged, apply("or", flag, new_flag), *runs),
        (*map(nought, types), FALSE, *action.identity),
        applied,
    )
    places = {i: count + 1 + i for i in range(len(action.types))}
    unset = (apply("or", new_flag, apply("==", value, nought(value.type))) for value in new_start)
    invariant = (*unset, *(renumbered(c, places) for c in action.invariant))
    yield Claim(update, lift=lift, invariant=invariant, assumes=action.assumes)


def _plain(update: Update, condition: Expr, resets: Exprs, action: Action) -> Claim:
    """The smaller state where the inner update has an operator on the state itself: a flag and one value."""
    count = len(update.types)
    wide = (*update.types, BOOL)
    first, second = operands("x", wide), operands("y", wide)
    joined = bind(action.operator, first[:count], second[:count])
    merged = tuple(choose(second[count], new, both) for new, both in zip(second[:count], joined, strict=True))
    data = tuple(choose(condition, reset, value) for reset, value in zip(resets, action.data, strict=True))
    lift = Lift(
        wide,
        (*map(tidy, data), condition),
        (*merged, apply("or", first[count], second[count])),
        (*action.identity, FALSE),
        merged,
    )
    # What the state is set to may be anything.
    invariant = tuple(apply("or", second[count], c) for c in action.invariant)
    return Claim(update, lift=lift, invariant=invariant, assumes=action.assumes)
