"""Updates that write several points at once."""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.expr import Expr, transform
from rfactor.ir.nodes import _set

Point = tuple[tuple[Expr, ...], tuple[Expr, ...]]
"""The arguments and the values of one point."""


class Several(Expr):
    """One value for each point that an update writes at once: a whole argument or value of its definition.

    All arguments and values of all points are read before any is written; points are written in order.
    """

    __slots__ = ("parts",)
    parts: tuple[Expr, ...]

    def __init__(self, parts: tuple[Expr, ...]) -> None:
        _set(self, "type", parts[0].type)
        _set(self, "parts", parts)
        _set(self, "_hash", hash(("several", parts)))

    def _key(self) -> tuple[object, ...]:
        return self.parts

    def _label(self) -> tuple[object, ...]:
        return (self.type, len(self.parts))

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.parts

    def with_children(self, children: tuple[Expr, ...]) -> Several:
        return Several(children)


def points(arguments: Sequence[Expr], values: Sequence[Expr]) -> tuple[Point, ...]:
    """The points that a definition or a `Provide` writes, in order; one where there is no `Several`."""
    exprs = (*arguments, *values)
    count = max((len(expr.parts) for expr in exprs if isinstance(expr, Several)), default=1)

    def part(expr: Expr, i: int) -> Expr:
        return expr.parts[i] if isinstance(expr, Several) else expr

    return tuple((tuple(part(a, i) for a in arguments), tuple(part(v, i) for v in values)) for i in range(count))


def joined(written: Sequence[Point]) -> Point:
    """The arguments and values of a definition that writes these points."""

    def one(parts: tuple[Expr, ...]) -> Expr:
        return parts[0] if len(set(parts)) == 1 else Several(parts)

    arguments = tuple(one(parts) for parts in zip(*(arguments for arguments, _ in written), strict=True))
    values = tuple(one(parts) for parts in zip(*(values for _, values in written), strict=True))
    return arguments, values


def picked(expr: Expr, i: int) -> Expr:
    """`expr` for point `i`, wherever in it a `Several` stands."""

    def pick(node: Expr) -> Expr | None:
        return node.parts[i] if isinstance(node, Several) else None

    return transform(expr, pick)
