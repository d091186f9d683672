"""A reduction as it is timed: an algorithm, a schedule, and its NumPy peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Program:
    """A reduction over given arrays."""

    title: str
    algorithm: Callable[[], tuple[Any, Any]]
    """Makes the Func and its reduction domain anew, without a schedule."""
    schedule: Callable[[Any, Any], object]
    """Factors update 0 of the Func."""
    outputs: Callable[[], tuple[Array, ...]]
    """Makes the arrays that the result goes into, one a component."""
    numpy: Callable[[], tuple[Any, ...]] | None
    """The same answer by NumPy, where NumPy has it."""
    inputs: tuple[Array, ...] = ()
    """The arrays that it reads."""
    published: Callable[[Any, Any], object] | None = None
    """Factors update 0 as Halide's own benchmark of `rfactor` does (its test/performance/rfactor.cpp)."""
    lanes: int = 1
    """Neighbours that a core alone takes at once: as many as its registers hold."""


def agree(a: Array, b: Array, terms: int) -> bool:
    """Whether two answers are one, floats as far as the order of a sum of `terms` terms of size 1 allows."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return bool(np.allclose(a, b, rtol=1e-4, atol=1e-7 * terms))
