"""Liftings of updates that lead into a small range from anywhere: counters modulo a constant, automata.

`(x + a) % 7` is within 0 to 6 after one step, whatever x was. So a run is its first datum and the table of where the
rest of it takes each value of the range; `apply` does the first step and looks the result up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, substitute, walk
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_MOST_STATES = 16
_POINTS = 256
_LIMITING = frozenset(("%", "&", "min", "max", "select", ">>"))


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one integer that settles in a small range."""
    (type_, *more) = update.types
    if more or not type_.is_int:
        return
    if not any(isinstance(node, Op) and node.op in _LIMITING for node in walk(update.components[0])):
        return
    states = _range(update)
    if states is not None:
        yield Claim(update, lift=_lifting(update, type_, states))


def _range(update: Update) -> list[int] | None:
    """What the update leads to, as far as samples show, with what lies between."""
    component = update.components[0]
    env = sampling.points(sampling.used([component]), update.meaning, _POINTS, sampling.literals([component]))
    images = np.broadcast_to(evaluate(component, env, update.meaning), (_POINTS,))
    low, high = int(min(images.tolist())), int(max(images.tolist()))
    fits = update.types[0].min <= low and high <= update.types[0].max
    return list(range(low, high + 1)) if fits and 1 < high - low + 1 <= _MOST_STATES else None


def _lifting(update: Update, type_: Type, states: Sequence[int]) -> Lift:
    """State: whether there was an element, its data, and the images of the range under all that came later."""
    data = update.data
    wide = (BOOL, *(v.type for v in data), *(type_ for _ in states))
    first, second = operands("x", wide), operands("y", wide)
    cut = 1 + len(data)
    some, start, table = first[0], first[1:cut], first[cut:]
    more, next_start, next_table = second[0], second[1:cut], second[cut:]

    def looked_up(images: Sequence[Expr], value: Expr) -> Expr:
        result = images[-1]
        for state, image in reversed(list(zip(states[:-1], images[:-1], strict=True))):
            result = choose(apply("==", value, Const(type_, state)), image, result)
        return result

    def step(value: Expr, datum: Sequence[Expr]) -> Expr:
        values: dict[str, Expr] = {"x0": value}
        values |= {v.name: d for v, d in zip(data, datum, strict=True)}
        return substitute(update.components[0], values)

    through = [looked_up(next_table, step(image, next_start)) for image in table]
    operator = (
        apply("or", some, more),
        *(choose(some, a, b) for a, b in zip(start, next_start, strict=True)),
        *(choose(some, choose(more, both, a), b) for both, a, b in zip(through, table, next_table, strict=True)),
    )
    own = tuple(Const(type_, state) for state in states)
    x = Var(type_, "x0")
    applied = choose(more, looked_up(next_table, step(x, next_start)), x)
    empty = (FALSE, *(nought(v.type) for v in data), *own)
    return Lift(wide, (TRUE, *data, *own), operator, empty, (applied,))
