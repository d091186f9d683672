"""Whether simplifying is exact where integers are unbounded.

Literals are folded in their type, and its ends are taken for bounds. That is so of unbounded integers too as long as no
literal can come near an end, however the literals are put together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rfactor.ir.expr import Const, Expr, Op, walk
from rfactor.ir.meaning import Meaning

_BITWISE = frozenset(("&", "|", "^", "~"))


def simplifies_exactly(exprs: Iterable[Expr], meaning: Meaning) -> bool:
    """Whether the simplified and the canonical forms of expressions are the same functions under a meaning."""
    if meaning is Meaning.WRAP:
        return True
    largest: dict[Expr, float] = {}
    for expr in exprs:
        for node in walk(expr):
            if node not in largest:
                largest[node] = _largest(node, [largest[child] for child in node.children])
                types = [part.type for part in (node, *node.children) if part.type.is_int]
                if any(largest[node] >= type_.max for type_ in types):
                    return False
    naturals = [node for node in largest if node.type.is_int and not node.type.is_signed]
    # A difference of naturals may lie below 0, which a literal 0 is no bound of then.
    return not any(map(_may_be_negative, naturals)) or not any(isinstance(node, Const) for node in naturals)


def _largest(node: Expr, of_children: list[float]) -> float:
    """How large a literal may become that is made of those of an expression, where its variables are one."""
    if not node.children:
        return abs(node.value) if isinstance(node, Const) and math.isfinite(node.value) else 1
    total = sum(of_children)
    if isinstance(node, Op) and node.op == "*":
        return max(1, of_children[0]) * max(1, of_children[1])
    if isinstance(node, Op) and node.op == "<<":
        return math.inf if of_children[1] > node.type.bits else of_children[0] * 2 ** of_children[1]
    return 2 * total + 1 if isinstance(node, Op) and node.op in _BITWISE else total


def _may_be_negative(node: Expr) -> bool:
    if isinstance(node, Op) and node.op == "cast":
        return not node.args[0].type.is_bool and (node.args[0].type.is_signed or node.args[0].type.is_float)
    return isinstance(node, Op) and node.op in ("-", "neg", "~")
