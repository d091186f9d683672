"""What an innermost loop reads that its iteration before has stored is kept, and not read back.

                                               if e > 0:
                                                 allocate x.previous[1]
                                                 x.previous[0] = f[m - 1]
    for x in (m, e):                             for x in (m, e):
      f[x] = f[x - 1]*c + a[x]          ->         x.previous[0] = x.previous[0]*c + a[x]
                                                   f[x] = x.previous[0]

LLVM keeps in registers what lies in places of its own. What is read back from memory is there some cycles after it was
stored, and an iteration of such a loop waits for the one before. So for vectors, of columns say.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import positive
from rfactor.compiler.lower.prefixes import is_prefixes
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.effects import Print
from rfactor.ir.expr import Const, Expr, Op, Var, names, substitute, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import Allocate, Block, Broadcast, For, If, Let, Load, Produce, Ramp, Stmt, Store, block
from rfactor.ir.statements import is_innermost, walk_nest, with_parts
from rfactor.ir.types import I32, I64


def previous(stmt: Stmt) -> Stmt:
    """The flat nest of vectors, its last form, with such loops."""
    if is_prefixes(stmt):
        return stmt
    if isinstance(stmt, For) and is_innermost(stmt):
        return _kept(stmt)
    return with_parts(stmt, previous)


def _kept(loop: For) -> Stmt:
    """`loop`, where its body is one store and what has a name in it."""
    *around, store = walk_nest(loop.body)
    if not isinstance(store, Store) or any(isinstance(part, Block) for part in around):
        return loop
    bound = {part.name for part in around if isinstance(part, Let)}
    before = None if names(store.index) & bound or not _always(store.predicate) else _before(store.index, loop.name)
    values = [store.value, *(part.value for part in around if isinstance(part, Let))]
    if before is None or any(isinstance(node, Print) for value in values for node in walk(value)):
        return loop
    same = {node for value in values for node in walk(value) if isinstance(node, Load) and _reads(node, store, before)}
    if not same:
        return loop
    lanes, name = store.value.type.lanes, f"{loop.name}.previous"
    zero = Const(I64, 0)
    place: Expr = zero if lanes == 1 else Ramp(zero, Const(I64, 1), lanes)
    kept = Load(store.value.type, name, place, ALWAYS)
    start = _with_base(before, affine.tidy(substitute(_base(before), {loop.name: loop.min})))
    result: Stmt = block(
        Store(name, place, Load(kept.type, store.buffer, start, ALWAYS), ALWAYS),
        replace(loop, body=_with(loop.body, dict.fromkeys(same, kept), kept)),
    )
    result = Allocate(name, store.value.type.element, Const(I64, lanes), result)
    count = affine.constant_value(loop.extent)
    # What is loaded first is there only where the loop runs at all.
    return (
        loop if count is not None and count < 2 else result if count is not None else If(positive(loop.extent), result)
    )


def _always(predicate: Expr) -> bool:
    return predicate == ALWAYS or (isinstance(predicate, Broadcast) and predicate.value == ALWAYS)


def _reads(load: Load, store: Store, before: Expr) -> bool:
    """Whether `load` reads all that the iteration before has stored at the index `before`."""
    if load.buffer != store.buffer or load.type != store.value.type or not _always(load.predicate):
        return False
    return type(load.index) is type(before) and affine.subtract(_base(load.index), _base(before)) == Const(I64, 0)


def _base(index: Expr) -> Expr:
    return index.base if isinstance(index, Ramp) else index


def _before(index: Expr, loop: str) -> Expr | None:
    """`index`, of one value or of values side by side, in the iteration before; None where that is not known or is the
    same."""
    dense = index.type.lanes == 1 or (isinstance(index, Ramp) and index.stride == Const(I64, 1))
    if not dense or affine.reads(index):
        return None
    here: Expr = Op(I64, "cast", (Var(I32, loop),))
    step: Expr = Const(I64, 0)
    for term, factor in affine.affine(_base(index))[0]:
        if loop not in names(term):
            continue
        factors = list(term.args) if isinstance(term, Op) and term.op == "*" else [term]
        if here not in factors:
            return None
        factors.remove(here)
        if any(loop in names(other) for other in factors):
            return None
        step = affine.add(step, affine.scale(factors[0] if factors else Const(I64, 1), factor))
    if step == Const(I64, 0):
        return None
    return _with_base(index, affine.subtract(_base(index), step))


def _with_base(index: Expr, base: Expr) -> Expr:
    return Ramp(base, index.stride, index.type.lanes) if isinstance(index, Ramp) else base


def _with(stmt: Stmt, values: dict[Expr, Expr], kept: Load) -> Stmt:
    """The body of the loop, which stores what it keeps."""
    if isinstance(stmt, Let):
        return Let(stmt.name, replaced(stmt.value, values), _with(stmt.body, values, kept))
    if isinstance(stmt, Produce):
        return replace(stmt, body=_with(stmt.body, values, kept))
    assert isinstance(stmt, Store)
    return block(Store(kept.buffer, kept.index, replaced(stmt.value, values), ALWAYS), replace(stmt, value=kept))
