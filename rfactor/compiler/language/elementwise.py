"""An expression beside an array of NumPy's: `x * weights` is the array of `x * w` for each `w` of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T", bound=type)
_OPERATORS = "add sub mul truediv floordiv mod pow and or xor lshift rshift"
"""Not comparisons: NumPy takes their answers for truth values."""


def elementwise(kind: _T) -> _T:
    """A class of expressions: its operators leave an array that has dimensions to NumPy, which asks for each element.

    Not those of a call of a function: that has components, and NumPy would ask for each of these.
    """
    for word in _OPERATORS.split():
        own = vars(kind).get(f"__{word}__")
        if own is not None:
            setattr(kind, f"__{word}__", _left(own))
    return kind


def _left(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @wraps(operator)
    def call(self: Any, other: Any) -> Any:
        asked = isinstance(other, np.ndarray) and other.ndim and not hasattr(self, "components")
        return NotImplemented if asked else operator(self, other)

    return call
