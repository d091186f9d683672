"""What `fma` is by exact numbers, and points where one rounding and two differ."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_SHAPES = {"f4": (24, -149, 128), "f8": (53, -1074, 1024)}
"""Digits, the exponent of the least number, and of the first power of 2 that is too large."""
_SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 3.0, 1 / 3)


def nearest(dtype: str, exact: Fraction) -> float:
    """A number that is not 0 rounded to the nearest of the type, ties to even, by whole numbers alone."""
    digits, least, beyond = _SHAPES[dtype]
    size = abs(exact)
    place = least
    while size >= Fraction(2) ** (place + digits):
        place += max(1, (size / Fraction(2) ** (place + digits)).__floor__().bit_length() - 1)
    units = round(size / Fraction(2) ** place)  # ties to even
    value = units * Fraction(2) ** place
    rounded = math.inf if value >= Fraction(2) ** beyond else float(value)
    return rounded if exact > 0 else -rounded


def fused(dtype: str, a: float, b: float, c: float) -> float:
    """IEEE 754-2019, 5.4.1: fusedMultiplyAdd."""
    if math.isnan(a) or math.isnan(b) or math.isnan(c):
        return math.nan
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    if math.isinf(a) or math.isinf(b):
        product = math.nan if 0 in (a, b) else sign * math.inf
        return math.nan if math.isinf(c) and c != product else product
    if math.isinf(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return nearest(dtype, exact)
    both = a * b == 0 and c == 0 and (a == 0 or b == 0)
    return -0.0 if both and sign < 0 and math.copysign(1.0, c) < 0 else 0.0


def points(dtype: str, count: int = 400) -> tuple[Array, Array, Array]:
    """Random ones, and hard ones: sums that cancel but for what rounding loses, ties that a little decides, what is
    too small or too large, and all of zeros, infinities and NaN."""
    digits, least, beyond = _SHAPES[dtype]
    random = np.random.default_rng(11)
    kind = np.dtype(dtype)

    def near_one() -> Array:
        return random.uniform(1, 2, count).astype(kind)

    def scaled(exponents: tuple[int, int]) -> Array:
        return np.ldexp(near_one(), random.integers(*exponents, count)) * random.choice([-1, 1], count).astype(kind)

    def any_bits() -> Array:
        return random.integers(0, 256, count * kind.itemsize, dtype=np.uint8).view(kind)

    with np.errstate(all="ignore"):
        a, b = near_one(), near_one()
        tie = np.ldexp(np.ones(count, kind), -digits)
        tiny = scaled((-3 * digits, -digits - 1))
        middle = (least + digits) // 2
        rows = [
            (any_bits(), any_bits(), any_bits()),
            (a, b, -(a * b)),
            (a, b, scaled((-digits, 3))),
            (1 + tie * 2, 1 + tie * 2, random.choice([-1, 1], count).astype(kind)),
            (1 + tie, tie, near_one()),
            (tiny, near_one(), 1 + tie * 2 * random.integers(0, 4, count)),
            (near_one(), tie, 1 + tie * 2 * random.integers(0, 4, count)),
            (scaled((middle - 8, middle + 8)), scaled((middle - 8, middle + 8)), scaled((least, least + digits))),
            (scaled((least + 2, least + 9)), scaled((-9, 9)), scaled((least + 2, least + 9))),
            (scaled((beyond // 2 - 1, beyond // 2 + 1)), scaled((beyond // 2 - 1, beyond // 2 + 1)),
             scaled((beyond - 2, beyond))),
            *np.array(np.meshgrid(*[_SPECIAL] * 3), kind).reshape(3, 1, -1).transpose(1, 0, 2),
        ]  # fmt: skip
    return tuple(np.concatenate([np.asarray(row[i], kind) for row in rows]) for i in range(3))  # type: ignore[return-value]


def values(dtype: str) -> tuple[tuple[Array, Array, Array], Array]:
    """The points, and the values there."""
    operands = points(dtype)
    rows = zip(*(one.tolist() for one in operands), strict=True)
    return operands, np.array([fused(dtype, *row) for row in rows], dtype)


def bits(array: Array) -> Array:
    """The bits of an array of floats, one NaN for all."""
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).view(f"u{array.dtype.itemsize}")
