"""Does an operator commute on what runs reach? A yes is proved; a no is two runs whose values were computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import Floats, evaluate_all, to_value
from rfactor.ir.expr import Var
from rfactor.ir.update import Update
from rfactor.prover import sampling
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.lattice import equal_by_cutting
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator, Tuple
from rfactor.prover.verdict import Proven

Array = NDArray[Any]
_SAMPLES = 128
_QUICK = 300
"""Branches of a proof by cases that are worth less than a witness from runs of two data."""


def commutes(
    op: Operator, update: Update, data: Tuple, assumptions: Tuple, assumes: Tuple, limits: Limits
) -> Proven | Literal[False] | None:
    """A proof that `op` commutes where the `assumptions` hold, False if a witness shows that it does not, else None.

    A witness is two runs of one or two `data`, for which `assumes` holds.
    """
    x, y = map(op.operands, "xy")
    try:
        forth, back = (tuple(map(without_infinities, side)) for side in (op(x, y), op(y, x)))
    except Undefined:
        return None
    finite = not any(map(has_infinity, (*op(x, y), *op(y, x))))
    if finite and prove_by_cases(forth, back, op.meaning, (), Limits(cases=0)) == "normal_form":
        return Proven("normal_form")
    if _witness(op, update, data, assumes, long=False):
        return False
    if equal_by_cutting(forth, back, assumptions):
        return Proven("order")
    method = prove_by_cases(forth, back, op.meaning, assumptions, limits.at_most(cases=_QUICK))
    if method is not None:
        return Proven(method)
    return False if _witness(op, update, data, assumes, long=True) else None


def is_refuted(op: Operator, update: Update, data: Tuple, assumes: Tuple) -> bool:
    """Whether a witness shows that `op` does not commute."""
    sides = (*op(*map(op.operands, "xy")), *op(*map(op.operands, "yx")))
    try:
        for side in sides:
            without_infinities(side)
    except Undefined:
        return False
    return any(_witness(op, update, data, assumes, long=long) for long in (False, True))


def _witness(op: Operator, update: Update, data: Tuple, assumes: Tuple, long: bool) -> bool:
    """Whether two runs, of two data each if they are to be long, are found whose results do not commute."""
    found = sampling.used([*data, *assumes])
    own = tuple(var for var in found if var.name not in update.constants)
    shared = tuple(dict.fromkeys((*(var for var in found if var.name in update.constants), *op.constants)))
    runs = _Runs(op, data, assumes, "abcd" if long else "ab", own, shared)
    env = sampling.points(runs.vars, op.meaning, _SAMPLES, sampling.literals([*op.components, *data, *assumes]))
    forth, back, allowed = runs.both_ways(env, "ieee")
    for one, other in zip(forth, back, strict=True):
        bad = np.broadcast_to(sampling.differs(one, other) & allowed, _SAMPLES)
        if bad.any():
            row = int(np.argmax(bad))
            point = {name: to_value(values[row]) for name, values in env.items()}
            exact = runs.both_ways(sampling.exactly(runs.vars, op.meaning, point), "real")
            if exact[2].all() and sampling.unlike(*([value[0] for value in side] for side in exact[:2])):
                return True
    return False


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of an update from data: one for each of two letters, or two data for each of two runs."""

    op: Operator
    data: Tuple
    assumes: Tuple
    letters: str
    own: tuple[Var, ...]
    """What each datum has of its own."""
    shared: tuple[Var, ...]

    @property
    def vars(self) -> list[Var]:
        own = [Var(var.type, f"{var.name} {letter}") for letter in self.letters for var in self.own]
        return [*own, *self.shared]

    def both_ways(self, env: Mapping[str, Array], floats: Floats) -> tuple[list[Array], list[Array], Array]:
        """The runs combined in either order, and where what is assumed of data holds."""
        constants = {var.name: env[var.name] for var in self.shared}
        meaning = self.op.meaning
        ends: list[list[Array]] = []
        allowed: Array = np.ones(1, dtype=bool)
        for letter in self.letters:
            of = constants | {var.name: env[f"{var.name} {letter}"] for var in self.own}
            for holds in evaluate_all(self.assumes, of, meaning, floats):
                allowed = allowed & holds.astype(bool)
            ends.append(list(evaluate_all(self.data, of, meaning, floats)))

        def combined(one: Sequence[Array], other: Sequence[Array]) -> list[Array]:
            values = {f"x{i}": value for i, value in zip(range(len(one)), one, strict=True)}
            values |= {f"y{i}": value for i, value in zip(range(len(other)), other, strict=True)}
            return list(evaluate_all(self.op.components, constants | values, meaning, floats))

        first, second = ends if len(ends) == 2 else (combined(*ends[:2]), combined(*ends[2:]))
        return combined(first, second), combined(second, first), allowed
