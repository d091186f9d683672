"""Vectors that are the same in every iteration of an innermost loop, loaded once before it.

                                                       if e > 0:
    for c in (0, e):                            ->       let c.same.0 = b[ramp(x, 1, 8)]
      f[ramp(x, 1, 8) + c*s] = b[ramp(x, 1, 8)] + c      for c in (0, e):
                                                           f[ramp(x, 1, 8) + c*s] = c.same.0 + c

LLVM hoists arithmetic and dense loads itself, but no gathers and no masked loads out of a loop that stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import positive
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Const, Expr, Var, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import Broadcast, For, If, Let, Load, Ramp, Stmt, Store
from rfactor.ir.statements import is_innermost, walk_nest, with_parts


def hoist(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with what innermost loops repeat before them."""
    return _hoisted(stmt) if isinstance(stmt, For) and is_innermost(stmt) else with_parts(stmt, hoist)


def _hoisted(loop: For) -> Stmt:
    inside = list(walk_nest(loop.body))
    bound = {loop.name} | {part.name for part in inside if isinstance(part, Let)}
    written = {part.buffer for part in inside if isinstance(part, Store)}
    same: dict[Expr, Expr] = {}
    for part in inside:
        for expr in (part.value,) if isinstance(part, Let | Store) else ():
            for repeated in _repeated(expr, bound, written):
                same.setdefault(repeated, Var(repeated.type, f"{loop.name}.same.{len(same)}"))
    if not same:
        return loop
    result: Stmt = replace(loop, body=_replaced(loop.body, same))
    for value, name in reversed(same.items()):
        assert isinstance(name, Var)
        result = Let(name.name, value, result)
    # What is loaded is there only where the loop runs at all.
    return result if affine.constant_value(loop.extent) is not None else If(positive(loop.extent), result)


def _repeated(expr: Expr, bound: set[str], written: set[str]) -> Iterator[Expr]:
    """The largest vectors in `expr` that load and that depend on no name `bound` and no buffer `written`."""
    if all(node.type.lanes == 1 for node in walk(expr)):
        return
    same: dict[Expr, bool] = {}
    loads: dict[Expr, bool] = {}
    for node in walk(expr):
        own = (
            node.name not in bound
            if isinstance(node, Var)
            else node.buffer not in written
            if isinstance(node, Load)
            else not isinstance(node, Print) and not (isinstance(node, Call) and node.kind != "intrinsic")
        )
        same[node] = own and all(same[child] for child in node.children)
        loads[node] = isinstance(node, Load) or any(loads[child] for child in node.children)
    pending, seen = [expr], set()
    while pending:
        node = pending.pop()
        if node in seen or not loads[node]:
            continue
        seen.add(node)
        if same[node] and node.type.lanes > 1 and not isinstance(node, Broadcast | Ramp | Const):
            yield node
        else:
            pending.extend(reversed(node.children))


def _replaced(stmt: Stmt, values: dict[Expr, Expr]) -> Stmt:
    """`stmt` with `values` in place of what they are the values of."""
    stmt = with_parts(stmt, lambda part: _replaced(part, values))
    return replace(stmt, value=replaced(stmt.value, values)) if isinstance(stmt, Let | Store) else stmt
