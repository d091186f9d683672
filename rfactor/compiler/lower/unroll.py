"""Unrolled loops as statements one after the other.

unrolled for x in (m, 2): f[x] = …   ->   f[m] = …; f[m + 1] = …

A condition around that gives an extent holds inside: if f.extent.2 == 3: unrolled for c in (m, f.extent.2): …
Where the extent differs at the end of another loop, but never exceeds a constant, each statement has a guard:
unrolled for x in (m, min(n, 2)): f[x] = …   ->   if n > 0: f[m] = …; if n > 1: f[m + 1] = …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.choices import Choices
from rfactor.compiler.lower.conditions import equal_constants
from rfactor.errors import ScheduleError
from rfactor.ir.expr import Const, Expr, Var, apply, names, substitute
from rfactor.ir.loopnest import Allocate, Atomic, Block, For, If, Let, Produce, Stmt, Store, Write, block
from rfactor.ir.statements import with_parts
from rfactor.ir.types import I32

_MOST_GUARDED = 64
"""Loops are unrolled with guards, and vectorized with a mask, up to this many iterations."""
_MOST_UNROLLED = 1 << 14
"""Copies of one body: of more the code would take minutes, and be slower than the loop."""


def constant_extents(stmt: Stmt, values: Mapping[str, Expr] = MappingProxyType({})) -> Stmt:
    """The flat nest whose unrolled and vectorized loops have constant extents, with a guard where it never exceeds one.

    `values` are the definitions around the statement, outermost first. Loops with no such bound are left as they are.
    """
    if isinstance(stmt, If):
        otherwise = None if stmt.otherwise is None else constant_extents(stmt.otherwise, values)
        known = {**values, **dict(equal_constants(stmt.condition))}
        return If(stmt.condition, constant_extents(stmt.then, known), otherwise)
    if isinstance(stmt, Let):
        inside = {**values, stmt.name: stmt.value} if stmt.value.type == I32 else values
        return replace(stmt, body=constant_extents(stmt.body, {} if stmt.name in values else inside))
    inner = with_parts(stmt, lambda part: constant_extents(part, values))
    if not isinstance(inner, For) or inner.kind not in ("unrolled", "vectorized"):
        return inner
    if affine.constant_value(inner.extent) is not None:
        return inner
    for extent in _expansions(inner.extent, values):
        if affine.constant_value(extent) is not None:
            return replace(inner, extent=extent)
        most = affine.greatest(extent)
        if most is not None and most <= _MOST_GUARDED:
            guard = apply("<", affine.subtract(Var(I32, inner.name), inner.min), inner.extent)
            return replace(inner, extent=affine.integer(max(most, 0)), body=If(guard, inner.body))
    return inner


def _expansions(expr: Expr, values: Mapping[str, Expr]) -> Iterator[Expr]:
    """The coordinate with ever more names replaced by their values, the innermost first: what is the same in all its
    parts cancels as long as it is a name. What has one value here is that, also where a definition further out asks."""
    constants = {name: value for name, value in values.items() if isinstance(value, Const)}
    yield (expr := affine.tidy(substitute(expr, constants)))
    for name in reversed(tuple(values)):
        if name in names(expr):
            yield (expr := affine.tidy(substitute(substitute(expr, {name: values[name]}), constants)))


def unroll(stmt: Stmt) -> Stmt:
    """The flat nest without unrolled loops. Raises `ScheduleError` for one whose extent is no constant."""
    loop = with_parts(stmt, unroll)
    if not isinstance(loop, For) or loop.kind != "unrolled":
        return loop
    count = affine.constant_value(loop.extent)
    if count is None:
        raise ScheduleError(
            f"{loop.name} cannot be unrolled: its extent {loop.extent} is not a constant; give unroll a factor"
        )
    if count > _MOST_UNROLLED:
        raise ScheduleError(
            f"{loop.name} is unrolled {count} times: {_MOST_UNROLLED} is the most; split it and unroll the inner "
            "loop, as in unroll(x, 8)"
        )
    choices = Choices(loop.name)
    return block(*(_set_variable(loop.body, choices, affine.add(loop.min, affine.integer(i))) for i in range(count)))


def _set_variable(stmt: Stmt, choices: Choices, value: Expr) -> Stmt:
    """The flat statement with a variable replaced by its value."""

    def new(expr: Expr) -> Expr:
        return choices.of(expr, value)

    def visit(part: Stmt) -> Stmt:
        if isinstance(part, Block | Produce | Atomic):
            return with_parts(part, visit)
        if isinstance(part, For):
            return For(part.name, new(part.min), new(part.extent), part.kind, visit(part.body))
        if isinstance(part, If):
            return If(new(part.condition), visit(part.then), None if part.otherwise is None else visit(part.otherwise))
        if isinstance(part, Let):
            return Let(part.name, new(part.value), visit(part.body))
        if isinstance(part, Allocate):
            return Allocate(part.buffer, part.type, new(part.size), visit(part.body))
        if isinstance(part, Store):
            return Store(part.buffer, new(part.index), new(part.value), new(part.predicate))
        if isinstance(part, Write):
            return Write(part.line.with_children(tuple(map(new, part.line.children))))
        raise TypeError(f"unexpected in a flat nest: {part!r}")

    return visit(stmt)
