"""Iterations without a new record are passed over some at a time.

    for y in (m, e):                           for y.several in (0, e // 4):
      if any(a[y] < best[…]):                    if any(min(a[m + y.several*4], …, a[m + y.several*4 + 3]) < best[…]):
        at[…] = select(a[y] < best[…], …)  ->      for y in (m + y.several*4, 4): … (the loop as it was)
      best[…] = min(best[…], a[y])             for y in (m + e // 4 * 4, e % 4): … (the loop as it was)

What an iteration without a new record stores is what was there. So if none of the next four is one beside the record as
it is, none is beside what the others leave, and nothing changes. A minimum is cheaper than to ask and to branch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, substitute, walk
from rfactor.ir.loopnest import AnyLane, Block, Broadcast, For, If, Let, Load, Ramp, Stmt, Store, block
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.statements import with_parts

_AT_A_TIME = 4
_RARE = frozenset({"<", ">"})
"""Relations that do not hold of what is equal: bytes are, more often than not."""


def without_record(stmt: Stmt) -> Stmt:
    """The flat nest of vectors, records in branches of their own, with such loops."""
    if isinstance(stmt, For) and stmt.kind == "serial":
        change, count = _change(stmt.body, stmt.name), affine.constant_value(stmt.extent)
        if change is not None and (count is None or count >= 2 * _AT_A_TIME):
            return _several(stmt, *change)
    return with_parts(stmt, without_record)


def _several(loop: For, relation: str, here: Expr, best: Load) -> Stmt:
    """`loop`, in which an iteration changes nothing where `here relation best` holds in no lane."""
    several, some = Var(loop.min.type, f"{loop.name}.several"), affine.divide(_count(loop), _AT_A_TIME)
    start = affine.add(loop.min, affine.scale(several, _AT_A_TIME))
    data = [affine.tidy(substitute(here, {loop.name: affine.add(start, _at(i))})) for i in range(_AT_A_TIME)]
    farthest = reduce(lambda a, b: Op(here.type, _extreme(relation), (a, b)), data)
    some_record = AnyLane(apply(relation, farthest, best))
    these = replace(loop, min=start, extent=_at(_AT_A_TIME))
    done = affine.scale(some, _AT_A_TIME)
    rest = replace(loop, min=affine.add(loop.min, done), extent=affine.subtract(_count(loop), done))
    blocks = For(several.name, _at(0), some, "serial", If(some_record, these))
    return blocks if affine.constant_value(rest.extent) == 0 else block(blocks, rest)


def _count(loop: For) -> Expr:
    return affine.maximum(loop.extent, _at(0))


def _at(value: int) -> Const:
    return affine.integer(value)


def _extreme(relation: str) -> str:
    return "min" if relation == "<" else "max"


def _change(body: Stmt, loop: str) -> tuple[str, Expr, Load] | None:
    """`(relation, here, best)` such that `body` changes nothing where `here relation best` holds in no lane, `here` is
    a vector of integers that lie side by side, and `best` one in the same place in all iterations of `loop`."""
    lets: dict[str, Expr] = {}
    while isinstance(body, Let):
        lets[body.name] = substitute(body.value, lets)
        body = body.body
    statements = body.statements if isinstance(body, Block) else (body,)
    branches = [part for part in statements if isinstance(part, If)]
    stores = [part for part in statements if isinstance(part, Store)]
    if len(branches) != 1 or len(stores) + 1 != len(statements) or branches[0].otherwise is not None:
        return None
    condition = substitute(branches[0].condition, lets)
    record = _relation(condition.value) if isinstance(condition, AnyLane) else None
    if record is None:
        return None
    for relation, here, best in (record, (MIRRORED[record[0]], record[2], record[1])):
        if relation not in _RARE or not (isinstance(best, Load) and best.type.is_int and best.predicate == ALWAYS):
            continue
        if loop in names(here) and loop not in names(best.index) and _dense(here):
            kept = {Op(best.type, _extreme(relation), pair) for pair in ((here, best), (best, here))}
            if all(s.buffer == best.buffer and s.index == best.index and s.predicate == ALWAYS
                   and substitute(s.value, lets) in kept for s in stores):  # fmt: skip
                return relation, here, best
    return None


def _relation(condition: Expr) -> tuple[str, Expr, Expr] | None:
    """`(relation, a, b)` of a condition `a relation b`."""
    negated = False
    while isinstance(condition, Op) and condition.op == "not":
        negated, condition = not negated, condition.args[0]
    if not (isinstance(condition, Op) and condition.op in OPPOSITE):
        return None
    a, b = condition.args
    return OPPOSITE[condition.op] if negated else condition.op, a, b


def _dense(here: Expr) -> bool:
    """Whether `here` is computed from vectors that lie side by side, and nothing can be told from that it is."""
    for node in walk(here):
        if isinstance(node, Load) and node.type.lanes > 1:
            if node.predicate != ALWAYS or not (isinstance(node.index, Ramp) and _is_one(node.index.stride)):
                return False
        elif not isinstance(node, Const | Var | Op | Load | Ramp | Broadcast):
            return False
    return True


def _is_one(stride: Expr) -> bool:
    return affine.constant_value(stride) == 1
