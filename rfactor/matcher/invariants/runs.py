"""States that random runs from the start reach. What does not hold in all of them is no invariant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import as_array, evaluate_all, spread
from rfactor.ir.expr import Expr, Value, Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.prover import sampling

Array = NDArray[Any]
Start = tuple[Expr | None, ...]
"""Each accumulator's value before the loop, over constants; None where nothing is known of it."""

RUNS, STEPS = 48, 8
_NEAR, _FAR = 4, 1000


def reached(update: Update, start: Start) -> dict[str, Array]:
    """Give the accumulators and constants of all states of the runs, one place a state."""
    outside = sampling.used((*update.components, *(value for value in start if value is not None)))
    own = {x.name for x in update.accumulators}
    near = sampling.literals(update.components)
    fixed = {v.name: _column(v, 0, update.meaning, near) for v in outside if v.name in _constants(update, start, own)}
    state = [
        _column(x, 1, update.meaning, near) if value is None else _at_start(value, x.type, fixed)
        for x, value in zip(update.accumulators, start, strict=True)
    ]
    states = [state]
    data = [var for var in outside if var.name not in own and var.name not in fixed]
    for step in range(2, STEPS + 2):
        env = {var.name: _column(var, step, update.meaning, near) for var in data}
        env |= fixed | {x.name: values for x, values in zip(update.accumulators, states[-1], strict=True)}
        # Small numbers are wrapped nowhere, so that machine integers stand for unbounded ones.
        states.append([spread(values, RUNS) for values in evaluate_all(update.components, env)])
    found = {x.name: np.concatenate([s[i] for s in states]) for i, x in enumerate(update.accumulators)}
    return found | {name: np.tile(values, len(states)) for name, values in fixed.items()}


def _constants(update: Update, start: Start, own: set[str]) -> frozenset[str]:
    """Name what stays the same through the loop: the update's constants, and what the start is made of."""
    given = sampling.used([value for value in start if value is not None])
    return update.constants | frozenset(var.name for var in given if var.name not in own)


def _at_start(value: Expr, type_: Type, fixed: Mapping[str, Array]) -> Array:
    (values,) = evaluate_all((value,), fixed)
    return spread(np.asarray(values), RUNS) if values.shape else np.full(RUNS, values)


def _column(var: Var, turn: int, meaning: Meaning, near: Mapping[Type, Sequence[Value]]) -> Array:
    """Draw values of one variable; where integers are unbounded, none so large that it would wrap."""
    index = sum(map(ord, var.name)) + 7 * turn
    literals = tuple(near.get(var.type, ()))
    if meaning is Meaning.WRAP or not var.type.is_int:
        return sampling.column(var.type, Meaning.WRAP, index, RUNS, literals)
    random = np.random.default_rng(index)
    low = 0 if var.type.code == "uint" else -_NEAR
    values = random.integers(low, _NEAR + 1, RUNS)
    some = random.integers(0, 4, RUNS) == 0
    values[some] = random.integers(_FAR * (low < 0) * -1, _FAR + 1, RUNS)[some]
    if literals:
        some = random.integers(0, 4, RUNS) == 0
        chosen = random.choice(np.array([float(v) for v in literals]), RUNS) + random.integers(-1, 2, RUNS)
        values[some] = chosen[some].astype(np.int64)
    top = min(int(var.type.max), 1 << 40)
    return as_array(var.type, values.clip(low if low == 0 else -top, top))
