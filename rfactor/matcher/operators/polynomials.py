"""Operators of updates that are linear in the accumulators, from the update itself.

If `f_i(x; d) = sum_j A_ij(d) x_j + b_i(d)`, then `op` is that with A and b read off the right operand: `y = f(e; d)` is
linear in the entries of A and b, so where the right `e` makes it tell all of them apart, they are linear in `y`.
Complex numbers, quaternions, dual numbers, matrices in any order of components, affine maps, x + y + k*x*y, sums of
products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, is_held, names
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import run_from
from rfactor.prover.claim import Claim
from rfactor.prover.polynomial import ONE, Monomial, Polynomial, Ring, TooLarge, product

_LONGEST_RUN = 3
"""How many steps are looked at together where one datum does not tell the entries apart."""
_STARTS = 6


@dataclass(frozen=True, slots=True)
class _Map:
    """x -> A x + b, with polynomial entries."""

    matrix: tuple[tuple[Polynomial, ...], ...]
    offset: tuple[Polynomial, ...]

    def of(self, state: tuple[Polynomial, ...], ring: Ring) -> tuple[Polynomial, ...]:
        """The image of a state."""
        return tuple(_dot(row, state, b, ring) for row, b in zip(self.matrix, self.offset, strict=True))

    def after(self, first: _Map, ring: Ring) -> _Map:
        """self ∘ first."""
        columns = list(zip(*first.matrix, strict=True))
        matrix = tuple(tuple(_dot(row, column, {}, ring) for column in columns) for row in self.matrix)
        return _Map(matrix, self.of(first.offset, ring))

    @property
    def entries(self) -> list[Polynomial]:
        return [entry for row in self.matrix for entry in row] + list(self.offset)


def _dot(row: tuple[Polynomial, ...], column: tuple[Polynomial, ...], start: Polynomial, ring: Ring) -> Polynomial:
    total = start
    for a, b in zip(row, column, strict=True):
        if a and b:
            total = ring.add(total, ring.multiply(a, b))
    return total


class Reader:
    """Expressions as polynomials; whatever is not arithmetic and free of accumulators is an atom."""

    def __init__(self, update: Update) -> None:
        self.type = update.types[0]
        wraps = self.type.is_int and update.meaning is Meaning.WRAP
        self.ring = Ring(self.type.bits if wraps else 0)
        self.count = len(update.types)
        self.atoms: list[Expr] = list(update.accumulators)
        self.index: dict[Expr, int] = {atom: i for i, atom in zip(range(self.count), self.atoms, strict=True)}
        self.own = frozenset(x.name for x in update.accumulators)
        self.constants = update.constants
        self.divisors: dict[Expr, None] = {}
        """What the reading divides by, and so takes not to be 0."""

    def atom(self, expr: Expr) -> Polynomial:
        if expr not in self.index:
            self.index[expr] = len(self.atoms)
            self.atoms.append(expr)
        return self.ring.atom(self.index[expr])

    def read(self, expr: Expr) -> Polynomial | None:
        """The polynomial, or None where an accumulator stands inside something else."""
        if isinstance(expr, Const):
            if not math.isfinite(expr.value):
                return None
            value = Fraction(expr.value) if isinstance(expr.value, float) else int(expr.value)
            return self.ring.constant(value)
        if isinstance(expr, Op) and expr.op in ("+", "-", "*", "neg", "/", "<<"):
            args = [self.read(arg) for arg in expr.args]
            first, second = args[0], args[-1]
            if first is None or second is None:
                return None
            if expr.op == "neg":
                return self.ring.scale(first, -1)
            if expr.op == "+":
                return self.ring.add(first, second)
            if expr.op == "-":
                return self.ring.add(first, second, -1)
            if expr.op == "*":
                return self.ring.multiply(first, second)
            divisor = expr.args[1]
            if expr.op == "/" and isinstance(divisor, Const) and divisor.value and math.isfinite(divisor.value):
                return self.ring.scale(first, 1 / Fraction(divisor.value))
            if expr.op == "/" and names(divisor).isdisjoint(self.own):
                self.divisors[divisor] = None
                return self.ring.multiply(first, self.atom(apply("/", const(expr.type, 1.0), divisor)))
            if expr.op == "<<" and isinstance(divisor, Const) and 0 <= divisor.value < expr.type.bits:
                return self.ring.scale(first, 1 << int(divisor.value))
        if not names(expr).isdisjoint(self.own) and not isinstance(expr, Var):
            return None
        return self.atom(expr)

    def expression(self, poly: Polynomial) -> Expr | None:
        """A polynomial as an expression; None if a coefficient is not of the type."""
        total: Expr | None = None
        type_ = self.type
        for monomial, coefficient in sorted(poly.items(), key=_graded):
            value = self.signed(coefficient)
            if value is None:
                return None
            term: Expr | None = None
            for atom, power in monomial:
                for _ in range(power):
                    term = self.atoms[atom] if term is None else apply("*", term, self.atoms[atom])
            magnitude = abs(value)
            if term is None:
                term = const(type_, magnitude)
            elif magnitude != 1:
                term = apply("*", const(type_, magnitude), term)
            if total is None:
                total = term if value > 0 else _negated(term)
            else:
                total = apply("+" if value > 0 else "-", total, term)
        return Const(type_, 0) if total is None else total

    def signed(self, coefficient: int | Fraction) -> int | float | None:
        """A coefficient as a literal: the representative nearest zero, or a float that is exact."""
        if self.type.is_float:
            return float(coefficient) if is_held(self.type, coefficient) else None
        number = int(coefficient)
        bits = self.ring.bits
        if bits and number >> (bits - 1):
            number -= 1 << bits
        if number != coefficient and not bits:
            return None
        return number if abs(number) <= self.type.max else None


def _negated(term: Expr) -> Expr:
    return const(term.type, -term.value) if isinstance(term, Const) and term.type.code != "uint" else apply("neg", term)


def _graded(item: tuple[Monomial, object]) -> tuple[int, list[tuple[int, int]]]:
    """Terms in the order people write them: by their first atoms, the constant last."""
    monomial = item[0]
    return (0 if monomial else 1, list(monomial))


def linear_map(update: Update) -> tuple[Reader, _Map] | None:
    """The update as x -> A x + b, or None if it is not linear in its accumulators or mixes types."""
    if len(set(update.types)) != 1 or update.types[0].is_bool:
        return None
    reader = Reader(update)
    rows, offsets = [], []
    try:
        for component in update.components:
            poly = reader.read(component)
            if poly is None:
                return None
            row: list[Polynomial] = [{} for _ in range(reader.count)]
            offset: Polynomial = {}
            for monomial, coefficient in poly.items():
                inside = [(atom, power) for atom, power in monomial if atom < reader.count]
                if not inside:
                    offset[monomial] = coefficient
                elif len(inside) == 1 and inside[0][1] == 1:
                    row[inside[0][0]][tuple(f for f in monomial if f != inside[0])] = coefficient
                else:
                    return None
            rows.append(tuple(row))
            offsets.append(offset)
    except TooLarge:
        return None
    return reader, _Map(tuple(rows), tuple(offsets))


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update that is linear in its accumulators, likeliest first; none for another."""
    found = linear_map(update)
    if found is None:
        return
    reader, step = found
    general = _generalised(step, reader)
    try:
        yield from _from_starts(update, reader, general, _starts(reader, general))
        if general is not step and reader.count == 1:
            # What is added may be an affine function of the factor: then a datum tells of both, and 1 stays 1.
            yield from _from_starts(update, reader, step, _telling(reader, step))
    except TooLarge:
        return


