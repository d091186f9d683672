"""What is kept beside a greatest or least value is only stored when some lane has a new one.

    let best.value = min(best[…], here)                let best.value = min(best[…], here)
    let at.value = select(here < best[…], i, at[…])    if any(here < best[…]):
    best[…] = best.value                          ->     at[…] = select(here < best[…], i, at[…])
    at[…] = at.value                                   best[…] = best.value

New records are rare: of n elements in random order about ln(n), of n equal ones none. A branch that is not taken costs
less than to choose between the vectors of much that is kept beside a record. Where what equals a record is one too, and
a vector has many lanes of few values, there is one in every few vectors, no processor foresees in which, and there is
no branch.
"""

from __future__ import annotations

from collections.abc import Mapping

from rfactor.compiler.lower.groups import group, taken_apart
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Expr, Op, names
from rfactor.ir.loopnest import AnyLane, Atomic, If, Let, Load, Stmt, Store, block
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.statements import with_parts

MUCH = 2
"""A branch costs about what it costs to choose between this many times the vectors of the record itself."""
_RARE = 16
"""Where at least one vector in so many has an element that equals its lane's record, a branch is foreseen too badly."""


def records(stmt: Stmt) -> Stmt:
    """The flat nest of vectors with such stores in branches of their own."""
    apart = taken_apart(stmt)
    if apart is not None:
        return _branched(*apart) or stmt
    return stmt if isinstance(stmt, Atomic) else with_parts(stmt, records)


def _branched(lets: Mapping[str, Expr], stores: tuple[Store, ...]) -> Stmt | None:
    """The stores of `lets` and other values with those that follow a record in a branch; None if none does."""
    values = group(lets, stores)
    predicate = stores[0].predicate
    if values is None or any(s.predicate != predicate or s.value.type.lanes == 1 for s in stores):
        return None
    bests = {Load(value.type, s.buffer, s.index, predicate): value for s, value in values.values()}
    changes: dict[str, Expr] = {}
    beside: dict[Load, int] = {}
    for kept, value in bests.items():
        change = _change(kept, value)
        if change is None:
            continue
        for best in bests:
            own, becomes = _where_both(change, bests[best])
            if _is_record(own, best, becomes) and not (predicate == ALWAYS and _is_often(own, best)):
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


def _where_both(change: Expr, value: Expr) -> tuple[Expr, Expr]:
    """`change` and `value` in the lanes of a mask that both are under."""
    if isinstance(change, Op) and change.op == "and" and isinstance(value, Op) and value.op == "select":
        lanes, own = change.args
        if value.args[0] == lanes:
            return own, value.args[1]
        if value.args[0] == change:
            return own, Op(value.type, "select", (own, *value.args[1:]))
    return change, value


def _is_record(change: Expr, best: Load, value: Expr) -> bool:
    """Whether `change` holds in the lanes where `best`, which becomes `value`, is exceeded or met."""
    compared = _relation(change, best)
    if compared is None or not isinstance(value, Op):
        return False
    relation, here = compared
    wanted = "min" if relation in ("<", "<=") else "max"
    return (value.op == wanted and set(value.args) == {best, here}) or (value.op == "select" and here in value.args[1:])


def _is_often(change: Expr, best: Load) -> bool:
    """Whether `change` from `best` holds in some lane so often, and so irregularly, that a branch costs more."""
    compared = _relation(change, best)
    if compared is None or compared[0] in ("<", ">"):
        return False
    here = compared[1]
    while isinstance(here, Op) and here.op == "cast" and here.args[0].type.bits <= here.type.bits:
        here = here.args[0]
    return 1 << here.type.bits <= _RARE * here.type.lanes


def _relation(change: Expr, best: Load) -> tuple[str, Expr] | None:
    """`(relation, here)` where `change` is `here relation best`."""
    negated = False
    while isinstance(change, Op) and change.op == "not":
        negated, change = not negated, change.args[0]
    if not (isinstance(change, Op) and change.op in OPPOSITE and best in change.args):
        return None
    here = change.args[0] if change.args[1] == best else change.args[1]
    relation = change.op if here == change.args[0] else MIRRORED[change.op]
    return OPPOSITE[relation] if negated else relation, here
