"""The units of the search: what is enumerated and filtered in one step, for checkpoints and for workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rfactor.enumerate.classes import WHOLE, Candidates, Classes, Share
from rfactor.enumerate.filters import (
    QUICK,
    THOROUGH,
    Survivors,
    associative_on_samples,
    elementary,
    first_seen,
    two_sided_prints,
)
from rfactor.enumerate.groups import Group
from rfactor.enumerate.identity import has_guess
from rfactor.enumerate.pairs import Parts, joined, parts
from rfactor.enumerate.points import Family
from rfactor.enumerate.trees import SWAPPED, leaf_counts, renamed
from rfactor.native.lanes import LEAVES

STORED = {1: 5, 2: 4}
"""Leaves up to which classes are kept with their value vectors, by number of components."""
SHARES: dict[tuple[int, ...], int] = {(7,): 2, (8,): 12}
"""Into how many units the larger searches are divided."""
WITHOUT_IDENTITY = 5
"""Leaves up to which operators of one component are kept although they have no identity."""


STAGES = (
    "candidates",
    "associative on samples",
    "distinct",
    "identity on samples",
    "elementary",
    "associative on all samples",
)
"""What is counted of a search, in the order of the filters."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Candidates of one family with the given leaves in each component."""

    family: Family
    leaves: tuple[int, ...]
    share: Share = WHOLE

    @property
    def name(self) -> str:
        part = "" if self.share == WHOLE else f" part {self.share.part + 1} of {self.share.parts}"
        return f"search {self.family.name} {'+'.join(map(str, self.leaves))}{part}"


def units(families: list[Family], components: tuple[int, ...], max_leaves: tuple[int, int]) -> list[Unit]:
    """All units, family by family, smallest first."""
    shapes: list[tuple[int, ...]] = []
    if 1 in components:
        shapes += [(n,) for n in range(1, max_leaves[0] + 1)]
    if 2 in components:
        shapes += [(s, n - s) for n in range(4, max_leaves[1] + 1) for s in range(2, n // 2 + 1)]
    shapes.sort(key=lambda shape: (sum(shape), shape))
    return [
        Unit(family, shape, Share(part, parts))
        for family in families
        for shape in shapes
        for parts in [SHARES.get(shape, 1)]
        for part in range(parts)
    ]


@lru_cache(maxsize=2)
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
        self.seen: set[int] = set()

    def of(self, size: int) -> Parts:
        for smaller in range(2, size + 1):
            if smaller not in self.found:
                source = classes(self.family, 2, smaller, self.seed)
                self.found[smaller] = parts(source, smaller, self.seen)
        return self.found[size]


@lru_cache(maxsize=1)
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
    seen: dict[str, set[int]] = {group.name: set() for group in groups}
    counts = {group.name: dict.fromkeys(STAGES, 0) for group in groups}
    for programs in _gathered(streams):
        for group in groups:
            count = counts[group.name]
            count["candidates"] += len(programs[0])
            passed = Survivors(programs, np.full(len(programs[0]), group.all_types))
            passed = associative_on_samples(group, passed, QUICK, seed)
            count["associative on samples"] += len(passed)
            passed = passed[first_seen(two_sided_prints(group, passed.programs, seed), seen[group.name])]
            count["distinct"] += len(passed)
            if needs_identity(unit.leaves):
                passed = passed[has_guess(group.types[-1], group.meaning, passed.programs, seed)]
            count["identity on samples"] += len(passed)
            if sum(unit.leaves) > 1:
                passed = passed[elementary(group, passed.programs, seed)]
            count["elementary"] += len(passed)
            passed = associative_on_samples(group, passed, THOROUGH, seed)
            count["associative on all samples"] += len(passed)
            gathered[group.name].append(passed)
    return {
        group.name: Found(Survivors.join(gathered[group.name], len(unit.leaves)), counts[group.name])
        for group in groups
    }


def _gathered(streams: Iterator[tuple[np.ndarray, ...]]) -> Iterator[tuple[np.ndarray, ...]]:
    """The same candidates in fewer, larger pieces."""
    waiting: list[tuple[np.ndarray, ...]] = []
    size = 0
    for piece in streams:
        waiting.append(piece)
        size += len(piece[0])
        if size >= _PIECE:
            yield tuple(np.concatenate(parts) for parts in zip(*waiting, strict=True))
            waiting, size = [], 0
    if waiting:
        yield tuple(np.concatenate(parts) for parts in zip(*waiting, strict=True))


_PIECE = 1 << 16


def needs_identity(shape: tuple[int, ...]) -> bool:
    """Whether operators with these leaves are kept only if they have an identity."""
    return len(shape) == 2 or shape[0] > WITHOUT_IDENTITY


def _singles(unit: Unit, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    (size,) = unit.leaves
    source = classes(unit.family, 1, size, seed)
    if size == 1:
        # The first and the last value.
        yield (source.programs[: LEAVES.index("k") - 2],)
        return
    every = size <= min(source.largest, WITHOUT_IDENTITY)
    stream: Iterator[Candidates] = source.known(size) if every else source.streamed(size, unit.share)
    for found in stream:
        programs = found.programs if every else found.programs[found.masks != 0]
        yield (programs,)


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
