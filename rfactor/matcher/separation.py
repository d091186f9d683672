"""Does a start tell apart what others do? The necessary condition of every operator, on samples of all starts at once.

If `f(x; d) = op(x, g(d))` and `op(e, g) = g`, then data that lead to one state from `e` lead to one state from every x.
Data are drawn from few values, so that many agree from a start that does not see all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from rfactor.ir.evaluate import as_array, evaluate
from rfactor.ir.expr import Expr, Value
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import State
from rfactor.prover import sampling
from rfactor.prover.infinity import is_infinite

_DATA = 64
"""Sampled data."""


_FIRST, _LATER = 4, 200
"""Starts that are looked at together: the likeliest, then the others."""


def promising(update: Update, starts: Iterable[State]) -> Iterator[State]:
    """The starts that may tell data apart as far as every other state does: without that no operator exists."""
    separation = Separation(update)
    waiting = iter(starts)
    for size in (_FIRST, _LATER):
        some = list(itertools.islice(waiting, size))
        yield from itertools.compress(some, separation.of(some))


class Separation:
    """Sampled data of an update, and which of them some x tells apart."""

    def __init__(self, update: Update) -> None:
        self.update = update
        literals = sampling.literals(update.components)
        self.data: dict[str, sampling.Array] = {}
        self.second: dict[str, sampling.Array] = {}
        """The second data of runs of two."""
        for index, var in enumerate(update.data):
            self.data[var.name] = _few(var.type, update.meaning, index, literals.get(var.type, ()))
            order = np.random.default_rng(100 + index).permutation(_DATA)
            self.second[var.name] = self.data[var.name][order]
        held = [v for v in sampling.used(update.components) if v.name in update.constants]
        states = sampling.points([*update.accumulators, *held], update.meaning, 48, literals)
        self.constants = {v.name: np.full(_DATA, states[v.name][0], states[v.name].dtype) for v in held}
        self.states = [states[v.name][[0, 3, 17, 20, 30, 33, 40]] for v in update.accumulators]
        """Sampled x, from which data are told apart."""
        self._apart: dict[int, sampling.Array] = {}

    def of(self, starts: Sequence[State]) -> list[bool]:
        """Of each `e`, whether no two runs that it cannot tell apart are told apart by another x, as far as seen.

        True of starts that have no value of their type.
        """
        result = [True] * len(starts)
        for longest in (1, 2):
            known = [i for i, e in enumerate(starts) if result[i] and all(map(self._has_value, e, self.update.types))]
            if not known:
                break
            x = []
            for at in range(len(self.update.types)):
                x.append(
                    np.concatenate([evaluate(starts[i][at], self.constants, self.update.meaning)[:1] for i in known])
                )
            ends = numbered(self._ends(x, longest))
            clash = np.any((ends[:, :, None] == ends[:, None, :]) & self.apart(longest), axis=(1, 2))
            for i, bad in zip(known, clash.tolist(), strict=True):
                result[i] = not bad
        return result

    def apart(self, longest: int) -> sampling.Array:
        """(runs, runs): whether two runs lead to different states from one of the sampled x, beyond rounding."""
        known = self._apart.get(longest)
        if known is None:
            known = np.zeros((longest * _DATA,) * 2, dtype=bool)
            for end in self._ends(self.states, longest):
                known |= np.any(sampling.differs(end[:, :, None], end[:, None, :]), axis=0)
            self._apart[longest] = known
        return known

    def _ends(self, starts: Sequence[sampling.Array], longest: int) -> list[sampling.Array]:
        """For each component (starts, runs): where runs of one datum, and then of two, lead from each start."""
        count = len(starts[0])
        state = [np.repeat(part, _DATA) for part in starts]
        reached: list[list[sampling.Array]] = [[] for _ in starts]
        for data in (self.data, self.second)[:longest]:
            env = {name: np.tile(value, count) for name, value in (data | self.constants).items()}
            env |= {f"x{i}": part for i, part in enumerate(state)}
            state = [
                np.broadcast_to(evaluate(component, env, self.update.meaning), (count * _DATA,))
                for component in self.update.components
            ]
            for parts, part in zip(reached, state, strict=True):
                parts.append(part.reshape(count, _DATA))
        return [np.concatenate(parts, axis=1) for parts in reached]

    def _has_value(self, part: Expr, type_: Type) -> bool:
        """Whether a start's component can be computed with: a float's infinities can."""
        return part.type == type_ and not part.children and not (is_infinite(part) and not type_.is_float)


def numbered(columns: Iterable[sampling.Array]) -> sampling.Array:
    """One number of 64 bits for each tuple of values: equal tuples have equal numbers, others almost surely do not."""
    result: sampling.Array = np.zeros((), dtype=np.uint64)
    for column in columns:
        result = _mixed(result * np.uint64(3) + _numbers(column))
    return result


def _mixed(numbers: sampling.Array) -> sampling.Array:
    """Numbers of 64 bits scrambled, the finaliser of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    mixed: sampling.Array = numbers ^ (numbers >> np.uint64(31))
    return mixed


def _numbers(values: sampling.Array) -> sampling.Array:
    """Values as integers of 64 bits, equal values as equal ones."""
    if values.dtype == object:
        hashes = [hash(v) & ((1 << 64) - 1) for v in values.ravel().tolist()]
        return np.array(hashes, dtype=np.uint64).reshape(values.shape)
    if values.dtype.kind == "f":
        wide = values.astype(np.float64) + 0.0  # one zero
        numbers: sampling.Array = np.where(np.isnan(wide), np.nan, wide).view(np.uint64)
        return numbers
    return values.astype(np.uint64)


def _few(type_: Type, meaning: Meaning, index: int, near: Sequence[Value]) -> sampling.Array:
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
