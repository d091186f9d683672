"""Lanes that each iteration joins, and then joins to one point, are joined once after the loop.

                                                       if e > 0:
                                                         allocate x.lanes[16]
                                                         x.lanes[ramp(0, 1, 16)] = x16(identity)
    for x in (m, e):                              ->     for x in (m, e):
      s[k] = op(s[k], lanes[op](a[ramp(x*16, 1, 16)]))     x.lanes[…] = op(x.lanes[…], a[ramp(x*16, 1, 16)])
                                                         s[k] = op(s[k], lanes[op](x.lanes[ramp(0, 1, 16)]))

A join of lanes takes as many steps as their number has bits, and `x.lanes` is a register. `op` is associative and
commutative, and joined lanes are so already in any order: for floats that is where another rounding is allowed, or
nothing is rounded. Sums of bytes in a wider type stay as they are: machines add bytes to each other at once, and
compare truth values at once.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import positive
from rfactor.compiler.lower.in_place import added, in_place, own_loads
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.compiler.lower.totals import LANES
from rfactor.ir.effects import Print
from rfactor.ir.expr import Const, Expr, Op, names, walk
from rfactor.ir.loopnest import Allocate, Broadcast, For, If, LaneReduction, Load, Ramp, Stmt, Store, block
from rfactor.ir.statements import with_parts
from rfactor.ir.types import I64

_FEW = 4
"""Iterations from which on it pays."""
_BITS = 4096
"""Of the lanes at most: eight wide registers."""


def accumulators(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with such loops over vectors of their own."""
    if isinstance(stmt, For) and isinstance(stmt.body, Store) and stmt.kind == "serial":
        return _apart(stmt, stmt.body) or stmt
    return with_parts(stmt, accumulators)


def _apart(loop: For, store: Store) -> Stmt | None:
    """`loop` with lanes of its own; None where it is no such loop."""
    count = affine.constant_value(loop.extent)
    own = tuple(own_loads(store))
    change = in_place(store) if store.value.type.lanes == 1 and len(own) == 1 else None
    if change is None or not isinstance(change.data, LaneReduction) or change.data.op != change.joins:
        return None
    if store.predicate != ALWAYS or own[0].predicate != ALWAYS or own[0].index != store.index:
        return None
    if loop.name in names(store.index) or affine.reads(store.index) or (count is not None and count < _FEW):
        return None
    data = change.data.value
    lanes, type_ = data.type.lanes, store.value.type
    if type_.is_bool or lanes * type_.bits > _BITS or (change.joins == "+" and _of_bytes(data)):
        return None
    if any(isinstance(node, Print) for node in walk(data)):
        return None
    buffer = f"{loop.name}{LANES}"
    here = Ramp(Const(I64, 0), Const(I64, 1), lanes)
    every = Broadcast(ALWAYS, lanes)
    held = Load(data.type, buffer, here, every)

    def kept(value: Expr) -> Store:
        return Store(buffer, here, value, every)

    joined = replace(store, value=Op(type_, change.op, (change.kept, LaneReduction(change.joins, held))))
    step = replace(loop, body=kept(added(change.joins, held, data)))
    first = kept(Broadcast(change.identity, lanes))
    result = Allocate(buffer, type_, Const(I64, lanes), block(first, step, joined))
    return result if count is not None else If(positive(loop.extent), result)


def _of_bytes(data: Expr) -> bool:
    """Whether the lanes of wider integers are bytes."""
    node = data
    while isinstance(node, Op) and node.op == "cast" and node.type.is_int and node.type.bits > 8:
        node = node.args[0]
    return node is not data and (node.type.is_bool or (node.type.is_int and node.type.bits == 8))
