"""Where LLVM's search for pointers that move with a loop gains: it takes a fifth to a half of the time of long loops.

An instruction of x86 adds what is known before the loop and its counter, which it scales, so that most addresses need
no pointer of their own. Those of elements that lie far apart cost a product an iteration instead of a sum.
"""

from __future__ import annotations

from rfactor.compiler.codegen.free import expressions, innermost, within
from rfactor.ir.expr import Const, Expr, Op, names, walk
from rfactor.ir.loopnest import For, Load, Stmt, Store

_NEAR = 8
"""Vectors in one iteration that are still one after the other."""
_MUCH = 7
"""Operations on data a product: loops with fewer ran for up to a fifth longer, those with more no longer."""


def strided(stmt: Stmt) -> bool:
    """Whether some innermost loop of `stmt` walks by strides and does little else."""
    return any(map(_strides, innermost(stmt)))


def _strides(loop: For) -> bool:
    """The same of an innermost loop."""
    inside = [expr for one in within(loop.body) for expr in expressions(one)]
    products = {node for expr in inside for node in walk(expr) if isinstance(node, Op) and node.op == "*"}
    moving = [node for node in products if _moves(node, loop.name)]
    if not moving:
        return False
    lanes = max(node.type.lanes for expr in inside for node in walk(expr))
    far = [node for node in moving if not _near(node, lanes)]
    return bool(far) and _work(loop.body) < len(far) * _MUCH


def _moves(product: Op, counter: str) -> bool:
    """Whether an index moves by `product` with the counter of a loop; what data say moves with nothing."""
    if not product.type.is_int or product.type.lanes > 1 or counter not in names(product):
        return False
    return not any(isinstance(node, Load) for node in walk(product))


def _near(product: Op, lanes: int) -> bool:
    """Whether one iteration begins where the vectors of the one before end."""
    return any(isinstance(one, Const) and abs(one.value) <= _NEAR * lanes for one in product.args)


def _work(stmt: Stmt) -> int:
    """The operations of `stmt` but for those of indices, each once."""
    seen: set[Expr] = set()
    for one in within(stmt):
        pending = [one.value] if isinstance(one, Store) else list(expressions(one))
        while pending:
            node = pending.pop()
            if node.children and node not in seen:
                seen.add(node)
                pending += [node.predicate] if isinstance(node, Load) else node.children
    return len(seen) + sum(isinstance(one, Store) for one in within(stmt))
