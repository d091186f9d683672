"""Infinite starts (floats, unbounded integers): whether a refutation of all finite ones leaves them open."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import dtype_of, evaluate_all, held, spread
from rfactor.ir.exactness import simplified_exactly, simplifies_exactly
from rfactor.ir.expr import Const, Expr, Op, Var, apply, conjunction, const, names, walk
from rfactor.ir.expr import replace as exchange
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.refusal.runs import Run, followed, step
from rfactor.matcher.refusal.separation import numbered, without_rounding
from rfactor.matcher.terms import State, tidy
from rfactor.prover import sampling
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, has_infinity, without_infinities

MOST = 2
"""Most infinite starts that may be left open in the end."""
MOST_ASKED = 8
"""Most of which it is asked whether pairs of runs for finite starts serve them too."""
Start = tuple[Expr | None, ...]
"""An infinite start: its infinite parts, None for those that are any finite value."""


class InfiniteStarts:
    """Infinite `e` (floats, unbounded integers), and which of them may tell all data apart; each is asked once.

    The others send two runs of literals to one end, which are told apart by a state that the `first` datum leads to.
    """

    def __init__(self, update: Update, first: tuple[tuple[str, Expr], ...]) -> None:
        choices: list[list[Expr | None]] = []
        for type_ in update.types:
            ends: list[Expr | None] = [None]
            if type_.is_float:
                ends += [const(type_, type_.max), const(type_, type_.min)]
            elif type_.is_int and update.meaning is Meaning.MATH:
                ends += [MINUS_INFINITY, INFINITY]
            choices.append(ends)
        self.all: tuple[Start, ...] = tuple(
            e for e in itertools.product(*choices) if any(part is not None for part in e)
        )
        self._runs = _LiteralRuns(update, dict(first)) if self.all else None
        self._open: dict[Start, bool] = {}

    def is_open(self, e: Start) -> bool:
        """Whether one of them may tell all data apart."""
        assert self._runs is not None
        if e not in self._open:
            self._open[e] = not (_merges(self._runs, e) or _merges_by_case(self._runs, e))
        return self._open[e]

    def any_open(self) -> bool:
        return any(map(self.is_open, self.all))


@lru_cache(maxsize=16)  # asked again for longer runs
def infinite_starts(update: Update, first: tuple[tuple[str, Expr], ...]) -> InfiniteStarts:
    """The infinite starts of an update, as they are after a first datum."""
    return InfiniteStarts(update, first)


def merged_at(update: Update, e: Sequence[Var], start: Start, pair: tuple[Run, Run]) -> Expr | None:
    """When two runs that are expressions in `e` end alike from an infinite start, as a condition on its finite parts;
    None where this is not known."""
    infinite = {v.name: part for v, part in zip(e, start, strict=True) if part is not None}
    if any(not names(term).isdisjoint(infinite) for run in pair for datum in run for term in datum.values()):
        return None
    begin = tuple(infinite.get(v.name, v) for v in e)
    alike: list[Expr] = []
    for parts in zip(*(followed(update, begin, run) for run in pair), strict=True):
        try:
            one, other = (_plain(part, update.meaning) for part in parts)
        except Undefined:
            return None
        if one == other:
            continue
        if has_infinity(one) or has_infinity(other):
            return None
        alike.append(apply("==", one, other))
    return conjunction(*alike)


def _plain(expr: Expr, meaning: Meaning) -> Expr:
    """Without infinities but at the top, and simplified where none is left. Raises `Undefined`."""
    closed = [n for n in walk(expr) if n.type.is_bool and not names(n) and not has_infinity(n)]
    folded = {n: simplify(n) for n in closed if simplifies_exactly((n,), meaning)}
    expr = without_infinities(exchange(expr, folded))
    return expr if has_infinity(expr) else simplified_exactly(lambda e: canonical(tidy(e)), expr, meaning)


_Step = int | tuple[int, ...]
"""All data of a step, or its data in turn."""
_Numbers = tuple[_Step, ...]
_FEW = (0, 1, 2, 5, -1, -2, 9, 12)
_LITERAL_RUNS: tuple[Sequence[_Numbers], ...] = (
    [(n,) for n in _FEW],
    list(itertools.product(_FEW, repeat=2)),
    [(11, 14, 15), (12, 13, 15), (-1, -4, -5), (-2, -3, -5)],
    # Intervals as long together, with a gap and without.
    [((11, 12), (13, 14)), ((12, 13), (13, 14)), ((12, 11), (14, 13)), ((13, 12), (14, 13))],
)
"""Runs that are compared with others of their length."""
_PLACES = (3.625, -7.4375, 100.1875)
"""Values of finite parts of infinite starts at which it is seen that runs end otherwise."""
_SAMPLES = 144
"""States from which such runs are compared: all that lie by the literals are among them."""


class _LiteralRuns:
    """Runs of literal data, and where they lead from states that one datum leads to."""

    def __init__(self, update: Update, first: Mapping[str, Expr]) -> None:
        self.update = update
        self.reached = step(update, update.accumulators, first)
        numbers = {n for runs in _LITERAL_RUNS for run in runs for n in run}
        self.data = {n: _data(update, n) for n in numbers}
        self.known: dict[_Numbers, list[sampling.Array]] = {}

    def run(self, numbers: _Numbers) -> Run:
        return tuple(self.data[n] for n in numbers)

    def tell_apart(self, one: _Numbers, other: _Numbers) -> bool:
        """Whether two runs of one length lead from a state that was reached to two."""
        ends = self.ends(one), self.ends(other)
        if not any(bool(sampling.differs(a, b).any()) for a, b in zip(*ends, strict=True)):
            return False
        sides = [followed(self.update, self.reached, self.run(numbers)) for numbers in (one, other)]
        return sampling.refute(sides[0], sides[1], self.update.meaning) is not None

    def ends(self, run: _Numbers) -> list[sampling.Array]:
        """Where a run leads from samples; found for all runs of its length at once."""
        if run not in self.known:
            self._follow(next(runs for runs in _LITERAL_RUNS if run in runs))
        return self.known[run]

    def _follow(self, runs: Sequence[_Numbers]) -> None:
        update = self.update
        read_here = [datum for run in runs for n in run for datum in self.data[n].values()]
        near = sampling.literals([*update.components, *self.reached, *read_here])
        env = sampling.points(update.accumulators, update.meaning, _SAMPLES, near)
        parts = self._led(runs, [spread(v, _SAMPLES) for v in evaluate_all(self.reached, env, update.meaning)])
        for at, run in enumerate(runs):
            self.known[run] = [part[at] for part in parts]

    def _led(self, runs: Sequence[_Numbers], states: Sequence[sampling.Array]) -> list[sampling.Array]:
        """(runs, states) for each component: where runs of one length lead."""
        update, count = self.update, len(states[0])
        state, size = [np.tile(part, len(runs)) for part in states], len(runs) * count
        for numbers in zip(*runs, strict=True):
            read = {f"x{i}": part for i, part in enumerate(state)}
            for v in update.data:
                values = list(evaluate_all([self.data[n][v.name] for n in numbers], {}, update.meaning))
                read[v.name] = np.repeat(np.concatenate(values), count)
            state = [spread(v, size) for v in evaluate_all(update.components, read, update.meaning)]
        return [part.reshape(len(runs), count) for part in state]

    def like_others(self, runs: Sequence[_Numbers], e: Sequence[Expr | None]) -> Sequence[_Numbers]:
        """Those of some runs of one length that may end alike from `e`: at a few of its values another one does.

        Not those that end in no number. All of unbounded integers, among which there is no infinite value.
        """
        update = self.update
        if update.meaning is Meaning.MATH and any(t.is_int for t in update.types):
            return runs
        ends = self._led(runs, [_placed(part, t) for part, t in zip(e, update.types, strict=True)])
        nowhere = np.any([np.isnan(part) for part in ends if part.dtype.kind == "f"], axis=0)
        keys = list(map(tuple, numbered(map(without_rounding, ends)).tolist()))
        times = Counter(key for key, lost in zip(keys, nowhere.any(axis=1), strict=True) if not lost)
        unclear = bool((nowhere.any(axis=1) & ~nowhere.all(axis=1)).any())
        return [
            run
            for run, key, lost in zip(runs, keys, nowhere.all(axis=1), strict=True)
            if not lost and (unclear or times[key] > 1)
        ]


def _merges_by_case(runs: _LiteralRuns, e: Sequence[Expr | None]) -> bool:
    """Whether they do both where a finite part of `e` is a literal that a step compares it with, and elsewhere."""
    ways = _Ways(runs, e)
    for numbers in (*((n,) for n in _FEW[:2]), (1, 2), (2, 1)):
        try:
            nodes = {node for part in ways.end(numbers) for node in walk(part)}
        except Undefined:
            continue
        for node in nodes:
            if isinstance(node, Op) and node.op == "==" and isinstance(node.args[1], Const):
                equal = [node.args[1] if x == node.args[0] else part for x, part in zip(ways.x, e, strict=True)]
                if equal != list(e) and _merges(runs, equal) and _merges(runs, e, {node: Const(BOOL, False)}):
                    return True
    return False


def _merges(runs: _LiteralRuns, e: Sequence[Expr | None], known: Mapping[Expr, Expr] | None = None) -> bool:
    """Whether two runs of up to three literal data lead to one state from `e`, and to two after the first datum.

    Parts of `e` that are None are any value for which conditions have the `known` values. Where reals have no value at
    an infinite state, as in x + max(a - x, 0), an operator may have one.
    """
    reals = any(t.is_float for t in runs.update.types)
    ways = _Ways(runs, e, known)
    for numbers_of in _LITERAL_RUNS:
        alike: dict[State, _Numbers] = {}
        for numbers in runs.like_others(numbers_of, e):
            try:
                end = ways.end(numbers)
            except Undefined:
                if reals or len(numbers) > 1:
                    continue
                return True  # an unbounded integer that nothing tells apart
            one = alike.setdefault(end, numbers)
            if one is not numbers and runs.tell_apart(one, numbers):
                return True
    return False


class _Ways:
    """Where runs lead from one start, step by step: from one state each datum leads to one."""

    def __init__(
        self, runs: _LiteralRuns, e: Sequence[Expr | None], conditions: Mapping[Expr, Expr] | None = None
    ) -> None:
        self.runs, self.x = runs, runs.update.accumulators
        self.start: State = tuple(x if part is None else part for x, part in zip(self.x, e, strict=True))
        self.conditions = conditions or {}
        """Values of conditions on the start."""
        self.known: dict[tuple[State, _Step], State | None] = {}
        """None where a step has no value."""

    def end(self, numbers: _Numbers) -> State:
        """The state, simplified. Raises `Undefined`."""
        state: State | None = self.start
        for n in numbers:
            state = None if state is None else self._next(state, n)
        if state is not None:
            return state
        # What has no value on the way need not be read.
        return tuple(map(self.plain, followed(self.runs.update, self.start, self.runs.run(numbers))))

    def _next(self, state: State, number: _Step) -> State | None:
        key = (state, number)
        if key not in self.known:
            try:
                after = step(self.runs.update, state, self.runs.data[number])
                self.known[key] = tuple(map(self.plain, after))
            except Undefined:
                self.known[key] = None
        return self.known[key]

    def plain(self, expr: Expr) -> Expr:
        """Without infinities but at the top, and simplified where none is left. Raises `Undefined`."""
        meaning = self.runs.update.meaning
        form = _plain(exchange(without_infinities(expr), self.conditions), meaning)
        known = exchange(form, self.conditions)  # as a condition is written in its normal form
        return form if known == form else _plain(known, meaning)


def _placed(part: Expr | None, type_: Type) -> sampling.Array:
    """A part of a start at a few values of what is finite in it."""
    if isinstance(part, Const):
        return np.full(len(_PLACES), part.value, dtype=dtype_of(type_))
    places = np.array(_PLACES)
    return held(type_, places) if type_.is_float else places.astype(np.int64).astype(dtype_of(type_))


def _data(update: Update, step: _Step) -> Mapping[str, Expr]:
    values = (step,) if isinstance(step, int) else step
    return {v.name: literal(v.type, values[i % len(values)]) for i, v in enumerate(update.data)}


def literal(type_: Type, number: int) -> Expr:
    return const(type_, number > 0 if type_.is_bool else abs(number) if type_.code == "uint" else number)
