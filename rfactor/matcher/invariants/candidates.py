"""Conditions on accumulators that may be loop invariants, guessed from the start, the types and the literals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rfactor.ir.evaluate import evaluate_all
from rfactor.ir.expr import Const, Expr, Var, apply, const
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.invariants.runs import Array, Start, reached
from rfactor.prover import sampling

MOST = 64
"""Conditions that are looked at."""


def candidates(update: Update, start: Start) -> tuple[Expr, ...]:
    """Give the conditions that hold in all states of random runs, the strongest of each kind first.

    Relations of two accumulators, bounds, values that stay, and those of them that a flag implies.
    """
    states = reached(update, start)
    plain = list(dict.fromkeys(_plain(update, start)))
    holds = dict(zip(plain, evaluate_all(plain, states), strict=True))
    found = [condition for condition in plain if holds[condition].all()]
    failing = [condition for condition in plain if not holds[condition].all()]
    return tuple([*_strongest(found), *_implied(update, failing, holds, states)][:MOST])


def _plain(update: Update, start: Start) -> Iterator[Expr]:
    """Give relations, values and bounds. Those of accumulators of whose start nothing is known may hold by a flag."""
    flagged = any(type_.is_bool for type_ in update.types)
    known = [x for x, value in zip(update.accumulators, start, strict=True) if value is not None or flagged]
    for i, x in enumerate(known):
        for other in known[:i]:
            if other.type == x.type:
                yield apply("==", other, x)
                if not x.type.is_bool:
                    yield apply("<=", other, x)
                    yield apply("<=", x, other)
    literals = sampling.literals(update.components)
    for x, value in zip(update.accumulators, start, strict=True):
        if x not in known:
            continue
        if x.type.is_bool:
            yield x
            yield apply("not", x)
            continue
        given = () if value is None else (value,)
        yield from (apply("==", x, one) for one in given)
        for bound in (*given, *_bounds(x.type, literals)):
            yield apply("<=", bound, x)
            yield apply("<=", x, bound)


def _bounds(type_: Type, literals: Mapping[Type, tuple[object, ...]]) -> Iterator[Expr]:
    """Give 0, and each literal with its neighbours."""
    near: dict[int | float, None] = {0: None}
    for value in literals.get(type_, ()):
        assert isinstance(value, int | float)
        near |= dict.fromkeys([value, value - 1, value + 1] if type_.is_int else [value])
    for value in near:
        if not type_.is_int or type_.min < value < type_.max:
            yield const(type_, value)


def _strongest(found: list[Expr]) -> list[Expr]:
    """Leave out bounds that one of the others gives, and relations of what is equal."""
    equal = {frozenset(e.children) for e in found if _is(e, "==")}
    tightest: dict[tuple[Expr, bool], Const] = {}
    for e in found:
        side = _literal_bound(e)
        if side is not None:
            x, below, bound = side
            old = tightest.get((x, below))
            if old is None or (bound.value > old.value) == below:
                tightest[x, below] = bound
    own = [e for e in found if not (_is(e, "<=") and frozenset(e.children) in equal)]
    first = [e for e in own if _literal_bound(e) is None or _is_tightest(e, tightest)]
    return first + [e for e in own if e not in first]


def _is(expr: Expr, op: str) -> bool:
    return getattr(expr, "op", None) == op


def _literal_bound(expr: Expr) -> tuple[Expr, bool, Const] | None:
    """Give what is bounded, from below or not, and by which literal."""
    if not _is(expr, "<="):
        return None
    low, high = expr.children
    if isinstance(low, Const):
        return high, True, low
    return (low, False, high) if isinstance(high, Const) else None


def _is_tightest(expr: Expr, tightest: Mapping[tuple[Expr, bool], Const]) -> bool:
    side = _literal_bound(expr)
    return side is not None and tightest[side[0], side[1]] == side[2]


def _implied(
    update: Update, failing: list[Expr], holds: Mapping[Expr, Array], states: Mapping[str, Array]
) -> list[Expr]:
    """Give conditions that hold wherever a flag is set, or wherever it is not."""
    found: list[Expr] = []
    for flag in update.accumulators:
        if not flag.type.is_bool or states[flag.name].all() or not states[flag.name].any():
            continue
        for condition in failing:
            if condition.children and flag not in condition.children and not _is(condition, "not"):
                for left, given in ((apply("not", flag), states[flag.name]), (flag, ~states[flag.name])):
                    if holds[condition][given].all():
                        found.append(apply("or", left, condition))
            elif isinstance(condition, Var) and condition != flag and holds[condition][states[flag.name]].all():
                found.append(apply("or", apply("not", flag), condition))
    return found
