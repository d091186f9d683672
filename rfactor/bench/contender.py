"""What is timed: a way to compute a case's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rfactor.bench.program import Array, Program


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to compute the answer of a case."""

    name: str
    run: Callable[[], object]
    answer: Callable[[], tuple[Array, ...]]
    """The components of the answer, after a run."""
    any_tie: bool = False
    """Where several elements are the least, it may name any of them."""


class Absent(Exception):
    """A peer that cannot run here: why, and what would help."""


def remembered(name: str, program: Program, call: Callable[[], object]) -> Contender:
    """A contender that returns its answer: a number, an array, or a tuple of them, converted to the case's types."""
    last: list[object] = []

    def run() -> None:
        last[:] = [call()]

    def answer() -> tuple[Array, ...]:
        if not last:
            run()
        components = last[0] if isinstance(last[0], tuple) else (last[0],)
        empty = program.outputs()
        return tuple(np.asarray(c).astype(array.dtype) for c, array in zip(components, empty, strict=True))

    return Contender(name, run, answer)
