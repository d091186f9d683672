"""The units of the search: what is enumerated and filtered in one step, for checkpoints and for workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rfactor.enumerate.classes import Candidates, Classes
from rfactor.enumerate.filters import Survivors, associative_on_samples, elementary, fingerprints
from rfactor.enumerate.groups import Group
from rfactor.enumerate.pairs import Parts, joined, parts
from rfactor.enumerate.points import Family
from rfactor.native.lanes import LEAVES
from rfactor.enumerate.trees import REVERSED, SWAPPED, leaf_counts, renamed

STORED = {1: 5, 2: 4}
"""Leaves up to which classes are kept with their value vectors, by number of components."""
WITHOUT_IDENTITY = 5
"""Leaves up to which operators of one component are kept although they have no identity."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Candidates of one family with the given leaves in each component."""

    family: Family
    leaves: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"search {self.family.name} {'+'.join(map(str, self.leaves))}"


def units(families: list[Family], components: tuple[int, ...], max_leaves: int) -> list[Unit]:
    """All units, family by family, smallest first."""
    shapes: list[tuple[int, ...]] = []
    if 1 in components:
        shapes += [(n,) for n in range(1, max_leaves + 1)]
    if 2 in components:
        shapes += [(s, n - s) for n in range(4, max_leaves + 1) for s in range(2, n // 2 + 1)]
    shapes.sort(key=lambda shape: (sum(shape), shape))
    return [Unit(family, shape) for family in families for shape in shapes]


@lru_cache(maxsize=4)
def _classes(family: Family, components: int, seed: int) -> Classes:
    return Classes(family, components, seed)


def classes(family: Family, components: int, size: int, seed: int) -> Classes:
    """The classes grown as far as candidates of `size` leaves need."""
    found = _classes(family, components, seed)
    while found.largest < min(size, STORED[components]):
        found.grow()
    return found


class _Parts:
    """The parts of pairs, by growing size."""

    def __init__(self, family: Family, seed: int) -> None:
        self.family, self.seed = family, seed
        self.found: dict[int, Parts] = {}
        self.seen: set[bytes] = set()

    def of(self, size: int) -> Parts:
        for smaller in range(2, size + 1):
            if smaller not in self.found:
                source = classes(self.family, 2, smaller, self.seed)
                self.found[smaller] = parts(source, smaller, self.seen)
        return self.found[size]


@lru_cache(maxsize=4)
def _parts(family: Family, seed: int) -> _Parts:
    return _Parts(family, seed)


@dataclass(frozen=True, slots=True)
class Found:
    """What a unit found for one group, with counts of what was dropped on the way."""

    survivors: Survivors
    counts: dict[str, int]


def search(unit: Unit, groups: list[Group], seed: int) -> dict[str, Found]:
    """Runs a unit for the groups of its family."""
    streams = _pairs(unit, seed) if len(unit.leaves) == 2 else _singles(unit, seed)
    gathered: dict[str, list[Survivors]] = {group.name: [] for group in groups}
    seen: dict[str, set[bytes]] = {group.name: set() for group in groups}
    counts = {
        group.name: dict.fromkeys(("candidates", "associative on samples", "elementary", "distinct"), 0)
        for group in groups
    }
    for programs in streams:
        for group in groups:
            count = counts[group.name]
            count["candidates"] += len(programs[0])
            passed = associative_on_samples(group, programs, seed)
            count["associative on samples"] += len(passed)
            if sum(unit.leaves) > 1:
                passed = passed[elementary(group, passed.programs, seed)]
            count["elementary"] += len(passed)
            new = first_seen(fingerprints(group, passed.programs, seed), seen[group.name])
            count["distinct"] += len(new)
            gathered[group.name].append(passed[new])
    return {
        group.name: Found(Survivors.join(gathered[group.name], len(unit.leaves)), counts[group.name])
        for group in groups
    }


def first_seen(keys: np.ndarray, seen: set[bytes]) -> np.ndarray:
    """Indices of the keys not in `seen`, each key once; they are afterwards."""
    kept = []
    for index, key in zip(range(len(keys)), keys, strict=True):
        raw = key.tobytes()
        if raw not in seen:
            seen.add(raw)
            kept.append(index)
    return np.array(kept, np.int64)


def _singles(unit: Unit, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    (size,) = unit.leaves
    source = classes(unit.family, 1, size, seed)
    if size == 1:
        # The first and the last value.
        yield (source.programs[: LEAVES.index("k") - 2],)
        return
    every = size <= min(source.largest, WITHOUT_IDENTITY)
    stream: Iterator[Candidates] = source.known(size) if every else source.streamed(size)
    for found in stream:
        programs = found.programs if every else found.programs[found.masks != 0]
        yield (programs,)
        if not every:
            yield (renamed(programs, REVERSED),)


def _pairs(unit: Unit, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    small, large = unit.leaves
    source = _parts(unit.family, seed)
    zero, one = source.of(small).zero, source.of(large).one
    counts = leaf_counts(one.programs)
    independent = counts[:, 0] + counts[:, 2] == 0
    for i, j in joined(zero, one, same_size=small == large):
        first, second = zero.programs[i], one.programs[j]
        # A component that does not depend on the other stands first.
        turn = independent[j][:, None]
        first, second = (
            np.where(turn, renamed(second, SWAPPED), first),
            np.where(turn, renamed(first, SWAPPED), second),
        )
        yield first, second
        yield renamed(first, REVERSED), renamed(second, REVERSED)
