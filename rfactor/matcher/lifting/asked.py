"""Liftings of a state that is only asked: `select(x > 0, a, b)` sets x by data, and reads of it one truth value.

A run is a table: for each answer to the questions, what the state becomes, or that it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from rfactor.ir.expr import Const, Expr, apply, names, replace
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import TRUE, choose, nought, operands
from rfactor.matcher.lifting.table import kept_or_sent
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_MOST_QUESTIONS = 2


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one number of which conditions without data are all that is read."""
    if len(update.types) != 1 or update.types[0].is_bool:
        return
    questions = tuple(dict.fromkeys(_questions(update, update.components[0])))
    if not 1 <= len(questions) <= _MOST_QUESTIONS:
        return
    rows: list[tuple[Expr, Expr]] = []
    for answers in product((True, False), repeat=len(questions)):
        known: dict[Expr, Expr] = {q: Const(BOOL, answer) for q, answer in zip(questions, answers, strict=True)}
        row = kept_or_sent(tidy(replace(update.components[0], known)), update.accumulators[0])
        if row is None:
            return
        rows.append(row)
    yield Claim(update, lift=_lifting(update, questions, rows))


def _questions(update: Update, expr: Expr) -> Iterator[Expr]:
    """The largest conditions on x that read no data."""
    loose = names(expr) - {"x0"} - update.constants
    if expr.type.is_bool and "x0" in names(expr) and not loose:
        yield expr
    else:
        for child in expr.children:
            yield from _questions(update, child)


def _lifting(update: Update, questions: Sequence[Expr], rows: Sequence[tuple[Expr, Expr]]) -> Lift:
    """State: whether x is kept, once if that is the same in all rows; what it becomes in each row."""
    (x,), count = update.accumulators, len(rows)
    flags = [kept for kept, _ in rows]
    shared = len(set(flags)) == 1
    kinds = (BOOL,) * (1 if shared else count)
    types = (*kinds, *(x.type for _ in rows))
    first, second = operands("x", types), operands("y", types)

    def table(state: tuple[Expr, ...]) -> list[tuple[Expr, Expr]]:
        kept = (state[0],) * count if shared else state[:count]
        return list(zip(kept, state[len(kinds) :], strict=True))

    def after(value: Expr, state: tuple[Expr, ...]) -> Expr:
        """The value, looked up and kept or replaced."""
        outcomes = [choose(kept, value, new) for kept, new in table(state)]
        for question in reversed(questions):
            asked = replace(question, {x: value})
            outcomes = [choose(asked, a, b) for a, b in zip(outcomes[::2], outcomes[1::2], strict=True)]
        return outcomes[0]

    values = [
        choose(kept, later, after(value, second))
        for (kept, value), (_, later) in zip(table(first), table(second), strict=True)
    ]
    still = [apply("and", one, other) for one, other in zip(first[: len(kinds)], second[: len(kinds)], strict=True)]
    data = (*map(tidy, flags[: len(kinds)]), *(tidy(value) for _, value in rows))
    identity = (*(TRUE for _ in kinds), *(nought(x.type) for _ in rows))
    return Lift(types, data, (*still, *values), identity, (after(x, second),))


__all__ = ["claims"]
