"""What conditions say of coordinates: expressions that are not positive, and bounds of data."""

from __future__ import annotations

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.affine import reads
from rfactor.ir.expr import Expr, Op, apply, walk
from rfactor.ir.operations import OPPOSITE
from rfactor.ir.types import BOOL, I32

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def nonpositive(condition: Expr) -> list[Expr]:
    """Coordinates that are <= 0 where `condition` holds: what its i32 comparisons say, those that read no data."""
    if not isinstance(condition, Op):
        return []
    if condition.op == "and" or (condition.op == "&" and condition.type == BOOL):
        return nonpositive(condition.args[0]) + nonpositive(condition.args[1])
    if condition.op not in _COMPARISONS or condition.op == "!=" or condition.args[0].type != I32 or reads(condition):
        return []
    a, b = condition.args
    one = affine.integer(1)
    if condition.op == "<":
        return [affine.add(affine.subtract(a, b), one)]
    if condition.op == "<=":
        return [affine.subtract(a, b)]
    if condition.op == ">":
        return [affine.add(affine.subtract(b, a), one)]
    if condition.op == ">=":
        return [affine.subtract(b, a)]
    return [affine.subtract(a, b), affine.subtract(b, a)]


def compared(condition: Expr) -> list[Expr]:
    """The sides of a condition's i32 comparisons that read no data: they are taken as comparisons of coordinates."""
    return [
        side
        for node in walk(condition)
        if isinstance(node, Op) and node.op in _COMPARISONS and node.args[0].type == I32 and not reads(node)
        for side in node.args
    ]


def negated(condition: Expr) -> Expr:
    """Where `condition` does not hold, as comparisons where it is one or a disjunction of them."""
    if isinstance(condition, Op) and condition.type == BOOL:
        if condition.op in OPPOSITE and condition.args[0].type == I32:
            return Op(BOOL, OPPOSITE[condition.op], condition.args)
        if condition.op in ("or", "|"):
            return Op(BOOL, "and", tuple(map(negated, condition.args)))
        if condition.op == "not":
            return condition.args[0]
    return Op(BOOL, "not", (condition,))


def ceilings(condition: Expr) -> list[tuple[Expr, Expr, int]]:
    """What an i32 comparison says of an operand that reads data, as bounds by the other operand, which reads none.

    Data wrap around, so that nothing follows for any other expression: the bounds are of the operand as it stands.
    """
    if not isinstance(condition, Op) or condition.op not in STRICT or condition.args[0].type != I32:
        return []
    a, b = condition.args
    sign, slack = STRICT[condition.op]
    one = affine.integer(slack)
    if reads(a) and not reads(b):
        return [(affine.tidy(a), affine.subtract(b, one) if sign > 0 else affine.add(b, one), sign)]
    if reads(b) and not reads(a):
        return [(affine.tidy(b), affine.add(a, one) if sign > 0 else affine.subtract(a, one), -sign)]
    return []


STRICT = {"<": (1, 1), "<=": (1, 0), ">": (-1, 1), ">=": (-1, 0)}
"""The direction of a comparison, and by how much its ends differ."""


def positive(extent: Expr) -> Expr:
    """`extent > 0`."""
    return apply(">", extent, affine.integer(0))


def conjuncts(condition: Expr) -> list[Expr]:
    """The terms of a conjunction, left to right; none for `True`."""
    if isinstance(condition, Op) and (condition.op == "and" or (condition.op == "&" and condition.type.is_bool)):
        return conjuncts(condition.args[0]) + conjuncts(condition.args[1])
    return [] if getattr(condition, "value", None) is True else [condition]
