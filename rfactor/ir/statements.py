"""What statements of loop nests are made of, and statements with other parts: what passes over nests walk by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from rfactor.ir.loopnest import Allocate, Atomic, Block, For, If, Let, Produce, Realize, Stmt, Store, block

Around = For | Let | Produce | Realize | Allocate | Atomic
"""Statements that have one in them."""
A = TypeVar("A", bound=Around)


def parts(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly in one."""
    if isinstance(stmt, Block):
        return stmt.statements
    if isinstance(stmt, If):
        return (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise)
    return (stmt.body,) if isinstance(stmt, Around) else ()


def walk_nest(stmt: Stmt) -> Iterator[Stmt]:
    """`stmt` and all statements in it, those around others first."""
    waiting = [stmt]
    while waiting:
        stmt = waiting.pop()
        yield stmt
        waiting.extend(reversed(parts(stmt)))


def with_parts(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """`stmt` with `change` of each statement directly in it; the very same object if nothing changed."""
    if isinstance(stmt, Block):
        changed = [change(part) for part in stmt.statements]
        same = all(new is old for new, old in zip(changed, stmt.statements, strict=True))
        return stmt if same else block(*changed)
    if isinstance(stmt, If):
        then, otherwise = change(stmt.then), None if stmt.otherwise is None else change(stmt.otherwise)
        return stmt if then is stmt.then and otherwise is stmt.otherwise else If(stmt.condition, then, otherwise)
    return with_body(stmt, change(stmt.body)) if isinstance(stmt, Around) else stmt


def with_body(stmt: A, body: Stmt) -> A:
    """`stmt` around another body; the very same object if it is the same one."""
    return stmt if body is stmt.body else replace(stmt, body=body)


def is_innermost(loop: For) -> bool:
    """Whether `loop` is serial and holds stores and what has names in them, and no other loops or branches."""
    return loop.kind == "serial" and all(
        isinstance(part, Block | Let | Produce | Store) for part in walk_nest(loop.body)
    )
