"""Whether an operator that scales by exponentials overflows on floats where the serial loop does not.

    x0 + a*exp(x1 + b), x1 + b          x0 + y0*exp(x1), x1 + y1

The loop takes the exponential of the whole running sum, which may stay small. A slice begins with 0: its y0 is as large
as the sum rises within the slice alone, and is then scaled by what came before, infinity times 0 perhaps. That this
happens is not argued but shown: by runs in which the loop is finite and the halves that the operator joins are not.
What is kept relative to the largest exponent, as `max(x0, a), x1*exp(x0 - max(x0, a)) + …`, has no such run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate_all, held, spread
from rfactor.ir.expr import Call, Const, Expr, names, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.unknown import unknown_calls
from rfactor.ir.update import Update
from rfactor.prover.operator import Tuple
from rfactor.prover.sampling import used

Array = NDArray[Any]
State = tuple[Array, ...]
_STEPS = 16
_EACH = 72
"""Runs of each magnitude; in a third no datum is below zero, in a third none above, and so it is of starts."""
_MAGNITUDES = (0.1, 0.25, 0.7, 5.0, 50.0)
"""Of values, beside the logarithm of the type's largest one."""
_RUNS = _EACH * len(_MAGNITUDES)


@lru_cache(maxsize=256)
def unsteady(update: Update, operator: Tuple, data: Tuple, assumes: Tuple) -> tuple[int, ...]:
    """Components with exponentials that samples show to be infinite, or no numbers, by the operator alone."""
    suspects = [
        i
        for i, type_ in zip(range(len(operator)), update.types, strict=True)
        if type_.is_float and (_scales(operator[i]) or _scales(data[i]))
    ]
    if not suspects or unknown_calls((*update.components, *operator, *data)):
        return ()
    data_of_all, start = _samples(update)
    steps = [{name: values[_RUNS * i : _RUNS * (i + 1)] for name, values in data_of_all.items()} for i in range(_STEPS)]
    serial, sound = start, np.ones(_RUNS, dtype=bool)
    for step in steps:
        serial = _run(update.components, {**step, **_named("x", serial)}, update.meaning)
        sound &= np.all([_finite(v) for v in serial], axis=0)
    for assumed in _run(assumes, data_of_all, update.meaning):
        sound &= np.all(assumed.astype(bool).reshape(_STEPS, _RUNS), axis=0)
    if not sound.any():
        return ()
    parts = _run(data, data_of_all, update.meaning)
    while len(parts[0]) > _RUNS:
        parts = _joined(operator, parts, data_of_all, update.meaning)
    ends = _run(operator, {**steps[0], **_named("x", start), **_named("y", parts)}, update.meaning)
    return tuple(i for i in suspects if bool(np.any(sound & ~_finite(ends[i]))))


def _joined(operator: Tuple, parts: State, data: Mapping[str, Array], meaning: Meaning) -> State:
    """Every two neighbours of what the steps of all runs have come to, joined."""
    halves = [[v.reshape(-1, 2, _RUNS)[:, side].ravel() for v in parts] for side in (0, 1)]
    constants = {name: values[: len(halves[0][0])] for name, values in data.items()}
    return _run(operator, {**constants, **_named("x", halves[0]), **_named("y", halves[1])}, meaning)


def unsteady_sentence(update: Update, operator: Tuple, parts: Sequence[int]) -> str:
    """What may happen, and what would work."""
    listed = ", ".join(f"y{i}" for i in parts)
    narrow = min((update.types[i] for i in parts), key=lambda type_: type_.bits)
    steadier = (
        "a sum relative to its largest exponent, as x1 in max(x0, a), x1*exp(x0 - max(x0, a)) + b*exp(a - max(x0, a))"
        if any(_scales(operator[i]) for i in parts)
        else "the sum of the exponents, of which one exponential is taken at the end"
    )
    return (
        f"{listed} may overflow {narrow}, or be no number, where the serial loop stays finite: a slice takes its "
        f"exponentials apart from those before it; what would work is {steadier}, or a wider float"
    )


def _scales(expr: Expr) -> bool:
    """Whether there is an exponential of what varies."""
    return any(
        isinstance(node, Call)
        and (node.name == "exp" or (node.name == "pow" and isinstance(node.args[0], Const)))
        and bool(names(node))
        for node in walk(expr)
    )


def _samples(update: Update) -> tuple[dict[str, Array], State]:
    """The data of every step, one after another, with the constants, and a start."""
    random = np.random.default_rng(0)
    vars_ = {var.name: var for var in (*update.accumulators, *used(update.components))}
    exponent = min(math.log(float(np.finfo(dtype_of(v.type)).max)) for v in vars_.values() if v.type.is_float)
    magnitudes = np.repeat(np.array(_MAGNITUDES) * exponent, _EACH)
    signs = {var: np.arange(_RUNS) // (3 if var in update.accumulators else 1) % 3 for var in vars_.values()}
    drawn = {
        v.name: _drawn(v.type, np.tile(magnitudes, _STEPS), np.tile(sign, _STEPS), random, update.meaning)
        for v, sign in signs.items()
    }
    for name in update.constants & drawn.keys():
        drawn[name] = np.tile(drawn[name][:_RUNS], _STEPS)
    start = tuple(drawn.pop(x.name)[:_RUNS] for x in update.accumulators)
    return drawn, start


def _drawn(type_: Type, magnitudes: Array, signs: Array, random: np.random.Generator, meaning: Meaning) -> Array:
    size = len(magnitudes)
    if type_.is_float:
        values = random.standard_normal(size) * magnitudes
        return held(type_, np.select([signs == 0, signs == 1], [values, np.abs(values)], -np.abs(values)))
    if type_.is_bool:
        return random.integers(0, 2, size).astype(bool)
    drawn = random.integers(0 if type_.code == "uint" else -10, 11, size)
    return drawn.astype(object) if meaning is Meaning.MATH else drawn.astype(dtype_of(type_))


def _named(letter: str, state: Sequence[Array]) -> dict[str, Array]:
    return {f"{letter}{i}": v for i, v in zip(range(len(state)), state, strict=True)}


def _run(exprs: Tuple, values: Mapping[str, Array], meaning: Meaning) -> State:
    size = max(len(v) for v in values.values())
    return tuple(spread(v, size) for v in evaluate_all(exprs, values, meaning))


def _finite(values: Array) -> Array:
    return np.isfinite(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
