"""Liftings of updates two steps of which are one step with the data put together: clocks, dates, fractional parts.

Where f(f(x; s); t) = f(x; s + t), a run is the sum of its data, and the update itself says what a run does: hands of
hours, minutes and seconds need the sum of the seconds alone. What joins the data may be another operation too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, substitute_all, transform, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Exprs, choose, nought, operands
from rfactor.matcher.terms import accumulator_names, free_of, gathered, maximal_free
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_MOST_DATA = 2
_JOINS = ("+", "*", "max", "min")
_ROUNDING = frozenset(("//", "%", ">>", "floor", "ceil"))
"""What runs without these do, other families say."""


def claims(update: Update) -> Iterator[Claim]:
    """The claims that the data of a run, joined, do what the run does."""
    if not any(_rounds(node) for component in update.components for node in walk(component)):
        return
    free = free_of(accumulator_names(update))
    step: Exprs = tuple(gathered(component, free) for component in update.components)
    literals: dict[Expr, Const] = {}
    if not maximal_free(step, free):
        step = tuple(_counted(component, free, literals) for component in step)
    data = maximal_free(step, free)
    if not 1 <= len(data) <= _MOST_DATA or any(datum.type.is_bool for datum in data):
        return
    types = (BOOL, *(datum.type for datum in data))
    first, second = operands("x", types), operands("y", types)
    # The state of the update is called otherwise while operands stand for data.
    state = tuple(Var(x.type, f"state {x.name}") for x in update.accumulators)
    step = substitute_all(step, {x.name: mark for x, mark in zip(update.accumulators, state, strict=True)})

    def after(before: Sequence[Expr], values: Sequence[Expr]) -> Exprs:
        parts: dict[Expr, Expr] = dict(zip(data, values, strict=True))
        named = {mark.name: part for mark, part in zip(state, before, strict=True)}
        return substitute_all(tuple(replaced(component, parts) for component in step), named)

    twice = after(after(state, first[1:]), second[1:])
    for joins in itertools.product(_JOINS, repeat=len(data)):
        joined = [apply(op, a, b) for op, a, b in zip(joins, first[1:], second[1:], strict=True)]
        if sampling.refute(twice, after(state, joined), update.meaning) is not None:
            continue
        kept = [
            choose(first[0], choose(second[0], j, a), b) for j, a, b in zip(joined, first[1:], second[1:], strict=True)
        ]
        acted = after(update.accumulators, second[1:])
        applied = [choose(second[0], new, old) for new, old in zip(acted, update.accumulators, strict=True)]
        yield Claim(
            update,
            lift=Lift(
                types,
                (TRUE, *(literals.get(datum, datum) for datum in data)),
                (apply("or", first[0], second[0]), *kept),
                (FALSE, *(nought(datum.type) for datum in data)),
                tuple(applied),
            ),
        )


def _rounds(node: Expr) -> bool:
    name = node.op if isinstance(node, Op) else node.name if isinstance(node, Call) else ""
    return name in _ROUNDING


def _counted(expr: Expr, free: Callable[[Expr], bool], literals: dict[Expr, Const]) -> Expr:
    """The expression with literals that are added to the state as data, which are entered in `literals`."""

    def datum(literal: Const) -> Expr:
        var = Var(literal.type, f"literal {literal.value}")
        literals[var] = literal
        return var

    def rule(node: Expr) -> Expr | None:
        if not isinstance(node, Op) or node.op != "+" or free(node):
            return None
        return Op(node.type, "+", tuple(datum(arg) if isinstance(arg, Const) else arg for arg in node.args))

    return transform(expr, rule)
