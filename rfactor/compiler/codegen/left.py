"""Loops that LLVM leaves as they are, beside such as it improves.

A schedule says where vectors are and what is unrolled; LLVM's own would only swell what it left as it is. But where one
case of an update is scheduled and another is as it was written, that one gets all that LLVM has.
"""

from __future__ import annotations

from rfactor.compiler.codegen.free import bodies, uses_threads, uses_vectors
from rfactor.ir.loopnest import For, If, Stmt


def as_written(stmt: Stmt) -> bool:
    """Whether a case, outside of all loops, has loops that no schedule made vectors of, nor gave to threads."""
    if isinstance(stmt, For):
        return False
    if isinstance(stmt, If) and any(_has_plain(child) for child, _ in bodies(stmt)):
        return True
    return any(as_written(child) for child, _ in bodies(stmt))


def scheduled(loop: For) -> bool:
    """Whether a loop has vectors or threads inside."""
    return uses_vectors(loop) or uses_threads(loop)


def _has_plain(stmt: Stmt) -> bool:
    if isinstance(stmt, For):
        return not scheduled(stmt)
    return any(_has_plain(child) for child, _ in bodies(stmt))