def _from_starts(update: Update, reader: Reader, step: _Map, starts: Iterator[tuple[int, ...]]) -> Iterator[Claim]:
    ring = reader.ring
    for start in starts:
        run, e = step, tuple(ring.constant(value) for value in start)
        for length in range(1, _LONGEST_RUN + 1):
            if length > 1:
                run = _renamed(step, reader, length).after(run, ring)
            solved = _solve(run, run.of(e, ring), reader)
            if solved is not None:
                claim = _claim(update, reader, solved, start)
                if claim is not None:
                    yield claim
                if solved.unique:
                    break


def _generalised(step: _Map, reader: Reader) -> _Map:
    """The step with a fresh datum, which is 1 in the update, before each constant that the update adds.

    A count adds 1 each time; what runs add up to is seen only if that 1 may vary.
    """
    fixed = [
        entry for i, row in zip(range(reader.count), step.matrix, strict=True) for entry in (*row[:i], *row[i + 1 :])
    ]
    if not any(set(entry) == {ONE} for entry in fixed) and not any(ONE in entry for entry in step.offset):
        return step
    one = reader.atom(Var(reader.type, "1 of the step"))

    def scaled(entry: Polynomial) -> Polynomial:
        constant = {ONE: entry[ONE]} if ONE in entry else {}
        return reader.ring.add(reader.ring.add(entry, constant, -1), reader.ring.multiply(constant, one))

    matrix = tuple(
        tuple(
            entry if i == j or set(entry) != {ONE} else scaled(entry)
            for j, entry in zip(range(len(row)), row, strict=True)
        )
        for i, row in zip(range(reader.count), step.matrix, strict=True)
    )
    return _Map(matrix, tuple(map(scaled, step.offset)))


