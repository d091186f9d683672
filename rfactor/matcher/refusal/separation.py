"""Does a start tell apart what others do? The necessary condition of every operator, on samples of all starts at once.

If `f(x; d) = op(x, g(d))` and `op(e, g) = g`, then data that lead to one state from `e` lead to one state from every x.
Data are drawn from few values, so that many agree from a start that does not see all of them.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from rfactor.ir.evaluate import as_array, evaluate, evaluate_all, spread
from rfactor.ir.expr import Expr, Value, leaves, names
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.kept import Kept
from rfactor.matcher.terms import State
from rfactor.prover import sampling
from rfactor.prover.infinity import is_infinite

_DATA = 64
"""Sampled data."""
_LONGEST = 3
"""Data of the longest runs."""
_LOOKS = ((16, 1), (_DATA, 1), *((_DATA, steps) for steps in range(2, _LONGEST + 1)))
"""How many data, and runs of up to how many, starts are held against in turn; few starts not against few data."""
_STATES = [0, 3, 17, 20, 30, 33, 40]
"""Which sampled values of the accumulators data are told apart from."""
_WEIGHTS = np.array([[(2 * i + 1) * 0x9E3779B97F4A7C15 % (1 << 64)] for i in range(len(_STATES))], dtype=np.uint64)
_WIDE = 1 << 63
"""Integers from here on are told apart by their hashes."""


_FIRST, _LATER = 4, 200
"""Starts that are looked at together: the likeliest, then the others."""


_KNOWN: Kept[Update, dict[State, bool]] = Kept(64)
"""Which starts are promising: variants of an update have no others than it has."""


def promising(update: Update, starts: Iterable[State]) -> Iterator[State]:
    """The starts that may tell data apart as far as every other state does: without that no operator exists."""
    known = _KNOWN.get(update)
    if known is None:
        known = {}
        _KNOWN.keep(update, known)
    separation: Separation | None = None
    waiting = iter(starts)
    for size in (_FIRST, _LATER):
        some = list(itertools.islice(waiting, size))
        new = [e for e in some if e not in known]
        if new:
            separation = separation or Separation(update)
            known.update(zip(new, separation.of(new), strict=True))
        yield from (e for e in some if known[e])


class Separation:
    """Sampled data of an update, and which of them some x tells apart."""

    def __init__(self, update: Update) -> None:
        self.update = update
        self.factors = max(map(leaves, update.components))
        """How many times as long as the longest value of a step its results may be."""
        self.inexact = any(type_.is_float for type_ in update.types)
        literals = sampling.literals(update.components)
        self.data: list[dict[str, sampling.Array]] = [{} for _ in range(_LONGEST)]
        """What runs read, step by step."""
        for index, var in enumerate(update.data):
            few = _few(var.type, update.meaning, index, literals.get(var.type, ()))
            for step, data in enumerate(self.data):
                data[var.name] = few[_order(index, step)]
        held = [v for v in sampling.used(update.components) if v.name in update.constants]
        states = sampling.points([*update.accumulators, *held], update.meaning, 48, literals)
        self.constants = {v.name: np.full(_DATA, states[v.name][0], states[v.name].dtype) for v in held}
        self.states = [states[v.name][_STATES] for v in update.accumulators]
        """Sampled x, from which data are told apart."""
        self._reached: list[_Reached] = []

    def of(self, starts: Sequence[State]) -> list[bool]:
        """Of each `e`, whether no two runs that it cannot tell apart are told apart by another x, as far as seen.

        True of starts that have no value of their type, and of infinite ones where the step has none.
        """
        result = [True] * len(starts)
        types = self.update.types
        parts = {pair for e in starts for pair in zip(e, types, strict=True)}
        endless = {pair for pair in parts if self._is_endless(*pair)}
        values = {pair: self._value(pair[0]) for pair in parts if pair in endless or self._has_value(*pair)}
        columns = [list(zip(e, types, strict=True)) for e in starts]
        computed = [i for i, row in enumerate(columns) if all(pair in values for pair in row)]
        known = {i: [values[pair] for pair in columns[i]] for i in computed}
        far = {i for i in computed if not endless.isdisjoint(columns[i])}
        self._tell({i: value for i, value in known.items() if i not in far}, result)
        with contextlib.suppress(TypeError, ValueError, OverflowError):  # of operations that take no infinity
            self._tell({i: known[i] for i in sorted(far)}, result)
        return result

    def _tell(self, known: dict[int, list[sampling.Array]], result: list[bool]) -> None:
        """Enter which starts, by number, cannot tell runs apart; of runs that end in endless numbers nothing."""
        with contextlib.suppress(_Endless):
            self._look(known, result)

    def _look(self, known: dict[int, list[sampling.Array]], result: list[bool]) -> None:
        state: list[sampling.Array] = []
        numbers: sampling.Array
        for size, steps in _LOOKS if len(known) > _FIRST else _LOOKS[1:]:
            if not known:
                return
            if steps == 1:
                columns = zip(*known.values(), strict=True)
                state = [np.repeat(np.concatenate(column), size) for column in columns]
                numbers = np.empty((len(known), 0), dtype=np.uint64)
            state = self._after(state, steps, size)
            numbers = np.concatenate([numbers, numbered(state).reshape(len(known), size)], axis=1)
            kept = ~self._clash(numbers, self.reached(steps))
            for i, fine in zip(known, kept.tolist(), strict=True):
                result[i] = fine
            known = {i: value for i, value in known.items() if result[i]}
            numbers = numbers[kept]
            state = [part[np.repeat(kept, size)] for part in state]

    def reached(self, longest: int) -> _Reached:
        """Where runs of up to so many data lead from the sampled x."""
        while len(self._reached) < longest:
            last = self._reached[-1] if self._reached else None
            state = [np.repeat(part, _DATA) for part in self.states] if last is None else last.state
            state = self._after(state, len(self._reached) + 1)
            ends = [part.reshape(len(_STATES), _DATA) for part in state]
            number = (numbered(ends) * _WEIGHTS).sum(axis=0, dtype=np.uint64)
            if last is not None:
                ends = [np.concatenate(pair, axis=1) for pair in zip(last.ends, ends, strict=True)]
                number = np.concatenate([last.number, number])
            self._reached.append(_Reached(state, ends, number))
        return self._reached[longest - 1]

    def _clash(self, numbers: sampling.Array, reached: _Reached) -> sampling.Array:
        """Of each row of numbers of ends, whether two that are equal are of runs that some sampled x tells apart."""
        order = np.argsort(numbers, axis=1)
        ordered, known = np.take_along_axis(numbers, order, axis=1), reached.number[order]
        # Of equal ends not all are of one kind: then two neighbours are not.
        bad: sampling.Array = (ordered[:, 1:] == ordered[:, :-1]) & (known[:, 1:] != known[:, :-1])
        if self.inexact and bad.any():
            rows, places = np.nonzero(bad)
            one, other = order[rows, places], order[rows, places + 1]
            differ = [np.any(sampling.differs(end[:, one], end[:, other]), axis=0) for end in reached.ends]
            bad[rows, places] = np.any(differ, axis=0)
        clash: sampling.Array = np.asarray(bad.any(axis=1))
        return clash

    def _after(self, state: Sequence[sampling.Array], step: int, few: int = _DATA) -> list[sampling.Array]:
        """Where the first few data of a step lead from states that repeat for each of them."""
        size = len(state[0])
        data = self.data[step - 1] | self.constants
        env = {name: np.tile(value[:few], size // few) for name, value in data.items()}
        env |= {f"x{i}": part for i, part in enumerate(state)}
        if max(_bits(part) for part in env.values()) * self.factors > _MOST_BITS:
            raise _Endless
        return [spread(v, size) for v in evaluate_all(self.update.components, env, self.update.meaning)]

    def _value(self, part: Expr) -> sampling.Array:
        """The value of a start's component, an array of one."""
        value = evaluate(part, self.constants, self.update.meaning)[:1]
        return value.astype(object) if is_infinite(part) and not self.inexact else value

    def _has_value(self, part: Expr, type_: Type) -> bool:
        """Whether a start's component has a value of its type."""
        return part.type == type_ and names(part) <= self.constants.keys()

    def _is_endless(self, part: Expr, type_: Type) -> bool:
        """Whether a start's component is an infinity among Python's integers."""
        return is_infinite(part) and type_.is_int and self.update.meaning is Meaning.MATH


