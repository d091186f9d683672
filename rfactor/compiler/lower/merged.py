"""Lanes that are merged into a point one after the other are joined as a vector.

    g[ramp(0, 1, 8)] = …                          g[ramp(0, 1, 8)] = …
    for v in (0, 8):                        ->    f[i] = f[i] + lanes[+](g[ramp(0, 1, 8)])
      f[i] = f[i] + g[v]

For integers and truth values, of which the order of the operation does not show.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.in_place import in_place, own_loads
from rfactor.compiler.lower.prefixes import dense
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.compiler.lower.vectorize import Lanes, scalar
from rfactor.ir.expr import Op, names, walk
from rfactor.ir.loopnest import Block, For, LaneReduction, Load, Ramp, Stmt, Store, block
from rfactor.ir.statements import walk_nest, with_parts

_MOST = 64
"""Lanes that are joined: further ones do not lie in registers."""


def merged(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with such loops as stores."""
    lanes = {one.buffer for one in walk_nest(stmt) if isinstance(one, Store) and one.value.type.lanes > 1}

    def visit(part: Stmt) -> Stmt:
        joined = _joined(part, lanes) if isinstance(part, For) else None
        return with_parts(part, visit) if joined is None else joined

    return visit(stmt)


def _joined(loop: For, lanes: Set[str]) -> Stmt | None:
    """`loop` as a store, or as one for each component; None where it is no such loop."""
    count = affine.constant_value(loop.extent) or 0
    if loop.kind != "serial" or not 1 < count <= _MOST or count & (count - 1):
        return None
    stores = loop.body.statements if isinstance(loop.body, Block) else (loop.body,)
    written = [one.buffer for one in stores if isinstance(one, Store)]
    found: list[Stmt] = []
    for store in stores:
        joined = _store(loop, store, count, lanes) if isinstance(store, Store) else None
        if joined is None or len(set(written)) < len(stores):
            return None
        read = {node.buffer for node in walk(joined.value) if isinstance(node, Load)} - {joined.buffer}
        if not read.isdisjoint(written):
            return None
        found.append(joined)
    return block(*found)


def _store(loop: For, store: Store, count: int, lanes: Set[str]) -> Store | None:
    own = tuple(own_loads(store))
    if not scalar(store) or store.value.type.is_float or store.predicate != ALWAYS or len(own) != 1:
        return None
    change = in_place(store)
    fixed = loop.name not in names(store.index) and not affine.reads(store.index)
    if change is None or not fixed or own[0].index != store.index or own[0].predicate != ALWAYS:
        return None
    vectors = Lanes(count, {loop.name: Ramp(loop.min, affine.integer(1), count)}, ALWAYS)
    data = vectors.value(change.data)
    loaded = {node.buffer for node in walk(data) if isinstance(node, Load) and node.type.lanes > 1}
    if loaded.isdisjoint(lanes) or not dense(data):
        return None
    value = Op(store.value.type, change.op, (change.kept, LaneReduction(change.joins, data)))
    return replace(store, value=value)
