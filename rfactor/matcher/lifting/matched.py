"""Liftings of what is taken and given where nothing falls below 0: depths of brackets, stocks, unsigned counters.

`select(c, x + 1, select(x > 0, x - 1, x))` of an unsigned, unbounded x takes up to 1 or gives 1. A run first takes what
its own gifts do not cover, then gives what is left of them: x -> max(x, take) - take + give. What it could not take,
max(x, take) - x, another component may count.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, select, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.action import choose, nought, operands
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift


@dataclass(frozen=True, slots=True)
class _Step:
    take: Expr
    give: Expr


def claims(update: Update) -> Iterator[Claim]:
    """The claims for an unsigned, unbounded number, and others that count what could not be taken from it."""
    (type_, *_) = update.types
    if update.meaning is not Meaning.MATH or type_.code != "uint" or len(set(update.types)) > 1:
        return
    for number in range(len(update.types)):
        if names(update.components[number]) & accumulator_names(update) != {f"x{number}"}:
            continue
        step = _read(update, update.components[number], update.accumulators[number])
        if step is None or step.take == nought(type_):
            continue
        others = [i for i in range(len(update.types)) if i != number]
        counts = [_counted(update, i, update.accumulators[number], step.take) for i in others]
        if None not in counts:
            more = {i: count for i, count in zip(others, counts, strict=True) if count is not None}
            yield Claim(update, lift=_lifting(update, number, step, more))


def _lifting(update: Update, number: int, step: _Step, counts: dict[int, Expr]) -> Lift:
    """State: what is taken, what is given, what is counted beside by data alone."""
    type_ = update.types[number]
    counted = [i for i, count in counts.items() if count != nought(type_)]
    types = (type_,) * (2 + len(counted))
    (take, give, *sums), (taken, given, *totals) = operands("x", types), operands("y", types)
    most = apply("max", give, taken)
    operator = (
        apply("-", apply("+", take, most), give),
        apply("+", apply("-", most, taken), given),
        *(apply("+", one, other) for one, other in zip(sums, totals, strict=True)),
    )
    x = update.accumulators[number]
    reached = apply("max", x, taken)
    after = {number: apply("+", apply("-", reached, taken), given)}
    for i in counts:
        after[i] = apply("+", update.accumulators[i], apply("-", reached, x))
    for i, total in zip(counted, totals, strict=True):
        after[i] = apply("+", after[i], total)
    data = (step.take, step.give, *(counts[i] for i in counted))
    return Lift(types, data, operator, (nought(type_),) * len(types), tuple(after[i] for i in sorted(after)))


def _read(update: Update, component: Expr, x: Var) -> _Step | None:
    """A step as what it takes and gives; data may choose between such steps."""
    free = free_of(accumulator_names(update))
    chosen = _chosen(component, free)
    if chosen is not None:
        condition, *branches = chosen
        first, second = (_read(update, branch, x) for branch in branches)
        if first is None or second is None:
            return None
        return _Step(choose(condition, first.take, second.take), choose(condition, first.give, second.give))
    own = _candidates([component], update, x.type)
    given = tidy(substitute(component, {x.name: nought(x.type)}))
    for give, take in itertools.product(dict.fromkeys((*own, given)), own):
        plain = apply("+", apply("-", apply("max", x, take), take), give)
        if sampling.refute((component,), (plain,), update.meaning) is None:
            return _Step(take, give)
    return None


def _chosen(component: Expr, free: Callable[[Expr], bool]) -> tuple[Expr, Expr, Expr] | None:
    """A condition on data that chooses between two steps, and the steps."""
    if not isinstance(component, Op) or component.op != "select":
        return None
    condition, true, false = component.args
    if free(condition):
        return condition, true, false
    if isinstance(condition, Op) and condition.op in ("and", "or"):
        for own, rest in (condition.args, condition.args[::-1]):
            if free(own):
                inner = select(rest, true, false)
                return (own, inner, false) if condition.op == "and" else (own, true, inner)
    return None


def _counted(update: Update, at: int, x: Var, take: Expr) -> Expr | None:
    """What a component adds by data alone, beside what could not be taken; None if it does otherwise."""
    component, own = update.components[at], update.accumulators[at]
    missed = apply("+", own, apply("-", apply("max", x, take), x))
    for count in _candidates([component], update, own.type):
        if sampling.refute((component,), (apply("+", missed, count),), update.meaning) is None:
            return count
    return None


def _candidates(exprs: Iterable[Expr], update: Update, type_: Type) -> list[Expr]:
    """0, 1, and what is read of data."""
    free = free_of(accumulator_names(update))
    found: dict[Expr, None] = {nought(type_): None, Const(type_, 1): None}
    found |= {node: None for e in exprs for node in walk(e) if node.type == type_ and free(node)}
    return list(found)
