"""Machine integers that cannot overflow are integers: a claim about them is one about unbounded arithmetic.

Every part's interval is found from the variables' types and from assumptions of the form `c <= v` and `v <= c`. If
each lies within its type, wrapping never happens, and the claim may be proved under `math` with the ranges assumed.
Saturation through a wider type is the common case: the solver is quick on it there, and slow on its bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.expr import Const, Expr, Op, Var, apply, walk
from rfactor.ir.types import Type

Interval = tuple[int, int]


def ranges_without_overflow(exprs: Sequence[Expr], assumptions: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """The ranges of the variables as conditions, if nothing in `exprs` or the assumptions can overflow; else None."""
    known: dict[Expr, Interval] = {}
    for expr in (*exprs, *assumptions):
        for node in walk(expr):
            if isinstance(node, Var) and node.type.is_int:
                known[node] = (int(node.type.min), int(node.type.max))
    for claim in (*assumptions, *assumptions):  # twice, for bounds that come through another variable
        _narrow(claim, known)
    conditions: list[Expr] = []
    for var, (low, high) in list(known.items()):
        conditions += [apply("<=", Const(var.type, low), var), apply("<=", var, Const(var.type, high))]
    for expr in (*exprs, *assumptions):
        for node in walk(expr):
            if node.type.is_float:
                return None
            if node.type.is_int and node not in known:
                interval = _interval(node, known)
                if interval is None or not _fits(interval, node.type):
                    return None
                known[node] = interval
    return tuple(conditions)


def _fits(interval: Interval, type_: Type) -> bool:
    return type_.min <= interval[0] and interval[1] <= type_.max


def _narrow(claim: Expr, known: dict[Expr, Interval]) -> None:
    """Use `c <= v`, `v <= c` or `v <= w`."""
    if not (isinstance(claim, Op) and claim.op == "<="):
        return
    low, high = claim.args
    if isinstance(low, Const) and high in known:
        known[high] = (max(known[high][0], int(low.value)), known[high][1])
    elif isinstance(high, Const) and low in known:
        known[low] = (known[low][0], min(known[low][1], int(high.value)))
    elif low in known and high in known:
        known[low] = (known[low][0], min(known[low][1], known[high][1]))
        known[high] = (max(known[high][0], known[low][0]), known[high][1])


def _interval(node: Expr, known: dict[Expr, Interval]) -> Interval | None:
    """The values of an integer part, exactly computed; None for operations that are not read."""
    if isinstance(node, Const):
        return int(node.value), int(node.value)
    if not isinstance(node, Op):
        return None
    if node.op == "select":
        (a, b), (c, d) = known[node.args[1]], known[node.args[2]]
        return min(a, c), max(b, d)
    if node.op == "cast":
        return (0, 1) if node.args[0].type.is_bool else known.get(node.args[0])
    operands = [known[arg] for arg in node.args if arg in known]
    if len(operands) != len(node.args):
        return None
    (a, b), (c, d) = operands[0], operands[-1]
    if node.op == "+":
        return a + c, b + d
    if node.op == "-":
        return a - d, b - c
    if node.op == "neg":
        return -b, -a
    if node.op == "*":
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)
    if node.op == "min":
        return min(a, c), min(b, d)
    if node.op == "max":
        return max(a, c), max(b, d)
    if node.op == "%":
        return 0, max(abs(c), abs(d), 1) - 1
    if node.op == "//" and c > 0:
        return min(a // c, a // d), max(b // c, b // d)
    if node.op == "abs":
        return (0 if a <= 0 <= b else min(abs(a), abs(b))), max(abs(a), abs(b))
    return None
