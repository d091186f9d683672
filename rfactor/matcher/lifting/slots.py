"""Liftings of the k largest or smallest where empty slots have no value of their own, or a first step sorts the state.

Unbounded integers have no least value to fill slots with, and `max(x0, a), min(x0, max(x1, a)), min(x1, max(x2, a))`
brings a state in order that is in none. A run holds its own k best, each with what goes with it (all of them, or the
best alone) and a flag that says whether there is one, and is joined to what is before it by inserting these, one after
another, by the update itself: the best first, or last where of equal ones the last is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from rfactor.ir.expr import Expr, Op, Var, apply, names
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_MOST = 3
_ORDERS = (("max", ">="), ("min", "<="), ("max", ">"), ("min", "<"))
"""Which numbers are kept, and how they are ordered: the last where all are different."""
Maybe = tuple[Expr, Expr]
"""Whether there is a number, and the number."""


@dataclass(frozen=True, slots=True)
class _Slots:
    """Which components hold what of the best data."""

    keys: tuple[int, ...]
    """The components that are ordered, the best first."""
    held: Mapping[str, tuple[int, ...]]
    """The components that hold a datum, those of the best first."""

    def slot(self, component: int) -> int:
        return next(places.index(component) for places in self.held.values() if component in places)

    def datum(self, slot: int, values: tuple[Expr, ...]) -> dict[str, Expr]:
        """What a slot holds; what it does not hold is read of none that is kept, and may be that of the best."""
        return {name: values[places[slot if slot < len(places) else 0]] for name, places in self.held.items()}


def claims(update: Update) -> Iterator[Claim]:
    """Claims for two or three numbers that one datum is compared with, and chosen or not, with what goes with them."""
    if update.constants or not all(map(_only_chooses, update.components)):
        return
    for slots, (best, order), last in itertools.product(_layouts(update), _ORDERS, (False, True)):
        lift = _lift(update, slots, best, order, last)
        if lift is not None:
            yield lift


def _layouts(update: Update) -> Iterator[_Slots]:
    """Components by the datum that they hold, the first or the last of them for the best."""
    held: dict[str, tuple[int, ...]] = {v.name: () for v in update.data}
    for i, component in zip(range(len(update.types)), update.components, strict=True):
        chosen = _chosen(component) & held.keys()
        if len(chosen) != 1:
            return
        held[min(chosen)] += (i,)
    most = max(map(len, held.values()), default=0)
    if not 2 <= most <= _MOST or not all(held.values()):
        return
    compared = frozenset[str]().union(*map(_compared, update.components))
    for name, keys in held.items():
        if len(keys) == most and name in compared and not update.types[keys[0]].is_bool:
            yield _Slots(keys, held)
            back = {n: places[::-1] if len(places) == most else places for n, places in held.items()}
            yield _Slots(keys[::-1], back)


def _lift(update: Update, slots: _Slots, best: str, order: str, last: bool) -> Claim | None:
    """The claim for slots in this order, filled from the best on or, with `last`, from the worst."""
    count, data = len(slots.keys), {v.name: v for v in update.data}
    types = (*(BOOL,) * count, *update.types)
    places = tuple(map(slots.slot, range(len(update.types))))
    own, other = operands("x", types), operands("y", types)
    x: tuple[Maybe, ...] = tuple((own[s], v) for s, v in zip(places, own[count:], strict=True))
    y: tuple[Maybe, ...] = tuple((other[s], v) for s, v in zip(places, other[count:], strict=True))
    neighbours = tuple(pairwise(y[i] for i in slots.keys))
    filled = tuple(apply("or", flag, apply("==", value, nought(value.type))) for flag, value in y)
    first = tuple(apply("or", apply("not", later[0]), earlier[0]) for earlier, later in neighbours)
    ordered = tuple(
        apply("or", apply("not", later[0]), apply(order, earlier[1], later[1])) for earlier, later in neighbours
    )
    holds = {i: data[name] for name, where in slots.held.items() for i in where if places[i] == 0}
    given = tuple(holds.get(i, nought(type_)) for i, type_ in zip(range(len(update.types)), update.types, strict=True))
    joined = x
    applied: tuple[Maybe, ...] = tuple((TRUE, v) for v in update.accumulators)
    for slot in range(count)[:: -1 if last else 1]:
        datum = slots.datum(slot, other[count:])
        joined = _inserted(update, joined, other[slot], datum, best)
        applied = _inserted(update, applied, other[slot], datum, best)
    if any(flag != TRUE for flag, _ in applied):
        return None
    flags = tuple(joined[key][0] for key in slots.keys)
    operator = (*flags, *(choose(flags[s], v, nought(v.type)) for s, (_, v) in zip(places, joined, strict=True)))
    noughts = tuple(map(nought, update.types))
    lift = Lift(
        types,
        (TRUE, *(FALSE,) * (count - 1), *given),
        operator,
        (*(FALSE,) * count, *noughts),
        tuple(value for _, value in applied),
    )
    return Claim(update, lift=lift, invariant=(*filled, *first, *ordered))


def _chosen(expr: Expr) -> frozenset[str]:
    """The variables of which one is the value of a choice."""
    if isinstance(expr, Var):
        return frozenset((expr.name,))
    return frozenset[str]().union(*(_chosen(part) for part in (expr.children[1:] if _selects(expr) else expr.children)))


def _compared(expr: Expr) -> frozenset[str]:
    """The variables that decide a choice."""
    if isinstance(expr, Var):
        return frozenset()
    deciding = expr.children[:1] if _selects(expr) else expr.children
    return frozenset[str]().union(*map(names, deciding), *map(_compared, expr.children))


def _selects(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.op == "select"


def _only_chooses(expr: Expr) -> bool:
    """Whether an expression compares state and datum and chooses among them, and does nothing else."""
    if not isinstance(expr, Op):
        return isinstance(expr, Var)
    if expr.op == "select":
        return _only_compares(expr.args[0]) and all(map(_only_chooses, expr.args[1:]))
    return expr.op in ("min", "max") and all(map(_only_chooses, expr.args))


def _only_compares(expr: Expr) -> bool:
    """Whether a condition is made of comparisons of such choices."""
    if not isinstance(expr, Op):
        return False
    if all(arg.type.is_bool for arg in expr.args):
        return expr.op in ("and", "or", "not", "==", "!=") and all(map(_only_compares, expr.args))
    return expr.op in ("<", "<=", ">", ">=", "==", "!=") and all(map(_only_chooses, expr.args))


def _inserted(
    update: Update, state: tuple[Maybe, ...], there: Expr, datum: Mapping[str, Expr], best: str
) -> tuple[Maybe, ...]:
    """The state after a datum that may be missing."""
    values: dict[str, Maybe] = {f"x{i}": part for i, part in zip(range(len(state)), state, strict=True)}
    values |= {name: (TRUE, value) for name, value in datum.items()}
    after = (_value(step, values, best) for step in update.components)
    return tuple(
        (tidy(choose(there, flag, before[0])), tidy(choose(there, value, before[1])))
        for (flag, value), before in zip(after, state, strict=True)
    )


def _value(expr: Expr, values: Mapping[str, Maybe], best: str) -> Maybe:
    """A choice among numbers of which some may be missing: they are worse than all others."""
    if isinstance(expr, Var):
        return values[expr.name]
    assert isinstance(expr, Op)
    if expr.op == "select":
        condition = _condition(expr.args[0], values, best)
        (some, one), (more, other) = (_value(arg, values, best) for arg in expr.args[1:])
        return tidy(choose(condition, some, more)), tidy(choose(condition, one, other))
    (some, one), (more, other) = (_value(arg, values, best) for arg in expr.args)
    both = apply(expr.op, one, other)
    if expr.op != best:
        return tidy(apply("and", some, more)), both
    return tidy(apply("or", some, more)), tidy(choose(some, choose(more, both, one), other))


def _condition(expr: Expr, values: Mapping[str, Maybe], best: str) -> Expr:
    """What a comparison says of numbers that may be missing."""
    assert isinstance(expr, Op)
    if all(arg.type.is_bool for arg in expr.args):
        return tidy(apply(expr.op, *(_condition(arg, values, best) for arg in expr.args)))
    (some, one), (more, other) = (_value(arg, values, best) for arg in expr.args)
    compared = apply(expr.op, one, other)
    if expr.op in ("==", "!="):
        alike = apply("and", apply("==", some, more), apply("or", apply("not", some), apply("==", one, other)))
        return tidy(alike if expr.op == "==" else apply("not", alike))
    better, or_alike = (expr.op[0] == ">") == (best == "max"), len(expr.op) == 2
    winner, loser = (some, more) if better else (more, some)
    # The winner must be there, or both are missing and may be alike; a missing loser loses to any.
    there = apply("or", winner, apply("not", loser)) if or_alike else winner
    return tidy(apply("and", there, apply("or", apply("not", apply("and", winner, loser)), compared)))
