"""Quotients of small integers and a constant, in floats, without a division: it takes as long as ten products.

f32(u8) / 255.0   ->   f32(u8) * a + f32(u8) * b        with a + b as near to 1/255 as two floats are

Whether that gives the bits of the division is tried for every integer that there may be. Where `a` has few bits its
product is exact, so that the sum is all but exact before it is rounded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rfactor.ir.types import Type

MOST = 1 << 16
"""As many integers are tried,"""
_EXACT = 1 << 53
"""those that NumPy counts without rounding."""


@lru_cache(maxsize=1 << 8)
def factors(type: Type, low: int, high: int, divisor: float) -> tuple[float, float] | None:
    """`a` and `b` (0 where `a` alone does), such that `x * a + x * b` rounded as floats of `type` are (f32, f64) is
    `x / divisor` for all integers `x` from `low` to `high`; None where none are known."""
    if (
        high - low >= MOST
        or max(-low, high) > _EXACT
        or type.bits not in (32, 64)
        or not np.isfinite(divisor)
        or divisor == 0
    ):
        return None
    scalar: Any = np.float32 if type.bits == 32 else np.float64
    with np.errstate(all="ignore"):
        values, by = np.arange(low, high + 1).astype(scalar), scalar(divisor)
        wanted = values / by
        whole = scalar(1) / by
        short = scalar(_shortened(float(whole)))
        rest = scalar((1.0 - float(short) * float(by)) / float(by))
        for first, second in ((whole, scalar(0)), (short, rest)):
            found = values * first if second == 0 else values * first + values * second
            if np.array_equal(found, wanted) and np.array_equal(np.signbit(found), np.signbit(wanted)):
                return float(first), float(second)
    return None


def _shortened(value: float) -> float:
    """`value` to eight bits."""
    fraction, exponent = np.frexp(value)
    return float(np.ldexp(np.round(fraction * 256) / 256, exponent))
