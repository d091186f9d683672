"""The smallest state for runs of many parts: without those that are the same in every run, and equal ones as one.

What one step and the empty run have in common is supposed of all runs; composition shows where that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Var
from rfactor.ir.types import Type
from rfactor.matcher.action import FALSE, TRUE, nought

Part = tuple[Hashable, ...]
"""The name of a part."""
Run = Mapping[Part, Expr]
Open = Mapping[Part, Expr | None]
"""The parts of a run; None where they may be anything."""


@dataclass(frozen=True, slots=True)
class State:
    """A richer state of which all parts are made."""

    types: tuple[Type, ...]
    data: tuple[Expr, ...]
    operator: tuple[Expr, ...]
    identity: tuple[Expr, ...]
    right: Run
    """All parts of the right operand."""


def coalesced(types: Mapping[Part, Type], data: Open, unit: Open, composed: Callable[[Run, Run], Run]) -> State:
    """The state of runs whose parts are composed so: `composed(x, y)` is first x, then y."""
    starts = {part: _start(type_, data[part], unit[part]) for part, type_ in types.items()}
    loose = {part for part, type_ in types.items() if type_.is_bool and data[part] is None and unit[part] is None}
    constant = {part: datum for part, (datum, empty) in starts.items() if datum == empty}
    label: dict[Part, Hashable] = {part: (types[part], *start) for part, start in starts.items()}
    while True:
        numbers: dict[Hashable, int] = {}
        for part in types:
            if part not in constant:
                numbers.setdefault(label[part], len(numbers))
        x, y = (_run(letter, types, constant, label, numbers) for letter in "xy")
        after = composed(x, y)
        wrong = [part for part, value in constant.items() if after[part] != value]
        for part in wrong:
            value = constant.pop(part)
            if part in loose:
                loose.discard(part)
                value = constant[part] = FALSE if value == TRUE else TRUE
                starts[part] = (value, value)
        if wrong:
            continue
        refined = {part: (label[part], after[part]) for part in types if part not in constant}
        if len(set(refined.values())) == len(numbers):
            break
        found = {new: n for n, new in enumerate(dict.fromkeys(refined.values()))}
        label |= {part: found[new] for part, new in refined.items()}
    first: dict[int, Part] = {}
    for part in types:
        if part not in constant:
            first.setdefault(numbers[label[part]], part)
    order = [first[n] for n in range(len(first))]
    return State(
        tuple(types[part] for part in order),
        tuple(starts[part][0] for part in order),
        tuple(after[part] for part in order),
        tuple(starts[part][1] for part in order),
        y,
    )


def _start(type_: Type, datum: Expr | None, empty: Expr | None) -> tuple[Expr, Expr]:
    """What a part is in a step, and in the empty run, as alike as may be."""
    if empty is None:
        empty = datum if isinstance(datum, Const) else nought(type_)
    return (empty if datum is None else datum), empty


def _run(
    letter: str,
    types: Mapping[Part, Type],
    constant: Run,
    label: Mapping[Part, Hashable],
    numbers: Mapping[Hashable, int],
) -> Run:
    return {
        part: constant[part] if part in constant else Var(type_, f"{letter}{numbers[label[part]]}")
        for part, type_ in types.items()
    }
