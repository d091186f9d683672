"""Where LLVM's own vectorizers may gain: their passes cost a third of the time that all take."""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign

from rfactor.compiler.codegen.free import bodies
from rfactor.compiler.lower.affine import affine
from rfactor.ir.expr import Const, Expr, Op, Var, walk
from rfactor.ir.loopnest import For, Let, Load, Stmt, Store
from rfactor.ir.types import I64


def vectorizable(stmt: Stmt) -> bool:
    """Whether some innermost loop of `stmt` walks along memory.

    One that stores where data say cannot run in lanes, and one whose steps are of unknown size does not gain; what
    fills memory with zeros becomes a call anyway. Where it is not clear the answer is yes.
    """
    inner = [vectorizable(child) for child, _ in bodies(stmt) if _loops(child)]
    if inner or not isinstance(stmt, For):
        return any(inner)
    return _walks(stmt)


def clears(loop: For) -> bool:
    """Whether `loop` does nothing but fill elements of memory that follow each other with zeros."""
    store = loop.body
    if not isinstance(store, Store) or store.value.type.lanes > 1 or store.index.type != I64:
        return False
    always = isinstance(store.predicate, Const) and bool(store.predicate.value)
    return always and _zero(store.value) and _step(store.index, loop.name) == 1


def _loops(stmt: Stmt) -> bool:
    return isinstance(stmt, For) or any(_loops(child) for child, _ in bodies(stmt))


def _walks(loop: For) -> bool:
    """The same of a loop without a loop inside."""
    inside = list(_within(loop.body))
    if any(isinstance(one, Let) for one in inside):
        return True
    stores = [one for one in inside if isinstance(one, Store)]
    steps = [_step(store.index, loop.name) for store in stores]
    if None in steps:
        return False
    if any(step and not _zero(store.value) for step, store in zip(steps, stores, strict=True)):
        return True
    return any(_step(node.index, loop.name) for store in stores for node in walk(store.value) if isinstance(node, Load))


def _within(stmt: Stmt) -> Iterator[Stmt]:
    yield stmt
    for child, _ in bodies(stmt):
        yield from _within(child)


def _step(index: Expr, name: str) -> int | None:
    """By how much `index` grows where the variable does by one; None where data or unknown sizes say."""
    step = 0
    for term, factor in affine(index)[0]:
        plain = term.args[0] if isinstance(term, Op) and term.op == "cast" else term
        if isinstance(plain, Var):
            step += factor if plain.name == name else 0
        elif any(isinstance(node, Load) or (isinstance(node, Var) and node.name == name) for node in walk(term)):
            return None
    return step


def _zero(value: Expr) -> bool:
    return isinstance(value, Const) and value.value == 0 and copysign(1, value.value) > 0
