"""What of a pipeline with parallel loops LLVM takes pains over: what may run for long, in functions of its own.

The rest of such a pipeline, a few stores before the loops and a short merge after them, stays in the entry, which is
not optimised: to improve and to compile a function costs LLVM milliseconds, whatever is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from rfactor.compiler.codegen.free import bodies, expressions
from rfactor.compiler.lower.affine import constant_value
from rfactor.compiler.lower.zeros import clears
from rfactor.ir.expr import Call, Op, walk
from rfactor.ir.loopnest import Assert, For, Load, Stmt, Store, block

_LITTLE = 4096
"""Operations that take no more than some microseconds as they are, where a thread takes as long to begin."""
_LANES = 8
"""Lanes that count as one operation."""


def launches(stmt: Stmt) -> bool:
    """Whether a parallel loop begins in `stmt` outside of all other loops, or something is checked."""
    if isinstance(stmt, For):
        return stmt.kind == "parallel"
    return isinstance(stmt, Assert) or any(launches(child) for child, _ in bodies(stmt))


def heavy(stmt: Stmt) -> bool:
    """Whether what launches nothing may run for long."""
    return _work(stmt) > _LITTLE


def together(parts: Iterable[Stmt]) -> list[Stmt]:
    """Statements in turn, neighbours that are heavy as one."""
    found: list[Stmt] = []
    last = False
    for part in parts:
        now = not launches(part) and heavy(part)
        if now and last:
            found[-1] = block(found[-1], part)
        else:
            found.append(part)
        last = now
    return found


def _work(stmt: Stmt) -> float:
    """About how many operations it takes; infinite where that is not known."""
    counted = (node for expr in expressions(stmt) for node in walk(expr) if isinstance(node, Op | Call | Load))
    own = isinstance(stmt, Store) + sum(max(1, node.type.lanes // _LANES) for node in counted)
    if isinstance(stmt, For) and not clears(stmt):
        extent = constant_value(stmt.extent)
        return inf if extent is None or stmt.kind == "parallel" else own + max(extent, 0) * _work(stmt.body)
    return own + sum(_work(child) for child, _ in bodies(stmt))
