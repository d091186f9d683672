"""Memory of new arrays: it begins where Halide's does, so that an alignment that is promised of it holds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 128
"""New arrays begin at multiples of so many bytes."""


def reserved(shape: Sequence[int], dtype: np.dtype[Any], *, zeros: bool = False) -> NDArray[Any]:
    """A new array in the order of C, of zeros or of what happens to be in memory."""
    memory = (np.zeros if zeros else np.empty)(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.ctypes.data % ALIGNMENT)


def reserved_like(array: NDArray[Any]) -> NDArray[Any]:
    """Zeros of the shape of `array`, its axes in the same order in memory, without gaps."""
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    stored = reserved([array.shape[axis] for axis in order], array.dtype, zeros=True)
    return stored.transpose([order.index(axis) for axis in range(array.ndim)])
