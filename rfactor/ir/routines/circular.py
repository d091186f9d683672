"""`sin`, `cos` and `tan`: half turns or quarters taken off in doubles, a polynomial of the rest, rounded once.

    x / pi = n + f,  |f| <= 1/2:        sin(x) = (-1)**n * sin(pi * f)

1 / pi is given by parts of so few bits that their products with an f32 are exact, whose whole numbers are taken off
exactly. Of large numbers those bits of 1 / pi are used that count: what makes an even number with any of them is left
out, which is Payne and Hanek's way (*Radian Reduction for Trigonometric Functions*, 1983).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from rfactor.ir.expr import Expr, apply, cast, select
from rfactor.ir.routines.arithmetic import (
    f32,
    f64,
    i64,
    minus,
    nearest,
    nearest_single,
    over,
    plus,
    polynomial,
    single,
    size,
    times,
    turned,
    turned_single,
)  # fmt: skip
from rfactor.ir.types import F64

FAR = 2.0**20
"""From here on the bits of 1 / pi that count are chosen."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """What an angle is measured by."""

    near: tuple[float, float]
    """How many there are in 1: in 29 bits, no more, and the rest: both positive, so that of -0 there are -0."""
    far: tuple[tuple[float, float, float], ...]
    """How many, less an even number, in 2**-3, 2**24, 2**51 and 2**78, in 29 bits, in 28, and the rest: all numbers
    from 2**20 on, 2**47, 2**74 and 2**101 are whole multiples of those."""


_HALF_TURN = _Unit(
    (0.3183098854497075, 7.340831634506093e-10),
    (
        (0.039788734167814255, 1.6051595816413133e-09, -2.4598345843978107e-18),
        (-0.28455912694334984, -1.2614759861695468e-09, 2.38036987593802e-18),
        (0.3306875601410866, -6.118347356531828e-10, -2.4142528224256724e-18),
        (0.9178809300065041, 1.5386096216540857e-09, -1.0666898039991643e-18),
    ),
)
_QUARTER_TURN = _Unit(
    (0.636619770899415, 1.4681663269012186e-09),
    (
        (0.07957747206091881, -5.149711421181813e-10, 2.0192247351116065e-18),
        (-0.56911825761199, 1.2023383330617143e-09, -2.1781541520311886e-18),
        (0.6613751202821732, -1.2236694782452595e-09, 2.110388259055884e-18),
        (-0.16423813626170158, -6.480710551537427e-10, -2.1333796079983287e-18),
    ),
)
_STARTS = tuple(2.0**power for power in (20, 47, 74, 101))
_MULTIPLES = tuple(2.0**-power for power in (-3, 24, 51, 78))

_SIN_PI = (
    3.1415926535233454, -5.167712762115763, 2.5501632403168895, -0.599251330099124, 0.08204647879796098,
    -0.007022163474287821,
)  # fmt: skip
"""sin(pi * f) / f in terms of f**2, for |f| <= 1/2: 2e-11."""
_SIN_QUARTERS = 1.57079632678775, -0.6459640961024181, 0.079692581842889, -0.004681260627569026, 0.00015819507428092063
"""sin(pi / 2 * f) / f in terms of f**2, for |f| <= 1/2: 5e-12."""
_COS_QUARTERS = (
    0.9999999999439374, -1.2337005395647633, 0.2536691825962011, -0.020859936029100926, 0.0009033629786559232,
)  # fmt: skip
"""cos(pi / 2 * f) in terms of f**2, for |f| <= 1/2: 6e-11."""

FAST_FAR = 4096.0
"""Below it, `_PI[0]` times a number of half turns, and of halves of them, is exact."""
_HALF_TURNS = 0.31830987334251404
_PI = 3.140625, 0.0009676535846665502
"""In 12 bits, and the rest."""
_ROUGH_SIN = (
    0.9999995827674866, -0.1666664332151413, 0.008332923986017704, -0.00019802145834546536, 2.5924532565113623e-06,
)  # fmt: skip
"""sin(r) / r, less 4e-7 of it, in terms of r**2, for |r| <= pi / 2: r times that is within 7e-9, and rounded no more
than 1."""


def sin(x: Expr, far: bool) -> Expr:
    """Of numbers below `FAR`, or from there on; of infinities, NaN."""
    return _sine(*_rest(x, _HALF_TURN, far, 0.0))


def cos(x: Expr, far: bool) -> Expr:
    """The same: cos(x) = (-1)**n * sin(pi * f), x / pi = n + 1/2 - f."""
    return _sine(*_rest(x, _HALF_TURN, far, 0.5))


def fast_sin(x: Expr) -> Expr:
    """Below `FAST_FAR`, in f32: within 1e-6, and never beyond 1."""
    whole, n = nearest_single(times(x, f32(_HALF_TURNS)))
    r = minus(minus(x, times(whole, f32(_PI[0]))), times(whole, f32(_PI[1])))
    return turned_single(times(r, polynomial(_ROUGH_SIN, times(r, r))), n)


def fast_cos(x: Expr) -> Expr:
    """The same."""
    whole, n = nearest_single(minus(times(x, f32(_HALF_TURNS)), f32(0.5)))
    middle = plus(whole, f32(0.5))
    r = plus(minus(times(middle, f32(_PI[0])), x), times(middle, f32(_PI[1])))
    return turned_single(times(r, polynomial(_ROUGH_SIN, times(r, r))), n)


def is_fast_far(x: Expr) -> Expr:
    """Whether x is finite or not, and not below `FAST_FAR`."""
    return apply(">=", apply("abs", x), f32(FAST_FAR))


def tan(x: Expr, far: bool) -> Expr:
    """The same by quarter turns, of which an odd number makes -1 / tan of the rest."""
    f, n = _rest(x, _QUARTER_TURN, far, 0.0)
    square = times(f, f)
    sine, cosine = times(f, polynomial(_SIN_QUARTERS, square)), polynomial(_COS_QUARTERS, square)
    odd = apply("!=", apply("&", n, i64(1)), i64(0))
    quotient = over(select(odd, cosine, sine), select(odd, sine, cosine))
    return single(turned(quotient, n))


def is_far(x: Expr) -> Expr:
    """Whether x is finite or not, and not below `FAR`."""
    return apply(">=", size(x), f64(FAR))


def _sine(f: Expr, n: Expr) -> Expr:
    return single(turned(times(f, polynomial(_SIN_PI, times(f, f))), n))


def _rest(x: Expr, unit: _Unit, far: bool, half: float) -> tuple[Expr, Expr]:
    """f and the low bits of n with x = (n + f) * unit; where `half` is a half, with x = (n + 1/2 - f) * unit."""
    count = cast(F64, x)
    parts: tuple[Expr, ...] = tuple(map(f64, unit.near))
    if far:
        parts = tuple(_chosen(count, [one[place] for one in unit.far]) for place in range(3))
        count = times(count, _chosen(count, _MULTIPLES))
    *exact, last = (times(count, part) for part in parts)
    wholes = []
    if far:
        found = [nearest(product) for product in exact]
        exact = [minus(product, whole) for product, (whole, _) in zip(exact, found, strict=True)]
        wholes = [n for _, n in found]
    total = reduce(plus, exact)
    whole, n = nearest(minus(total, f64(half)) if half else total)
    f = minus(plus(whole, f64(half)), exact[0]) if half else minus(exact[0], whole)
    return reduce(minus if half else plus, (*exact[1:], last), f), reduce(plus, wholes, n)


def _chosen(x: Expr, of: Sequence[float]) -> Expr:
    """The one of `of` for the greatest of `_STARTS` that is not above |x|."""
    chosen: Expr = f64(of[0])
    for start, one in zip(_STARTS[1:], of[1:], strict=True):
        chosen = select(apply(">=", apply("abs", x), f64(start)), f64(one), chosen)
    return chosen
