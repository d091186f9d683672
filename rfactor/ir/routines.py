"""Functions of f32 as arithmetic, for scalars and lanes alike: no table, no branch, and nothing of the C library.

Whatever computes them computes these operations, each rounded by itself, so that the interpreter, machine code of any
number of lanes and C have the same bits. Errors are below one unit in the last place (subnormal results of `exp`:
one of those). The ways are Cody and Waite's (*Software Manual for the Elementary Functions*, 1980).
"""

from __future__ import annotations

import math

from rfactor.ir.expr import Const, Expr, Var, apply, cast, const, intrinsic, select
from rfactor.ir.types import F32, F64, I32, I64

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
_LOG2 = 2.88539008179008, 0.961796673350059, 0.5770835832695558, 0.411672826891602, 0.34072800828927285
"""log2((1 + s) / (1 - s)) / s in terms of s**2, for sqrt(1/2) <= (1 + s) / (1 - s) <= sqrt(2): 4e-12."""
_EXP2 = (
    1.0000000005541665, 0.6931472057372681, 0.24022646890634097, 0.055503287769647344, 0.009618488957114115,
    0.0013399931219338532, 0.00015345812003149888,
)  # fmt: skip
"""2**r for |r| <= 1/2: 2e-9."""
_WHOLE_DOUBLE = 6755399441055744.0
"""3 * 2**51: what `_WHOLE` is to floats, to doubles."""


def exp(x: Expr) -> Expr:
    """2**n * exp(r) with x = n * ln 2 + r: beyond what f32 holds, infinity and zero; of NaN, NaN."""
    held = _between(_f32(-105.0), x, _f32(89.5))
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
    n, m = _parts(x)
    f = apply("-", m, _f32(1.0))
    square = _product(f, f)
    part = _sum(_product(_product(square, f), _polynomial(_LOG, f)), _product(n, _f32(_LN2[1])))
    part = apply("-", part, _product(square, _f32(0.5)))
    value = _sum(_sum(part, f), _product(n, _f32(_LN2[0])))
    # NaN and infinity are themselves.
    value = select(apply("<", x, _f32(math.inf)), value, x)
    outside = select(apply("==", x, _f32(0.0)), _f32(-math.inf), _f32(math.nan))
    return select(apply("<=", x, _f32(0.0)), outside, value)


def pow(x: Expr, y: Expr) -> Expr:
    """2**(y * log2|x|) in doubles, rounded once, and the sign of x where y is odd: C's values (7.12.7.4, F.9.4.4) where
    no power is, of zeros and of infinities."""
    size = apply("abs", x)
    n, m = (cast(F64, part) for part in _parts(size))
    s = apply("/", apply("-", m, _f64(1.0)), _sum(m, _f64(1.0)))
    log2 = _sum(n, _product(s, _polynomial(_LOG2, _product(s, s))))
    # Of what is not 1, powers beyond these are infinite or zero; of 1, infinite ones are 1.
    held = cast(F64, _between(_f32(-(2.0**40)), y, _f32(2.0**40)))
    exponent = _between(_f64(-151.0), _product(held, log2), _f64(129.0))
    shifted = _sum(exponent, _f64(_WHOLE_DOUBLE))
    part = _polynomial(_EXP2, apply("-", exponent, apply("-", shifted, _f64(_WHOLE_DOUBLE))))
    scale = apply("<<", intrinsic("reinterpret_i64", shifted), Const(I64, 52))
    value = cast(F32, intrinsic("reinterpret_f64", _sum(intrinsic("reinterpret_i64", part), scale)))
    # The end that zero and infinity are, or the other.
    other = select(apply("<", size, _f32(1.0)), _f32(math.inf), _f32(0.0))
    end = apply("or", apply("==", size, _f32(0.0)), apply("==", size, _f32(math.inf)))
    value = select(end, select(apply("<", y, _f32(0.0)), other, size), value)
    half = _product(y, _f32(0.5))
    whole = apply("==", intrinsic("floor", y), y)
    odd = apply("and", whole, apply("!=", intrinsic("floor", half), half))
    sign = apply("&", intrinsic("reinterpret_i32", x), select(odd, _i32(-(2**31)), _i32(0)))
    value = intrinsic("reinterpret_f32", apply("|", intrinsic("reinterpret_i32", value), sign))
    inside = apply("and", apply("<", x, _f32(0.0)), apply(">", x, _f32(-math.inf)))
    none = apply("and", inside, apply("not", whole))
    unknown = apply("or", apply("!=", x, x), apply("!=", y, y))
    value = select(apply("or", none, unknown), _f32(math.nan), value)
    return select(apply("or", apply("==", x, _f32(1.0)), apply("==", y, _f32(0.0))), _f32(1.0), value)


def _parts(x: Expr) -> tuple[Expr, Expr]:
    """Of x > 0 the whole n, as a float, and m between sqrt(1/2) and sqrt(2) with x = 2**n * m."""
    small = apply("<", x, _f32(2.0**-126))  # subnormal, or out of the domain
    bits = intrinsic("reinterpret_i32", select(small, _product(x, _f32(2.0**23)), x))
    from_root = apply("-", bits, _i32(0x3F3504F3))  # of the bits of sqrt(1/2): multiples of 2**23 are exponents
    exponent = apply(">>", from_root, _i32(23))
    m = intrinsic("reinterpret_f32", apply("-", bits, apply("<<", exponent, _i32(23))))
    return apply("-", cast(F32, exponent), select(small, _f32(23.0), _f32(0.0))), m


def _between(low: Expr, x: Expr, high: Expr) -> Expr:
    """x held between two ends; NaN as it is."""
    held = select(apply(">", x, high), high, x)
    return select(apply("<", held, low), low, held)


def _power_of_2(exponent: Expr) -> Expr:
    """2**n of the low bits n of an i32 whose lowest nine bits but those are 0."""
    return intrinsic("reinterpret_f32", _sum(apply("<<", exponent, _i32(23)), _i32(127 << 23)))


def _polynomial(coefficients: tuple[float, ...], x: Expr) -> Expr:
    """By halves (Estrin's scheme): what waits for the last of n products is the logarithm of n long."""
    terms: list[Expr] = [const(x.type, coefficient) for coefficient in coefficients]
    while len(terms) > 1:
        pairs = [_sum(low, _product(high, x)) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
        x = _product(x, x)
    return terms[0]


def _sum(a: Expr, b: Expr) -> Expr:
    return apply("+", a, b)


def _product(a: Expr, b: Expr) -> Expr:
    return apply("*", a, b)


def _f32(value: float) -> Const:
    return const(F32, value)


def _f64(value: float) -> Const:
    return const(F64, value)


def _i32(value: int) -> Const:
    return Const(I32, value)


PARAMETERS = Var(F32, "x"), Var(F32, "y")
"""What the functions of `ROUTINES` are of: as many of the first ones as the function has arguments."""

ROUTINES: dict[str, Expr] = {"exp": exp(PARAMETERS[0]), "log": log(PARAMETERS[0]), "pow": pow(*PARAMETERS)}
"""By name, in terms of `PARAMETERS`."""
