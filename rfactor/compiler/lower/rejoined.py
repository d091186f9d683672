"""Rows that lie side by side are one: a number is its quotient times the divisor, and the remainder.

    f[i64(t % 3) + i64(t // 3) * 3 + m]   ->   f[i64(t) + m]

So of fused loops over arrays whose rows have no gaps, as pixels of channels that lie beside each other: their lanes are
a vector of memory then. Divisors are numbers above 0. Where `t` is a sum of coordinates its terms are added in i64:
what stands in a quotient is held within i32 by the checks on entry.
"""

from __future__ import annotations

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.storage import is_value
from rfactor.ir.expr import Expr, Op, cast, names
from rfactor.ir.types import I32, I64


def rejoined(index: Expr) -> Expr:
    """A flat index without such pairs."""
    if index.type != I64:
        return index
    terms, constant = affine.affine(index)
    remainders = {split: factor for term, factor in terms if (split := _split(term, "%")) is not None}
    if not remainders:
        return index
    pairs = {
        split: factor
        for term, factor in terms
        if (split := _split(term, "//")) is not None and remainders.get(split, 0) * split[1] == factor
    }
    if not pairs:
        return index
    factors: dict[Expr, int] = {}
    for term, factor in terms:
        if _split(term, "//") in pairs:
            continue
        split = _split(term, "%")
        if split not in pairs:
            factors[term] = factors.get(term, 0) + factor
            continue
        parts, more = _wide(split[0])
        constant += factor * more
        for part, times in parts:
            factors[part] = factors.get(part, 0) + factor * times
    left = tuple((term, factor) for term, factor in factors.items() if factor)
    return affine.from_affine(left, constant, I64)


def _wide(whole: Expr) -> tuple[affine.Terms, int]:
    """In i64: term by term, but where data stand in it, whose sums may wrap."""
    if affine.reads(whole) or any(map(is_value, names(whole))):
        return ((cast(I64, whole), 1),), 0
    terms, constant = affine.affine(whole)
    return tuple((cast(I64, term), factor) for term, factor in terms), constant


def _split(term: Expr, op: str) -> tuple[Expr, int] | None:
    """`x` and `n` of `i64(x op n)`; None for anything else."""
    inner = term.args[0] if isinstance(term, Op) and term.op == "cast" else None
    if not (isinstance(inner, Op) and inner.op == op and inner.type == I32):
        return None
    whole, divisor = inner.args[0], affine.constant_value(inner.args[1])
    return None if divisor is None or divisor < 1 else (whole, divisor)
