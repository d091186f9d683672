"""What an update chooses among its floats is what a claim must give: infinities too, and no number that is rounded.

Proofs about floats are about real numbers. Where an update only chooses, an operator that computes may be equal to it
for those and for no others:

    select(c, x, 0.0)     x0 * y0, with 1.0 or 0.0 in y0, makes a NaN of an infinite x0 where the update gives 0.0

Samples show it. They refute only: what they do not refute is proved elsewhere, of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import evaluate_all, held, spread, to_value
from rfactor.ir.expr import Expr, Var, walk
from rfactor.ir.graph import closures
from rfactor.ir.meaning import Meaning
from rfactor.ir.rounded import rounds, rounds_values
from rfactor.ir.update import Update
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Failed, Name
from rfactor.prover.infinity import calculated_with, has_infinity
from rfactor.prover.operator import Tuple
from rfactor.prover.verdict import Refuted

Array = NDArray[Any]
Values = dict[str, Array]
_COUNT = 256
"""Samples. A quarter of each float that may be so is infinite, a quarter of what nobody calculates with is rounded."""
_LARGE = (0.1, -0.3, 1000.1, -30000.3)
"""Numbers whose sums and products are rounded, in every type."""


def lost(claim: Claim) -> Failed | None:
    """Where a claim computes another float than the update chooses; None where nothing shows that."""
    chosen = _chosen(claim.update)
    if not chosen:
        return None
    lift = claim.lift
    data, operator = (claim.data, claim.operator) if lift is None else (lift.data, lift.operator)
    apply = operator if lift is None else lift.apply
    assert data is not None
    assert operator is not None
    assert apply is not None
    if not rounds_values((*data, *operator, *apply)) or _has_infinite_integers(claim.update, (*data, *operator)):
        return None
    samples = _Samples(claim, chosen)
    x, constants = samples.start(), samples.constants
    steps = [samples.step(number) for number in range(1, 5)]
    serial, states = [x], [samples.values(data, step) for step in steps]
    for step in steps:
        serial.append(samples.run(_named("x", serial[-1]) | step))

    def joined(left: list[Array], right: list[Array]) -> list[Array]:
        return samples.values(operator, _named("x", left) | _named("y", right) | constants)

    y, z = joined(*states[:2]), joined(*states[2:])
    runs: tuple[tuple[Name, list[Array], list[Array], Values], ...] = (
        ("step", serial[1], states[0], steps[0]),
        ("associative" if lift is None else "action", serial[4], joined(y, z), _named("y", y) | _named("z", z)),
    )
    for name, reached, state, shown in runs:
        found = samples.values(apply, _named("x", x) | _named("y", state) | constants)
        for i in chosen:
            row = samples.first(reached[i] != found[i])
            if row is not None:
                point = {n: to_value(v[row]) for n, v in (_named("x", x) | shown | constants).items()}
                left, right = (tuple([to_value(v[row]) for v in side]) for side in (reached, found))
                return Failed(name, Refuted(point, left, right))
    return None


def _chosen(update: Update) -> tuple[int, ...]:
    """The components that are floats and, with all that they are made of, only chosen."""
    if not any(type_.is_float for type_ in update.types):
        return ()
    computed = {i for i, expr in enumerate(update.components) if rounds_values((expr,))}
    reached = enumerate(zip(update.types, closures(update), strict=True))
    return tuple(i for i, (type_, parts) in reached if type_.is_float and computed.isdisjoint(parts))


def _has_infinite_integers(update: Update, exprs: Tuple) -> bool:
    """Whether unbounded integers may be infinite, which have no arrays."""
    return update.meaning is Meaning.MATH and any(has_infinity(expr) for expr in exprs)


class _Samples:
    """Values of the names of an update, and where they are allowed: what is assumed holds, and no NaN is met."""

    def __init__(self, claim: Claim, chosen: Sequence[int]) -> None:
        update = claim.update
        self.update, self.assumes, self.chosen = update, claim.assumes, chosen
        self.nodes = [node for node in _nodes(update.components) if node.type.is_float]
        self.near = sampling.literals(update.components)
        self.exact = not any(map(rounds, self.nodes))
        self.allowed = np.ones(_COUNT, dtype=bool)
        own = {x.name for x in update.accumulators}
        outside = [var for var in sampling.used((*update.components, *claim.assumes)) if var.name not in own]
        self.data = [var for var in outside if var.name not in update.constants]
        self.constants = {var.name: self.column(var, 0, False) for var in outside if var not in self.data}
        self.calculated = calculated_with(update.components, self.data)

    def start(self) -> list[Array]:
        """A state: what is chosen may be infinite."""
        return [self.column(x, 0, i in self.chosen) for i, x in enumerate(self.update.accumulators)]

    def step(self, number: int) -> Values:
        """The data of one step: infinite where nobody calculates with them."""
        drawn = {v.name: self.column(v, number, v.type.is_float and v not in self.calculated) for v in self.data}
        return drawn | self.constants

    def column(self, var: Var, number: int, infinite: bool) -> Array:
        index = sum(map(ord, var.name)) + 5 * number
        values = sampling.column(var.type, self.update.meaning, index, _COUNT, self.near.get(var.type, ()))
        if not var.type.is_float:
            return values
        random = np.random.default_rng(index)
        values = held(var.type, values)
        if self.exact:
            values = np.where(random.integers(0, 4, _COUNT) == 0, random.choice(_LARGE, _COUNT), values)
        if infinite:
            values = np.where(random.integers(0, 4, _COUNT) == 0, random.choice((-np.inf, np.inf), _COUNT), values)
        return held(var.type, values)

    def values(self, exprs: Tuple, env: Values) -> list[Array]:
        return [spread(value, _COUNT) for value in evaluate_all(exprs, env, self.update.meaning)]

    def run(self, env: Values) -> list[Array]:
        """What the update makes of a state and one step; where it meets a NaN nothing is asked."""
        for condition in self.values(self.assumes, env):
            self.allowed = self.allowed & condition.astype(bool)
        for value in self.values(tuple(self.nodes), env):
            self.allowed = self.allowed & ~np.isnan(value)
        return self.values(self.update.components, env)

    def first(self, bad: Array) -> int | None:
        found = np.flatnonzero(bad & self.allowed)
        return int(found[0]) if len(found) else None


def _nodes(exprs: Sequence[Expr]) -> tuple[Expr, ...]:
    return tuple(dict.fromkeys(node for expr in exprs for node in walk(expr)))


def _named(letter: str, state: Sequence[Array]) -> Values:
    return {f"{letter}{i}": value for i, value in enumerate(state)}
