"""Between which numbers coordinates lie, whatever the caller gives: the extents of its arrays are not negative."""

from __future__ import annotations

from collections.abc import Mapping

from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const, Expr, Op, Var, walk
from rfactor.ir.types import I32

Spans = Mapping[Expr, tuple[int, int]]
"""The least and the greatest number that variables may be."""


def extents_of(algorithm: Algorithm) -> Spans:
    """What is known of the extents of arrays that the caller gives: they are not negative."""
    names = (f"{name}.extent.{d}" for name, dimensions in arrays(algorithm) for d in range(dimensions))
    return {Var(I32, name): (0, int(I32.max)) for name in names}


def arrays(algorithm: Algorithm) -> list[tuple[str, int]]:
    """The arrays that the caller gives, with their dimensions."""
    arrays = [(image.name, image.dimensions) for image in algorithm.images]
    return arrays + [(name, len(algorithm.function(name).variables)) for name in algorithm.outputs]


def span(expr: Expr, known: dict[Expr, tuple[int, int]]) -> tuple[int, int]:
    """Between which integers an i32 expression lies if no part of it wraps.

    Bounds of bounds share most of their parts, so what is found is kept in `known`.
    """
    found = known.get(expr)
    if found is None:
        found = known[expr] = _computed_span(expr, known)
    return found


def _computed_span(expr: Expr, known: dict[Expr, tuple[int, int]]) -> tuple[int, int]:
    whole = (int(I32.min), int(I32.max))
    if isinstance(expr, Const):
        return int(expr.value), int(expr.value)
    if not isinstance(expr, Op) or expr.op not in ("+", "-", "*", "//", "min", "max", "select"):
        return whole
    a, b = (span(arg, known) for arg in expr.args[-2:])
    if expr.op == "+":
        return a[0] + b[0], a[1] + b[1]
    if expr.op == "-":
        return a[0] - b[1], a[1] - b[0]
    if expr.op == "select":
        return min(a[0], b[0]), max(a[1], b[1])
    if expr.op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if expr.op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if expr.op == "*":
        corners = [x * y for x in a for y in b]
        return min(corners), max(corners)
    return (a[0] // b[0], a[1] // b[0]) if b[0] == b[1] > 0 else whole


def surely_in_i32(expr: Expr, spans: Spans) -> bool:
    """Whether i32 holds a coordinate, and every sum, product and quotient in it, where variables lie within `spans`."""
    known = dict(spans)
    ends = (span(node, known) for node in walk(expr) if isinstance(node, Op) and node.type == I32)
    return all(I32.min <= low and high <= I32.max for low, high in ends)
