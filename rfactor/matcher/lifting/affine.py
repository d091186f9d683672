"""Liftings to affine maps over a semiring: linear recurrences, max-plus, clamps, masks, Kadane's maximum segment sum.

x -> A x + b is closed under composition, so a run of the loop is one such map. Only the entries that vary are
carried: starting from what is zero and one in one step, entries that composition changes become parameters until
nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Var, apply, const
from rfactor.ir.update import Update
from rfactor.matcher.lifting.semiring import LOG_SUM, OFFSET, Row, Semiring, affine, divisors, semirings
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity

_MOST_PARAMETERS = 20
Cell = tuple[int, int]
"""A row and a column; the last row and column make the matrix homogeneous."""


def claims(update: Update) -> Iterator[Claim]:
    """Claims that lift the update to maps over a semiring, the ones with the smallest state first."""
    found = []
    for ring in semirings(update.types[0], update.meaning):
        rows = None if ring.plus == LOG_SUM else affine(update, ring)
        if rows is not None:
            lift = lifting(rows, ring)
            if lift is not None:
                found.append(lift)
    if not found:
        found += list(_by_meaning(update))
    assumes = tuple(apply("!=", divisor, const(divisor.type, 0)) for divisor in divisors(update))
    for lift in sorted(found, key=lambda lift: len(lift.types)):
        yield Claim(update, lift=lift, assumes=assumes)


def _by_meaning(update: Update) -> Iterator[Lift]:
    """x -> A x + b where that is not how the update is written: A = f(1; d) - f(0; d), b = f(0; d)."""
    (type_, *more) = update.types
    if more or not type_.is_int:
        return
    (one,), (nothing,) = (run_from(update, (Const(type_, value),)) for value in (1, 0))
    slope: Expr = tidy(apply("-", one, nothing))
    (x,) = update.accumulators
    guess = apply("+", apply("*", x, slope), nothing)
    if sampling.refute(update.components, (guess,), update.meaning, count=64) is not None:
        return
    for literal in sampling.literals([*update.components, slope]).get(type_, ()):
        for value in (int(literal), 1 << min(max(int(literal), 0), type_.bits - 2)):
            constant = const(type_, value) if type_.min <= value <= type_.max else slope
            if sampling.refute((slope,), (constant,), update.meaning, count=64) is None:
                slope = constant
    ring = next(semirings(type_, update.meaning))
    lift = lifting([{0: slope, OFFSET: nothing}], ring)
    if lift is not None:
        yield lift


@dataclass(slots=True)
class Pattern:
    """Which cells are zero, which one, and which carry which parameter."""

    size: int
    cells: dict[Cell, int]
    """Parameter numbers; cells that are absent are fixed."""
    ones: frozenset[Cell]

    def product(self, at: Cell) -> tuple[tuple[int | None, int | None], ...]:
        """The entry of (second ∘ first) as products of a parameter of the second and one of the first; None is one."""
        i, j = at
        terms = []
        for middle in range(self.size + 1):
            left, right = (i, middle), (middle, j)
            if (left in self.cells or left in self.ones) and (right in self.cells or right in self.ones):
                terms.append((self.cells.get(left), self.cells.get(right)))
        return tuple(sorted(terms, key=repr))


def lifting(rows: list[Row], ring: Semiring) -> Lift | None:
    """The smallest state of matrices that holds every step and is closed under composition."""
    size = len(rows)
    entries: dict[Cell, Expr] = {}
    for i, row in zip(range(size), rows, strict=True):
        for j, entry in row.items():
            entries[i, size if j == OFFSET else j] = entry
    pattern = closed(entries, ring, size)
    if pattern is None:
        return None
    count = len(set(pattern.cells.values()))
    example = {number: cell for cell, number in reversed(list(pattern.cells.items()))}
    x = [Var(ring.type, f"x{i}") for i in range(max(count, size))]
    y = [Var(ring.type, f"y{i}") for i in range(count)]

    def term(second: int | None, first: int | None) -> Expr:
        return ring.multiply(ring.one if first is None else x[first], ring.one if second is None else y[second])

    def total(terms: list[Expr]) -> Expr:
        result = terms[0] if terms else ring.zero
        for part in terms[1:]:
            result = ring.add(result, part)
        return result

    operator = tuple(total([term(*pair) for pair in pattern.product(example[number])]) for number in range(count))
    apply_parts = []
    for i in range(size):
        terms = []
        for j in range(size + 1):
            if (i, j) in pattern.cells:
                parameter: Expr = y[pattern.cells[i, j]]
                terms.append(parameter if j == size else ring.multiply(x[j], parameter))
            elif (i, j) in pattern.ones:
                terms.append(x[j])
        apply_parts.append(total(terms))
    identity = tuple(ring.one if len(set(example[n])) == 1 else ring.zero for n in range(count))
    data = tuple(entries.get(example[n], ring.zero) for n in range(count))
    if not ring.type.is_float and any(map(has_infinity, data)):
        return None  # an infinite entry of unbounded integers cannot be written as data
    return Lift((ring.type,) * count, data, operator, identity, tuple(apply_parts))


def closed(entries: dict[Cell, Expr], ring: Semiring, size: int) -> Pattern | None:
    """The coarsest choice of fixed cells and shared parameters that composition respects."""
    ones = {(i, i) for i in range(size) if entries.get((i, i)) == ring.one} | {(size, size)}
    labels: dict[Cell, object] = {}
    for cell in [(i, j) for i in range(size) for j in range(size + 1)]:
        entry = entries.get(cell, ring.zero)
        diagonal = cell[0] == cell[1]
        if cell not in ones and (entry != ring.zero or diagonal):
            labels[cell] = (diagonal, entry)
    while True:
        if len(labels) > _MOST_PARAMETERS * 4:
            return None
        numbers = {label: n for n, label in zip(range(len(labels)), dict.fromkeys(labels.values()), strict=False)}
        pattern = Pattern(size, {cell: numbers[label] for cell, label in labels.items()}, frozenset(ones))
        changed: dict[Cell, object] = {}
        for cell in [(i, j) for i in range(size) for j in range(size + 1)]:
            product = pattern.product(cell)
            if ring.idempotent:
                product = tuple(dict.fromkeys(product))
            if cell in labels:
                changed[cell] = (labels[cell], product)
            elif cell in ones and product != ((None, None),):
                ones.discard(cell)
                changed[cell] = ("was one", cell)
            elif cell not in ones and product:
                changed[cell] = ("was zero", cell)
        stable = len(changed) == len(labels) and len(set(changed.values())) == len(set(labels.values()))
        if stable:
            return pattern if len(set(pattern.cells.values())) <= _MOST_PARAMETERS else None
        labels = changed
