"""Lanes that a mask leaves out are stored again as they were, where all lanes (`i`) have been stored before.

    f[i] = x8(0)                                         f[i] = x8(0)
    for r in …:                                    ->    for r in …:
      f[i if m] = f[i if m] + a[… if m]                    f[i] = select(m, f[i] + a[… if m], f[i])

LLVM keeps in registers what whole vectors are stored into, and nothing that is stored under a mask. Lanes that the same
iteration of a parallel loop stored before are there, and no other thread may look at them.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.groups import group, grouped, taken_apart
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Expr, Op, names, rebuild
from rfactor.ir.loopnest import Allocate, Atomic, Block, For, Let, Load, Produce, Ramp, Stmt, Store
from rfactor.ir.statements import with_parts

Place = tuple[str, Expr]
"""A buffer and the index of a vector whose lanes lie side by side."""
_NOWHERE = frozenset[Place]()


def unmasked(stmt: Stmt, stored: frozenset[Place] = _NOWHERE) -> Stmt:
    """The flat nest of vectors with such stores of all lanes; those of `stored` have been stored before."""
    apart = taken_apart(stmt)
    if apart is not None:
        return _unmasked_group(stmt, *apart, stored)
    if isinstance(stmt, Atomic):
        return stmt
    if isinstance(stmt, For) and stmt.kind == "parallel":
        stored = _NOWHERE
    elif isinstance(stmt, For | Let):
        stored = _without(stored, stmt.name)
    elif isinstance(stmt, Allocate):
        stored = frozenset(place for place in stored if place[0] != stmt.buffer)

    def visit(part: Stmt) -> Stmt:
        nonlocal stored
        before = stored
        if isinstance(stmt, Block):
            stored |= _stores(part)
        return unmasked(part, before)

    return with_parts(stmt, visit)


def _stores(stmt: Stmt) -> frozenset[Place]:
    """Where `stmt` stores all lanes, whatever happens, at places that are the same after it."""
    if isinstance(stmt, Store):
        return frozenset({(stmt.buffer, stmt.index)}) if stmt.predicate == ALWAYS and _dense(stmt.index) else _NOWHERE
    if isinstance(stmt, Block):
        return _NOWHERE.union(*map(_stores, stmt.statements))
    if isinstance(stmt, For):
        runs = (affine.constant_value(stmt.extent) or 0) > 0 and stmt.kind == "serial"
        return _without(_stores(stmt.body), stmt.name) if runs else _NOWHERE
    if isinstance(stmt, Let):
        return _without(_stores(stmt.body), stmt.name)
    return _stores(stmt.body) if isinstance(stmt, Produce) else _NOWHERE


def _without(places: frozenset[Place], name: str) -> frozenset[Place]:
    """Those that do not depend on what `name` stands for."""
    return frozenset(place for place in places if name not in names(place[1])) if places else places


def _dense(index: Expr) -> bool:
    return isinstance(index, Ramp) and affine.constant_value(index.stride) == 1 and not affine.reads(index)


def _unmasked_group(stmt: Stmt, lets: dict[str, Expr], stores: tuple[Store, ...], stored: frozenset[Place]) -> Stmt:
    masked = [store for store in stores if store.predicate.type.lanes > 1]
    there = all((store.buffer, store.index) in stored for store in masked)
    found = group(lets, stores) if masked and there else None
    if found is None:
        return stmt
    return grouped(
        replace(store, value=_blended(store, value, stored), predicate=ALWAYS)
        if store in masked
        else replace(store, value=value)
        for store, value in found.values()
    )


def _blended(store: Store, value: Expr, stored: frozenset[Place]) -> Expr:
    """`value` in the lanes of the store, what is there in others."""
    kept, lanes = Load(value.type, store.buffer, store.index, ALWAYS), store.predicate
    value = _of_all(value, lanes, stored)
    if isinstance(value, Op) and value.op == "select" and value.args[0].type == lanes.type:
        condition, new, old = value.args
        if new == kept:
            condition, new, old = Op(lanes.type, "not", (condition,)), old, new
        if old == kept:
            return Op(value.type, "select", (Op(lanes.type, "and", (lanes, condition)), new, kept))
    return Op(value.type, "select", (lanes, value, kept))


def _of_all(value: Expr, lanes: Expr, stored: frozenset[Place]) -> Expr:
    """What is `value` in `lanes`, and loads all of what has been stored."""
    changed: dict[Expr, Expr] = {}

    def visit(node: Expr) -> Expr:
        if node not in changed:
            changed[node] = node
            if isinstance(node, Load) and node.predicate == lanes and (node.buffer, node.index) in stored:
                changed[node] = Load(node.type, node.buffer, node.index, ALWAYS)
            elif isinstance(node, Op) and node.type.lanes == lanes.type.lanes:
                changed[node] = rebuild(node, tuple(map(visit, node.args)))
        return changed[node]

    return visit(value)
