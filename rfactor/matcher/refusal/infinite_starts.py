"""Infinite starts (floats, unbounded integers): whether a refutation of all finite ones leaves them open."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Expr, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.refusal.runs import Run, followed, step
from rfactor.matcher.terms import State, tidy
from rfactor.prover import sampling
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, has_infinity, without_infinities

MOST = 2
"""Most infinite starts that may be left open."""


def left_open(update: Update, first: Mapping[str, Expr]) -> set[State] | None:
    """Infinite `e` (floats, unbounded integers) that may tell all data apart; None if they are more than a few.

    The others send two runs to one end, which are told apart by a state that the `first` datum leads to.
    """
    unbounded = [t.is_float or (t.is_int and update.meaning is Meaning.MATH) for t in update.types]
    if not any(unbounded):
        return set()
    choices: list[list[Expr | None]] = []
    for type_, can in zip(update.types, unbounded, strict=True):
        ends: list[Expr | None] = [None]
        if can and type_.is_float:
            ends += [const(type_, type_.max), const(type_, type_.min)]
        elif can:
            ends += [MINUS_INFINITY, INFINITY]
        choices.append(ends)
    left: set[State] = set()
    for e in itertools.product(*choices):
        if any(part is not None for part in e) and not _merges(update, e, first):
            single = tuple(part for part in e if part is not None)
            if len(single) < len(e) or len(left) == MOST:
                return None
            left.add(single)
    return left


_FEW = (0, 1, 2, 5, -1, -2, 9, 12)
_LITERAL_RUNS: tuple[Sequence[tuple[int, ...]], ...] = (
    [(n,) for n in _FEW],
    list(itertools.product(_FEW, repeat=2)),
    [(11, 14, 15), (12, 13, 15), (-1, -4, -5), (-2, -3, -5)],
)
"""Runs that are compared with others of their length."""
_NUMBERS = {n for runs in _LITERAL_RUNS for run in runs for n in run}


def _merges(update: Update, e: Sequence[Expr | None], first: Mapping[str, Expr]) -> bool:
    """Whether two runs of up to three literal data lead to one state from `e`, and to two after `first`.

    Parts of `e` that are None are any value. Where reals have no value at an infinite state, as in
    x + max(a - x, 0), an operator may have one.
    """
    state = tuple(x if part is None else part for x, part in zip(update.accumulators, e, strict=True))
    reached = step(update, update.accumulators, first)
    reals = any(t.is_float for t in update.types)
    values = {n: {v.name: literal(v.type, n) for v in update.data} for n in _NUMBERS}
    for runs in _LITERAL_RUNS:
        alike: dict[State, list[Run]] = {}
        for numbers in runs:
            run = tuple(values[n] for n in numbers)
            try:
                end = tuple(_tidied(without_infinities(part)) for part in followed(update, state, run))
            except Undefined:
                if reals or len(run) > 1:
                    continue
                return True  # an unbounded integer that nothing tells apart
            alike.setdefault(end, []).append(run)
        for one, *others in alike.values():
            from_one = followed(update, reached, one)
            for other in others:
                if sampling.refute(from_one, followed(update, reached, other), update.meaning) is not None:
                    return True
    return False


def literal(type_: Type, number: int) -> Expr:
    return const(type_, number > 0 if type_.is_bool else abs(number) if type_.code == "uint" else number)


def _tidied(expr: Expr) -> Expr:
    """Simplified where no infinity stands in the way."""
    return expr if has_infinity(expr) else canonical(tidy(expr))
