"""bf16 in NumPy, which has no such type: values are held as f32, elements of arrays in memory as words of 16 bits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.types import Type

Array = NDArray[Any]
STORED: np.dtype[Any] = np.dtype([("bfloat16", np.uint16)])
"""The NumPy type of arrays of bf16: a word that no array of integers is taken for."""
_DIGITS, _LEAST = 8, -133
"""Of the significand, and the exponent of the least denormal."""
_INFINITE = 2.0**128
_LONG = 48
"""Bits of an integer that is rounded as a double, exactly."""


def nearest(value: int | float | Fraction) -> float:
    """A number rounded once to bf16, ties to even."""
    if isinstance(value, int) and abs(value) >= _INFINITE:
        return math.inf if value > 0 else -math.inf
    if isinstance(value, int) and (below := value.bit_length() - _LONG) > 0:
        # Rounded to odd first, so that the second rounding is the only one that counts.
        value = math.ldexp(value >> below | bool(value & ((1 << below) - 1)), below)
    double = float(value)
    if double == 0 or not math.isfinite(double):
        return double
    if abs(double) >= _INFINITE:
        return math.copysign(math.inf, double)
    last = max(math.frexp(double)[1] - _DIGITS, _LEAST)
    # Python rounds to even; the sign of a zero is that of the value.
    rounded = math.copysign(math.ldexp(round(math.ldexp(double, -last)), last), double)
    return rounded if abs(rounded) < _INFINITE else math.copysign(math.inf, double)


def rounded(values: Array) -> Array:
    """Numbers of any of the machine's types rounded once to bf16, held as f32. NaN stays NaN, and is quiet."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        values = _doubles(values)
    if values.dtype.kind == "f" and values.dtype.itemsize <= 4:
        return _halved(values.astype(np.float32))
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        single = wide.astype(np.float32)
    # f32 rounded to odd, so that the second rounding is the only one that counts.
    back = single.astype(np.float64)
    bits = single.view(np.uint32)
    bits = bits - (np.abs(back) > np.abs(wide)).astype(np.uint32)
    bits = bits | ((back != wide) & ~np.isnan(wide)).astype(np.uint32)
    return _halved(bits.view(np.float32))


def _doubles(values: Array) -> Array:
    """Integers of 64 bits as doubles; large ones without what lies below their upper 48 bits, rounded to odd."""
    near = values.astype(np.float64)
    high = values >> values.dtype.type(16)
    odd = high | ((values & values.dtype.type(0xFFFF)) != 0).astype(values.dtype)
    return np.where(np.abs(near) < 2.0**52, near, odd.astype(np.float64) * 65536.0)


def _halved(values: Array) -> Array:
    """f32 rounded to the upper half of its bits."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    up = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    kept = np.where(np.isnan(values), bits | np.uint32(0x400000), up) & np.uint32(0xFFFF0000)
    return np.asarray(kept, np.uint32).view(np.float32).reshape(values.shape)


def words(values: Array) -> Array:
    """The bits of values that are held as f32, as integers of 16 bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return np.asarray((bits >> np.uint32(16)).astype(np.uint16)).reshape(values.shape)


def of_words(bits: Array) -> Array:
    """Values as f32 of their bits, integers of 16 bits or elements of arrays."""
    wide = (bits["bfloat16"] if bits.dtype == STORED else bits).astype(np.uint32) << np.uint32(16)
    return np.asarray(wide, np.uint32).view(np.float32)


def stored(type: Type, values: Array) -> Array:
    """Values as `evaluate` holds them as the elements of an array in memory."""
    return words(values).view(STORED) if type.is_bfloat else values


def element(array: Array, index: tuple[int, ...]) -> Any:
    """The element of an array in memory, as a Python value."""
    value = array[index].item()
    return value if not isinstance(value, tuple) else of_words(np.array(value, np.uint16))[0].item()
