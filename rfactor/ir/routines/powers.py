"""`exp`, `log` and `pow`. The ways are Cody and Waite's (*Software Manual for the Elementary Functions*, 1980)."""

from __future__ import annotations

import math

from rfactor.ir.expr import Const, Expr, apply, cast, intrinsic, select
from rfactor.ir.routines.arithmetic import (
    WHOLE,
    WHOLE_DOUBLE,
    between,
    f32,
    f64,
    i32,
    i64,
    minus,
    over,
    plus,
    polynomial,
    power_of_2,
    times,
)  # fmt: skip
from rfactor.ir.types import F32, F64, U32

_LOG2E = 1.4426950408889634
_LN2 = 0.693359375, -2.12194440e-4
"""ln 2 as a number of nine bits, whose products with exponents are exact, and the rest."""
_EXP = 0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.00836874544620514, 0.0013814539415761828
"""(exp(r) - 1 - r) / r**2 for |r| <= ln 2 / 2, constant term first: nearest in relative error, 3e-9."""
_LOG = (
    0.3333333134651184, -0.2500081956386566, 0.20001226663589478, -0.16623356938362122,
    0.14201758801937103, -0.13160182535648346, 0.12761574983596802, -0.07634492963552475,
)  # fmt: skip
"""(log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2): 6e-9."""
_LOG2 = 2.88539008179008, 0.961796673350059, 0.5770835832695558, 0.411672826891602, 0.34072800828927285
"""log2((1 + s) / (1 - s)) / s in terms of s**2, for sqrt(1/2) <= (1 + s) / (1 - s) <= sqrt(2): 4e-12."""
_EXP2 = (
    1.0000000005541665, 0.6931472057372681, 0.24022646890634097, 0.055503287769647344, 0.009618488957114115,
    0.0013399931219338532, 0.00015345812003149888,
)  # fmt: skip
"""2**r for |r| <= 1/2: 2e-9."""
_FURTHEST = 2.0**40
"""Exponents beyond it make of whatever is not 1 zero or infinity."""


def exp(x: Expr) -> Expr:
    """2**n * exp(r) with x = n * ln 2 + r: beyond what f32 holds, infinity and zero; of NaN, NaN."""
    held = between(f32(-105.0), x, f32(89.5))
    shifted = plus(times(held, f32(_LOG2E)), f32(WHOLE))
    n = minus(shifted, f32(WHOLE))
    r = minus(minus(held, times(n, f32(_LN2[0]))), times(n, f32(_LN2[1])))
    power = plus(plus(times(times(r, r), polynomial(_EXP, r)), r), f32(1.0))
    # 2**n may be no float where the product is one: by two factors, the second of which alone may round.
    exponent = intrinsic("reinterpret_i32", shifted)
    half = apply(">>", exponent, i32(1))
    return times(times(power, power_of_2(half)), power_of_2(minus(exponent, half)))


def log(x: Expr) -> Expr:
    """n * ln 2 + log(m) with x = 2**n * m, m between sqrt(1/2) and sqrt(2): of 0, -infinity; below it, NaN."""
    value = _logarithm(*_parts(x))
    # NaN and infinity are themselves.
    value = select(apply("<", x, f32(math.inf)), value, x)
    outside = select(apply("==", x, f32(0.0)), f32(-math.inf), f32(math.nan))
    return select(apply("<=", x, f32(0.0)), outside, value)


def log_of_normal(x: Expr) -> Expr:
    """The same but where `is_not_normal`."""
    return _logarithm(*_parts_of_normal(x))


def is_not_normal(x: Expr) -> Expr:
    """Whether x is anything but a positive normal number: their bits are an interval."""
    above = minus(intrinsic("reinterpret_i32", x), i32(1 << 23))
    return apply(">=", cast(U32, above), Const(U32, 0x7F000000))


def _logarithm(n: Expr, m: Expr) -> Expr:
    """n * ln 2 + log(m)."""
    f = minus(m, f32(1.0))
    square = times(f, f)
    part = plus(times(times(square, f), polynomial(_LOG, f)), times(n, f32(_LN2[1])))
    part = minus(part, times(square, f32(0.5)))
    return plus(plus(part, f), times(n, f32(_LN2[0])))


