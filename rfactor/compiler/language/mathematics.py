"""Functions of floats. Integers are converted to f32; each has one routine, the same alone and in vectors."""

from __future__ import annotations

import math
from functools import reduce

from rfactor.compiler.language.expr import (
    Expr,
    ExprLike,
    as_expr,
    call,
    converted,
    intrinsic,
    is_signed_constant,
    power,
    promoted,
    together,
    typed_binary,
)
from rfactor.compiler.language.functions import abs
from rfactor.compiler.language.numbers import peer
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import types as T


def exp(x: ExprLike) -> Expr:
    """e to the power x."""
    return intrinsic("exp", x)


def log(x: ExprLike) -> Expr:
    """The natural logarithm."""
    return intrinsic("log", x)


def sqrt(x: ExprLike) -> Expr:
    """The square root."""
    return intrinsic("sqrt", x)


def sin(x: ExprLike) -> Expr:
    """The sine."""
    return intrinsic("sin", x)


def cos(x: ExprLike) -> Expr:
    """The cosine."""
    return intrinsic("cos", x)


def tan(x: ExprLike) -> Expr:
    """The tangent."""
    return intrinsic("tan", x)


def asin(x: ExprLike) -> Expr:
    """The arcsine."""
    return intrinsic("asin", x)


def acos(x: ExprLike) -> Expr:
    """The arccosine."""
    return intrinsic("acos", x)


def atan(x: ExprLike) -> Expr:
    """The arctangent."""
    return intrinsic("atan", x)


def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """The angle of the point (x, y)."""
    return intrinsic("atan2", y, x)


def sinh(x: ExprLike) -> Expr:
    """The hyperbolic sine."""
    return intrinsic("sinh", x)


def cosh(x: ExprLike) -> Expr:
    """The hyperbolic cosine."""
    return intrinsic("cosh", x)


def tanh(x: ExprLike) -> Expr:
    """The hyperbolic tangent."""
    return intrinsic("tanh", x)


def asinh(x: ExprLike) -> Expr:
    """The inverse hyperbolic sine."""
    return intrinsic("asinh", x)


def acosh(x: ExprLike) -> Expr:
    """The inverse hyperbolic cosine."""
    return intrinsic("acosh", x)


def atanh(x: ExprLike) -> Expr:
    """The inverse hyperbolic tangent."""
    return intrinsic("atanh", x)


def floor(x: ExprLike) -> Expr:
    """Rounded down, as a float."""
    return intrinsic("floor", x)


def ceil(x: ExprLike) -> Expr:
    """Rounded up, as a float."""
    return intrinsic("ceil", x)


def round(x: ExprLike) -> Expr:
    """Rounded to the nearest, from the middle to even, as a float; of bf16 as one."""
    held = as_expr(x)
    return call("round", held) if held.node.type.is_bfloat else intrinsic("round", held)


def trunc(x: ExprLike) -> Expr:
    """Rounded towards zero, as a float."""
    return intrinsic("trunc", x)


def fract(x: ExprLike) -> Expr:
    """`x - trunc(x)`: of the sign of x."""
    whole = trunc(x)
    return converted(whole.node.type, as_expr(x)) - whole


def pow(x: ExprLike, y: ExprLike) -> Expr:
    """x to the power y; by products, of x's own type, where y is a constant whole number."""
    return power(x, y)


def hypot(x: ExprLike, y: ExprLike) -> Expr:
    """`sqrt(x*x + y*y)`, the squares in the operands' own types, as in Halide."""
    a, b = as_expr(x), as_expr(y)
    return sqrt(a * a + b * b)


def fma(a: ExprLike, b: ExprLike, c: ExprLike) -> Expr:
    """`a*b + c` rounded once, which is one instruction where the machine has it; of integers, and of conditions, just
    that. Numbers take the type of the others. Raises `TypeMismatch` for floats of 16 bits.
    """
    one, other, more = _alike(a, b, c)
    type_ = one.node.type
    if type_.is_float and type_.bits < T.F32.bits:
        raise TypeMismatch(
            f"fma({one}, {other}, {more}) of {type_}: it is for f32 and f64; write {type_}(fma(f32(…), f32(…), f32(…)))"
        )
    if type_.is_float:
        return call("fma", one, other, more)
    return typed_binary("+", typed_binary("*", one, other), more)


