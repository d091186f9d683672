"""Liftings of updates that lead into a small range from anywhere: counters modulo a constant, automata.

`(x + a) % 7` is within 0 to 6 after one step, whatever x was. So a run is its first datum and the table of where the
rest of it takes each value of the range; `apply` does the first step and looks the result up. What reads the number
(`x1 + select(x0 == 3, a, 0)`, every fourth element) is done with it in each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, substitute, transform, walk
from rfactor.ir.graph import dependencies, restrict
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Exprs, Inner, choose, marked, nought, operands, pruned
from rfactor.matcher.lifting.modular import remainders
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_MOST_STATES = 16
_MOST_PARTS = 24
"""Components of all rows together."""
_BEFORE = "number before"
"""What the integer is called as data; no name of a user's has a space."""
_POINTS = 256
_LIMITING = frozenset(("%", "&", "min", "max", "select", ">>"))


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one integer that settles in a small range."""
    if len(update.types) == 1:
        states = _range(update)
        if states is not None:
            yield Claim(update, lift=_Table(update, 0, states, Action((), (), (), (), ())).lift())


def steering(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claims for an update with such an integer, which runs by itself, and others that read it."""
    edges = dependencies(update)
    for number in range(len(update.types)):
        others = tuple(i for i in range(len(update.types)) if i != number)
        if edges[number] - {number} or not any(number in edges[i] for i in others):
            continue
        states = _range(restrict(update, (number,)))
        if states is None:
            continue
        as_data = {f"x{number}": Var(update.types[number], _BEFORE)}
        steered = replace(update, components=tuple(substitute(e, as_data) for e in update.components))
        rest = inner(restrict(steered, others))
        if rest is None or rest.invariant or (1 + len(rest.types)) * len(states) > _MOST_PARTS:
            continue
        if all(e.type == type_ for e, type_ in zip(rest.identity, rest.types, strict=True)):
            yield Claim(update, lift=pruned(_Table(update, number, states, rest).lift()), assumes=rest.assumes)


def _range(update: Update) -> list[int] | None:
    """What the update leads to, as far as samples show, with what lies between."""
    component = update.components[0]
    if not update.types[0].is_int:
        return None
    if not any(isinstance(node, Op) and node.op in _LIMITING for node in walk(component)):
        return None
    env = sampling.points(sampling.used([component]), update.meaning, _POINTS, sampling.literals([component]))
    images = np.broadcast_to(evaluate(component, env, update.meaning), (_POINTS,))
    low, high = int(min(images.tolist())), int(max(images.tolist()))
    fits = update.types[0].min <= low and high <= update.types[0].max
    return list(range(low, high + 1)) if fits and 1 < high - low + 1 <= _MOST_STATES else None


class _Table:
    """State: whether there was an element, its data; for each value of the range where all that came later takes it,
    and what that does to the rest.
    """

    def __init__(self, update: Update, number: int, states: Sequence[int], rest: Action) -> None:
        self.update, self.number, self.rest = update, number, rest
        self.others = tuple(i for i in range(len(update.types)) if i != number)
        self.states = tuple(Const(update.types[number], state) for state in states)

    def lift(self) -> Lift:
        update, rest = self.update, self.rest
        data = update.data
        row = (update.types[self.number], *rest.types)
        wide = (BOOL, *(v.type for v in data), *(row * len(self.states)))
        cut = len(data)
        (some, *first), (more, *second) = operands("x", wide), operands("y", wide)
        table, next_table = _rows(first[cut:], len(row)), _rows(second[cut:], len(row))

        def after(value: Expr) -> tuple[Expr, Exprs]:
            """Where the next run takes a value, and what it does to the rest."""
            image, run = self.step(value, second[:cut])
            then, *others = self.looked_up(next_table, image)
            return then, rest.combine(run, others)

        operator: list[Expr] = [apply("or", some, more)]
        operator += [choose(some, a, b) for a, b in zip(first[:cut], second[:cut], strict=True)]
        for (value, *run), new in zip(table, next_table, strict=True):
            then, others = after(value)
            through = (then, *rest.combine(run, others))
            operator += [
                choose(some, choose(more, both, a), b) for both, a, b in zip(through, (value, *run), new, strict=True)
            ]
        x = update.accumulators
        then, others = after(x[self.number])
        ended = (then, *rest.act([x[i] for i in self.others], others))
        applied = {i: choose(more, new, x[i]) for i, new in zip((self.number, *self.others), ended, strict=True)}
        own = tuple(part for state in self.states for part in (state, *rest.identity))
        empty = (FALSE, *(nought(v.type) for v in data), *own)
        return Lift(wide, (TRUE, *data, *own), tuple(operator), empty, tuple(applied[i] for i in range(len(x))))

    def looked_up(self, table: Sequence[Sequence[Expr]], value: Expr) -> Sequence[Expr]:
        result = table[-1]
        for state, row in reversed(list(zip(self.states[:-1], table[:-1], strict=True))):
            here = apply("==", value, state)
            result = [choose(here, a, b) for a, b in zip(row, result, strict=True)]
        return result

    def step(self, value: Expr, datum: Sequence[Expr]) -> tuple[Expr, Exprs]:
        """What one datum makes of a value, and does to the rest."""
        values: dict[str, Expr] = {v.name: d for v, d in zip(self.update.data, datum, strict=True)}
        component = transform(self.update.components[self.number], remainders)
        image = substitute(component, values | {f"x{self.number}": value})
        return image, marked(self.rest.data, values | {_BEFORE: value})


def _rows(flat: Sequence[Expr], width: int) -> list[Sequence[Expr]]:
    return [flat[i : i + width] for i in range(0, len(flat), width)]
