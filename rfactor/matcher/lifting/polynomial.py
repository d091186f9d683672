"""Liftings of updates that are polynomials of the state of bounded degree: `x0 + a, x1 + x0*x0`, moving variances.

A run of such steps is one as long as powers do not grow: components are affine in themselves and polynomials in those
before them. Its coefficients are the richer state; composing two runs substitutes polynomials in polynomials.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rfactor.ir.expr import Expr, Op, Var, apply, const
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.action import choose, pruned
from rfactor.matcher.lifting.semiring import divisors
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.polynomial import ONE, Monomial, Polynomial, Ring, TooLarge, product

_MOST_ENTRIES = 24
_HIGHEST = 4
"""Total degree in the state above which a run is taken to have none."""
Row = dict[Monomial, Expr]
"""Coefficients of the powers of the accumulators, which are atoms by their numbers."""
Entry = tuple[int, Monomial]
"""A component and a power product."""


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one number type with a product of accumulators."""
    (type_, *_) = update.types
    if type_.is_bool or any(t != type_ for t in update.types):
        return
    reader = _Reader(update)
    rows: list[Row] = []
    for component in update.components:
        row = reader.read(component)
        if row is None:
            return
        tidied = {monomial: tidy(entry) for monomial, entry in row.items()}
        rows.append({monomial: entry for monomial, entry in tidied.items() if entry != const(type_, 0)})
    if not any(_degree(monomial) > 1 for row in rows for monomial in row):
        return
    try:
        lift = _Runs(type_, rows).lift()
    except TooLarge:
        return
    if lift is not None:
        assumes = tuple(apply("!=", divisor, const(divisor.type, 0)) for divisor in divisors(update))
        yield Claim(update, lift=lift, assumes=assumes)


def _degree(monomial: Monomial) -> int:
    return sum(power for _, power in monomial)


class _Reader:
    """Expressions as polynomials of the accumulators, with expressions free of them as coefficients."""

    def __init__(self, update: Update) -> None:
        self.free = free_of(accumulator_names(update))
        self.index = {x: i for i, x in zip(range(len(update.types)), update.accumulators, strict=True)}
        self.one = const(update.types[0], 1)

    def read(self, expr: Expr) -> Row | None:
        if self.free(expr):
            return {ONE: expr}
        if isinstance(expr, Var):
            return {((self.index[expr], 1),): self.one}
        if not isinstance(expr, Op):
            return None
        if expr.op == "select" and self.free(expr.args[0]):
            true, false = self.read(expr.args[1]), self.read(expr.args[2])
            return None if true is None or false is None else self.chosen(expr.args[0], true, false)
        if expr.op == "/" and self.free(expr.args[1]):
            return self.read(apply("*", expr.args[0], apply("/", self.one, expr.args[1])))
        if expr.op not in ("+", "-", "*", "neg"):
            return None
        rows = [self.read(arg) for arg in expr.args]
        first, last = rows[0], rows[-1]
        if first is None or last is None:
            return None
        if expr.op == "neg":
            return {monomial: apply("neg", entry) for monomial, entry in first.items()}
        if expr.op == "*":
            return self.product(first, last)
        result = dict(first)
        for monomial, entry in last.items():
            own = result.get(monomial)
            negative = apply("neg", entry) if expr.op == "-" else entry
            result[monomial] = negative if own is None else apply(expr.op, own, entry)
        return result

    def product(self, first: Row, second: Row) -> Row | None:
        result: Row = {}
        for left, a in first.items():
            for right, b in second.items():
                monomial = product(left, right)
                if _degree(monomial) > _HIGHEST:
                    return None
                term = b if a == self.one else a if b == self.one else apply("*", a, b)
                result[monomial] = apply("+", result[monomial], term) if monomial in result else term
        return result

    def chosen(self, condition: Expr, first: Row, second: Row) -> Row:
        nothing = const(self.one.type, 0)
        return {
            monomial: choose(condition, first.get(monomial, nothing), second.get(monomial, nothing))
            for monomial in {**first, **second}
        }


