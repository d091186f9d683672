"""What is known of an integer that is cast to i32: what it is made of, and of which i32."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Op, select
from rfactor.ir.types import I32


def made_of(expr: Expr) -> Iterator[Op]:
    """The operations of the type of `expr` that its value is made of, none that is inside a value of another type."""
    pending, seen = [expr], {expr}
    while pending:
        node = pending.pop()
        if isinstance(node, Op):
            yield node
            inside = {child for child in node.args if child.type == expr.type} - seen
            seen |= inside
            pending += inside


def as_signed(expr: Expr) -> Expr | None:
    """The i32 that a u32 was made of, where a cast back gives it; None where it is not known."""
    if isinstance(expr, Op) and expr.op == "cast" and expr.args[0].type == I32:
        return expr.args[0]
    if isinstance(expr, Op) and expr.op == "select":
        arms = [as_signed(arm) for arm in expr.args[1:]]
        return None if arms[0] is None or arms[1] is None else select(expr.args[0], arms[0], arms[1])
    return None
