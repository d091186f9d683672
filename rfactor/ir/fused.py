"""`fma(a, b, c)`, the product and the sum rounded once: its values, and what it is of numbers that nothing rounds.

IEEE 754's fusedMultiplyAdd, of f32 and f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.expr import Call, Expr, apply, transform, walk

NAME = "fma"


def is_fused(expr: Expr) -> bool:
    """Whether an expression is a product and a sum in one."""
    return isinstance(expr, Call) and expr.kind == "intrinsic" and expr.name == NAME


def as_sum(expr: Expr) -> Expr:
    """`a*b + c` of `fma(a, b, c)`: the same number, though rounded otherwise."""
    a, b, c = expr.children
    return apply("+", apply("*", a, b), c)


def as_sums(exprs: tuple[Expr, ...], where: Callable[[Expr], bool]) -> tuple[Expr, ...]:
    """Expressions with products and sums in place of those `fma` that are to be."""
    if not any(is_fused(node) for expr in exprs for node in walk(expr)):
        return exprs
    return tuple(
        [transform(expr, lambda node: as_sum(node) if is_fused(node) and where(node) else None) for expr in exprs]
    )


def fused(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    """The values, of arrays of f32 or of f64."""
    if a.dtype == np.float32:
        return _singles(*(one.astype(np.float64) for one in (a, b, c))).astype(np.float32)
    rows = zip(*(one.tolist() for one in np.broadcast_arrays(a, b, c)), strict=True)
    return np.array([fused_double(*row) for row in rows], np.float64)


def _singles(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    """The values of f32 in doubles, rounded to odd, so that only the rounding to f32 counts (Boldo and Melquiond 2008:
    53 >= 24 + 2). Products of f32 are exact in doubles, and no sum of them is too large or too small."""
    product = a * b
    total = np.asarray(product + c)
    second = total - product
    error = (product - (total - second)) + (c - second)
    even = total.view(np.uint64) % 2 == 0
    towards = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(np.isfinite(total) & (error != 0) & even, towards, total)


def fused_double(a: float, b: float, c: float) -> float:
    """The value of one point, of f64."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c  # no product of finite numbers is rounded to infinity on the way
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # then the product is -c, or a zero with its sign
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
