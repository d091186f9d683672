"""The ends of intervals, and arithmetic on them: expressions, or None where nothing bounds a value."""

from __future__ import annotations

from collections.abc import Callable

from rfactor.compiler.lower import affine
from rfactor.ir.expr import Const, Expr, Op, select
from rfactor.ir.types import Type

End = Expr | None
Interval = tuple[End, End]
UNBOUNDED: Interval = (None, None)
Extreme = Callable[[Expr, Expr], Expr]


def weighted(type: Type, constant: int, ends: list[tuple[int, End]]) -> End:
    """`constant + sum(factor * end)`; unknown where an end is, or where the type does not hold a constant of it."""
    total: dict[Expr, int] = {}
    for factor, end in ends:
        if end is None:
            return None
        terms, own = affine.affine(end)
        constant += factor * own
        for term, count in terms:
            total[term] = total.get(term, 0) + factor * count
    kept = tuple((term, count) for term, count in total.items() if count)
    least, greatest = int(type.min), int(type.max)
    if all(least <= value <= greatest for value in (constant, *(count for _, count in kept))):
        return affine.from_affine(kept, constant, type)
    return None


def outer(extreme: Extreme, a: End, b: End) -> End:
    """The outer of two ends; unknown where one is."""
    return None if a is None or b is None else extreme(a, b)


def tighter(extreme: Extreme, a: End, b: End) -> End:
    """The tighter of two ends; the known one where one is not."""
    if a is None or b is None:
        return b if a is None else a
    return extreme(a, b)


def _fits(a: Expr, b: Expr) -> bool:
    """Whether the type holds the constants of a product that is distributed."""
    value = affine.constant_value(a)
    if value is None:
        return affine.constant_value(b) is None or _fits(b, a)
    terms, constant = affine.affine(b)
    return all(int(a.type.min) <= value * own <= int(a.type.max) for own in (constant, *(own for _, own in terms)))


def product(a: Interval, b: Interval) -> Interval:
    """The interval of the products of a value in each."""
    if None in a or None in b:
        return UNBOUNDED
    corners = [(x, y) for x in a for y in b if x is not None and y is not None]
    if not all(_fits(x, y) for x, y in corners):
        return UNBOUNDED
    products = [affine.multiply(x, y) for x, y in corners]
    low = high = products[0]
    for one in products[1:]:
        low, high = affine.minimum(low, one), affine.maximum(high, one)
    return low, high


def union(a: Interval, b: Interval, live: Expr | None = None) -> Interval:
    """The interval that holds both; `b` counts only where `live` holds (None: always)."""
    return _grown(affine.minimum, a[0], b[0], live), _grown(affine.maximum, a[1], b[1], live)


def _grown(extreme: Extreme, a: End, b: End, live: Expr | None) -> End:
    if a is None or b is None:
        return None
    grown = extreme(a, b)
    return grown if live is None else chosen(live, grown, a)


def chosen(condition: Expr, a: Expr, b: Expr) -> Expr:
    """`a` where the condition holds, else `b`."""
    return a if a == b else select(condition, a, b)


def converted(type: Type, end: End) -> End:
    """An end in another type, which holds it."""
    if end is None:
        return None
    return Const(type, end.value) if isinstance(end, Const) else Op(type, "cast", (end,))