def _renamed(step: _Map, reader: Reader, tag: int) -> _Map:
    """The same step with other data: atoms that depend on data are replaced by fresh ones."""
    fresh: dict[int, int] = {}

    def image(atom: int) -> Polynomial:
        expr = reader.atoms[atom]
        if names(expr) <= reader.constants:
            return reader.ring.atom(atom)
        if atom not in fresh:
            fresh[atom] = len(reader.atoms)
            reader.atoms.append(Var(reader.type, f"{atom} of step {tag}"))
        return reader.ring.atom(fresh[atom])

    def rename(poly: Polynomial) -> Polynomial:
        return reader.ring.map_atoms(poly, image)

    return _Map(tuple(tuple(map(rename, row)) for row in step.matrix), tuple(map(rename, step.offset)))


def _starts(reader: Reader, step: _Map) -> Iterator[tuple[int, ...]]:
    """Values of `e` for which `f(e; d)` tells as much of the data apart as any."""
    ring = reader.ring
    seen = []
    for order in (range(reader.count), range(reader.count - 1, -1, -1)):
        for unit in (1, -1):
            start = [0] * reader.count
            best = _rank(step, start, ring)
            for at in order:
                start[at] = unit
                rank = _rank(step, start, ring)
                if rank > best:
                    best = rank
                else:
                    start[at] = 0
            if start not in seen:
                seen.append(start)
    ranks = [_rank(step, start, ring) for start in seen]
    best = max(ranks)
    yield from [tuple(start) for start, rank in zip(seen, ranks, strict=True) if rank == best][:_STARTS]


def _telling(reader: Reader, step: _Map) -> Iterator[tuple[int, ...]]:
    """Values of a single `e` for which some product of data occurs once in `f(e; d)`, which then tells it."""
    ring = reader.ring
    factor, added = step.matrix[0][0], step.offset[0]
    for monomial in factor:
        slope, constant = (Fraction(_balanced(part.get(monomial, 0), ring)) for part in (factor, added))
        value = (1 - constant) / slope
        if monomial and value.denominator == 1:
            yield (int(value),)


def _rank(step: _Map, start: list[int], ring: Ring) -> int:
    """The dimension of the span of f(e; d) over the rationals, constants apart."""
    rows = []
    for poly in step.of(tuple(ring.constant(value) for value in start), ring):
        rows.append({m: Fraction(_balanced(c, ring)) for m, c in poly.items() if m})
    rank = 0
    while rows:
        row = rows.pop()
        if not row:
            continue
        rank += 1
        pivot = next(iter(row))
        rows = [_eliminated(other, row, pivot) for other in rows]
    return rank


def _balanced(coefficient: int | Fraction, ring: Ring) -> int | Fraction:
    if ring.bits and int(coefficient) >> (ring.bits - 1):
        return int(coefficient) - (1 << ring.bits)
    return coefficient


def _eliminated(
    row: dict[Monomial, Fraction], by: dict[Monomial, Fraction], pivot: Monomial
) -> dict[Monomial, Fraction]:
    if pivot not in row:
        return row
    factor = row[pivot] / by[pivot]
    result = dict(row)
    for monomial, value in by.items():
        total = result.get(monomial, Fraction(0)) - factor * value
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


@dataclass(frozen=True, slots=True)
class _Solved:
    """Each entry of the map as a polynomial in y (atoms -1, -2, …) and constants."""

    matrix: tuple[tuple[Polynomial, ...], ...]
    offset: tuple[Polynomial, ...]
    unique: bool


def _solve(run: _Map, value: tuple[Polynomial, ...], reader: Reader) -> _Solved | None:
    """Write every entry of A and b as a linear combination of y = f(e; d), over polynomials in the constants."""
    fixed = {m for entry in run.entries for m in (_constant_part(m, reader) for m in entry)}
    multipliers = sorted({ONE, *fixed}, key=len)[:4]
    basis: list[tuple[Monomial, Polynomial]] = []
    for multiplier in multipliers:
        for at, poly in zip(range(len(value)), value, strict=True):
            basis.append((_with(multiplier, at), reader.ring.multiply({multiplier: 1}, poly)))
    basis += [(multiplier, {multiplier: 1}) for multiplier in multipliers]
    rows, unique = _echelon(basis, reader.ring)
    cache: dict[frozenset[tuple[Monomial, object]], Polynomial | None] = {}

    def express(entry: Polynomial) -> Polynomial | None:
        known = frozenset(entry.items())
        if known not in cache:
            cache[known] = _combination(entry, rows, reader.ring)
        return cache[known]

    matrix = [[express(entry) for entry in row] for row in run.matrix]
    offset = [express(entry) for entry in run.offset]
    if any(entry is None for row in matrix for entry in row) or any(entry is None for entry in offset):
        return None
    return _Solved(
        tuple(tuple(e for e in row if e is not None) for row in matrix),
        tuple(e for e in offset if e is not None),
        unique,
    )