def _alike(*values: ExprLike) -> tuple[Expr, ...]:
    """Operands of one type; numbers take that of the others."""
    known = [value.node.type for value in values if isinstance(value, Expr)]
    if not known:
        return together(*values)
    type_ = reduce(promoted, known)
    return together(*(v if isinstance(v, Expr) else as_expr(v, peer(type_, v)) for v in values))


def erf(x: ExprLike) -> Expr:
    """The error function. Raises `TypeMismatch` for integers."""
    return intrinsic("erf", _float("erf", x))


def is_nan(x: ExprLike) -> Expr:
    """Whether x is no number. Raises `TypeMismatch` for integers."""
    held = _float("is_nan", x)
    return held != held


def is_inf(x: ExprLike) -> Expr:
    """Whether x is infinite, of either sign. Raises `TypeMismatch` for integers."""
    held = _float("is_inf", x)
    return abs(held) == Expr(ir.Const(held.node.type, math.inf))


def is_finite(x: ExprLike) -> Expr:
    """Whether x is neither infinite nor NaN. Raises `TypeMismatch` for integers."""
    held = _float("is_finite", x)
    return abs(held) < Expr(ir.Const(held.node.type, math.inf))


def _float(what: str, x: ExprLike) -> Expr:
    held = as_expr(x)
    if not held.node.type.is_float:
        raise TypeMismatch(f"{what}({held}) of {held.node.type}: it is for floats, write f32(…)")
    return held


# -- those that Halide computes roughly; here all but two are as exact as the others -----------------------------------


def fast_exp(x: ExprLike) -> Expr:
    """`exp` of f32. Raises `TypeMismatch` for other floats."""
    return intrinsic("exp", _single("fast_exp", x))


def fast_log(x: ExprLike) -> Expr:
    """`log` of f32. Raises `TypeMismatch` for other floats."""
    return intrinsic("log", _single("fast_log", x))


def fast_sin(x: ExprLike) -> Expr:
    """`sin` of f32, within 1e-6. Raises `TypeMismatch` for other floats."""
    return intrinsic("fast_sin", _single("fast_sin", x))


def fast_cos(x: ExprLike) -> Expr:
    """`cos` of f32, within 1e-6. Raises `TypeMismatch` for other floats."""
    return intrinsic("fast_cos", _single("fast_cos", x))


def fast_pow(x: ExprLike, y: ExprLike) -> Expr:
    """x to the power y: by products, of x's own type, where y is a constant whole number, in f32 otherwise."""
    base, exponent = as_expr(x), as_expr(y)
    if is_signed_constant(exponent):
        return power(base, exponent)
    return power(converted(T.F32, base), converted(T.F32, exponent))


def fast_inverse(x: ExprLike) -> Expr:
    """`1 / x` of f16 or f32. Raises `TypeMismatch` for other types."""
    return 1 / _short("fast_inverse", x)


def fast_inverse_sqrt(x: ExprLike) -> Expr:
    """`1 / sqrt(x)` of f16 or f32. Raises `TypeMismatch` for other types."""
    return 1 / sqrt(_short("fast_inverse_sqrt", x))


def _single(what: str, x: ExprLike) -> Expr:
    held = as_expr(x)
    if not held.node.type.is_float:
        return converted(T.F32, held)
    if held.node.type != T.F32:
        raise TypeMismatch(f"{what}({held}) of {held.node.type}: it is for f32; write {what[5:]}(…)")
    return held


def _short(what: str, x: ExprLike) -> Expr:
    held = as_expr(x)
    if held.node.type not in (T.F16, T.F32):
        raise TypeMismatch(f"{what}({held}) of {held.node.type}: it is for f16 and f32")
    return held
