"""The coordinates in an expression, each of which i32 has to hold where it matters.

select(n > 0, (x + 2)//3 - 1, 0)   ->   (x + 2)//3 - 1 and x + 2, both where n > 0
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.compiler.verify.terms import TRUE, all_of, any_of, negation
from rfactor.ir.expr import Call, Const, Expr, Op, walk
from rfactor.ir.types import I32


def sums(expr: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The coordinates in an expression that something other than a sum is made of, and itself if it is one; each with
    the condition under which it decides anything."""
    data: dict[Expr, bool] = {}
    wanted: dict[Expr, None] = {}
    for node in walk(expr):
        data[node] = (isinstance(node, Call) and node.kind != "intrinsic") or any(data[c] for c in node.children)
        joins = isinstance(node, Op) and node.type == I32 and not data[node] and _is_sum(node)
        if not joins:
            wanted.update((child, None) for child in node.children if not (_wraps(node) and _is_sum(child)))
    wanted[expr] = None
    matters = uses(expr)
    return ((one, matters[one]) for one in wanted if one.type == I32 and not data[one] and isinstance(one, Op))


def uses(expr: Expr) -> dict[Expr, Expr]:
    """The condition under which each part of an expression decides anything: of the arms of a choice, one does."""
    found: dict[Expr, Expr] = {expr: TRUE}
    for node in reversed([*walk(expr)]):  # what uses a node comes before it
        for child, when in _uses(node):
            here = all_of((found[node], when))
            known = found.get(child, here)
            found[child] = known if known == here else TRUE if TRUE in (known, here) else any_of((known, here))
    return found


def _uses(node: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The operands, each with the condition under which it matters."""
    if isinstance(node, Op) and node.op == "select":
        condition, true, false = node.args
        yield from ((condition, TRUE), (true, condition), (false, negation(condition)))
    elif isinstance(node, Op) and node.op in ("and", "or"):
        first, second = node.args
        yield from ((first, TRUE), (second, first if node.op == "and" else negation(first)))
    else:
        yield from ((child, TRUE) for child in node.children)


def _wraps(node: Expr) -> bool:
    """Whether the bits of a sum are all that matters of it: those of an unbounded one are the same."""
    return isinstance(node, Op) and node.op == "cast" and node.type.is_int and node.type.bits <= I32.bits


def _is_sum(node: Expr) -> bool:
    if not isinstance(node, Op):
        return False
    constant = any(isinstance(arg, Const) for arg in node.args)
    return node.op in ("+", "-", "neg") or (node.op == "*" and constant)