class _Endless(Exception):
    """A step would make longer numbers than there is time for."""


_MOST_BITS = 20_000
"""Of what a step makes of unbounded integers."""


def _bits(values: sampling.Array) -> int:
    """The length of the longest unbounded integer."""
    if values.dtype != object:
        return 0
    return max((value.bit_length() for value in values.tolist() if isinstance(value, int)), default=0)


@dataclass(frozen=True, slots=True)
class _Reached:
    """Where runs lead from the sampled x."""

    state: Sequence[sampling.Array]
    """For each component, (x * data,): where the longest runs lead."""
    ends: Sequence[sampling.Array]
    """For each component, (x, runs)."""
    number: sampling.Array
    """(runs,): where a run leads from all x, as one number."""


@cache
def _order(index: int, step: int) -> sampling.Array:
    """An order of the data for a step: their own for the first."""
    return np.arange(_DATA) if step == 0 else np.random.default_rng(100 * step + index).permutation(_DATA)


def numbered(columns: Iterable[sampling.Array]) -> sampling.Array:
    """One number of 64 bits for each tuple of values: equal tuples have equal numbers, others almost surely do not."""
    result: sampling.Array = np.zeros((), dtype=np.uint64)
    for column in columns:
        result = _mixed(result * np.uint64(3) + _numbers(column))
    return result