def pow(x: Expr, y: Expr) -> Expr:
    """2**(y * log2|x|) in doubles, rounded once, and the sign of x where y is odd: C's values (7.12.7.4, F.9.4.4) where
    no power is, of zeros and of infinities."""
    size = apply("abs", x)
    value = _power(*_parts(size), between(f32(-_FURTHEST), y, f32(_FURTHEST)))
    # The end that zero and infinity are, or the other.
    other = select(apply("<", size, f32(1.0)), f32(math.inf), f32(0.0))
    end = apply("or", apply("==", size, f32(0.0)), apply("==", size, f32(math.inf)))
    value = select(end, select(apply("<", y, f32(0.0)), other, size), value)
    half = times(y, f32(0.5))
    whole = apply("==", intrinsic("floor", y), y)
    odd = apply("and", whole, apply("!=", intrinsic("floor", half), half))
    sign = apply("&", intrinsic("reinterpret_i32", x), select(odd, i32(-(2**31)), i32(0)))
    value = intrinsic("reinterpret_f32", apply("|", intrinsic("reinterpret_i32", value), sign))
    inside = apply("and", apply("<", x, f32(0.0)), apply(">", x, f32(-math.inf)))
    none = apply("and", inside, apply("not", whole))
    unknown = apply("or", apply("!=", x, x), apply("!=", y, y))
    value = select(apply("or", none, unknown), f32(math.nan), value)
    return select(apply("or", apply("==", x, f32(1.0)), apply("==", y, f32(0.0))), f32(1.0), value)


def usual_pow(x: Expr, y: Expr) -> Expr:
    """The same but where `is_unusual`."""
    value = _power(*_parts_of_normal(x), y)
    return select(apply("==", intrinsic("reinterpret_i32", x), i32(0)), f32(0.0), value)


def is_unusual(x: Expr, y: Expr) -> Expr:
    """Whether y is far from 0, or x neither a positive normal number nor, of a positive y, +0."""
    zero = apply("and", apply("==", intrinsic("reinterpret_i32", x), i32(0)), apply(">", y, f32(0.0)))
    far = apply("not", apply("<=", apply("abs", y), f32(_FURTHEST)))
    return apply("or", far, apply("and", is_not_normal(x), apply("not", zero)))


def _power(n: Expr, m: Expr, y: Expr) -> Expr:
    """2**(y * (n + log2(m))), rounded once; y is no further from 0 than `_FURTHEST`."""
    double = cast(F64, m)
    s = over(minus(double, f64(1.0)), plus(double, f64(1.0)))
    log2 = plus(cast(F64, n), times(s, polynomial(_LOG2, times(s, s))))
    exponent = between(f64(-151.0), times(cast(F64, y), log2), f64(129.0))
    shifted = plus(exponent, f64(WHOLE_DOUBLE))
    part = polynomial(_EXP2, minus(exponent, minus(shifted, f64(WHOLE_DOUBLE))))
    scale = apply("<<", intrinsic("reinterpret_i64", shifted), i64(52))
    return cast(F32, intrinsic("reinterpret_f64", plus(intrinsic("reinterpret_i64", part), scale)))


def _parts(x: Expr) -> tuple[Expr, Expr]:
    """Of x > 0 the whole n, as a float, and m between sqrt(1/2) and sqrt(2) with x = 2**n * m."""
    small = apply("<", x, f32(2.0**-126))  # subnormal, or out of the domain
    n, m = _parts_of_normal(select(small, times(x, f32(2.0**23)), x))
    return minus(n, select(small, f32(23.0), f32(0.0))), m


def _parts_of_normal(x: Expr) -> tuple[Expr, Expr]:
    bits = intrinsic("reinterpret_i32", x)
    from_root = minus(bits, i32(0x3F3504F3))  # of the bits of sqrt(1/2): multiples of 2**23 are exponents
    exponent = apply(">>", from_root, i32(23))
    return cast(F32, exponent), intrinsic("reinterpret_f32", minus(bits, apply("<<", exponent, i32(23))))
