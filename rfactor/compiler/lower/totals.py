"""Sums of bytes in a wider type, some elements at a time.

    for x in (m, e):                ->   let x.some = max(e, 0) // 64
      s[k] = s[k] + i32(a[x])            for x.several in (0, x.some):
                                           s[k] = s[k] + i32(lanes[+](u32x64(a[ramp(m + x.several*64, 1, 64)])))
                                         for x in (m + x.some*64, max(e, 0) - x.some*64): s[k] = s[k] + i32(a[x])

So are truth values counted. Machines add bytes to each other at once, as many as a register holds; LLVM's own vectors
are of the wide type, and hold a fraction of that.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.in_place import in_place, own_loads
from rfactor.compiler.lower.prefixes import dense
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.compiler.lower.vectorize import Lanes, scalar
from rfactor.ir.expr import Expr, Op, Var, cast, names, walk
from rfactor.ir.loopnest import Allocate, For, LaneReduction, Let, Ramp, Stmt, Store, block
from rfactor.ir.statements import with_parts
from rfactor.ir.types import I32, Type

_LANES = 64
"""Elements at a time."""
SEVERAL = ".several"
LANES = ".lanes"
"""What lanes that a loop keeps to itself are called after (`accumulators`)."""
_SUM = Type("uint", 32)
"""Of so many bytes."""


def totals(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with such loops in vectors."""
    if isinstance(stmt, For) and isinstance(stmt.body, Store) and stmt.kind == "serial":
        return _several(stmt, stmt.body) or stmt
    return with_parts(stmt, totals)


def is_total(stmt: Stmt) -> bool:
    """Whether `stmt` is the vectors of such a loop, or of one of `extremes`, which no schedule asked for."""
    if isinstance(stmt, Allocate):
        return stmt.buffer.endswith(f"{SEVERAL}{LANES}")
    if not (isinstance(stmt, For) and stmt.name.endswith(SEVERAL) and isinstance(stmt.body, Store)):
        return False
    return any(isinstance(node, LaneReduction) for node in walk(stmt.body.value))


def _several(loop: For, store: Store) -> Stmt | None:
    """`loop` in vectors and what is left; None where it is no such loop."""
    type_ = store.value.type
    own = tuple(own_loads(store))
    if not (type_.is_int and scalar(store)) or type_.bits < 16 or store.predicate != ALWAYS or len(own) != 1:
        return None
    change = in_place(store)
    if change is None or change.joins != "+" or own[0].index != store.index:
        return None
    byte = _byte(change.data)
    count = affine.constant_value(loop.extent)
    if byte is None or loop.name in names(store.index) or affine.reads(store.index) or (count or _LANES) < _LANES:
        return None
    several, some = Var(I32, f"{loop.name}{SEVERAL}"), Var(I32, f"{loop.name}.some")
    start = affine.add(loop.min, affine.scale(several, _LANES))
    data = Lanes(_LANES, {loop.name: Ramp(start, affine.integer(1), _LANES)}, ALWAYS).value(byte)
    if data.type.lanes == 1 or not dense(data):
        return None
    added = cast(type_, LaneReduction("+", cast(_SUM.with_lanes(_LANES), data)))
    value = Op(type_, change.op, (change.kept, added))
    extent = affine.maximum(loop.extent, affine.integer(0))
    done = affine.scale(some, _LANES)
    vectors = For(several.name, affine.integer(0), some, "serial", replace(store, value=value))
    rest = replace(loop, min=affine.add(loop.min, done), extent=affine.subtract(extent, done))
    return Let(some.name, affine.divide(extent, _LANES), block(vectors, rest))


def _byte(data: Expr) -> Expr | None:
    """The u8 or bool that `data`, a wider integer, is; None where it is none."""
    node = data
    while isinstance(node, Op) and node.op == "cast" and node.type.is_int and node.type.bits > 8:
        node = node.args[0]
    narrow = node.type.is_bool or (node.type.bits == 8 and node.type.is_int and not node.type.is_signed)
    return node if narrow and node is not data else None