def without_rounding(values: sampling.Array) -> sampling.Array:
    """Floats rounded, so that those are equal that are so but for rounding."""
    if values.dtype.kind != "f":
        return values
    with np.errstate(over="ignore"):
        return np.round(values.astype(np.float64), 6)


def _mixed(numbers: sampling.Array) -> sampling.Array:
    """Numbers of 64 bits scrambled, the finaliser of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    mixed: sampling.Array = numbers ^ (numbers >> np.uint64(31))
    return mixed


def _numbers(values: sampling.Array) -> sampling.Array:
    """Values as integers of 64 bits, equal values as equal ones."""
    if values.dtype == object:
        try:
            return values.astype(np.int64).view(np.uint64)
        except OverflowError:
            short = [v if -_WIDE <= v < _WIDE else hash(v) for v in values.ravel().tolist()]
            return np.array(short, dtype=np.int64).view(np.uint64).reshape(values.shape)
    if values.dtype.kind == "f":
        wide = values.astype(np.float64) + 0.0  # one zero
        numbers: sampling.Array = np.where(np.isnan(wide), np.nan, wide).view(np.uint64)
        return numbers
    return values.astype(np.uint64)


@lru_cache(maxsize=256)
def _few(type_: Type, meaning: Meaning, index: int, near: tuple[Value, ...]) -> sampling.Array:
    """Half the values 0 and 1, a quarter from a few more and those by the literals, a quarter as ever."""
    random = np.random.default_rng(index + 1)
    if type_.is_bool:
        return random.integers(0, 2, _DATA).astype(bool)
    low = 0 if type_.code == "uint" else -1
    few = [0, 1, 2, low, *(v + step for v in near if abs(v) < 1 << 40 for step in (-1, 0, 1))]
    if type_.is_int and meaning is Meaning.WRAP:
        few = [type_.wrap(int(v)) for v in (*few, type_.min, type_.max)]
    elif type_.code == "uint":
        few = [v for v in few if v >= 0]
    half, quarter = _DATA // 2, _DATA // 4
    values: list[Value] = random.integers(0, 2, half).tolist()
    values += [few[i] for i in random.integers(0, len(few), quarter).tolist()]
    drawn = sampling.column(type_, meaning, index, 48)[: _DATA - half - quarter]
    # Reals are sampled in double precision, whatever their type.
    return np.concatenate(
        [np.array(values, dtype=float) if type_.is_float else as_array(type_, values, meaning), drawn]
    )
