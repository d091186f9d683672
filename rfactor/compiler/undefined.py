"""Where an expression is defined, of which some variables are not: a value that is calculated with what is undefined is
undefined too, but for the branch of a `select` that is not taken.

select(c, v, u) + 1   ->   v + 1, where c holds                          where u is undefined
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from rfactor.ir import expr as ir
from rfactor.ir.expr import Expr
from rfactor.ir.types import BOOL

TRUE = ir.Const(BOOL, True)

Parted = tuple[Expr | None, Expr | None]
"""A value where it is defined, None for nowhere; and where that is, None for everywhere."""


def defined(expr: Expr, undefined: Set[str]) -> Parted:
    """`expr` where it is defined, and where that is, if the variables of these names are not."""
    known: dict[Expr, Parted] = {}
    for node in ir.walk(expr):  # operands first
        known[node] = _defined(node, undefined, [known[child] for child in node.children])
    return known[expr]


def _defined(node: Expr, undefined: Set[str], found: Sequence[Parted]) -> Parted:
    if isinstance(node, ir.Var) and node.name in undefined:
        return None, None
    chosen = isinstance(node, ir.Op) and node.op == "select"
    operands = [part for part, _ in found if part is not None]
    conditions = [where for _, where in (found[:1] if chosen else found) if where is not None]
    if chosen and found[0][0] is not None and (found[1][0] is None) != (found[2][0] is None):
        taken = 1 if found[2][0] is None else 2
        test = found[0][0] if taken == 1 else ir.apply("not", found[0][0])
        arm, where = found[taken]
        return arm, ir.conjunction(*conditions, test, *(() if where is None else (where,)))
    if len(operands) < len(found):
        return None, None
    if chosen and (found[1][1] is not None or found[2][1] is not None):
        conditions.append(ir.select(operands[0], found[1][1] or TRUE, found[2][1] or TRUE))
    return ir.rebuild(node, tuple(operands)), ir.conjunction(*conditions) if conditions else None


def differing(conditions: Sequence[Expr | None]) -> str | None:
    """What is wrong where the values of a tuple are not defined under one condition; None if they are."""
    if all(condition == conditions[0] for condition in conditions):
        return None
    shown = ("(undefined)" if c is None else str(c) for c in conditions)
    lines = (f"  Condition {i}: {c}" for i, c in enumerate(shown))
    return "\n".join(("Conditionally-undef values in a Tuple should have the same conditions", *lines))
