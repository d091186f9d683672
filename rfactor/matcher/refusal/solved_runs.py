"""Runs that polynomials make alike: the datum that brings a run to where another ends, found by division.

Where a component is a polynomial, `f(e; q) = f(f(e; c); c')` and `f(f(e; p); q) = f(f(e; q); p)` are equations for q;
if one is linear in q and its coefficient divides the rest, q is an expression in e. For x + a*x*x one datum
2 + 2e + e^2 does what two data 1 do, from e and from hardly any other x.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rfactor.ir.expr import Expr, Op, Var, apply, cast, const, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.operators.polynomials import Reader
from rfactor.matcher.refusal.runs import Run
from rfactor.matcher.terms import State, tidy
from rfactor.prover.polynomial import Monomial, Number, Polynomial, Ring, TooLarge, product

_MIXED = (1, 2, 3, 4, 5, 6, 8, 12, 16, 32)
"""First data that others make up for."""
_STEPS = 40
"""Most steps of a division."""
_Steps = tuple[tuple[tuple[str, Expr], ...], ...]
"""A run as names and values, step by step."""
_PAIRS = ((1, 1), (1, 0), (0, 1), (1, 2), (2, 1))


def solved_runs(update: Update, e: State) -> list[Run]:
    """Runs of one and two data, some of them expressions in `e`, of which two end alike from `e`."""
    type_ = update.types[0]
    if type_.is_bool or any(t != type_ for t in update.types):
        return []
    if len(update.types) == 1 and type_.is_int and update.meaning is Meaning.WRAP:
        mixed = list(_mixed_in(update, e))
        if mixed:
            return mixed
    if type_.code == "uint" and update.meaning is Meaning.MATH:
        return []
    data = [v for v in update.data if v.type == type_]
    found: dict[_Steps, None] = {}
    for datum in data:
        for others in (0, 1):
            try:
                for run in _Equations(update, datum, others).runs(e):
                    found[run] = None
            except (TooLarge, _NotPolynomial):
                continue
    return [tuple(dict(step) for step in run) for run in found]


def _mixed_in(update: Update, e: State) -> Iterator[Run]:
    """Runs of two data narrower than the state that are mixed into it by exclusive or: the second makes up for the
    first where what the first changes stays within its bits."""
    (type_,), (step,) = update.types, update.components
    narrow = [v for v in update.data if v.type.code == "uint" and v.type.bits < type_.bits]
    if len(update.data) != 1 or not narrow or not any(isinstance(n, Op) and n.op == "^" for n in walk(step)):
        return
    (datum,) = narrow

    def after(state: Expr, number: int) -> Expr:
        return tidy(substitute(step, {"x0": state, datum.name: const(datum.type, number)}))

    plain = after(e[0], 0)
    yield {datum.name: const(datum.type, 0)}, {datum.name: const(datum.type, 0)}
    for number in _MIXED:
        other = after(e[0], number)
        for one, two in ((plain, other), (after(plain, 0), after(other, 0))):
            made_up = cast(datum.type, apply("^", one, two))
            yield {datum.name: const(datum.type, number)}, {datum.name: made_up}


class _NotPolynomial(Exception):
    """A component is no polynomial, or a coefficient no value of the type."""


class _Equations:
    """The components as polynomials in the accumulators and one datum, the other data fixed."""

    def __init__(self, update: Update, datum: Var, others: int) -> None:
        self.update, self.datum = update, datum
        self.fixed = {
            v.name: const(v.type, bool(others) if v.type.is_bool else others) for v in update.data if v != datum
        }
        self.reader = Reader(update)
        self.ring: Ring = self.reader.ring
        self.q = next(iter(*self.reader.atom(datum)))[0]
        polys = [self.reader.read(tidy(substitute(c, self.fixed))) for c in update.components]
        allowed = {*range(len(update.types)), self.q}
        if any(p is None or not {atom for m in p for atom, _ in m} <= allowed for p in polys):
            raise _NotPolynomial
        self.polys = [p for p in polys if p is not None]

    def step(self, state: list[Polynomial], datum: Polynomial) -> list[Polynomial]:
        """f of a state and a datum."""
        images = dict(enumerate(state)) | {self.q: datum}
        return [self.ring.map_atoms(p, lambda atom: images[atom]) for p in self.polys]

    def runs(self, e: State) -> Iterator[_Steps]:
        """Pairs of runs, as steps of names and values."""
        x = [self.ring.atom(i) for i in range(len(self.polys))]
        q = self.ring.atom(self.q)
        one = self.step(x, q)
        for first, second in _PAIRS:
            two = self.step(self.step(x, self.ring.constant(first)), self.ring.constant(second))
            solution = self.root([self.ring.add(a, b, -1) for a, b in zip(one, two, strict=True)])
            if solution is not None:
                yield (self.datum_of(solution, e),)
                yield self.literal(first), self.literal(second)
        for number in (0, 1):
            p = self.ring.constant(number)
            forth, back = self.step(self.step(x, p), q), self.step(self.step(x, q), p)
            factor = self.ring.add(q, p, -1)
            quotients = [
                divide(self.ring.add(a, b, -1), factor, self.ring, first=self.q)
                for a, b in zip(forth, back, strict=True)
            ]
            solution = None if None in quotients else self.root([d for d in quotients if d is not None])
            if solution is not None:
                value = self.datum_of(solution, e)
                yield self.literal(number), value
                yield value, self.literal(number)

    def root(self, equations: list[Polynomial]) -> Polynomial | None:
        """What the datum must be for the first equation that speaks of it to hold."""
        for equation in equations:
            slope: Polynomial = {}
            rest: Polynomial = {}
            for monomial, c in equation.items():
                powers = dict(monomial)
                power = powers.pop(self.q, 0)
                if power > 1:
                    return None
                (slope if power else rest)[tuple(sorted(powers.items()))] = c
            if slope:
                return divide(self.ring.scale(rest, -1), slope, self.ring)
        return None

    def datum_of(self, value: Polynomial, e: State) -> tuple[tuple[str, Expr], ...]:
        """The data of one step: the one solved for, and those fixed."""
        expr = self.reader.expression(value)
        if expr is None:
            raise _NotPolynomial
        return self.given(tidy(substitute(expr, {f"x{i}": part for i, part in enumerate(e)})))

    def literal(self, number: int) -> tuple[tuple[str, Expr], ...]:
        """The data of one step: a number, and those fixed."""
        return self.given(const(self.datum.type, number))

    def given(self, value: Expr) -> tuple[tuple[str, Expr], ...]:
        return tuple((v.name, value if v == self.datum else self.fixed[v.name]) for v in self.update.data)


def divide(a: Polynomial, b: Polynomial, ring: Ring, first: int | None = None) -> Polynomial | None:
    """a / b where that is a polynomial, else None; monomials are ordered by their power of the atom `first`, if any."""

    def rank(monomial: Monomial) -> tuple[int, int, Monomial]:
        return (dict(monomial).get(first, 0) if first is not None else 0, sum(p for _, p in monomial), monomial)

    lead = max(b, key=rank)
    inverse = _inverse(b[lead], ring)
    if inverse is None:
        return None
    quotient: Polynomial = {}
    for _ in range(_STEPS):
        if not a:
            return quotient
        top = max(a, key=rank)
        left = product(top, tuple((atom, -power) for atom, power in lead))
        if any(power < 0 for _, power in left):
            return None
        term: Polynomial = {left: ring.reduce(a[top] * inverse)}
        quotient = ring.add(quotient, term)
        a = ring.add(a, ring.multiply(term, b), -1)
    return None


def _inverse(number: Number, ring: Ring) -> Number | None:
    """1 / number in the ring, if there is one; over the unbounded integers of 1 and -1 alone."""
    if ring.bits:
        return pow(int(number), -1, 1 << ring.bits) if int(number) % 2 else None
    return Fraction(1) / number if abs(number) != 1 else number
