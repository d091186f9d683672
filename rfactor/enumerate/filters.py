"""What is dropped before anything is proved: not associative on samples, not elementary, seen before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rfactor.enumerate.groups import Group
from rfactor.enumerate.points import samples
from rfactor.ir.types import Type
from rfactor.native.lanes import CODE, Domain, domain_of
from rfactor.native.programs import WIDTH, associative, hashes, values

QUICK, THOROUGH = (64, 512), (4096, 32768)
"""Triples in the stages of the associativity filter: before candidates are told apart, and of each function once."""
PRINTS = 512
"""Samples by which functions are told apart."""


@dataclass(frozen=True, slots=True)
class Survivors:
    """Candidate operators: one array of programs (n, 16) a component, and for each the types it may hold for."""

    programs: tuple[np.ndarray, ...]
    types: np.ndarray
    """Bit t is set if the candidate passed at type t of its group."""

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, index: np.ndarray | slice) -> Survivors:
        return Survivors(tuple(p[index] for p in self.programs), self.types[index])

    @staticmethod
    def join(parts: list[Survivors], components: int) -> Survivors:
        if not parts:
            return Survivors(tuple(np.empty((0, WIDTH), np.uint8) for _ in range(components)), np.empty(0, np.int64))
        return Survivors(
            tuple(np.concatenate([p.programs[c] for p in parts]) for c in range(components)),
            np.concatenate([p.types for p in parts]),
        )


def multiplies(programs: tuple[np.ndarray, ...]) -> np.ndarray:
    """Whether a candidate multiplies. Those that do not act at each width as on the high bits of a wider one."""
    inside = [np.arange(WIDTH - 1) < p[:, -1:] for p in programs]
    found = [((p[:, :-1] == CODE["*"]) & i).any(axis=1) for p, i in zip(programs, inside, strict=True)]
    return np.asarray(np.stack(found).any(axis=0))


def tested_types(group: Group) -> list[Type]:
    """The types at which candidates are tested: one where width does not matter."""
    return [group.types[-1]] if group.is_width_free else list(group.types)


def associative_on_samples(group: Group, candidates: Survivors, stages: Sequence[int], seed: int) -> Survivors:
    """The candidates that agree with associativity on all samples at some of their types.

    One that does not multiply fails at every wider type where it fails at a narrower one: a value v of w bits is v <<
    (W - w) among those of W bits, which keeps sums, order and equality. So the narrowest type, where samples are
    dense, decides.
    """
    programs = candidates.programs
    passed = np.zeros(len(candidates), np.int64)
    free = ~multiplies(programs)
    possible = np.ones(len(candidates), bool)
    for number, type_ in zip(range(len(group.types)), tested_types(group), strict=False):
        domain = domain_of(type_, group.meaning)
        alive = np.flatnonzero(possible & (candidates.types >> number & 1 == 1))
        for stage in stages:
            if not len(alive):
                break
            triples = samples(type_, domain, (7, stage), (seed, 1, stage, type_.bits))
            good = associative(domain, [p[alive] for p in programs], triples)
            alive = alive[good]
        passed[alive] |= 1 << number
        failed = candidates.types >> number & 1 == 1
        failed[alive] = False
        possible &= ~(failed & free)
    if group.is_width_free:
        passed[passed != 0] = group.all_types
    kept = np.flatnonzero(passed)
    return Survivors(tuple(p[kept] for p in programs), passed[kept])


def fingerprints(group: Group, programs: tuple[np.ndarray, ...], seed: int, *, turned: bool = False) -> np.ndarray:
    """(n,) 64 bits that are equal for operators equal on samples, at the narrowest and at the widest type.

    With `turned`, of the operators with their operands exchanged.
    """
    found = np.zeros(len(programs[0]), np.uint64)
    for type_ in dict.fromkeys((group.types[0], group.types[-1])):
        domain = domain_of(type_, group.meaning)
        points = samples(type_, domain, (5, PRINTS), (seed, 2, type_.bits))
        if turned:
            points = points[[2, 3, 0, 1, 4]]
        for part in programs:
            found = (found ^ hashes(domain, part, points)) * _MIX
    return found


def two_sided_prints(group: Group, programs: tuple[np.ndarray, ...], seed: int) -> np.ndarray:
    """Fingerprints that are equal for an operator and the one with its operands exchanged."""
    both: np.ndarray = fingerprints(group, programs, seed) + fingerprints(group, programs, seed, turned=True)
    return both


def first_seen(keys: np.ndarray, seen: set[int]) -> np.ndarray:
    """Indices of the keys not in `seen`, each key once, in order; they are afterwards."""
    unique, first = np.unique(keys, return_index=True)
    fresh = [index for key, index in zip(unique.tolist(), first.tolist(), strict=True) if key not in seen]
    seen.update(unique.tolist())
    return np.array(sorted(fresh), np.int64)


_MIX = np.uint64(0xD6E8FEB86659FD93)


def dependence(domain: Domain, type_: Type, programs: tuple[np.ndarray, ...], seed: int) -> np.ndarray:
    """(n, components, 5): whether a component changes with each leaf, on samples."""
    points = samples(type_, domain, (5, PRINTS), (seed, 3))
    rng = np.random.default_rng([seed, 4])
    plain = [values(domain, part, points) for part in programs]
    found = np.zeros((len(programs[0]), len(programs), 5), bool)
    for leaf in range(5):
        changed = points.copy()
        changed[leaf] = rng.permutation(points[leaf])
        for component, part in zip(range(len(programs)), programs, strict=True):
            found[:, component, leaf] = (values(domain, part, changed) != plain[component]).any(axis=1)
    return found


def elementary(group: Group, programs: tuple[np.ndarray, ...], seed: int) -> np.ndarray:
    """Which candidates use x and y in every component and are no concatenation of smaller operators (section 4.2)."""
    if not len(programs[0]):
        return np.zeros(0, bool)
    depends = dependence(group.domain, group.types[-1], programs, seed)
    uses_x = depends[:, :, 0] | depends[:, :, 1]
    uses_y = depends[:, :, 2] | depends[:, :, 3]
    good = uses_x.all(axis=1) & uses_y.all(axis=1)
    if len(programs) == 2:
        zero_uses_one = depends[:, 0, 1] | depends[:, 0, 3]
        one_uses_zero = depends[:, 1, 0] | depends[:, 1, 2]
        good &= zero_uses_one | one_uses_zero
    return np.asarray(good)
