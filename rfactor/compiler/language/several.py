"""Updates that write several points at once: `f[scatter([0, 3])] = f[gather([3, 0])]` swaps two."""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.compiler.language.expr import Expr, ExprLike, joined, together
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir import several as ir
from rfactor.ir.expr import walk


def scatter(points: Sequence[ExprLike]) -> Expr:
    """In the arguments of an update, an argument for each of the points that it writes at once.

    All that the update reads is read before any point is written; then they are written in order, so that of those that
    are one the last stays. Raises `TypeMismatch` for no list.
    """
    return _several("scatter", points)


def gather(values: Sequence[ExprLike]) -> Expr:
    """In an update that `scatter`s, a part of the value for each point, or of what is read for it: see there."""
    return _several("gather", values)


def _several(what: str, given: Sequence[ExprLike]) -> Expr:
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise TypeMismatch(f"{what} takes a list of expressions, one a point, not {given!r}")
    parts = together(*given)
    return Expr(ir.Several(tuple(part.node for part in parts)), joined(*parts))


def spread(
    what: str, arguments: Sequence[Expr], values: Sequence[Expr]
) -> list[tuple[tuple[Expr, ...], tuple[Expr, ...]]]:
    """The points that a definition writes, in order, with their values; one where all are the same.

    Raises `AlgorithmError` where a `scatter` and a `gather` are of different lengths.
    """
    nodes = (node for expr in (*arguments, *values) for node in walk(expr.node))
    counts = {len(node.parts) for node in nodes if isinstance(node, ir.Several)}
    if not counts:
        return [(tuple(arguments), tuple(values))]
    if len(counts) > 1:
        raise AlgorithmError(
            f"{what} has lists of {' and '.join(map(str, sorted(counts)))} points: every scatter and gather of a "
            "definition is as long"
        )

    def one(expr: Expr, i: int) -> Expr:
        return Expr(ir.picked(expr.node, i), expr.uses)

    found = [
        (tuple(one(argument, i) for argument in arguments), tuple(one(value, i) for value in values))
        for i in range(counts.pop())
    ]
    apart = len({tuple(argument.node for argument in point) for point, _ in found}) > 1
    return found if apart else found[-1:]
