"""Where code with vectors gains by passes of LLVM that take a tenth of its time, and seldom find anything there.

for r in (0, 5): s[…] = s[…] + a[…]     unrolled whole: no counter, and loads at constant distances
for r in (0, e): h[a[r]] = h[a[r]] + 1  eight iterations at a time: half the time
s[i] = s[i] + a; s[i] = s[i] + b        the first store is left out (so it is where a loop was unrolled)
"""

from __future__ import annotations

from rfactor.compiler.codegen.free import bodies, expressions, innermost, within
from rfactor.compiler.lower.affine import constant_value, reads
from rfactor.ir.expr import walk
from rfactor.ir.loopnest import Block, For, LaneReduction, Stmt, Store

_FEW = 8
"""Iterations of a loop that is unrolled whole, at most."""
_LOOPS = 16
_NODES = 64


def short(stmt: Stmt) -> bool:
    """Whether some innermost loop of vectors in `stmt` has few iterations, a number known when it is compiled."""
    return any(1 < (constant_value(loop.extent) or 0) <= _FEW and _of_vectors(loop) for loop in innermost(stmt))


def tight(stmt: Stmt) -> bool:
    """Whether some innermost loop in `stmt`, which has not many, does so little that counting takes as long: one store,
    where data say, or of lanes that are joined."""
    loops = innermost(stmt)
    return len(loops) <= _LOOPS and any(map(_little, loops))


def _little(loop: For) -> bool:
    store = loop.body
    if not isinstance(store, Store) or (constant_value(loop.extent) or _FEW) < _FEW:
        return False
    joined = any(isinstance(node, LaneReduction) for node in walk(store.value))
    return (joined or reads(store.index)) and len(walk(store.value)) <= _NODES


def stored_again(stmt: Stmt) -> bool:
    """Whether a place is stored to by two statements of a block."""
    if isinstance(stmt, Block):
        places = [(one.buffer, one.index) for one in stmt.statements if isinstance(one, Store)]
        if len(set(places)) < len(places):
            return True
    return any(stored_again(child) for child, _ in bodies(stmt))


def _of_vectors(loop: For) -> bool:
    return any(node.type.lanes > 1 for one in within(loop) for expr in expressions(one) for node in walk(expr))
