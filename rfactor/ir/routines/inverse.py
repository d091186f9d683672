"""`asin`, `acos`, `atan` and `atan2`: in doubles, rounded once."""

from __future__ import annotations

import math

from rfactor.ir.expr import Expr, apply, cast, intrinsic, select
from rfactor.ir.routines.arithmetic import f32, f64, i32, minus, over, plus, polynomial, signed, single, size, times
from rfactor.ir.types import F64

_ATAN = (
    0.9999999999412367, -0.33333331571220376, 0.19999912051939925, -0.1428398076991714, 0.11093241358707658,
    -0.08980239603062369, 0.07245719816396295, -0.054279135381008606, 0.03420964079623776, -0.016111703634570356,
    0.0048509428192317705, -0.0006847940182714493,
)  # fmt: skip
"""atan(t) / t in terms of t**2, for |t| <= 1: 6e-11."""
_ASIN = (
    0.9999999999849032, 0.16666667421673392, 0.07499938198624212, 0.04466203565267244, 0.030092207972136128,
    0.024711550601507117, 0.007223804765475918, 0.034951581742341996,
)  # fmt: skip
"""asin(t) / t in terms of t**2, for |t| <= 1/2: 2e-11."""


def asin(x: Expr) -> Expr:
    """pi / 2 - 2 * asin(sqrt((1 - x) / 2)) from 1/2 on; of what is beyond 1, NaN."""
    beyond, angle = _arcsine(size(x))
    return signed(single(select(beyond, minus(f64(math.pi / 2), times(f64(2.0), angle)), angle)), x)


def acos(x: Expr) -> Expr:
    """2 * asin(sqrt((1 - x) / 2)) from 1/2 on, pi less that below -1/2, pi / 2 - asin(x) between them."""
    beyond, angle = _arcsine(size(x))
    negative = apply("<", x, f32(0.0))
    angle = select(beyond, times(f64(2.0), angle), angle)
    start = select(beyond, select(negative, f64(math.pi), f64(0.0)), f64(math.pi / 2))
    # The angle is added where x is negative and not beyond, or beyond and not negative.
    return single(select(apply("!=", beyond, negative), plus(start, angle), minus(start, angle)))


def atan(x: Expr) -> Expr:
    """pi / 2 - atan(1 / x) beyond 1."""
    whole = size(x)
    steep = apply(">", whole, f64(1.0))
    angle = _arctangent(over(select(steep, f64(1.0), whole), select(steep, whole, f64(1.0))))
    return signed(single(select(steep, minus(f64(math.pi / 2), angle), angle)), x)


def atan2(y: Expr, x: Expr) -> Expr:
    """C's values (7.12.4.4, F.9.1.4) of zeros and infinities: by the signs of both, as if two that are equal were 1."""
    across, up = apply("abs", x), apply("abs", y)
    steep = apply(">", up, across)
    ratio = over(cast(F64, select(steep, across, up)), cast(F64, select(steep, up, across)))
    equal = select(apply("==", up, f32(0.0)), f64(0.0), f64(1.0))
    angle = _arctangent(select(apply("==", up, across), equal, ratio))
    angle = select(steep, minus(f64(math.pi / 2), angle), angle)
    left = apply("<", intrinsic("reinterpret_i32", x), i32(0))
    return signed(single(select(left, minus(f64(math.pi), angle), angle)), y)


def _arcsine(size: Expr) -> tuple[Expr, Expr]:
    """Whether x is beyond 1/2, and asin(x), or asin(sqrt((1 - x) / 2)) there."""
    beyond = apply(">", size, f64(0.5))
    square = select(beyond, minus(f64(0.5), times(size, f64(0.5))), times(size, size))
    t = select(beyond, intrinsic("sqrt", square), size)
    return beyond, times(t, polynomial(_ASIN, square))


def _arctangent(t: Expr) -> Expr:
    return times(t, polynomial(_ATAN, times(t, t)))
