"""The canonical form of an update with its literals in it, where these are so small that it is the same function.

The form that rows are found by has constants in the literals' place: `2*x - x + a` is not seen there to be `x + a`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Const, Expr, Op, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update

_RING = ("+", "-", "*", "neg")


def folded(update: Update) -> Update | None:
    """The update in canonical form; None where it is in it, or literals might be rounded or outgrow their type."""
    nodes = dict.fromkeys([node for component in update.components for node in walk(component)])
    if not any(isinstance(node, Const) for node in nodes) or not _is_exact(nodes, update.meaning):
        return None
    components = tuple(map(canonical, update.components))
    return None if components == update.components else replace(update, components=components)


def _is_exact(nodes: Mapping[Expr, None], meaning: Meaning) -> bool:
    """Whether arithmetic of literals gives values of their types.

    A sum of products of m ones is at most 3^(m/3).
    """
    weights: dict[Expr, float] = {}
    for node in nodes:
        children = node.children
        if isinstance(node, Const):
            weights[node] = _weight(node)
        else:
            weights[node] = sum(weights[child] for child in children) or 1
        if children and all(isinstance(child, Const) for child in children) and not _is_of_ring(node):
            return False
        if node.type.is_float and 0.53 * weights[node] >= node.type.digits - 1:
            return False
        if node.type.is_int and meaning is Meaning.MATH:  # the ends of a type are none, and naturals go below 0
            return False
    return True


def _is_of_ring(node: Expr) -> bool:
    return isinstance(node, Op) and node.op in _RING


def _weight(literal: Const) -> float:
    """How many ones a literal stands for, by its binary digits."""
    if not literal.type.is_float:
        return 1
    if not math.isfinite(literal.value):
        return math.inf
    numerator, denominator = float(literal.value).as_integer_ratio()
    return 2 * (max(1, numerator.bit_length()) + denominator.bit_length())
