"""Semantic classes: one representative tree for every function of the leaves, smallest trees first.

Two trees are one class if they agree on the fingerprint samples (`rfactor.enumerate.points`). Every size is built
from the representatives of the smaller ones, so the number of classes, not of trees, is what is paid for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rfactor.enumerate.points import Family, halves, scan_samples
from rfactor.native.lanes import CODE, LEAVES
from rfactor.native.linking import link
from rfactor.native.programs import WIDTH, aligned
from rfactor.native.scan import BLOCK, WAYS, HashSet, Scanner

ARITHMETIC = ("+", "*", "min", "max", "-")
BITWISE = ("&", "|", "^")
K = LEAVES.index("k")
CHUNK = 1 << 14
"""Value vectors made at a time where they are not stored."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Trees over rows of a pool: code of the root and up to four operands, (n,) and (n, 4)."""

    codes: np.ndarray
    operands: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: slice | np.ndarray) -> Terms:
        return Terms(self.codes[index], self.operands[index])

    @staticmethod
    def join(parts: Sequence[Terms]) -> Terms:
        if not parts:
            return Terms(np.empty(0, np.int64), np.empty((0, 4), np.int64))
        return Terms(np.concatenate([p.codes for p in parts]), np.concatenate([p.operands for p in parts]))


def binary(op: str, left: np.ndarray, right: np.ndarray) -> Terms:
    operands = np.zeros((len(left), 4), np.int64)
    operands[:, 0], operands[:, 1] = left, right
    return Terms(np.full(len(left), CODE[op], np.int64), operands)


def choices(comparison: str, p: int, q: int, true: np.ndarray, false: np.ndarray) -> Terms:
    operands = np.empty((len(true), 4), np.int64)
    operands[:, 0], operands[:, 1], operands[:, 2], operands[:, 3] = p, q, true, false
    return Terms(np.full(len(true), CODE[comparison], np.int64), operands)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Trees worth testing: programs (n, 16) and for each the choices of a left identity that fit (64 bits)."""

    programs: np.ndarray
    masks: np.ndarray

    def __len__(self) -> int:
        return len(self.programs)


@dataclass(frozen=True, slots=True)
class Share:
    """Every `parts`-th piece of a stream, from the `part`-th on."""

    part: int
    parts: int

    def turns(self) -> Iterator[bool]:
        """For each piece in turn whether it is in the share."""
        for turn in itertools.count():
            yield turn % self.parts == self.part


WHOLE = Share(0, 1)


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two rows of the pool, new as a condition up to complement."""

    comparison: str
    left: int
    right: int


