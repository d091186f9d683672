"""The least or the greatest of floats along memory, some elements at a time.

    for x in (m, e):                ->   let x.some = max(e, 0) // 16
      s[k] = max(s[k], a[x])             for x.several in (0, x.some):
                                           s[k] = max(s[k], lanes[max](a[ramp(m + x.several*16, 1, 16)]))
                                         for x in (m + x.some*16, max(e, 0) - x.some*16): s[k] = max(s[k], a[x])

`min` and `max` of floats are associative and commutative, with NaN and signs of zeros too. An iteration waits for the
one before, and the operation takes a machine several instructions; in code that a schedule has put in vectors elsewhere
LLVM's own vectorizer does not run.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.in_place import in_place, own_loads
from rfactor.compiler.lower.prefixes import dense
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.compiler.lower.totals import SEVERAL
from rfactor.compiler.lower.vectorize import Lanes, scalar
from rfactor.ir.expr import Op, Var, names
from rfactor.ir.loopnest import For, LaneReduction, Let, Ramp, Stmt, Store
from rfactor.ir.loopnest import block as sequence
from rfactor.ir.statements import with_parts
from rfactor.ir.types import I32

_BITS = 512
"""Of the elements that are taken at a time."""


def extremes(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with such loops in vectors."""
    if isinstance(stmt, For) and isinstance(stmt.body, Store) and stmt.kind == "serial":
        return _several(stmt, stmt.body) or stmt
    return with_parts(stmt, extremes)


def _several(loop: For, store: Store) -> Stmt | None:
    """`loop` in vectors and what is left; None where it is no such loop."""
    type_ = store.value.type
    own = tuple(own_loads(store))
    if not (type_.is_float and scalar(store)) or store.predicate != ALWAYS or len(own) != 1:
        return None
    change = in_place(store)
    if change is None or change.joins not in ("min", "max") or own[0].index != store.index:
        return None
    lanes = _BITS // type_.bits
    count = affine.constant_value(loop.extent)
    short = count is not None and count < 2 * lanes
    if short or own[0].predicate != ALWAYS or loop.name in names(store.index) or affine.reads(store.index):
        return None
    several, some = Var(I32, f"{loop.name}{SEVERAL}"), Var(I32, f"{loop.name}.some")
    start = affine.add(loop.min, affine.scale(several, lanes))
    data = Lanes(lanes, {loop.name: Ramp(start, affine.integer(1), lanes)}, ALWAYS).value(change.data)
    if data.type.lanes == 1 or not dense(data):
        return None
    value = Op(type_, change.op, (change.kept, LaneReduction(change.joins, data)))
    extent = affine.maximum(loop.extent, affine.integer(0))
    done = affine.scale(some, lanes)
    vectors = For(several.name, affine.integer(0), some, "serial", replace(store, value=value))
    rest = replace(loop, min=affine.add(loop.min, done), extent=affine.subtract(extent, done))
    return Let(some.name, affine.divide(extent, lanes), sequence(vectors, rest))
