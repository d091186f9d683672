"""Stores that are made once all their values are known.

let a.value = …; let b.value = …; a[…] = a.value; b[…] = b.value
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rfactor.compiler.lower import affine
from rfactor.ir.expr import Expr, Var, names, substitute, walk
from rfactor.ir.loopnest import Block, Let, Load, Stmt, Store, block

Group = dict[str, tuple[Store, Expr]]
"""By buffer, the store into it and its value in terms of what was there before the first."""


def taken_apart(stmt: Stmt) -> tuple[dict[str, Expr], tuple[Store, ...]] | None:
    """The definitions that `stmt` begins with and the stores after them, or its one store, if it holds nothing else."""
    lets: dict[str, Expr] = {}
    if isinstance(stmt, Block):
        return None
    while isinstance(stmt, Let):
        lets[stmt.name] = stmt.value
        stmt = stmt.body
    parts = stmt.statements if isinstance(stmt, Block) else (stmt,)
    stores = tuple(part for part in parts if isinstance(part, Store))
    return (lets, stores) if len(stores) == len(parts) else None


def group(lets: Mapping[str, Expr], stores: tuple[Store, ...]) -> Group | None:
    """The stores after the definitions `lets` as a group; None where the order of either could matter."""
    if any(affine.reads(store.value) for store in stores[1:]):
        return None
    places = (expr for store in stores for expr in (store.index, store.predicate))
    if any(names(expr) & lets.keys() for expr in (*lets.values(), *places)):
        return None
    result = {store.buffer: (store, substitute(store.value, lets)) for store in stores}
    others = (result.keys() - {store.buffer} for store in stores)
    if any(_read(store.index, store.predicate) & more for store, more in zip(stores, others, strict=True)):
        return None
    return result if len(result) == len(stores) else None


def _read(*exprs: Expr) -> set[str]:
    """The buffers that are read."""
    return {node.buffer for expr in exprs for node in walk(expr) if isinstance(node, Load)}


def grouped(stores: Iterable[Store]) -> Stmt:
    """The stores of a group, which hold their values."""
    several = tuple(stores)
    if len(several) < 2:
        return block(*several)
    named = [Store(s.buffer, s.index, Var(s.value.type, f"{s.buffer}.value"), s.predicate) for s in several]
    result = block(*named)
    for store, name in zip(reversed(several), reversed(named), strict=True):
        assert isinstance(name.value, Var)
        result = Let(name.value.name, store.value, result)
    return result
