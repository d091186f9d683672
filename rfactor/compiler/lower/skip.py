"""Functions that are computed only in runs that read them.

    realize g: produce g: …; if p > 3: f(x) = g(x) else: f(x) = x
        ->   realize g: if p > 3: produce g: …; if p > 3: f(x) = g(x) else: f(x) = x

Conditions are those around loops, which `specialize` makes, on what is known before anything runs: a `select` reads
both of its arms.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.nest import called, parts, uses
from rfactor.compiler.schedule.directives import Schedule
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const, Expr, Op, apply, names
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Provide, Realize, Stmt, block
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL

_NEVER, _ALWAYS = Const(BOOL, False), Const(BOOL, True)


def skip(stmt: Stmt, algorithm: Algorithm, schedule: Schedule) -> Stmt:
    """The nest before storage is flattened, with functions computed where they are read.

    What is traced is told of as it was.
    """
    stages = (stage for own in schedule.functions.values() for stage in own.stages)
    if schedule.traces or not any(stage.specializations for stage in stages):
        return stmt
    return _skip(stmt, _known(algorithm))


def _known(algorithm: Algorithm) -> frozenset[str]:
    """The variables that no statement defines."""
    shapes = [(image.name, image.dimensions) for image in algorithm.images]
    shapes += [(name, len(algorithm.function(name).variables)) for name in algorithm.outputs]
    boxes = {f"{name}.{end}.{d}" for name, count in shapes for d in range(count) for end in ("min", "extent", "stride")}
    return frozenset(boxes | {parameter.name for parameter in algorithm.parameters})


def _skip(stmt: Stmt, known: frozenset[str]) -> Stmt:
    if isinstance(stmt, Block):
        return block(*(_skip(part, known) for part in stmt.statements))
    if isinstance(stmt, If):
        otherwise = None if stmt.otherwise is None else _skip(stmt.otherwise, known)
        return replace(stmt, then=_skip(stmt.then, known), otherwise=otherwise)
    if isinstance(stmt, For | Let | Produce):
        return replace(stmt, body=_skip(stmt.body, known))
    if isinstance(stmt, Realize):
        body = _skip(stmt.body, known)  # those that read it may be skipped themselves
        needed = simplify(_needed(body, stmt.name, known))
        found = needed in (_ALWAYS, _NEVER)
        return replace(stmt, body=body if found else _only_if(body, stmt.name, needed, known))
    return stmt


def _needed(stmt: Stmt, name: str, known: frozenset[str]) -> Expr:
    """A condition on what is known under which `stmt` may read the function `name`, but to compute itself."""
    if isinstance(stmt, Produce) and stmt.name == name:
        return _NEVER if _alone(stmt) else _ALWAYS  # in shared loops others are computed there too
    if isinstance(stmt, If):
        then = _needed(stmt.then, name, known)
        otherwise = _NEVER if stmt.otherwise is None else _needed(stmt.otherwise, name, known)
        if not _is_known(stmt.condition, known):
            return _ALWAYS if called(stmt.condition, name) or then != _NEVER or otherwise != _NEVER else _NEVER
        first = apply("and", stmt.condition, then)
        return simplify(apply("or", first, apply("and", Op(BOOL, "not", (stmt.condition,)), otherwise)))
    if isinstance(stmt, Block | For | Let | Produce | Realize):
        result: Expr = _NEVER
        for part in parts(stmt):
            result = simplify(apply("or", result, _needed(part, name, known)))
        return result
    return _ALWAYS if uses(stmt, name) else _NEVER


def _is_known(condition: Expr, known: frozenset[str]) -> bool:
    return names(condition) <= known and not affine.reads(condition)


def _alone(produce: Produce) -> bool:
    """Whether nothing is computed there but for the function itself."""
    inside: set[str] = set()
    written: set[str] = set()
    waiting: list[Stmt] = [produce.body]
    while waiting:
        stmt = waiting.pop()
        waiting += parts(stmt)
        if isinstance(stmt, Realize):
            inside.add(stmt.name)
        elif isinstance(stmt, Provide):
            written.add(stmt.name)
    return written <= inside | {produce.name}


def _only_if(stmt: Stmt, name: str, condition: Expr, known: frozenset[str]) -> Stmt:
    """`stmt` where the function `name` is computed where `condition` holds, or another one on what is known."""
    if isinstance(stmt, Produce) and stmt.name == name:
        return If(condition, stmt) if _alone(stmt) else stmt
    if isinstance(stmt, Block):
        return block(*(_only_if(part, name, condition, known) for part in stmt.statements))
    if isinstance(stmt, If) and not _is_known(stmt.condition, known):
        otherwise = None if stmt.otherwise is None else _only_if(stmt.otherwise, name, condition, known)
        return replace(stmt, then=_only_if(stmt.then, name, condition, known), otherwise=otherwise)
    if isinstance(stmt, For | Let | Produce | Realize):
        return replace(stmt, body=_only_if(stmt.body, name, condition, known))
    return stmt
