"""Loops that LLVM leaves as they are, beside such as it improves.

A schedule says where vectors are and what is unrolled; LLVM's own would only swell what it left as it is. But where one
case of an update is scheduled and another is as it was written, that one gets all that LLVM has.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.compiler.codegen.free import bodies, uses_threads, uses_vectors
from rfactor.compiler.lower.conditions import conjuncts, negated
from rfactor.ir.expr import Expr, apply
from rfactor.ir.loopnest import For, If, Stmt


def as_written(stmt: Stmt) -> bool:
    """Whether a case, outside of all loops, has loops that no schedule made vectors of, nor gave to threads.

    It runs where something holds, and another where that does not: a guard alone, as passes make them, is no case.
    """
    return _has_case(stmt, set(_asked(stmt)))


def scheduled(loop: For) -> bool:
    """Whether a loop has vectors or threads inside."""
    return uses_vectors(loop) or uses_threads(loop)


def _asked(stmt: Stmt) -> Iterator[Expr]:
    """What branches outside of loops ask."""
    if isinstance(stmt, For):
        return
    if isinstance(stmt, If):
        yield from conjuncts(stmt.condition)
    for child, _ in bodies(stmt):
        yield from _asked(child)


def _has_case(stmt: Stmt, asked: set[Expr]) -> bool:
    if isinstance(stmt, For):
        return False
    if isinstance(stmt, If) and any(_has_plain(child) for child, _ in bodies(stmt)):
        others = (other for one in conjuncts(stmt.condition) for other in (negated(one), apply("not", one)))
        if stmt.otherwise is not None or any(asked.issuperset(conjuncts(other)) for other in others):
            return True
    return any(_has_case(child, asked) for child, _ in bodies(stmt))


def _has_plain(stmt: Stmt) -> bool:
    if isinstance(stmt, For):
        return not scheduled(stmt)
    return any(_has_plain(child) for child, _ in bodies(stmt))
