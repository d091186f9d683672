"""Where code with vectors gains by passes of LLVM that take a tenth of its time, and seldom find anything there.

    for r in (0, 5): s[…] = s[…] + a[…]     unrolled whole: no counter, and loads at constant distances
    s[i] = s[i] + a; s[i] = s[i] + b        the first store is left out (so it is where a loop was unrolled)
"""

from __future__ import annotations

from rfactor.compiler.codegen.free import bodies, expressions, innermost, within
from rfactor.compiler.lower.affine import constant_value
from rfactor.ir.expr import walk
from rfactor.ir.loopnest import Block, For, Stmt, Store

_FEW = 32
"""Iterations of a loop that LLVM may unroll."""


def short(stmt: Stmt) -> bool:
    """Whether some innermost loop of vectors in `stmt` has few iterations, a number known when it is compiled."""
    return any(1 < (constant_value(loop.extent) or 0) <= _FEW and _of_vectors(loop) for loop in innermost(stmt))


def stored_again(stmt: Stmt) -> bool:
    """Whether a place is stored to by two statements of a block."""
    if isinstance(stmt, Block):
        places = [(one.buffer, one.index) for one in stmt.statements if isinstance(one, Store)]
        if len(set(places)) < len(places):
            return True
    return any(stored_again(child) for child, _ in bodies(stmt))


def _of_vectors(loop: For) -> bool:
    return any(node.type.lanes > 1 for one in within(loop) for expr in expressions(one) for node in walk(expr))