class Classes:
    """The classes of functions over `leaves` up to `stored` leaves, with their value vectors; see `grow`.

    `programs[i]` is the code of class i for the interpreter, `variables[i]` a bit mask of its leaves.
    """

    def __init__(self, family: Family, components: int, seed: int, bitwise: bool = False) -> None:
        samples = scan_samples(family, components, seed)
        self.family = family
        self.components = components
        self.scanner = Scanner(family.domain, samples, LEAVES.index("y0"), halves(family, components), seed)
        self.operations = ARITHMETIC + (BITWISE if bitwise or family.domain.boolean else ())
        self.ordered = {"-", "min"} if family.domain.boolean else {"-"}
        """Operations that do not commute."""
        chosen = [0, 2, 4] if components == 1 else [0, 1, 2, 3, 4]
        self.vectors = aligned(self.scanner.leaves[chosen])
        self.codes = np.full(len(chosen), -1, np.int64)
        self.operands = np.zeros((len(chosen), 4), np.int64)
        self.programs = np.zeros((len(chosen), WIDTH), np.uint8)
        self.programs[:, 0], self.programs[:, -1] = chosen, 1
        self.variables = np.left_shift(1, np.array(chosen))
        self.starts = [0, 0, len(chosen)]
        """Classes of size s are rows starts[s] to starts[s + 1]."""
        self._known = HashSet(1 << 12)
        self._known_conditions = HashSet(1 << 12)
        self._conditions: dict[int, list[Condition]] = {}
        for leaf in range(len(chosen)):
            row = self.vectors[leaf : leaf + 1]
            # Leaves and zero are no new functions.
            for op in ("&", "^", "+") if family.domain.boolean else ("max", "-"):
                self.scanner.new(op, row, row, self._known)

    def rows(self, size: int) -> range:
        return range(self.starts[size], self.starts[size + 1])

    @property
    def largest(self) -> int:
        return len(self.starts) - 2

    def of(self, size: int) -> np.ndarray:
        """Value vectors of the classes of a size."""
        return self.vectors[self.starts[size] : self.starts[size + 1]]

    def conditions(self, size: int) -> list[Condition]:
        """Conditions with `size` leaves in all, none equal on the samples to a smaller one or its complement."""
        if size not in self._conditions:
            if size > 2:
                self.conditions(size - 1)
            found = []
            for s in range(1, size):
                t = size - s
                for comparison in ("==", "<"):
                    if comparison == "==" and s < t:
                        continue
                    pairs = self.scanner.conditions(
                        comparison,
                        self.of(s),
                        self.of(t),
                        self._known_conditions,
                        triangular=comparison == "==" and s == t,
                    )
                    found += [Condition(comparison, self.starts[s] + int(i), self.starts[t] + int(j)) for i, j in pairs]
            self._conditions[size] = found
        return self._conditions[size]

    def bits(self, condition: Condition) -> np.ndarray:
        left, right = self.vectors[condition.left], self.vectors[condition.right]
        return self.scanner.bits(condition.comparison, left, right)

    def grow(self, keep_vectors: bool = True) -> None:
        """Adds the classes of the next size."""
        size = self.largest + 1
        parts = [self._new_binary(op, s, size - s) for s in range(size - 1, 0, -1) for op in self.operations]
        parts += [self._new_select(*sizes) for sizes in select_sizes(size)]
        terms = Terms.join(parts)
        variables = self._variables(terms)
        vectors = self.scanner.make(terms.codes, terms.operands, self.vectors)
        # What is constant on the samples or made of k alone is left out.
        real = (variables & ~(1 << K) != 0) & (vectors != vectors[:, :1]).any(axis=1)
        terms, vectors = terms[real], vectors[real]
        self.programs = np.concatenate([self.programs, self.compile(terms)])
        self.variables = np.concatenate([self.variables, variables[real]])
        self.codes = np.concatenate([self.codes, terms.codes])
        self.operands = np.concatenate([self.operands, terms.operands])
        if keep_vectors:
            self.vectors = aligned(np.concatenate([self.vectors, vectors]))
        self.starts.append(self.starts[-1] + len(terms))

    def _new_binary(self, op: str, s: int, t: int) -> Terms:
        if op not in self.ordered and s < t:
            return Terms.join([])
        pairs = self.scanner.new(op, self.of(s), self.of(t), self._known, triangular=op not in self.ordered and s == t)
        return binary(op, self.starts[s] + pairs[:, 0], self.starts[t] + pairs[:, 1])

    def _new_select(self, size: int, true: int, false: int) -> Terms:
        parts = []
        for condition in self.conditions(size):
            pairs = self.scanner.new_select(self.bits(condition), self.of(true), self.of(false), self._known)
            if len(pairs):
                ones, others = self.starts[true] + pairs[:, 0], self.starts[false] + pairs[:, 1]
                parts.append(choices(condition.comparison, condition.left, condition.right, ones, others))
        return Terms.join(parts)

    def _variables(self, terms: Terms) -> np.ndarray:
        arity = np.where(terms.codes >= CODE["<"], 4, 2)
        variables = np.zeros(len(terms), np.int64)
        for j in range(4):
            variables |= np.where(arity > j, self.variables[terms.operands[:, j]], 0)
        return variables

    def compile(self, terms: Terms) -> np.ndarray:
        """Programs (n, 16) of trees over the pool."""
        return link(terms.codes, terms.operands, self.programs)

    def masks(self, vectors: np.ndarray) -> np.ndarray:
        """For each value vector the choices of an identity under which it is y0 on the samples (64 bits)."""
        lanes = vectors[:, : WAYS * BLOCK].reshape(len(vectors), WAYS, BLOCK)
        same = (lanes == self.scanner.target.reshape(WAYS, BLOCK)).all(axis=1)
        return np.packbits(same, axis=1, bitorder="little").view(np.uint64)[:, 0]

    def known(self, size: int) -> Iterator[Candidates]:
        """The classes of a size, all of them, in chunks."""
        for start in range(self.starts[size], self.starts[size + 1], CHUNK):
            rows = slice(start, min(start + CHUNK, self.starts[size + 1]))
            yield Candidates(self.programs[rows], self.masks(self._vectors_of(rows)))

    def _vectors_of(self, rows: slice) -> np.ndarray:
        if rows.stop <= len(self.vectors):
            return self.vectors[rows]
        return self.scanner.make(self.codes[rows], self.operands[rows], self.vectors)

    def _blocks(self, size: int, share: Share) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(vectors, programs) of the classes of a size; of every tree over classes where the size is not known."""
        mine = share.turns()
        if size <= self.largest:
            for start in range(self.starts[size], self.starts[size + 1], CHUNK):
                if next(mine):
                    rows = slice(start, min(start + CHUNK, self.starts[size + 1]))
                    yield self._vectors_of(rows), self.programs[rows]
            return
        for vectors, programs, op, t, triangular in self._products(size, WHOLE):
            for start in range(0, len(vectors), max(1, CHUNK // len(self.rows(t)))):
                if not next(mine):
                    continue
                stop = min(len(vectors), start + max(1, CHUNK // len(self.rows(t))))
                i, j = np.divmod(np.arange((stop - start) * len(self.rows(t))), len(self.rows(t)))
                if triangular:
                    i, j = i[j <= i + start], j[j <= i + start]
                both = aligned(np.concatenate([vectors[start:stop], self.of(t)]))
                terms = binary(op, i, j + (stop - start))
                pool = np.concatenate([programs[start:stop], self._programs_of(t)])
                yield self.scanner.make(terms.codes, terms.operands, both), link(terms.codes, terms.operands, pool)
        for condition, true, false in self._choices(size, share):
            i, j = (part.ravel() for part in np.meshgrid(np.array(self.rows(true)), np.array(self.rows(false))))
            terms = choices(condition.comparison, condition.left, condition.right, i, j)
            for start in range(0, len(terms), CHUNK):
                part = terms[start : start + CHUNK]
                yield self.scanner.make(part.codes, part.operands, self.vectors), self.compile(part)

    def _products(self, size: int, share: Share) -> Iterator[tuple[np.ndarray, np.ndarray, str, int, bool]]:
        """(vectors, programs, operation, size of the right operand, whether left and right are the same rows)."""
        for s in range(size - 1, 0, -1):
            t = size - s
            if t > s and t > self._stored:
                continue
            for vectors, programs in self._blocks(s, share):
                for op in self.operations:
                    if op in self.ordered or s > t:
                        yield vectors, programs, op, t, False
                    elif s == t:
                        yield vectors, programs, op, t, len(vectors) == len(self.rows(t))

    @property
    def _stored(self) -> int:
        return max(s for s in range(len(self.starts) - 1) if self.starts[s + 1] <= len(self.vectors))

    def _choices(self, size: int, share: Share) -> Iterator[tuple[Condition, int, int]]:
        mine = share.turns()
        for condition_size, true, false in select_sizes(size):
            for condition in self.conditions(condition_size):
                if next(mine):
                    yield condition, true, false

    def streamed(self, size: int, share: Share = WHOLE) -> Iterator[Candidates]:
        """Functions of `size` leaves that have a left identity on the samples, over the classes of less; a share."""
        seen = HashSet(1 << 16)
        for vectors, programs, op, t, triangular in self._products(size, share):
            kept = self.scanner.with_identity(op, vectors, self.of(t), seen, triangular=triangular)
            yield _linked(op, kept, programs, self._programs_of(t))
            if op in self.ordered and size - t > self._stored:
                # The larger operand on the right, where it is only ever made on the left.
                kept = self.scanner.with_identity(op, self.of(t), vectors, seen)
                yield _linked(op, kept, self._programs_of(t), programs)
        waiting: list[tuple[Terms, np.ndarray]] = []
        for condition, true, false in self._choices(size, share):
            kept = self.scanner.with_identity_select(self.bits(condition), self.of(true), self.of(false), seen)
            if len(kept):
                ones, others = self.starts[true] + kept[:, 0], self.starts[false] + kept[:, 1]
                terms = choices(condition.comparison, condition.left, condition.right, ones, others)
                waiting.append((terms, kept[:, 2]))
            if len(waiting) == CHUNK:
                yield self._compiled(waiting)
                waiting = []
        if waiting:
            yield self._compiled(waiting)

    def _programs_of(self, size: int) -> np.ndarray:
        return self.programs[self.starts[size] : self.starts[size + 1]]

    def _compiled(self, found: Sequence[tuple[Terms, np.ndarray]]) -> Candidates:
        terms = Terms.join([terms for terms, _ in found])
        return Candidates(self.compile(terms), np.concatenate([masks for _, masks in found]).view(np.uint64))


def _linked(op: str, kept: np.ndarray, left: np.ndarray, right: np.ndarray) -> Candidates:
    """The trees `op(left[i], right[j])` of rows (i, j, mask)."""
    terms = binary(op, kept[:, 0], kept[:, 1] + len(left))
    programs = link(terms.codes, terms.operands, np.concatenate([left, right]))
    return Candidates(programs, np.ascontiguousarray(kept[:, 2]).view(np.uint64))


def select_sizes(size: int) -> list[tuple[int, int, int]]:
    """(leaves of the condition, of each branch) of selects with `size` leaves."""
    return [(c, t, size - c - t) for c in range(2, size - 1) for t in range(1, size - c)]


__all__ = ["WHOLE", "Candidates", "Classes", "Condition", "Share", "Terms", "binary", "choices", "select_sizes"]
