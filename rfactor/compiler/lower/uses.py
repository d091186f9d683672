"""Which functions statements call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from operator import or_

from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Call, Const, Expr, walk
from rfactor.ir.loopnest import Block, For, If, Produce, Provide, Realize, Stmt
from rfactor.ir.statements import parts, walk_nest


def called_functions(function: Function) -> set[str]:
    """The functions that the stages of one call."""
    return {
        node.name
        for stage in function.stages
        for expr in stage.expressions
        for node in walk(expr)
        if isinstance(node, Call) and node.kind == "func"
    }


def expressions(stmt: Stmt) -> Iterator[Expr]:
    """Every expression of a statement and of the statements in it: of loops, guards and updates."""
    for part in walk_nest(stmt):
        if isinstance(part, For):
            yield from (part.min, part.extent)
        elif isinstance(part, If):
            yield part.condition
        elif isinstance(part, Provide):
            yield from part.arguments
            yield from part.values


def called(expr: Expr, name: str) -> bool:
    """Whether the function `name` is called in `expr`."""
    return any(isinstance(node, Call) and node.kind == "func" and node.name == name for node in walk(expr))


def uses(stmt: Stmt, name: str) -> bool:
    """Whether the function `name` is called anywhere in `stmt`."""
    return any(called(expr, name) for expr in expressions(stmt))


def meeting(stmt: Stmt) -> frozenset[str]:
    """The functions that two places in one loop compute, in storage outside of it: each comes between two iterations of
    the other. Of the cases of a stage one runs."""
    found: set[str] = set()
    _places(stmt, found)
    return frozenset(found)


def _places(stmt: Stmt, found: set[str]) -> Counter[str]:
    """By function, how many places compute it one after the other in `stmt`, in storage outside of it."""
    inside = [_places(part, found) for part in parts(stmt)]
    if isinstance(stmt, If):
        return reduce(or_, inside)
    result = sum(inside, Counter[str]())
    if isinstance(stmt, Produce):
        result[stmt.name] += 1
    elif isinstance(stmt, Realize):
        del result[stmt.name]
    elif isinstance(stmt, For) and not (isinstance(stmt.extent, Const) and stmt.extent.value == 1):
        found.update(name for name, places in result.items() if places > 1)
    return result


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
