"""One instance of a refutation as values and as a sentence: computed exactly, floats as reals, or not told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rfactor.ir.evaluate import as_array, evaluate, nearest
from rfactor.ir.expr import Value, variables
from rfactor.ir.update import Update
from rfactor.prover.verdict import Proven

Datum = Mapping[str, Value]
_ROUNDED = Fraction(1, 10**9)
"""Reals this near, beside their size, may be one, rounded."""


@dataclass(frozen=True, slots=True)
class Refutation:
    """No operator exists: the proof, and one instance of why."""

    instance: Mapping[str, Value]
    """A start, another, and two runs that end alike from the first and not from the second."""
    sentence: str
    proof: Proven
    e: Sequence[Value]
    x: Sequence[Value]
    runs: tuple[Sequence[Datum], Sequence[Datum]]
    constants: Mapping[str, Value]


def start_names(update: Update) -> tuple[str, ...]:
    """What an instance calls the start: `e0`, `e1`, …, or `start0`, … where a datum or a constant is called `e0`."""
    taken = {var.name for component in update.components for var in variables(component)}
    names = tuple(f"e{i}" for i in range(len(update.types)))
    return names if taken.isdisjoint(names) else tuple(f"start{i}" for i in range(len(update.types)))


def told(
    update: Update,
    e: Sequence[Value],
    x: Sequence[Value],
    runs: tuple[Sequence[Datum], Sequence[Datum]],
    constants: Mapping[str, Value],
    proof: Proven,
) -> Refutation | None:
    """What was proved, told by runs that end alike from `e` and not from `x`; None if exact values do not show it."""
    from_e = [_final(update, e, run, constants) for run in runs]
    if not _are_numbers(*from_e) or not _alike(*from_e):
        return None
    from_x = [_final(update, x, run, constants) for run in runs]
    if not _are_numbers(*from_x) or _alike(*from_x):
        return None
    instance: dict[str, Value] = dict(zip(start_names(update), e, strict=True))
    instance |= {f"x{i}": value for i, value in enumerate(x)}
    instance |= constants
    taken = {var.name for component in update.components for var in variables(component)}
    # A datum called a1 beside one called a is not the first a of a run.
    gap = "." if any(f"{name}{n}" in taken for run in runs for datum in run for name in datum for n in (1, 2)) else ""
    described = []
    for mark, run in zip(("", "'"), runs, strict=True):
        for number, datum in enumerate(run, 1):
            suffix = f"{gap}{number}" if len(run) > 1 else ""
            instance |= {f"{name}{mark}{suffix}": value for name, value in datum.items()}
        steps = [", ".join(f"{name} = {value}" for name, value in datum.items()) or "no data" for datum in run]
        described.append(f"({' then '.join(steps)})")
    held = "".join(f", {name} = {value}" for name, value in constants.items())
    where = f" with{held[1:]}" if held else ""
    sentence = (
        f"no operator on this state exists{where}: from {_shown(e)} the data {described[0]} and {described[1]} "
        f"both lead to {_shown(from_e[0])}, but from {_shown(x)} they lead to {_shown(from_x[0])} and "
        f"{_shown(from_x[1])}; and every other start has such a pair"
    )
    return Refutation(instance, sentence, proof, e, x, runs, constants)


def end_alike(
    update: Update, e: Sequence[Value], runs: tuple[Sequence[Datum], Sequence[Datum]], constants: Mapping[str, Value]
) -> bool:
    """Whether exact values show that two runs lead from `e` to one state of numbers."""
    one, other = (_final(update, e, run, constants) for run in runs)
    return _are_numbers(one, other) and _alike(one, other)


def of_whole(update: Update, part: Sequence[int], found: Refutation) -> Refutation | None:
    """A refutation of the components `part` of an update, told of all; None if exact values do not show it.

    What the other components start from and read does not matter: one value, for which nothing is divided by zero.
    """
    for fill in (0, 1, 2, 5):
        states: list[list[Value]] = []
        for own in (found.e, found.x):
            values = dict(zip(part, own, strict=True))
            kinds = zip(range(len(update.types)), update.types, strict=True)
            states.append([values.get(i, bool(fill) if t.is_bool else fill) for i, t in kinds])
        others: dict[str, Value] = {
            var.name: bool(fill) if var.type.is_bool else fill
            for component in update.components
            for var in variables(component)
            if var not in update.accumulators
        }
        constants = {name: found.constants.get(name, others[name]) for name in others if name in update.constants}
        data = {name: value for name, value in others.items() if name not in constants}
        one, other = ([data | dict(datum) for datum in run] for run in found.runs)
        whole = told(update, states[0], states[1], (one, other), constants, found.proof)
        if whole is not None:
            return whole
    return None


def _final(update: Update, start: Sequence[Value], run: Sequence[Datum], constants: Datum) -> list[Any]:
    """The state after a run, exactly; that after its first steps, where it is no number."""
    types = {var.name: var.type for component in update.components for var in variables(component)}
    state: list[Any] = list(start)
    for datum in run:
        values: dict[str, Any] = {f"x{i}": value for i, value in enumerate(state)} | dict(datum) | dict(constants)
        env = {name: as_array(types[name], [v], update.meaning, "real") for name, v in values.items() if name in types}
        state = [evaluate(component, env, update.meaning, "real")[0] for component in update.components]
        if not all(map(_is_number, state)):
            break
    return [_plain(value) for value in state]


def _plain(value: Any) -> Any:
    return value if isinstance(value, Fraction) else value.item() if hasattr(value, "item") else value


def _are_numbers(*states: Sequence[Any]) -> bool:
    """Whether nothing was divided by zero on the way, where nothing is claimed."""
    return all(_is_number(value) for state in states for value in state)


def _is_number(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two states of numbers are the same, up to the rounding of functions such as exp."""
    for a, b in zip(one, other, strict=True):
        if isinstance(a, Fraction | float) or isinstance(b, Fraction | float):
            p, q = Fraction(a), Fraction(b)
            if abs(p - q) > _ROUNDED * (1 + max(abs(p), abs(q))):
                return False
        elif a != b:
            return False
    return True


def _shown(state: Sequence[Any]) -> str:
    values = [str(nearest(value)) if isinstance(value, Fraction) else str(value) for value in state]
    return values[0] if len(values) == 1 else f"({', '.join(values)})"
