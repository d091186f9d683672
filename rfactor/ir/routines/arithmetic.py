"""What routines are written with."""

from __future__ import annotations

from rfactor.ir.expr import Const, Expr, apply, cast, const, intrinsic, select
from rfactor.ir.types import F32, F64, I32, I64

WHOLE = 12582912.0
"""3 * 2**22: a float near it has no bits behind the point, and its low bits are the integer."""
WHOLE_DOUBLE = 6755399441055744.0
"""3 * 2**51: what `WHOLE` is to floats, to doubles."""
_SIGN = -(2**31)


def plus(a: Expr, b: Expr) -> Expr:
    """The sum, rounded."""
    return apply("+", a, b)


def minus(a: Expr, b: Expr) -> Expr:
    """The difference, rounded."""
    return apply("-", a, b)


def times(a: Expr, b: Expr) -> Expr:
    """The product, rounded."""
    return apply("*", a, b)


def over(a: Expr, b: Expr) -> Expr:
    """The quotient, rounded."""
    return apply("/", a, b)


def polynomial(coefficients: tuple[float, ...], x: Expr) -> Expr:
    """By halves (Estrin's scheme): what waits for the last of n products is the logarithm of n long."""
    terms: list[Expr] = [const(x.type, coefficient) for coefficient in coefficients]
    while len(terms) > 1:
        pairs = [plus(low, times(high, x)) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        x = times(x, x)
    return terms[0]


def between(low: Expr, x: Expr, high: Expr) -> Expr:
    """x held between two ends; NaN as it is."""
    held = select(apply(">", x, high), high, x)
    return select(apply("<", held, low), low, held)


def nearest(x: Expr) -> tuple[Expr, Expr]:
    """The whole number nearest to a double of at most 2**51, as a double, and as the low bits of an i64."""
    shifted = plus(x, f64(WHOLE_DOUBLE))
    return minus(shifted, f64(WHOLE_DOUBLE)), intrinsic("reinterpret_i64", shifted)


def nearest_single(x: Expr) -> tuple[Expr, Expr]:
    """The same of an f32 of at most 2**22, and an i32."""
    shifted = plus(x, f32(WHOLE))
    return minus(shifted, f32(WHOLE)), intrinsic("reinterpret_i32", shifted)


def power_of_2(exponent: Expr) -> Expr:
    """2**n of the low bits n of an i32 whose lowest nine bits but those are 0."""
    return intrinsic("reinterpret_f32", plus(apply("<<", exponent, i32(23)), i32(127 << 23)))


def size(x: Expr) -> Expr:
    """|x| of an f32, as a double."""
    return cast(F64, apply("abs", x))


def signed(value: Expr, x: Expr) -> Expr:
    """`value`, an f32 without a sign, with that of x."""
    sign = apply("&", intrinsic("reinterpret_i32", x), i32(_SIGN))
    return intrinsic("reinterpret_f32", apply("|", intrinsic("reinterpret_i32", value), sign))


def turned(value: Expr, whole: Expr) -> Expr:
    """A double, with the other sign where the lowest bit of `whole`, an i64, is set."""
    sign = apply("<<", whole, i64(63))
    return intrinsic("reinterpret_f64", apply("^", intrinsic("reinterpret_i64", value), sign))


def turned_single(value: Expr, whole: Expr) -> Expr:
    """The same of an f32 and an i32."""
    sign = apply("<<", whole, i32(31))
    return intrinsic("reinterpret_f32", apply("^", intrinsic("reinterpret_i32", value), sign))


def single(x: Expr) -> Expr:
    """A double as f32, rounded."""
    return cast(F32, x)


def f32(value: float) -> Const:
    """A constant."""
    return const(F32, value)


def f64(value: float) -> Const:
    """A constant."""
    return const(F64, value)


def i32(value: int) -> Const:
    """A constant."""
    return Const(I32, value)


def i64(value: int) -> Const:
    """A constant."""
    return Const(I64, value)