def _with(multiplier: Monomial, component: int) -> Monomial:
    """The monomial multiplier * y_component; y's are atoms below zero."""
    return product(multiplier, ((-1 - component, 1),))


def _constant_part(monomial: Monomial, reader: Reader) -> Monomial:
    return tuple((atom, power) for atom, power in monomial if names(reader.atoms[atom]) <= reader.constants)


_Row = tuple[dict[Monomial, Fraction], dict[Monomial, Fraction]]
"""A combination's value, and the combination itself over y and constants."""


def _echelon(basis: list[tuple[Monomial, Polynomial]], ring: Ring) -> tuple[list[tuple[Monomial, _Row]], bool]:
    rows: list[tuple[Monomial, _Row]] = []
    dependent = False
    for label, poly in basis:
        row = {m: Fraction(_balanced(c, ring)) for m, c in poly.items()}
        combination = {label: Fraction(1)}
        for pivot, (other, other_combination) in rows:
            if pivot in row:
                factor = row[pivot] / other[pivot]
                row = _plus(row, other, -factor)
                combination = _plus(combination, other_combination, -factor)
        if row:
            nonconstant = [m for m in row if m]
            rows.append((nonconstant[0] if nonconstant else ONE, (row, combination)))
        elif any(atom < 0 for atom, _ in label):
            dependent = True
    return rows, not dependent


def _plus(a: dict[Monomial, Fraction], b: dict[Monomial, Fraction], factor: Fraction) -> dict[Monomial, Fraction]:
    result = dict(a)
    for monomial, value in b.items():
        total = result.get(monomial, Fraction(0)) + factor * value
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def _combination(entry: Polynomial, rows: list[tuple[Monomial, _Row]], ring: Ring) -> Polynomial | None:
    rest = {m: Fraction(_balanced(c, ring)) for m, c in entry.items()}
    answer: dict[Monomial, Fraction] = {}
    for pivot, (row, combination) in rows:
        if pivot in rest:
            factor = rest[pivot] / row[pivot]
            rest = _plus(rest, row, -factor)
            answer = _plus(answer, combination, factor)
    if rest:
        return None
    result: Polynomial = {}
    for monomial, value in answer.items():
        if ring.bits:
            if value.denominator % 2 == 0:
                return None
            number = ring.reduce(value.numerator * pow(value.denominator, -1, 1 << ring.bits))
        else:
            number = value.numerator if value.denominator == 1 else value
        if number:
            result[monomial] = number
    return result


def _claim(update: Update, reader: Reader, solved: _Solved, start: tuple[int, ...]) -> Claim | None:
    type_: Type = reader.type
    if type_.code == "uint" and reader.ring.bits == 0 and any(value < 0 for value in start):
        return None
    offset = len(reader.atoms)
    reader.atoms += [Var(type_, f"y{i}") for i in range(reader.count)]

    def visible(poly: Polynomial) -> Polynomial:
        return {
            tuple(sorted((offset - 1 - atom if atom < 0 else atom, power) for atom, power in monomial)): c
            for monomial, c in poly.items()
        }

    components = []
    for row, b in zip(solved.matrix, solved.offset, strict=True):
        total = visible(b)
        for j, entry in zip(range(reader.count), row, strict=True):
            total = reader.ring.add(total, reader.ring.multiply(reader.ring.atom(j), visible(entry)))
        component = reader.expression(total)
        if component is None:
            return None
        components.append(component)
    wraps = type_.is_int and reader.ring.bits
    e = tuple(Const(type_, type_.wrap(value)) if wraps else const(type_, value) for value in start)
    data = run_from(update, e)
    if type_.is_float:
        polys = [reader.read(value) for value in data]
        data = tuple(
            (None if poly is None else reader.expression(poly)) or value
            for poly, value in zip(polys, data, strict=True)
        )
    assumes = tuple(apply("!=", divisor, const(type_, 0)) for divisor in reader.divisors)
    return Claim(update, tuple(components), e, data, assumes=assumes)
