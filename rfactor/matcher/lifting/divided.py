"""Liftings of averages kept divided by a weight that is no sum: streaming attention that normalises at each step.

Where x_i is divided by what x_j becomes, the product p = x_i*x_j is a component of another update: f_i at p/x_j, times
what x_j becomes. Runs act on the products, and divide once, at their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Expr, Op, apply, substitute, walk
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, Inner, choose, flagged, operands
from rfactor.prover.claim import Claim, Lift


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for floats of which one divides some others."""
    count = len(update.types)
    if not update.types[0].is_float or len(set(update.types)) > 1:
        return
    for at in range(count):
        averages = frozenset(
            i for i in range(count) if i != at and _divides(update.components[at], update.components[i])
        )
        action = inner(_of_products(update, at, averages)) if averages else None
        if action is not None:
            yield Claim(update, lift=_lifting(update, at, averages, action), assumes=action.assumes)
            return


def _divides(weight: Expr, component: Expr) -> bool:
    """Whether the component divides by what the weight becomes, in one case or another."""
    divisors = {canonical(n.args[1]) for n in walk(component) if isinstance(n, Op) and n.op == "/"}
    return bool(divisors) and any(canonical(e) in divisors for e in _outcomes(weight))


def _outcomes(expr: Expr) -> Iterator[Expr]:
    """What an expression is as a whole, and in each branch."""
    yield expr
    if isinstance(expr, Op) and expr.op == "select":
        for branch in expr.args[1:]:
            yield from _outcomes(branch)


def _of_products(update: Update, at: int, averages: frozenset[int]) -> Update:
    """The update of the products x_i*x_at, called x_i, and of the other components."""
    x, weight = update.accumulators, update.components[at]
    quotients = {x[i].name: apply("/", x[i], x[at]) for i in averages}
    components = (substitute(e, quotients) for e in update.components)
    return replace(
        update,
        components=tuple(apply("*", e, weight) if i in averages else e for i, e in enumerate(components)),
    )


def _lifting(update: Update, at: int, averages: frozenset[int], action: Action) -> Lift:
    """State: the action on the products, and whether there was a step: the first may find a weight of 0."""
    richer = flagged(action.types, action.operator, action.data)
    x, y = update.accumulators, operands("y", richer.types)
    after = action.act([apply("*", v, x[at]) if i in averages else v for i, v in enumerate(x)], y)
    applied = (apply("/", e, after[at]) if i in averages else e for i, e in enumerate(after))
    ended = tuple(choose(y[-1], new, old) for new, old in zip(applied, x, strict=True))
    return Lift(richer.types, richer.data, richer.operator, richer.identity, ended)


__all__ = ["claims"]
