"""Whether simplifying is exact where integers are unbounded.

Literals are folded in their type, and its ends are taken for bounds. That is so of unbounded integers too as long as no
literal can come near an end, however the literals are put together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from rfactor.ir.expr import Const, Expr, Op, walk
from rfactor.ir.meaning import Meaning

_BITWISE = frozenset(("&", "|", "^", "~"))
_WITHOUT_ORDER = frozenset(("+", "-", "neg", "*", "==", "!=", "select"))


def simplifies_exactly(exprs: Iterable[Expr], meaning: Meaning) -> bool:
    """Whether the simplified and the canonical forms of expressions are the same functions under a meaning."""
    if meaning is Meaning.WRAP:
        return True
    largest = _within_types(exprs)
    if largest is None:
        return False
    naturals = list(filter(_is_natural, largest))
    # A difference of naturals may lie below 0, which a literal 0 is no bound of then.
    return not any(map(_may_be_negative, naturals)) or not any(isinstance(node, Const) for node in naturals)


def simplified_exactly(how: Callable[[Expr], Expr], expr: Expr, meaning: Meaning) -> Expr:
    """`how(expr)`, a simplified or canonical form, where that is the same function; else `expr`."""
    if simplifies_exactly((expr,), meaning):
        return how(expr)
    largest = _within_types((expr,))
    if largest is None or any(map(_asks_for_order, largest)):
        return expr
    # Without order the form is right modulo 2^w, and so are its literals, which are right if they are small:
    # a negative one has wrapped around to a large one.
    form, most = how(expr), max(largest.values())
    literals = [node for node in walk(form) if isinstance(node, Const) and _is_natural(node)]
    right = all(node.value <= most < node.type.max // 2 for node in literals)
    return form if right and not any(map(_asks_for_order, walk(form))) else expr


def _within_types(exprs: Iterable[Expr]) -> dict[Expr, float] | None:
    """How large literals may become in each part of expressions; None where one may reach an end of its type."""
    largest: dict[Expr, float] = {}
    for expr in exprs:
        for node in walk(expr):
            if node not in largest:
                largest[node] = _largest(node, [largest[child] for child in node.children])
                types = [part.type for part in (node, *node.children) if part.type.is_int]
                if any(largest[node] >= type_.max for type_ in types):
                    return None
    return largest


def _is_natural(node: Expr) -> bool:
    return node.type.is_int and not node.type.is_signed


def _asks_for_order(node: Expr) -> bool:
    """Whether it depends on more of naturals than their sums, products and equality."""
    plain = isinstance(node, Op) and node.op in _WITHOUT_ORDER
    return not plain and any(map(_is_natural, node.children))


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
