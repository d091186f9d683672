"""Liftings of the k largest or smallest where empty slots have no value of their own, or a first step sorts the state.

Unbounded integers have no least value to fill slots with, and `max(x0, a), min(x0, max(x1, a)), min(x1, max(x2, a))`
brings a state in order that is in none. A run holds its own k best, each with a flag that says whether there is one,
and is joined to what is before it by inserting these, one after another, by the update itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from rfactor.ir.expr import Expr, Op, Var, apply
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


def claims(update: Update) -> Iterator[Claim]:
    """Claims for two or three numbers of one type that one datum is compared with, and chosen or not."""
    type_, count = update.types[0], len(update.types)
    if not 2 <= count <= _MOST or len(update.data) != 1 or type_.is_bool or update.constants:
        return
    (datum,) = update.data
    if datum.type != type_ or any(t != type_ for t in update.types) or not all(map(_only_chooses, update.components)):
        return
    types = (*(BOOL,) * count, *(type_,) * count)
    own, other = operands("x", types), operands("y", types)
    x: tuple[Maybe, ...] = tuple(zip(own[:count], own[count:], strict=True))
    y: tuple[Maybe, ...] = tuple(zip(other[:count], other[count:], strict=True))
    neighbours = tuple(pairwise(y))
    filled = tuple(apply("or", flag, apply("==", value, nought(type_))) for flag, value in y)
    first = tuple(apply("or", apply("not", later[0]), earlier[0]) for earlier, later in neighbours)
    data = (TRUE, *(FALSE,) * (count - 1), datum, *(nought(type_),) * (count - 1))
    identity = (*(FALSE,) * count, *(nought(type_),) * count)
    for best, order in _ORDERS:
        ordered = tuple(
            apply("or", apply("not", later[0]), apply(order, earlier[1], later[1])) for earlier, later in neighbours
        )
        joined = x
        applied: tuple[Maybe, ...] = tuple((TRUE, v) for v in update.accumulators)
        for slot in y:
            joined = _inserted(update, joined, slot, datum, best)
            applied = _inserted(update, applied, slot, datum, best)
        if all(flag == TRUE for flag, _ in applied):
            operator = (*(flag for flag, _ in joined), *(choose(flag, value, nought(type_)) for flag, value in joined))
            lift = Lift(types, data, operator, identity, tuple(value for _, value in applied))
            yield Claim(update, lift=lift, invariant=(*filled, *first, *ordered))


def _only_chooses(expr: Expr) -> bool:
    """Whether an expression compares state and datum and chooses among them, and does nothing else."""
    return isinstance(expr, Var) or (
        isinstance(expr, Op)
        and expr.op in ("min", "max", "select", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not")
        and all(map(_only_chooses, expr.args))
    )


def _inserted(update: Update, state: tuple[Maybe, ...], slot: Maybe, datum: Var, best: str) -> tuple[Maybe, ...]:
    """The state after a datum that may be missing."""
    there, value = slot
    values: dict[str, Maybe] = {f"x{i}": part for i, part in enumerate(state)} | {datum.name: (TRUE, value)}
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
