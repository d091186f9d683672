"""The numbers that a variable's value is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from rfactor.loops import kinds as K


def part_of(value: Any, part: str, held: bool = True) -> Any:
    """A number of a variable's value."""
    if part == "has":
        return value is not None
    if part == "value":
        if value is None:
            return 0 if held else None
    elif part in ("real", "imag"):
        value = float(getattr(value, part))
    elif "," in part:
        outer, inner = map(int, part.split(","))
        value = value[outer][inner]
    else:
        value = value.flat[int(part)] if isinstance(value, np.ndarray) else value[int(part)]
    return K.held_value(value) if held else value
