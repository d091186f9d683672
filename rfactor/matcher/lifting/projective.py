"""Liftings to projective maps: quotients of sums of the state by one another, as (a*x + b)/(c*x + d).

x -> N(x)/D(x), with N and D linear, is a matrix up to a factor, and matrices are closed under composition; a run
divides once, at its end. Where the loop divides by no zero, neither does that: its divisor is the product of the
loop's. Continued fractions, sums of velocities and of tangents, resistors in parallel and in series, odds by Bayes'
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, names, select, substitute, walk
from rfactor.ir.update import Update
from rfactor.matcher.lifting.affine import lifting
from rfactor.matcher.lifting.semiring import OFFSET, Row, Semiring, semirings
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift

_MOST_COMPONENTS = 3
_READ = ("+", "-", "*", "/", "neg")


@dataclass(frozen=True, slots=True)
class Quotient:
    """One linear form of the state over another."""

    above: Row
    below: Row


def claims(update: Update) -> Iterator[Claim]:
    """The claim that lifts quotients of linear forms with one divisor to matrices."""
    type_, own = update.types[0], accumulator_names(update)
    if not type_.is_float or len(update.types) > _MOST_COMPONENTS or any(t != type_ for t in update.types):
        return
    if not any(
        isinstance(n, Op) and n.op == "/" and names(n.args[1]) & own for e in update.components for n in walk(e)
    ):
        return
    ring = next(semirings(type_, update.meaning))
    reader = _Reader(ring, free_of(own), {x: i for i, x in enumerate(update.accumulators)})
    quotients = [reader.read(component) for component in update.components]
    read = [quotient for quotient in quotients if quotient is not None]
    if len(read) < len(quotients):
        return
    below = next((q.below for q in read if not _is_free(q.below)), None)
    if below is None:
        return
    above: list[Row] = []
    for quotient in read:
        same = quotient if quotient.below == below else reader.expanded(quotient, below)
        if same is None:
            return
        above.append(same.above)
    size = len(update.types)
    rows = [{size if j == OFFSET else j: tidy(entry) for j, entry in row.items()} for row in (*above, below)]
    lift = lifting(rows, ring)
    if lift is not None:
        divisors = [n.args[1] for e in update.components for n in walk(e) if isinstance(n, Op) and n.op == "/"]
        loose = dict.fromkeys(d for d in divisors if reader.free(d) and not isinstance(d, Const))
        assumes = tuple(apply("!=", divisor, const(type_, 0)) for divisor in loose)
        yield Claim(update, lift=_divided(lift, update), assumes=assumes)


def _divided(lift: Lift, update: Update) -> Lift:
    """The matrix on homogeneous coordinates as a map of the state."""
    size = len(update.types)
    last = {f"x{size}": const(update.types[0], 1.0)}
    *above, below = (tidy(substitute(part, last)) for part in lift.apply)
    return Lift(lift.types, lift.data, lift.operator, lift.identity, tuple(apply("/", part, below) for part in above))


def _is_quotient(expr: Expr) -> bool:
    """Whether there is a division outside of calls by something that is no literal."""
    if not isinstance(expr, Op) or expr.op not in _READ:
        return False
    return (expr.op == "/" and not isinstance(expr.args[1], Const)) or any(map(_is_quotient, expr.args))


def _is_free(row: Row) -> bool:
    return set(row) <= {OFFSET}


@dataclass(frozen=True, slots=True)
class _Reader:
    ring: Semiring
    free: Callable[[Expr], bool]
    index: dict[Var, int]

    def read(self, expr: Expr) -> Quotient | None:
        """`expr` as a quotient of linear forms; None where it is none as it is written."""
        one: Row = {OFFSET: self.ring.one}
        if self.free(expr) and not _is_quotient(expr):
            return Quotient({OFFSET: expr}, one)
        if isinstance(expr, Var):
            return Quotient({self.index[expr]: self.ring.one}, one)
        if not isinstance(expr, Op):
            return None
        if expr.op == "select":
            return self.choose(*expr.args) if self.free(expr.args[0]) else None
        if expr.op not in _READ:
            return None
        parts = [self.read(arg) for arg in expr.args]
        if parts[0] is None or parts[-1] is None:
            return None
        if expr.op == "neg":
            return Quotient(self.scaled(parts[0].above, -1.0), parts[0].below)
        if expr.op == "*":
            return self.product(parts[0], parts[1])
        if expr.op == "/":
            return self.product(parts[0], None if parts[1] is None else Quotient(parts[1].below, parts[1].above))
        return self.sum(parts[0], parts[1], -1.0 if expr.op == "-" else 1.0)

    def choose(self, condition: Expr, true: Expr, false: Expr) -> Quotient | None:
        one, other = self.read(true), self.read(false)
        if one is None or other is None:
            return None

        def chosen(a: Row, b: Row) -> Row:
            zero = self.ring.zero
            pairs = {at: (a.get(at, zero), b.get(at, zero)) for at in {**a, **b}}
            return {at: p if p == q else select(condition, p, q) for at, (p, q) in pairs.items()}

        return Quotient(chosen(one.above, other.above), chosen(one.below, other.below))

    def product(self, one: Quotient | None, other: Quotient | None) -> Quotient | None:
        if one is None or other is None:
            return None
        if one.above == other.below:
            return Quotient(other.above, one.below)
        if one.below == other.above:
            return Quotient(one.above, other.below)
        above, below = self.times(one.above, other.above), self.times(one.below, other.below)
        return None if above is None or below is None else Quotient(above, below)

    def sum(self, one: Quotient | None, other: Quotient | None, sign: float) -> Quotient | None:
        if one is None or other is None:
            return None
        if one.below == other.below:
            return Quotient(self.plus(one.above, self.scaled(other.above, sign)), one.below)
        first, second = self.times(one.above, other.below), self.times(other.above, one.below)
        below = self.times(one.below, other.below)
        if first is None or second is None or below is None:
            return None
        return Quotient(self.plus(first, self.scaled(second, sign)), below)

    def expanded(self, quotient: Quotient, below: Row) -> Quotient | None:
        """A quotient of what is free of the state, with another divisor."""
        if not (_is_free(quotient.above) and _is_free(quotient.below)):
            return None
        factor = apply("/", quotient.above.get(OFFSET, self.ring.zero), quotient.below[OFFSET])
        return Quotient({at: self.ring.multiply(entry, factor) for at, entry in below.items()}, below)

    def plus(self, a: Row, b: Row) -> Row:
        zero = self.ring.zero
        total = {at: tidy(self.ring.add(a.get(at, zero), b.get(at, zero))) for at in {**a, **b}}
        return {at: entry for at, entry in total.items() if entry != zero}

    def scaled(self, row: Row, factor: float) -> Row:
        constant = const(self.ring.type, factor)
        return {at: tidy(self.ring.multiply(entry, constant)) for at, entry in row.items()}

    def times(self, a: Row, b: Row) -> Row | None:
        """The product, where one of them is free of the state."""
        if not _is_free(a):
            a, b = b, a
        if not _is_free(a):
            return None
        factor = a.get(OFFSET, self.ring.zero)
        products = {at: tidy(self.ring.multiply(entry, factor)) for at, entry in b.items()}
        return {at: entry for at, entry in products.items() if entry != self.ring.zero}
