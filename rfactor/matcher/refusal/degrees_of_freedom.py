"""Refutation by counting numbers: runs of a real update that differ in more ways than a state has room for.

Let an operator exist, m be one datum and e its right operand. Where a run w leads from any state that m leads to
depends on f(e; w) alone, which has as many reals as the state, n. As a function of the data of w, f(e; w) is smooth
around most points, whatever e is; on a surface on which it is constant, so is where w leads from all states after m.
Hence the derivative of all these ends by the data has rank n at most. One point where it has more, by exact arithmetic
at some states after m, refutes every e at once. This is so of x*x + a (ends from two states move independently), of
products of components, and of what is kept unless the next is near.

Starts that are infinite have fewer reals, of which no number (inf - inf) is one (`at_infinity`). Those of which nothing
is known are no more than a few, and data that act in more ways cannot all have these for operands. An update that
compares no reals is about reals alone. Slopes of `exp`, `tanh`, `sin` and the like are known between two floats, and so
is a rank at least.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rfactor.ir.evaluate import as_array, evaluate_all, spread
from rfactor.ir.expr import Const, Op, Value, Var, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.refusal.at_infinity import Case, cases, varying_after
from rfactor.matcher.refusal.instance import Refutation, told
from rfactor.matcher.refusal.separation import numbered, without_rounding
from rfactor.matcher.refusal.slopes import NotSmooth, Number, Sample, Sloped, everywhere_defined, rank, real, sloped
from rfactor.prover import sampling
from rfactor.prover.verdict import Proven

_MOST = 4
"""Most reals of a state."""
_LONGER = 2
"""How much longer runs may be than the fewest data that could do."""
_MORE_STARTS = 6
"""How many more starts are looked at than a state has reals."""
_POINTS = 120
"""Points at which differences are taken, for each length of runs."""
_EXACT = 3
"""Of these such as are looked at exactly."""
_NEAR, _FLAT = 2.0**-22, 1e-4
"""The differences, and what is no slope."""
_SPANS = (600, 2400)
"""How far values are from such as matter, in parts of 1024."""
_FIRSTS = ((1, 2, 3, 5), (-1, 1, 2, -2))
"""The first data."""
_STARTS = 40
_RUNS = 500
"""Starts and runs of which an instance is sought."""
_LOOKED_AT = 12
Datum = dict[str, Value]
_Columns = dict[str, sampling.Array]


@dataclass(frozen=True, slots=True)
class _Point:
    """A run, and in how many ways its ends move after each of its steps."""

    run: Sequence[Datum]
    ranks: Sequence[int]


def refute(update: Update, whole: Update, held: Mapping[str, Value], part: bool) -> Refutation | None:
    """A proof that no operator on a state of reals exists; `whole` is the update with its constants, which are `held`.

    The runs of a pair have as many data. Of a `part` of an update other components may tell apart what it cannot.
    """
    reals = sum(t.is_float for t in update.types)
    moving = [v for v in update.data if v.type.is_float]
    if not 0 < reals <= _MOST or not moving or not all(map(everywhere_defined, update.components)):
        return None
    if update.meaning is Meaning.MATH and any(t.is_int for t in update.types):
        return None
    start = time.perf_counter()
    for number, first in enumerate(_first_data(update)):
        search = _Search(update, first, reals, number)
        if search.covers_all(part):
            return _instance(update, whole, held, first, Proven("normal_form", (time.perf_counter() - start) * 1000))
    return None


def _first_data(update: Update) -> Iterator[Datum]:
    for numbers in _FIRSTS:
        yield {v.name: _literal(v, numbers[i % len(numbers)]) for i, v in enumerate(update.data)}


def _literal(v: Var, number: int) -> Value:
    if v.type.is_float:
        return float(number)
    return number > 1 if v.type.is_bool else v.type.wrap(number)


def _compares(update: Update) -> bool:
    """Whether reals are compared."""
    return any(
        isinstance(node, Op) and node.args[0].type.is_float and (node.type.is_bool or node.op in ("min", "max"))
        for component in update.components
        for node in walk(component)
    )


def _literals(update: Update) -> list[float]:
    """Of reals."""
    return sorted(
        {float(n.value) for c in update.components for n in walk(c) if isinstance(n, Const) and n.type.is_float}
    )


class _Search:
    """Points at which ends move in more ways than a state has reals, of runs after one first datum."""

    def __init__(self, update: Update, first: Datum, reals: int, number: int) -> None:
        self.update, self.first, self.reals = update, first, reals
        self.random = np.random.default_rng(number)
        self.compares = _compares(update)
        self.near = _literals(update)
        self.decimal = any(Fraction(str(v)) != Fraction(v) for v in self.near)

    def covers_all(self, part: bool) -> bool:
        """Whether each start is refuted by one of the points, but for a few that cannot be all operands."""
        left: list[Case] | None = None
        for point in self.points():
            if left is None:
                left = cases(self.update) if self.compares else []
            left = [case for case in left if not self.covers(case, point)]
            if not left or (not part and all(case.is_one_start for case in left) and self.acts_in_many_ways()):
                return True
        return False

    def acts_in_many_ways(self) -> bool:
        """Whether data near the first act otherwise than it does."""
        before = {n: _item(c[0]) for n, c in self.drawn(self.update.accumulators).items()}
        moving = [v.name for v in self.update.data if v.type.is_float]
        width = len(moving)
        given = _fixed(self.first, width)
        for at, name in enumerate(moving):
            along = tuple(Fraction(at == other) for other in range(width))
            given[name] = Sloped(Fraction(self.first[name]), along)
        for decimal in (False, True):
            try:
                ends = self.step(_fixed(before, width), given, width, decimal)
            except NotSmooth:
                return False
            if not any(isinstance(part, Sloped) and any(part.slopes) for part in ends.values()):
                return False
        return True

    def covers(self, case: Case, point: _Point) -> bool:
        """Whether the ends of a beginning of the run move in more ways than from the starts of a case."""
        state = case.start
        for datum, ways in zip(point.run, point.ranks, strict=True):
            after = varying_after(self.update, state, datum)
            if after is None:
                return False
            state, varying = after
            if ways > varying:
                return True
        return False

    def points(self) -> Iterator[_Point]:
        """Runs of which the ends move in more ways than a state has reals."""
        moving = sum(v.type.is_float for v in self.update.data)
        least = -(-(self.reals + 1) // moving)
        for length in range(least, least + _LONGER + 1):
            starts = [self.drawn(self.update.accumulators) for _ in range(self.reals + _MORE_STARTS)]
            run = [self.drawn(self.update.data) for _ in range(length)]
            for at in self.promising(starts, run)[:_EXACT]:
                own = [{name: _item(c[at]) for name, c in values.items()} for values in run]
                ranks = self.exact_ranks([{n: _item(c[at]) for n, c in start.items()} for start in starts], own)
                if ranks is not None and ranks[-1] > self.reals:
                    yield _Point(own, ranks)

    def drawn(self, vars_: Sequence[Var]) -> _Columns:
        """Numbers near 0, a literal or the first datum, and on no boundary."""
        columns: _Columns = {}
        size, random = _POINTS, self.random
        about = np.array([0.0, *self.near, *(float(n) for n in self.first.values() if not isinstance(n, bool))])
        spans = np.resize(np.array(_SPANS), size)
        for v in vars_:
            if v.type.is_bool:
                columns[v.name] = random.integers(0, 2, size) > 0
            elif v.type.is_float:
                columns[v.name] = random.choice(about, size) + random.integers(-spans, spans) / 1024 + 1 / 2048
            else:
                columns[v.name] = _integers(v, random.integers(-3, 4, size))
        return columns

    def promising(self, starts: Sequence[_Columns], run: Sequence[_Columns]) -> list[int]:
        """At which of the points the ends seem to move in more ways than a state has reals, by differences."""
        moving = [(i, v.name) for i in range(len(run)) for v in self.update.data if v.type.is_float]
        ways, count = len(moving) + 1, len(starts)
        shape = _POINTS, ways, count

        def tiled(column: sampling.Array) -> sampling.Array:
            return np.broadcast_to(column.reshape(_POINTS, 1, -1), shape).copy()

        begin = {n: tiled(np.stack([start[n] for start in starts], axis=1)).ravel() for n in starts[0]}
        state = _steps(self.update, begin, [{n: np.array([v]) for n, v in self.first.items()}], math.prod(shape))
        for i, datum in enumerate(run):
            read: _Columns = {}
            for name, column in datum.items():
                values = tiled(column)
                if (i, name) in moving:
                    values[:, moving.index((i, name)) + 1] += _NEAR
                read[name] = values.ravel()
            state = _steps(self.update, state, [read], math.prod(shape))
        reals = [part for part, t in zip(state.values(), self.update.types, strict=True) if t.is_float]
        ends = np.concatenate([np.asarray(part, dtype=np.float64).reshape(shape) for part in reals], axis=2)
        with np.errstate(invalid="ignore", over="ignore"):  # then it is not usable
            moved = (ends[:, 1:] - ends[:, :1]) / _NEAR
        usable = np.isfinite(moved).all(axis=(1, 2))
        ranks = np.linalg.matrix_rank(np.where(usable[:, None, None], moved, 0.0), tol=_FLAT)
        return np.flatnonzero(ranks > self.reals).tolist()

    def exact_ranks(self, starts: Sequence[Datum], run: Sequence[Datum]) -> list[int] | None:
        """In how many ways the ends move after each step, whatever decimal literals mean; None if it is not known."""
        ranks = self.ranks(starts, run, False)
        if not self.decimal or ranks is None:
            return ranks
        again = self.ranks(starts, run, True)
        return None if again is None else list(map(min, ranks, again))

    def ranks(self, starts: Sequence[Datum], run: Sequence[Datum], decimal: bool) -> list[int] | None:
        """In how many ways the ends move after each step; None where that is not known."""
        moving = [(i, v.name) for i in range(len(run)) for v in self.update.data if v.type.is_float]
        width = len(moving)
        rows: list[list[Sequence[Number]]] = [[] for _ in run]
        try:
            for start in starts:
                state = self.step(_fixed(start, width), _fixed(self.first, width), width, decimal)
                for i, datum in enumerate(run):
                    given = dict(_fixed(datum, width))
                    for at, (step, name) in enumerate(moving):
                        if step == i:
                            along = tuple(Fraction(at == other) for other in range(width))
                            given[name] = Sloped(Fraction(datum[name]), along)
                    state = self.step(state, given, width, decimal)
                    rows[i] += [part.slopes for part in state.values() if isinstance(part, Sloped)]
        except NotSmooth:
            return None
        return list(map(rank, rows))

    def step(
        self, state: Mapping[str, Sample], datum: Mapping[str, Sample], width: int, decimal: bool
    ) -> dict[str, Sample]:
        values = {**state, **datum}
        return {f"x{i}": sloped(c, values, width, decimal) for i, c in enumerate(self.update.components)}


def _fixed(values: Mapping[str, Value], width: int) -> dict[str, Sample]:
    return {name: real(value, width) if isinstance(value, float) else value for name, value in values.items()}


def _instance(
    update: Update, whole: Update, held: Mapping[str, Value], first: Datum, proof: Proven
) -> Refutation | None:
    """One start with its pair of runs, as values."""
    random = np.random.default_rng(1)
    near = [0.0, *_literals(update)]
    starts = _drawn(update.accumulators, near, _STARTS, random)
    reached = _steps(update, starts, [{name: np.array([value]) for name, value in first.items()}], _STARTS)
    for length in (1, 2, 3):
        run = [_drawn(update.data, near, _RUNS, random) for _ in range(length)]
        data: list[int] = numbered(column for datum in run for column in datum.values()).tolist()
        ends = [_ends(update, starts, run, i) for i in range(_STARTS)]
        others = [_ends(update, reached, run, i) for i in range(0, _STARTS, 3)]
        for i, own in enumerate(ends):
            for one, other in itertools.islice(_pairs(own, data), _LOOKED_AT):
                at = next((j for j, theirs in enumerate(others) if theirs[one] != theirs[other]), None)
                if at is None:
                    continue
                e = [_item(starts[v.name][i]) for v in update.accumulators]
                x = [_item(reached[v.name][3 * at]) for v in update.accumulators]
                runs = [[{name: _item(column[n]) for name, column in d.items()} for d in run] for n in (one, other)]
                found = told(whole, e, x, (runs[0], runs[1]), held, proof)
                if found is not None:
                    return found
    return None


def _item(value: np.generic) -> Value:
    number: Value = value.item()
    return number


def _drawn(vars_: Sequence[Var], near: Sequence[float], size: int, random: np.random.Generator) -> _Columns:
    """Integers near 0 and a half, and quarters of one by the literals."""
    columns: _Columns = {}
    for v in vars_:
        numbers = random.integers(-3, 4, size)
        if v.type.is_float:
            plain = np.where(numbers == 3, 0.5, numbers.astype(np.float64))
            by_literals = random.choice(near, size) + random.integers(-6, 7, size) / 4
            columns[v.name] = np.where(random.integers(0, 3, size) > 0, plain, by_literals)
        elif v.type.is_bool:
            columns[v.name] = numbers > 0
        else:
            columns[v.name] = _integers(v, numbers)
    return columns


def _integers(v: Var, numbers: sampling.Array) -> sampling.Array:
    return as_array(v.type, [v.type.wrap(int(n)) for n in numbers.tolist()])


def _steps(update: Update, state: _Columns, run: Sequence[_Columns], size: int) -> _Columns:
    for datum in run:
        values = evaluate_all(update.components, {**state, **datum}, update.meaning)
        state = {f"x{i}": spread(v, size) for i, v in enumerate(values)}
    return state


def _ends(update: Update, starts: _Columns, run: Sequence[_Columns], at: int) -> list[int]:
    """A number for where each run leads from one of the starts."""
    end = _steps(update, {name: np.repeat(c[at : at + 1], _RUNS) for name, c in starts.items()}, run, _RUNS)
    numbers: list[int] = numbered(map(without_rounding, end.values())).tolist()
    return numbers


def _pairs(ends: Sequence[int], data: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs with one end, of different data."""
    seen: dict[int, int] = {}
    for at, end in enumerate(ends):
        if end not in seen:
            seen[end] = at
        elif data[seen[end]] != data[at]:
            yield seen[end], at
