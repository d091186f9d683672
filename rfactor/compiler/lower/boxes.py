"""Boxes of coordinates whose ends are expressions, and what is touched under conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import negated
from rfactor.compiler.lower.ends import Interval, union
from rfactor.errors import AlgorithmError
from rfactor.ir.expr import Const, Expr, conjunction
from rfactor.ir.types import I32

Box = tuple[tuple[Expr, Expr], ...]
"""Least and greatest coordinate of each dimension."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A box that is read or written, while `live` holds."""

    live: Expr
    box: Box


def hull(a: Box, b: Box) -> Box:
    """The least box that holds both."""
    return tuple(
        (affine.minimum(low_a, low_b), affine.maximum(high_a, high_b))
        for (low_a, high_a), (low_b, high_b) in zip(a, b, strict=True)
    )


def extent_of(low: Expr, high: Expr) -> Expr:
    """How many coordinates there are from `low` to `high`. Raises `AlgorithmError` where i32 cannot count them."""
    (_, first), (_, last) = affine.affine(low), affine.affine(high)
    if last - first + 1 > int(I32.max):
        raise AlgorithmError(f"from {low} to {high} there are more coordinates than i32 can count: clamp the index")
    return affine.add(affine.subtract(high, low), affine.integer(1))


def joined(box: Box, touched: Iterable[Touched], fixed: frozenset[int] = frozenset()) -> Box:
    """The box that holds `box` and what is touched while it is live.

    `fixed` are the dimensions in which every touched box is `box` itself: those of the pure variables of a stage.
    """
    for live, other in hulls(touched).items():
        condition = None if isinstance(live, Const) else live
        grown: list[Interval] = [box[d] if d in fixed else union(box[d], other[d], condition) for d in range(len(box))]
        box = tuple((low, high) for low, high in grown if low is not None and high is not None)
    return box


def either(condition: Expr, first: Collection[Touched], second: Collection[Touched]) -> Iterator[Touched]:
    """What is touched where `first` is while `condition` holds, and `second` while it does not."""
    yield from (one for one in first if one in second)
    for holds, own, other in ((condition, first, second), (negated(condition), second, first)):
        yield from (Touched(conjunction(holds, one.live), one.box) for one in own if one not in other)


def hulls(touched: Iterable[Touched]) -> dict[Expr, Box]:
    """The hull of what is touched under one condition, by condition."""
    result: dict[Expr, Box] = {}
    for entry in touched:
        old = result.get(entry.live)
        if old is None:
            result[entry.live] = entry.box
            continue
        result[entry.live] = hull(old, entry.box)
    return result
