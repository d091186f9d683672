"""Entry checks of sizes: coordinates that i32 holds, storage that can be had.

Bounds and indices are computed as if coordinates were unbounded integers. That is right as long as every sum of
coordinates stays within i32; its least and greatest values are known before anything runs, so they are computed in i64
and checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.bounds import Bounded
from rfactor.compiler.lower.spans import arrays, extents_of, span
from rfactor.compiler.lower.sums import Computed
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const, Expr, Op, Var, conjunction
from rfactor.ir.loopnest import Assert
from rfactor.ir.types import BOOL, I32, I64

MOST_ELEMENTS = 2**31 - 1
"""Of the storage of one component of an intermediate."""


def coordinates_fit(bounded: Bounded, algorithm: Algorithm) -> Iterator[Assert]:
    """Checks that no coordinate leaves i32, and that what bounds the floats in one is finite."""
    known = _known(algorithm)
    spans = dict(extents_of(algorithm))
    met: set[Expr] = set()
    sums: dict[Computed, list[tuple[Expr, Expr, Expr]]] = {}
    floats: list[Expr] = []
    for (low, high), computed in bounded.sums.items():
        if low is None or high is None:
            continue
        if low.type.is_float:  # one end
            size = Op(low.type, "abs", (low,))
            floats.append(Op(BOOL, "<=", (size, Const(low.type, low.type.largest_finite))))
            continue
        cast = low.type == I64  # to i32
        least, greatest = (low, high) if cast else (in_i64(low), in_i64(high))
        terms: list[Expr] = []
        if cast or (low not in known and span(low, spans)[0] < I32.min):
            terms.append(Op(BOOL, ">=", (least, Const(I64, I32.min))))
        if cast or (high not in known and span(high, spans)[1] > I32.max):
            terms.append(Op(BOOL, "<=", (greatest, Const(I64, I32.max))))
        new = [term for term in terms if term not in met]
        met.update(new)
        if new:
            sums.setdefault(computed, []).append((conjunction(*new), least, greatest))
    for computed, asked in sums.items():
        conditions, lows, highs = zip(*asked, strict=True)
        place = str(computed).replace("{", "{{").replace("}", "}}")
        ends, told = ((lows[0], highs[0]), " (from {} to {})") if len(asked) == 1 else ((), "")
        message = f"{place}: coordinates reach beyond the range of i32{told}: ask for less, or clamp them"
        yield Assert(conjunction(*conditions), message, ends)
    if floats:
        yield Assert(conjunction(*floats), "a float that a coordinate is computed with is infinite or not a number")


def _known(algorithm: Algorithm) -> set[Expr]:
    """First and last coordinates of arrays that the caller gives, and one past: checked when they were given."""
    known: set[Expr] = set()
    for name, dimensions in arrays(algorithm):
        for d in range(dimensions):
            low, extent = Var(I32, f"{name}.min.{d}"), Var(I32, f"{name}.extent.{d}")
            end = Op(I32, "+", (low, extent))
            known |= {low, extent, end, Op(I32, "-", (end, Const(I32, 1))), Op(I32, "-", (extent, Const(I32, 1)))}
    return known


def storage_fits(bounded: Bounded) -> Iterator[Assert]:
    """A check for every intermediate that its storage is no larger than `MOST_ELEMENTS`."""
    for name, extents, live in bounded.sizes:
        size: Expr = Const(I64, 1)
        terms: list[Expr] = []
        for extent in extents:
            size = Op(I64, "*", (size, Op(I64, "max", (in_i64(extent), Const(I64, 0)))))
            terms.append(Op(BOOL, "<=", (size, Const(I64, MOST_ELEMENTS))))
        if not _surely(extents):
            message = f"the storage of {name} would exceed {MOST_ELEMENTS} elements"
            yield Assert(required_where(live, conjunction(*terms)), message)


def _surely(extents: tuple[Expr, ...]) -> bool:
    """Whether storage is known to fit."""
    size = 1
    for extent in extents:
        limit = affine.greatest(extent)
        if limit is None:
            return False
        size *= max(limit, 0)
    return size <= MOST_ELEMENTS


@lru_cache(maxsize=1 << 12)
def in_i64(expr: Expr) -> Expr:
    """An i32 expression computed in i64, where its sums and products do not wrap, and all else is as i32 has it."""
    if isinstance(expr, Const):
        return Const(I64, expr.value) if expr.type == I32 else expr
    if isinstance(expr, Op) and expr.type == I32 and _of_integers(expr):
        args = tuple(in_i64(arg) if arg.type == I32 else compared_in_i64(arg) for arg in expr.args)
        return Op(I64, expr.op, args)
    return Op(I64, "cast", (expr,))


def _of_integers(expr: Op) -> bool:
    """Whether an operation is that of integers where its operands and its value are in i32.

    What shifts, magnitudes and quotients by -1 lose beyond the type is lost for whatever is made of them.
    """
    if expr.op in ("//", "%"):
        divisor = expr.args[1]
        return isinstance(divisor, Const) and int(divisor.value) > 0
    return expr.op in ("+", "-", "*", "neg", "min", "max", "select")


@lru_cache(maxsize=1 << 12)
def compared_in_i64(expr: Expr) -> Expr:
    """A condition on coordinates, compared in i64."""
    if isinstance(expr, Op) and expr.type == BOOL:
        return Op(BOOL, expr.op, tuple(in_i64(a) if a.type == I32 else compared_in_i64(a) for a in expr.args))
    return expr


def required_where(live: Expr, condition: Expr) -> Expr:
    """That `condition` holds, where `live` does, a condition on coordinates."""
    if isinstance(live, Const) and live.value is True:
        return condition
    return Op(BOOL, "or", (Op(BOOL, "not", (compared_in_i64(live),)), condition))


def sum_in_i64(expr: Expr) -> bool:
    """Whether i64 holds a sum of coordinates, and what is added to it that i32 holds, whatever its terms are."""
    terms, constant = affine.affine(expr)
    return abs(constant) + (sum(abs(factor) for _, factor in terms) << 31) <= 1 << 62


def in_i32(value: Expr) -> Expr:
    """An i64 coordinate, or the end of i32 that is nearest."""
    if isinstance(value, Const):
        return Const(I32, max(min(int(value.value), int(I32.max)), int(I32.min)))
    low, high = span(value, {})
    if high > I32.max:
        value = Op(I64, "min", (value, Const(I64, I32.max)))
    if low < I32.min:
        value = Op(I64, "max", (value, Const(I64, I32.min)))
    return Op(I32, "cast", (value,))
