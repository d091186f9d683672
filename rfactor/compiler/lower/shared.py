"""How long loops are that stages share: their ends, which i32 must hold, are known once they are joined.

for x in (min(a, b), max(a + n, b + m) - min(a, b))   ->   longer than 2^31 where a and b are far apart
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.ends import Interval
from rfactor.compiler.lower.interval import Intervals
from rfactor.compiler.lower.scope import Definition, LoopRange, Scope
from rfactor.compiler.lower.sums import Computed, Sums
from rfactor.ir.expr import Expr
from rfactor.ir.loopnest import For, Let, Stmt
from rfactor.ir.statements import parts


def lengths(before: Stmt, after: Stmt, scope: Scope) -> Mapping[Interval, Computed]:
    """The sums that are computed for the loops of `after`, but those that are in `before` too, as seen from outside of
    all. `scope` is around both."""
    sums = Sums()
    old = {(loop.name, loop.min, loop.extent) for loop, _ in _loops(before, scope)}
    for loop, around in _loops(after, scope):
        if (loop.name, loop.min, loop.extent) not in old:
            sums.here = Computed(f"the loop {loop.name}")
            intervals = Intervals(around, 0, sums)
            for expr in (loop.min, loop.extent, affine.add(loop.min, loop.extent)):
                intervals.of(expr)
    return sums.found


def _loops(stmt: Stmt, scope: Scope) -> Iterator[tuple[For, Scope]]:
    """The loops, each with what is known around it."""
    if isinstance(stmt, For):
        yield stmt, scope
        depth = scope.depth + 1
        inside = {**scope.bindings, stmt.name: LoopRange(depth, stmt.min, stmt.extent)}
        scope = replace(scope, depth=depth, bindings=inside)
    elif isinstance(stmt, Let):
        scope = defined(scope, {stmt.name: stmt.value})
    for part in parts(stmt):
        yield from _loops(part, scope)


def defined(scope: Scope, values: Mapping[str, Expr]) -> Scope:
    """The scope after such definitions."""
    return replace(
        scope, bindings={**scope.bindings, **{name: Definition(scope.depth, value) for name, value in values.items()}}
    )
