"""Running values over a line, some points at a time.

    for x in (m, e):                ->   let x.some = max(e, 0) // 16
      f[x] = f[x - 1] + a[x]             if x.some > 0:
                                           allocate x.last[16]
                                           x.last[ramp(0, 1, 16)] = x16(f[m - 1])
                                           for x.several in (0, x.some):
                                             let at = ramp(m + x.several*16, 1, 16)
                                             let x.here = x16(x.last[15]) + prefixes[+](a[at])
                                             f[at] = x.here; x.last[ramp(0, 1, 16)] = x.here
                                         for x in (m + x.some*16, max(e, 0) - x.some*16): f[x] = f[x - 1] + a[x]

The operation joins data first, which for integers gives the same bits. A vector is joined in as many steps as its
number of lanes has bits, and the point before is needed once for all of them; `x.last` is a register.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.in_place import in_place, own_loads
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.compiler.lower.vectorize import Lanes
from rfactor.ir.effects import Print
from rfactor.ir.expr import Const, Expr, Op, Var, apply, substitute, walk
from rfactor.ir.loopnest import Allocate, Block, Broadcast, For, If, LanePrefix, Let, Load, Ramp, Stmt, Store
from rfactor.ir.loopnest import block as sequence
from rfactor.ir.statements import with_parts
from rfactor.ir.types import I32, I64, Type

_BITS, _MOST = 512, 16
"""Of a vector, and its most lanes: in a register of bytes further lanes are no steps apart."""
_JOINED = frozenset({"+", "min", "max", "&", "|", "^"})
"""Operations that vectors do as fast as numbers."""


def joins(op: str, type_: Type) -> bool:
    """Whether running values of `op` are computed so."""
    return type_.is_int and not type_.is_bool and op in _JOINED


def prefixes(stmt: Stmt) -> Stmt:
    """The flat nest of vectors, its last form, with such loops in vectors."""
    if isinstance(stmt, For) and isinstance(stmt.body, Store) and stmt.kind == "serial":
        return _several(stmt, stmt.body) or stmt
    return with_parts(stmt, prefixes)


def is_prefixes(stmt: Stmt) -> bool:
    """Whether `stmt` is the vectors of such a loop, which no schedule asked for."""
    if not (isinstance(stmt, Allocate) and isinstance(stmt.body, Block)):
        return False
    loop = stmt.body.statements[-1]
    let = loop.body if isinstance(loop, For) else None
    return isinstance(let, Let) and any(isinstance(node, LanePrefix) for node in walk(let.value))


def _several(loop: For, store: Store) -> Stmt | None:
    """`loop` in vectors and what is left; None where it is no such loop."""
    type_ = store.value.type
    own = tuple(own_loads(store))
    if type_.lanes > 1 or store.predicate != ALWAYS or len(own) != 1:
        return None
    change = in_place(store)
    step = affine.affine(affine.subtract(store.index, own[0].index))
    if change is None or not joins(change.joins, type_) or step != ((), 1) or own[0].predicate != ALWAYS:
        return None
    lanes = min(_MOST, _BITS // type_.bits)
    count = affine.constant_value(loop.extent)
    if count is not None and count < lanes:
        return None
    several, some = Var(I32, f"{loop.name}.several"), Var(I32, f"{loop.name}.some")
    start = affine.add(loop.min, affine.scale(several, lanes))
    vectors = Lanes(lanes, {loop.name: Ramp(start, affine.integer(1), lanes)}, ALWAYS)
    index, data = vectors.value(store.index), vectors.wide(vectors.value(change.data))
    if not (isinstance(index, Ramp) and index.stride == Const(index.type.element, 1) and dense(data)):
        return None
    if change.op == "-":
        data = Op(data.type, "neg", (data,))
    last, here = f"{loop.name}.last", Var(data.type, f"{loop.name}.here")
    held = Ramp(Const(I64, 0), Const(I64, 1), lanes)
    every = Broadcast(ALWAYS, lanes)

    def kept(value: Expr) -> Stmt:
        return Store(last, held, value, every)

    point = Broadcast(Load(type_, last, Const(I64, lanes - 1), ALWAYS), lanes)
    value = Op(data.type, change.joins, (point, LanePrefix(change.joins, data, change.identity)))
    body = Let(here.name, value, sequence(Store(store.buffer, index, here, every), kept(here)))
    first = substitute(own[0].index, {loop.name: loop.min})
    before = Broadcast(Load(type_, store.buffer, affine.tidy(first), ALWAYS), lanes)
    extent = affine.maximum(loop.extent, affine.integer(0))
    done = affine.scale(some, lanes)
    vectors_of = sequence(kept(before), For(several.name, affine.integer(0), some, "serial", body))
    return Let(
        some.name,
        affine.divide(extent, lanes),
        sequence(
            If(apply(">", some, affine.integer(0)), Allocate(last, type_, Const(I64, lanes), vectors_of)),
            replace(loop, min=affine.add(loop.min, done), extent=affine.subtract(extent, done)),
        ),
    )


def dense(data: Expr) -> bool:
    """Whether nothing is printed, and what is loaded lies side by side or is the same for all lanes."""
    for node in walk(data):
        if isinstance(node, Print):
            return False
        if isinstance(node, Load) and node.type.lanes > 1:
            index = node.index
            if not (isinstance(index, Ramp) and index.stride == Const(index.type.element, 1)):
                return False
    return True