@dataclass(slots=True)
class _Runs:
    """The polynomials that runs are: for each component the power products that occur, closed under composition."""

    type: Type
    rows: list[Row]
    entries: list[Entry] = field(default_factory=list)
    composed: dict[Entry, Polynomial] = field(default_factory=dict)
    """Entries of (second after first), over the atoms of both."""

    def lift(self) -> Lift | None:
        if not self.close():
            return None
        place = {entry: i for i, entry in zip(range(len(self.entries)), self.entries, strict=True)}
        values: dict[int, Expr] = {i: Var(self.type, f"x{i}") for i in range(len(self.rows))}
        first, second = self.atoms()
        for entry, i in place.items():
            values[first[entry]] = Var(self.type, f"x{i}")
            values[second[entry]] = Var(self.type, f"y{i}")
        applied: list[Polynomial] = [{} for _ in self.rows]
        for entry in self.entries:
            applied[entry[0]][product(((second[entry], 1),), entry[1])] = 1
        nothing = const(self.type, 0)
        return pruned(
            Lift(
                (self.type,) * len(place),
                tuple(self.rows[i].get(monomial, nothing) for i, monomial in self.entries),
                tuple(self.expression(self.composed.get(entry, {}), values) for entry in self.entries),
                tuple(const(self.type, self.unit(entry)) for entry in self.entries),
                tuple(self.expression(total, values) for total in applied),
            )
        )

    def unit(self, entry: Entry) -> int:
        """The entry of the run without a step."""
        i, monomial = entry
        return int(monomial == ((i, 1),))

    def atoms(self) -> tuple[dict[Entry, int], dict[Entry, int]]:
        """Of the first run's entries, and of the second's."""
        start, size = len(self.rows), len(self.entries)
        first = {entry: start + i for i, entry in zip(range(size), self.entries, strict=True)}
        return first, {entry: number + size for entry, number in first.items()}

    def close(self) -> bool:
        """Find the entries of all runs; False if powers grow."""
        own = {(i, monomial) for i, row in zip(range(len(self.rows)), self.rows, strict=True) for monomial in row}
        own |= {(i, ((i, 1),)) for i in range(len(self.rows))}
        ring = Ring()
        while len(own) <= _MOST_ENTRIES:
            self.entries = sorted(own)
            first, second = self.atoms()
            steps: list[Polynomial] = [{} for _ in self.rows]
            for i, monomial in self.entries:
                steps[i][product(((first[i, monomial], 1),), monomial)] = 1
            self.composed = {}
            for i, monomial in self.entries:
                term: Polynomial = {((second[i, monomial], 1),): 1}
                for j, power in monomial:
                    for _ in range(power):
                        term = ring.multiply(term, steps[j])
                for whole, coefficient in term.items():
                    inside = tuple(factor for factor in whole if factor[0] < len(self.rows))
                    rest = tuple(factor for factor in whole if factor[0] >= len(self.rows))
                    if _degree(inside) > _HIGHEST:
                        return False
                    entry = self.composed.setdefault((i, inside), {})
                    entry[rest] = entry.get(rest, 0) + coefficient
            if self.composed.keys() <= own:
                return True
            own |= self.composed.keys()
        return False

    def expression(self, value: Polynomial, atoms: dict[int, Expr]) -> Expr:
        total: Expr | None = None
        for monomial, coefficient in sorted(value.items(), key=lambda item: (_degree(item[0]), item[0])):
            factors = [atoms[atom] for atom, power in monomial for _ in range(power)]
            if coefficient != 1 or not factors:
                factors.append(const(self.type, int(coefficient)))
            term = factors[0]
            for factor in factors[1:]:
                term = apply("*", term, factor)
            total = term if total is None else apply("+", total, term)
        return const(self.type, 0) if total is None else total


__all__ = ["claims"]
