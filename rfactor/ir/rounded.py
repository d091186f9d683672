"""Which floats are rounded, and which are numbers as they would be without rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rfactor.ir.expr import Call, Const, Expr, Op, names
from rfactor.ir.types import Type


def is_number(expr: Expr) -> bool:
    """Whether an expression is a finite literal."""
    return isinstance(expr, Const) and math.isfinite(expr.value)


def whole_range(expr: Expr) -> tuple[int, int] | None:
    """Between which ends a float is a whole number, none of which is rounded; None where that is not known."""
    found = _unrounded(expr)
    if found is None or max(map(abs, found)) > 1 << expr.type.digits:
        return None
    return found


def _unrounded(expr: Expr) -> tuple[int, int] | None:
    if is_number(expr):
        assert isinstance(expr, Const)
        return (int(expr.value), int(expr.value)) if expr.value == int(expr.value) else None
    if not isinstance(expr, Op):
        return None
    args = expr.args[1:] if expr.op == "select" else expr.args
    if expr.op == "cast" and not args[0].type.is_float:
        return _of_type(args[0].type)
    ranges = [found for found in map(whole_range, args) if found is not None]
    if len(ranges) < len(args):
        return None
    (low, high), (other_low, other_high) = ranges[0], ranges[-1]
    products = [a * b for a in (low, high) for b in (other_low, other_high)]
    return {
        "cast": (low, high),
        "neg": (-high, -low),
        "abs": (0, max(-low, high)),
        "+": (low + other_low, high + other_high),
        "-": (low - other_high, high - other_low),
        "*": (min(products), max(products)),
        "min": (min(low, other_low), min(high, other_high)),
        "max": (max(low, other_low), max(high, other_high)),
        "select": (min(low, other_low), max(high, other_high)),
    }.get(expr.op)


def _of_type(type_: Type) -> tuple[int, int]:
    return (0, 1) if type_.is_bool else (int(type_.min), int(type_.max))


_EXACT = ("select", "min", "max", "neg", "abs")
"""Operations on floats that give one of the numbers they take, but for its sign."""


def rounds(expr: Expr) -> bool:
    """Whether an operation gives a float that is not the number it would be without rounding."""
    if not expr.type.is_float or not names(expr) or whole_range(expr) is not None:
        return False
    if isinstance(expr, Call):
        return expr.kind == "intrinsic"
    if not isinstance(expr, Op) or expr.op in _EXACT:
        return False
    if expr.op == "cast":
        (value,) = expr.args
        return not (value.type.is_float and expr.type.holds(value.type))
    return True


def rounds_values(exprs: Iterable[Expr]) -> bool:
    """Whether floats that expressions give are rounded, not only those that they compare."""
    pending = [expr for expr in exprs if expr.type.is_float]
    seen = set(pending)
    while pending:
        node = pending.pop()
        if rounds(node):
            return True
        chosen = node.children[1:] if isinstance(node, Op) and node.op == "select" else node.children
        new = {child for child in chosen if child.type.is_float} - seen
        seen |= new
        pending += new
    return False
