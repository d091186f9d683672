"""Table 2: lines of code of each reduction and its schedule, with `rfactor` and factored by hand.

Counted are the lines of code of the function that builds the program, without its head, its `return`, blank lines,
docstrings and comments. Both have the directives that place loops, which the paper leaves out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rfactor.bench import by_hand, schedules, table1

PAPER = {
    "maximum": (9, 5),
    "dot": (9, 5),
    "complex": (12, 7),
    "histogram": (6, 4),
    "argmin": (24, 13),
    "sink": (45, 17),
}
"""The paper's lines by hand and with `rfactor`, of definitions and `rfactor` calls alone."""

_LISTS = schedules.chunks_and_lanes
_WRITTEN: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "maximum": (table1.maximum, _LISTS, by_hand.maximum),
    "dot": (table1.dot, _LISTS, by_hand.dot),
    "complex": (table1.complex_product, _LISTS, by_hand.complex_product),
    "histogram": (table1.histogram, schedules.strips_and_copies, by_hand.histogram),
    "argmin": (table1.argmin, schedules.slabs_and_lanes, by_hand.argmin),
    "sink": (table1.kitchen_sink, _LISTS, by_hand.kitchen_sink),
}


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of code of one reduction."""

    key: str
    by_hand: int
    factored: int


def lines() -> tuple[Lines, ...]:
    """The six."""
    return tuple(
        Lines(key, body(whole), inner(maker, "algorithm") + inner(schedule, "schedule"))
        for key, (maker, schedule, whole) in _WRITTEN.items()
    )


def body(function: Callable[..., Any]) -> int:
    """Lines of a function between its head and its `return`; that which only names its arrays is counted."""
    return len(_code(inspect.getsource(function).splitlines()[1:]))


def inner(function: Callable[..., Any], name: str) -> int:
    """Lines of the function `name` that is defined inside `function`, without its head and `return`."""
    source = inspect.getsource(function).splitlines()
    head = next(i for i in range(len(source)) if source[i].lstrip().startswith(f"def {name}("))
    indent = len(source[head]) - len(source[head].lstrip())
    inside = []
    for line in source[head + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        inside.append(line)
    return len(_code(inside))


def _code(source: list[str]) -> list[str]:
    """Lines of code without comments, the lines of a docstring (one line), and `return`."""
    stripped = (line.strip() for line in source)
    return [line for line in stripped if line and not line.startswith(("#", '"""', "return "))]
