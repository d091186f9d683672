"""Unrolled loops as statements one after the other.

unrolled for x in (m, 2): f[x] = …   ->   f[m] = …; f[m + 1] = …
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.errors import ScheduleError
from rfactor.ir.expr import Expr, substitute
from rfactor.ir.loopnest import Allocate, Atomic, Block, For, If, Let, Produce, Stmt, Store, Write, block


def unroll(stmt: Stmt) -> Stmt:
    """The flat nest without unrolled loops. Raises `ScheduleError` for one whose extent is no constant."""
    if isinstance(stmt, Block):
        return block(*map(unroll, stmt.statements))
    if isinstance(stmt, For):
        body = unroll(stmt.body)
        if stmt.kind != "unrolled":
            return replace(stmt, body=body)
        count = affine.constant_value(stmt.extent)
        if count is None:
            raise ScheduleError(
                f"{stmt.name} cannot be unrolled: its extent {stmt.extent} is not a constant; give unroll a factor"
            )
        return block(*(set_variable(body, stmt.name, affine.add(stmt.min, affine.integer(i))) for i in range(count)))
    if isinstance(stmt, If):
        return If(stmt.condition, unroll(stmt.then), None if stmt.otherwise is None else unroll(stmt.otherwise))
    if isinstance(stmt, Let | Produce | Allocate):
        return replace(stmt, body=unroll(stmt.body))
    return stmt


def set_variable(stmt: Stmt, name: str, value: Expr) -> Stmt:
    """The flat statement with a variable replaced by its value."""
    values = {name: value}

    def new(expr: Expr) -> Expr:
        return substitute(expr, values)

    def visit(part: Stmt) -> Stmt:
        if isinstance(part, Block):
            return block(*map(visit, part.statements))
        if isinstance(part, For):
            return For(part.name, new(part.min), new(part.extent), part.kind, visit(part.body))
        if isinstance(part, If):
            return If(new(part.condition), visit(part.then), None if part.otherwise is None else visit(part.otherwise))
        if isinstance(part, Let):
            return Let(part.name, new(part.value), visit(part.body))
        if isinstance(part, Produce):
            return Produce(part.name, visit(part.body))
        if isinstance(part, Allocate):
            return Allocate(part.buffer, part.type, new(part.size), visit(part.body))
        if isinstance(part, Atomic):
            return replace(part, body=visit(part.body))
        if isinstance(part, Store):
            return Store(part.buffer, new(part.index), new(part.value), new(part.predicate))
        if isinstance(part, Write):
            return Write(part.line.with_children(tuple(map(new, part.line.children))))
        raise TypeError(f"unexpected in a flat nest: {part!r}")

    return visit(stmt)
