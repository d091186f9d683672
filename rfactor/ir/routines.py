"""Functions of f32 as arithmetic, for scalars and lanes alike: no table, no branch, and nothing of the C library.

Whatever computes them computes these operations, each rounded by itself, so that the interpreter, machine code of any
number of lanes and C have the same bits. Errors are below one unit in the last place (subnormal results of `exp`:
one of those). The ways are Cody and Waite's (*Software Manual for the Elementary Functions*, 1980).
"""

from __future__ import annotations

import math

from rfactor.ir.expr import Const, Expr, Var, apply, cast, const, intrinsic, select
from rfactor.ir.types import F32, I32

_LOG2E = 1.4426950408889634
_LN2 = 0.693359375, -2.12194440e-4
"""ln 2 as a number of nine bits, whose products with exponents are exact, and the rest."""
_WHOLE = 12582912.0
"""3 * 2**22: a float near it has no bits behind the point, and its low bits are the integer."""
_EXP = 0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.00836874544620514, 0.0013814539415761828
"""(exp(r) - 1 - r) / r**2 for |r| <= ln 2 / 2, constant term first: nearest in relative error, 3e-9."""
_LOG = (
    0.3333333134651184, -0.2500081956386566, 0.20001226663589478, -0.16623356938362122,
    0.14201758801937103, -0.13160182535648346, 0.12761574983596802, -0.07634492963552475,
)  # fmt: skip
"""(log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2): 6e-9."""


def exp(x: Expr) -> Expr:
    """2**n * exp(r) with x = n * ln 2 + r: beyond what f32 holds, infinity and zero; of NaN, NaN."""
    held = select(apply(">", x, _f32(89.5)), _f32(89.5), x)
    held = select(apply("<", held, _f32(-105.0)), _f32(-105.0), held)
    shifted = _sum(_product(held, _f32(_LOG2E)), _f32(_WHOLE))
    n = apply("-", shifted, _f32(_WHOLE))
    r = apply("-", apply("-", held, _product(n, _f32(_LN2[0]))), _product(n, _f32(_LN2[1])))
    power = _sum(_sum(_product(_product(r, r), _polynomial(_EXP, r)), r), _f32(1.0))
    # 2**n may be no float where the product is one: by two factors, the second of which alone may round.
    exponent = intrinsic("reinterpret_i32", shifted)
    half = apply(">>", exponent, _i32(1))
    return _product(_product(power, _power_of_2(half)), _power_of_2(apply("-", exponent, half)))


def log(x: Expr) -> Expr:
    """n * ln 2 + log(m) with x = 2**n * m, m between sqrt(1/2) and sqrt(2): of 0, -infinity; below it, NaN."""
    least = _f32(2.0**-126)
    small = apply("<", x, least)  # subnormal, or out of the domain
    bits = intrinsic("reinterpret_i32", select(small, _product(x, _f32(2.0**23)), x))
    from_root = apply("-", bits, _i32(0x3F3504F3))  # of the bits of sqrt(1/2): multiples of 2**23 are exponents
    exponent = apply(">>", from_root, _i32(23))
    m = intrinsic("reinterpret_f32", apply("-", bits, apply("<<", exponent, _i32(23))))
    n = apply("-", cast(F32, exponent), select(small, _f32(23.0), _f32(0.0)))
    f = apply("-", m, _f32(1.0))
    square = _product(f, f)
    part = _sum(_product(_product(square, f), _polynomial(_LOG, f)), _product(n, _f32(_LN2[1])))
    part = apply("-", part, _product(square, _f32(0.5)))
    value = _sum(_sum(part, f), _product(n, _f32(_LN2[0])))
    # NaN and infinity are themselves.
    value = select(apply("<", x, _f32(math.inf)), value, x)
    outside = select(apply("==", x, _f32(0.0)), _f32(-math.inf), _f32(math.nan))
    return select(apply("<=", x, _f32(0.0)), outside, value)


def _power_of_2(exponent: Expr) -> Expr:
    """2**n of the low bits n of an i32 whose lowest nine bits but those are 0."""
    return intrinsic("reinterpret_f32", _sum(apply("<<", exponent, _i32(23)), _i32(127 << 23)))


def _polynomial(coefficients: tuple[float, ...], x: Expr) -> Expr:
    *others, last = coefficients
    result: Expr = _f32(last)
    for coefficient in reversed(others):
        result = _sum(_product(result, x), _f32(coefficient))
    return result


def _sum(a: Expr, b: Expr) -> Expr:
    return apply("+", a, b)


def _product(a: Expr, b: Expr) -> Expr:
    return apply("*", a, b)


def _f32(value: float) -> Const:
    return const(F32, value)


def _i32(value: int) -> Const:
    return Const(I32, value)


PARAMETER = Var(F32, "x")
"""What the functions of `ROUTINES` are of."""

ROUTINES: dict[str, Expr] = {"exp": exp(PARAMETER), "log": log(PARAMETER)}
"""By name, in terms of `PARAMETER`."""
