"""`sinh`, `cosh`, `tanh` and their inverses: in doubles by exp(x) - 1 and log(1 + x), rounded once."""

from __future__ import annotations

import math

from rfactor.ir.expr import Expr, apply, cast, intrinsic, select
from rfactor.ir.routines.arithmetic import (
    f64,
    i64,
    minus,
    nearest,
    over,
    plus,
    polynomial,
    signed,
    single,
    size,
    times,
)  # fmt: skip
from rfactor.ir.types import F64, I32

_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453
_EXP = (
    1.0000000000312217, 0.5000000046680065, 0.16666666249376047, 0.041666354325014685, 0.008333402925541794,
    0.001394101534163714, 0.00019841251689921562,
)  # fmt: skip
"""(exp(r) - 1) / r for |r| <= ln 2 / 2: 3e-10."""
_LOG = 2.0000000000084284, 0.6666666523987317, 0.4000038598724075, 0.28534978433839603, 0.23617611281363243
"""log((1 + s) / (1 - s)) / s in terms of s**2, for sqrt(1/2) <= (1 + s) / (1 - s) <= sqrt(2): 5e-12."""
_ONE, _ROOT = 1023 << 52, 0x3FE6A09E667F3BCD
"""The bits of 1 and of sqrt(1/2)."""


def sinh(x: Expr) -> Expr:
    """(e + e / (e + 1)) / 2 with e = exp(|x|) - 1; from 90 on that is infinite."""
    e = _less_1(_held(size(x), 90.0))
    return signed(single(times(f64(0.5), plus(e, over(e, plus(e, f64(1.0)))))), x)


def cosh(x: Expr) -> Expr:
    """(exp(x) + 1 / exp(x)) / 2."""
    power = plus(_less_1(_held(size(x), 90.0)), f64(1.0))
    return single(times(f64(0.5), plus(power, over(f64(1.0), power))))


def tanh(x: Expr) -> Expr:
    """e / (e + 2) with e = exp(2 * |x|) - 1; from 10 on that is 1."""
    e = _less_1(times(f64(2.0), _held(size(x), 10.0)))
    return signed(single(over(e, plus(e, f64(2.0)))), x)


def asinh(x: Expr) -> Expr:
    """log(1 + |x| + x**2 / (1 + sqrt(1 + x**2)))."""
    whole = size(x)
    square = times(whole, whole)
    root = intrinsic("sqrt", plus(square, f64(1.0)))
    value = _of_more(plus(whole, over(square, plus(root, f64(1.0)))))
    return signed(single(_finite(value, whole)), x)


def acosh(x: Expr) -> Expr:
    """log(1 + t + sqrt(t**2 + 2 * t)) with t = x - 1; below 1, NaN."""
    t = minus(cast(F64, x), f64(1.0))
    value = _of_more(plus(t, intrinsic("sqrt", times(t, plus(t, f64(2.0))))))
    value = select(apply("<", t, f64(0.0)), f64(math.nan), value)
    return single(_finite(value, t))


def atanh(x: Expr) -> Expr:
    """log(1 + 2 * |x| / (1 - |x|)) / 2: of 1 infinity, beyond it NaN."""
    whole = size(x)
    value = times(f64(0.5), _of_more(over(plus(whole, whole), minus(f64(1.0), whole))))
    end = select(apply("==", whole, f64(1.0)), f64(math.inf), f64(math.nan))
    return signed(single(select(apply("<", whole, f64(1.0)), value, end)), x)


def _held(x: Expr, high: float) -> Expr:
    """x, but no more than `high`; NaN as it is."""
    return select(apply(">", x, f64(high)), f64(high), x)


def _finite(value: Expr, x: Expr) -> Expr:
    """`value`, but infinity and NaN are themselves."""
    return select(apply("<", x, f64(math.inf)), value, x)


def _less_1(x: Expr) -> Expr:
    """exp(x) - 1, of which nothing is lost near 0: 2**n * (exp(r) - 1) + (2**n - 1) with x = n * ln 2 + r."""
    n, bits = nearest(times(x, f64(_LOG2E)))
    r = minus(x, times(n, f64(_LN2)))
    power = intrinsic("reinterpret_f64", plus(apply("<<", bits, i64(52)), i64(_ONE)))
    return plus(times(power, times(r, polynomial(_EXP, r))), minus(power, f64(1.0)))


def _of_more(x: Expr) -> Expr:
    """log(1 + x) of x >= 0, of which nothing is lost near 0: n * ln 2 + log(m) with 1 + x = 2**n * m."""
    bits = intrinsic("reinterpret_i64", plus(x, f64(1.0)))
    n = apply(">>", minus(bits, i64(_ROOT)), i64(52))
    m = intrinsic("reinterpret_f64", minus(bits, apply("<<", n, i64(52))))
    part = select(apply("==", n, i64(0)), x, minus(m, f64(1.0)))
    s = over(part, plus(m, f64(1.0)))
    return plus(times(cast(F64, cast(I32, n)), f64(_LN2)), times(s, polynomial(_LOG, times(s, s))))
