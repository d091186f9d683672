"""Longer runs: of data that matter by truth values alone, as in `select(c, x0 + 1, 0), max(x1, x0)` or with brackets.

Of `c == 40` or `(c & 192) == 128` few data tell all there is to tell: all runs of them up to some length are few.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from rfactor.ir.evaluate import as_array, evaluate_all, spread
from rfactor.ir.expr import Expr, Op, Value, Var, apply, const, names, walk
from rfactor.ir.update import Update
from rfactor.matcher.refusal.runs import Run
from rfactor.matcher.refusal.separation import numbered
from rfactor.matcher.terms import State, maximal_free, tidy
from rfactor.prover import sampling

_LONGEST = 6
_MOST = 160
"""Runs in all."""
_TRIED = 512
"""Most data that are looked at."""
_ZIGZAGS = (
    *((0,), (1,), (2,), (-5,), (0, 1), (1, 2), (1, -5), (1, 0), (-5, 1), (-5, -4), (0, 0, 1), (0, 1, 2), (0, 1, 1)),
    *((1, 1, 2), (1, -4, -5), (1, -5, -4), (1, 2, -5), (-5, -4, -5), (1, 0, 1)),
    *((0, 1, 1, 2), (0, 0, 1, 2), (1, -5, -3, -5), (1, -5, -4, -5), (-1, -5, -3, -5), (0, 1, 1, 1, 2), (1, 1, 1, 2)),
    *((1, 2, -5, -4, -5), (1, -5, -4, -3, -5)),
)
"""What is added to an accumulator's start: up, down and the same again."""


def few_data(update: Update) -> list[Run]:
    """All runs, the shorter first, of data that differ in truth values; none where data matter otherwise."""
    data = update.data
    own = {v.name for v in data}
    parts = maximal_free(update.components, lambda e: bool(names(e)) and names(e) <= own)
    if not data or not parts or any(map(_numeric, parts)):
        return []
    near = sampling.literals(update.components)
    choices = [_values(v, near.get(v.type, ())) for v in data]
    while math.prod(map(len, choices)) > _TRIED:
        max(choices, key=len).pop()
    picks = list(itertools.product(*choices))
    env = {v.name: as_array(v.type, [pick[i] for pick in picks], update.meaning) for i, v in enumerate(data)}
    told = [spread(value, len(picks)) for value in evaluate_all(parts, env, update.meaning)]
    _, first = np.unique(numbered(told), return_index=True)
    different = [
        {v.name: const(v.type, n) for v, n in zip(data, picks[i], strict=True)} for i in sorted(first.tolist())
    ]
    found: list[Run] = []
    for length in range(1, _LONGEST + 1):
        if len(different) < 2 or len(found) + len(different) ** length > _MOST:
            break
        found += itertools.product(different, repeat=length)
    return found


def _numeric(expr: Expr) -> bool:
    """Whether data matter otherwise than by truth values."""
    if expr.type.is_bool:
        return False
    return isinstance(expr, Var) or any(map(_numeric, expr.children))


def _values(var: Var, near: tuple[Value, ...]) -> list[Value]:
    """Values of a datum around the literals that it may be compared with."""
    if var.type.is_bool:
        return [False, True]
    found = [v + step for v in near for step in (0, -1, 1)] + [0, 1]
    low, high = var.type.min, var.type.max
    return list(dict.fromkeys(v for v in found if low <= v <= high))


def zigzags(update: Update, e: State) -> list[Run]:
    """Runs of up to four data that go up and down from an accumulator's start that the only datum is compared with."""
    if len(update.data) != 1 or len(update.types) < 2:
        return []
    (datum,) = update.data
    feet: list[Expr] = [v for v, x in zip(e, update.accumulators, strict=True) if _compared(update, x, datum)]
    if feet:
        feet += [const(datum.type, n) for n in (0, 1, 7)]
    runs = (tuple({datum.name: _plus(foot, n)} for n in steps) for foot in feet for steps in _ZIGZAGS)
    return sorted(runs, key=len)


def _compared(update: Update, x: Var, datum: Var) -> bool:
    """Whether an accumulator and a datum of its type are compared."""
    return (
        x.type == datum.type
        and not x.type.is_bool
        and any(
            isinstance(node, Op) and set(node.args) == {x, datum} and node.type.is_bool
            for component in update.components
            for node in walk(component)
        )
    )


def _plus(foot: Expr, n: int) -> Expr:
    return tidy(apply("+" if n >= 0 else "-", foot, const(foot.type, abs(n))))
