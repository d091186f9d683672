"""What statements are made of, and which functions they call."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Call, Expr, walk
from rfactor.ir.loopnest import Atomic, Block, For, If, Let, Produce, Provide, Realize, Stmt


def called_functions(function: Function) -> set[str]:
    """The functions that the stages of one call."""
    return {
        node.name
        for stage in function.stages
        for expr in stage.expressions
        for node in walk(expr)
        if isinstance(node, Call) and node.kind == "func"
    }


def parts(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly in one."""
    if isinstance(stmt, Block):
        return stmt.statements
    if isinstance(stmt, If):
        return (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise)
    return (stmt.body,) if isinstance(stmt, For | Produce | Realize | Let | Atomic) else ()


def expressions(stmt: Stmt) -> Iterator[Expr]:
    """Every expression of a statement and of the statements in it."""
    if isinstance(stmt, Block):
        for part in stmt.statements:
            yield from expressions(part)
    elif isinstance(stmt, For):
        yield from (stmt.min, stmt.extent)
        yield from expressions(stmt.body)
    elif isinstance(stmt, If):
        yield stmt.condition
        yield from expressions(stmt.then)
        if stmt.otherwise is not None:
            yield from expressions(stmt.otherwise)
    elif isinstance(stmt, Provide):
        yield from stmt.arguments
        yield from stmt.values
    elif isinstance(stmt, Produce | Realize | Let | Atomic):
        yield from expressions(stmt.body)


def called(expr: Expr, name: str) -> bool:
    """Whether the function `name` is called in `expr`."""
    return any(isinstance(node, Call) and node.kind == "func" and node.name == name for node in walk(expr))


def uses(stmt: Stmt, name: str) -> bool:
    """Whether the function `name` is called anywhere in `stmt`."""
    return any(called(expr, name) for expr in expressions(stmt))


def uses_outside(stmt: Stmt, name: str) -> bool:
    """Whether `name` is called where no `produce name` comes before it."""
    if isinstance(stmt, Block):
        if any(isinstance(part, Produce) and part.name == name for part in stmt.statements):
            return False
        return any(uses_outside(part, name) for part in stmt.statements)
    if isinstance(stmt, For):
        return called(stmt.min, name) or called(stmt.extent, name) or uses_outside(stmt.body, name)
    if isinstance(stmt, If):
        return called(stmt.condition, name) or any(uses_outside(part, name) for part in parts(stmt))
    if isinstance(stmt, Produce | Realize):
        return uses_outside(stmt.body, name)
    return uses(stmt, name)
