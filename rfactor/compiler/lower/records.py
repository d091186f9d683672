"""What is kept beside a greatest or least value is only stored when some lane has a new one.

    let best.value = min(best[…], here)                let best.value = min(best[…], here)
    let at.value = select(here < best[…], i, at[…])    if any(here < best[…]):
    best[…] = best.value                          ->     at[…] = select(here < best[…], i, at[…])
    at[…] = at.value                                   best[…] = best.value

New records are rare: of n elements in random order about ln(n), of n equal ones none. A branch that is not taken costs
less than to choose between the vectors of much that is kept beside a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Expr, Op, names, substitute
from rfactor.ir.loopnest import Allocate, AnyLane, Block, For, If, Let, Load, Produce, Stmt, Store, block
from rfactor.ir.operations import MIRRORED, OPPOSITE

MUCH = 2
"""A branch costs about what it costs to choose between this many times the vectors of the record itself."""


def records(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with such stores in branches of their own."""
    if isinstance(stmt, Block):
        return block(*map(records, stmt.statements))
    if isinstance(stmt, If):
        return If(stmt.condition, records(stmt.then), None if stmt.otherwise is None else records(stmt.otherwise))
    if isinstance(stmt, Let):
        lets: dict[str, Expr] = {}
        inner: Stmt = stmt
        while isinstance(inner, Let):
            lets[inner.name] = inner.value
            inner = inner.body
        if isinstance(inner, Block) and all(isinstance(part, Store) for part in inner.statements):
            stores = tuple(part for part in inner.statements if isinstance(part, Store))
            return _branched(lets, stores) or stmt
    if isinstance(stmt, For | Let | Produce | Allocate):
        return replace(stmt, body=records(stmt.body))
    return stmt


def _branched(lets: Mapping[str, Expr], stores: tuple[Store, ...]) -> Stmt | None:
    """The stores of `lets` and other values with those that follow a record in a branch; None if none does."""
    values = {s.buffer: (s, substitute(s.value, lets)) for s in stores}
    places = (expr for s in stores for expr in (s.index, s.predicate))
    if len(values) < len(stores) or any(names(expr) & lets.keys() for expr in (*lets.values(), *places)):
        return None
    predicate = stores[0].predicate
    if any(s.predicate != predicate or s.value.type.lanes == 1 for s in stores):
        return None
    bests = {Load(value.type, s.buffer, s.index, predicate): value for s, value in values.values()}
    changes: dict[str, Expr] = {}
    beside: dict[Load, int] = {}
    for kept, value in bests.items():
        change = _change(kept, value)
        if change is None:
            continue
        for best in bests:
            if _is_record(change, best, bests[best]):
                changes[kept.buffer] = change
                beside[best] = beside.get(best, 0) + (kept.type.bits if kept != best else 0)
                break
    if not any(bits > MUCH * best.type.bits for best, bits in beside.items()):
        return None
    wide = next(iter(changes.values())).type
    changed: Expr | None = None
    for change in dict.fromkeys(changes.values()):
        changed = change if changed is None else Op(wide, "or", (changed, change))
    assert changed is not None
    changed = changed if predicate == ALWAYS else Op(wide, "and", (predicate, changed))
    often = tuple(s for s in stores if s.buffer not in changes)
    seldom = tuple(s for s in stores if s.buffer in changes)
    rare = If(AnyLane(changed), _with_values(lets, seldom))
    return _with_values(lets, often, rare)


def _with_values(lets: Mapping[str, Expr], stores: tuple[Store, ...], *before: Stmt) -> Stmt:
    """`stores` after `before`, within those of the definitions that they need, which come first of all."""
    result = block(*before, *stores)
    used = frozenset[str]().union(*(names(s.value) for s in stores))
    for name, value in reversed(list(lets.items())):
        if name in used:
            result = Let(name, value, result)
    return result


def _change(kept: Load, value: Expr) -> Expr | None:
    """Where `value` is not what `kept` was already, if it says so."""
    if not (isinstance(value, Op) and value.op == "select" and value.args[0].type.lanes > 1):
        return None
    condition, true, false = value.args
    if false == kept:
        return condition
    return Op(condition.type, "not", (condition,)) if true == kept else None


def _is_record(change: Expr, best: Load, value: Expr) -> bool:
    """Whether `change` holds in the lanes where `best`, which becomes `value`, is exceeded or met."""
    negated = False
    while isinstance(change, Op) and change.op == "not":
        negated, change = not negated, change.args[0]
    if not (isinstance(change, Op) and change.op in OPPOSITE and best in change.args):
        return False
    here = change.args[0] if change.args[1] == best else change.args[1]
    relation = change.op if here == change.args[0] else MIRRORED[change.op]
    relation = OPPOSITE[relation] if negated else relation
    wanted = "min" if relation in ("<", "<=") else "max"
    if not isinstance(value, Op):
        return False
    return (value.op == wanted and set(value.args) == {best, here}) or (value.op == "select" and here in value.args[1:])
