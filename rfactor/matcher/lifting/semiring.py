"""Updates that are affine over a semiring, as expressions: x_i := sum_j A_ij * x_j + b_i for some "sum" and "product".

Semirings are pairs of the language's operations: (+, *), (max, min), (max, +) and (min, +) where nothing overflows,
(^, &) and (|, &) bit by bit, and their twins on bool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from rfactor.ir.expr import Call, Const, Expr, Op, apply, const, names, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify_real
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.operators.primitives import unit
from rfactor.matcher.terms import accumulator_names, chain, free_of, logarithm, tidy
from rfactor.prover.infinity import has_infinity

Row = dict[int, Expr]
"""Coefficients by accumulator; the offset under `OFFSET`. What is missing is zero."""
OFFSET = -1
LOG_SUM = "log of a sum of exponentials"
"""The sum of the semiring in which probabilities are kept as logarithms; its product is +."""


@dataclass(frozen=True, slots=True)
class Semiring:
    """Two operations of the language on one type; `zero` is absorbing for `times`."""

    type: Type
    plus: str
    times: str
    zero: Expr
    one: Expr

    @property
    def idempotent(self) -> bool:
        """Whether a + a = a."""
        return self.plus in ("max", "min", "|", "or")

    def add(self, a: Expr, b: Expr) -> Expr:
        if a == self.zero:
            return b
        if b == self.zero or (a == b and self.idempotent):
            return a
        if self.plus == LOG_SUM:
            powers = (Call(self.type, "exp", (part,)) for part in (a, b))
            return Call(self.type, "log", (apply("+", *powers),))
        return Op(self.type, self.plus, (a, b))

    def multiply(self, a: Expr, b: Expr) -> Expr:
        if self.zero in (a, b):
            return self.zero
        if a == self.one:
            return b
        return a if b == self.one else Op(self.type, self.times, (a, b))


def semirings(type_: Type, meaning: Meaning) -> Iterator[Semiring]:
    """The semirings on a type, those with the plainest operations first."""

    def pair(plus: str, times: str) -> Semiring:
        return Semiring(type_, plus, times, unit(plus, type_, meaning), unit(times, type_, meaning))

    if type_.is_bool:
        yield pair("or", "and")
        yield pair("!=", "and")
        return
    yield pair("+", "*")
    if not (type_.is_int and meaning is Meaning.MATH):
        yield pair("max", "min")
    else:
        from rfactor.prover.infinity import INFINITY, MINUS_INFINITY

        yield Semiring(type_, "max", "min", MINUS_INFINITY, INFINITY)
    if type_.is_float or meaning is Meaning.MATH:
        from rfactor.prover.infinity import INFINITY, MINUS_INFINITY

        for plus, infinity in (("max", MINUS_INFINITY), ("min", INFINITY)):
            zero = const(type_, float(infinity.value)) if type_.is_float else infinity
            yield Semiring(type_, plus, "+", zero, const(type_, 0))
    if type_.is_float:
        yield Semiring(type_, LOG_SUM, "+", const(type_, float("-inf")), const(type_, 0))
    if type_.is_int and meaning is Meaning.WRAP:
        yield pair("^", "&")
        yield pair("|", "&")


def divisors(update: Update) -> tuple[Expr, ...]:
    """What states are divided by, other than literals: it is taken not to be 0."""
    free = free_of(accumulator_names(update))
    return tuple(
        dict.fromkeys(
            node.args[1]
            for component in update.components
            for node in walk(component)
            if isinstance(node, Op)
            and node.op == "/"
            and not free(node.args[0])
            and free(node.args[1])
            and not isinstance(node.args[1], Const)
        )
    )


def logarithms_of(rows: Sequence[Row], update: Update) -> tuple[Expr, ...] | None:
    """That what rows take logarithms of, and the update does not, is above 0; None if it is for some constants only."""
    known = {node for component in update.components for node in walk(component)}
    found: dict[Expr, None] = {}
    for node in (node for row in rows for entry in row.values() for node in walk(entry)):
        if isinstance(node, Call) and node.name == "log" and node not in known:
            if not isinstance(node.args[0], Const):
                found[apply(">", node.args[0], const(node.type, 0))] = None
            elif node.args[0].value <= 0:
                return None
    return None if any(names(condition) & update.constants for condition in found) else tuple(found)


def affine(update: Update, ring: Semiring) -> list[Row] | None:
    """The rows of the update over a semiring, or None if it is not affine there."""
    if any(type_ != ring.type for type_ in update.types):
        return None
    reader = _Reader(update, ring)
    rows = []
    for component in update.components:
        row = reader.read(component)
        if row is None:
            return None
        rows.append({at: entry if has_infinity(entry) else tidy(entry) for at, entry in row.items()})
    return rows


class _Reader:
    def __init__(self, update: Update, ring: Semiring) -> None:
        self.ring = ring
        self.free = free_of(accumulator_names(update))
        self.index: dict[Expr, int] = {x: i for i, x in zip(range(len(update.types)), update.accumulators, strict=True)}
        self.memo: dict[Expr, Row | None] = {}

    def read(self, expr: Expr) -> Row | None:
        if expr not in self.memo:
            self.memo[expr] = self.compute(expr)
        return self.memo[expr]

    def compute(self, expr: Expr) -> Row | None:
        ring = self.ring
        if self.free(expr):
            return {} if expr == ring.zero else {OFFSET: expr}
        if expr in self.index:
            return {self.index[expr]: ring.one}
        if ring.plus == LOG_SUM and isinstance(expr, Call) and expr.name == "log":
            return self.exponentials(expr.args[0])
        if not isinstance(expr, Op):
            return None
        if expr.op == "select":
            return self.choose(*expr.args)
        rule = _REWRITES.get((ring.plus, ring.times, expr.op))
        if rule is not None:
            rewritten = rule(self.free, *expr.args)
            return None if rewritten is None else self.read(rewritten)
        if expr.op == ring.plus:
            rows = [self.read(arg) for arg in expr.args]
            return None if rows[0] is None or rows[1] is None else self.sum(rows[0], rows[1])
        if expr.op == ring.times:
            for one, other in (expr.args, expr.args[::-1]):
                if self.free(one):
                    row = self.read(other)
                    return None if row is None else {at: ring.multiply(entry, one) for at, entry in row.items()}
        return None

    def sum(self, a: Row, b: Row) -> Row:
        return {at: self.ring.add(a.get(at, self.ring.zero), b.get(at, self.ring.zero)) for at in {**a, **b}}

    def exponentials(self, expr: Expr) -> Row | None:
        """The logarithm of a sum of exponentials, perhaps times something free of the accumulators."""
        total: Row = {}
        for part in chain("+", expr):
            row = {OFFSET: self.offset(part)} if self.free(part) else self.power(part)
            if row is None:
                return None
            total = self.sum(total, row)
        return total

    def offset(self, expr: Expr) -> Expr:
        """The logarithm of what is free of the state; the semiring's zero where data choose nothing."""
        if isinstance(expr, Op) and expr.op == "select":
            condition, *branches = expr.args
            return Op(expr.type, "select", (condition, *map(self.offset, branches)))
        return self.ring.zero if isinstance(expr, Const) and expr.value == 0 else logarithm(expr)

    def power(self, expr: Expr) -> Row | None:
        """The logarithm of one exponential of the state, perhaps times something free of it."""
        factors = chain("*", expr)
        bound = [f for f in factors if not self.free(f)]
        loose = [f for f in factors if self.free(f)]
        if len(bound) != 1 or not isinstance(bound[0], Call) or bound[0].name != "exp":
            return None
        row = self.read(bound[0].args[0])
        if row is None or not loose:
            return row
        factor = logarithm(reduce(partial(apply, "*"), loose))
        return {at: self.ring.multiply(entry, factor) for at, entry in row.items()}

    def choose(self, condition: Expr, true: Expr, false: Expr) -> Row | None:
        if not self.free(condition):
            return None
        a, b = self.read(true), self.read(false)
        if a is None or b is None:
            return None
        result: Row = {}
        for at in {**a, **b}:
            first, second = a.get(at, self.ring.zero), b.get(at, self.ring.zero)
            if first == second:
                result[at] = first
            else:
                result[at] = Op(self.ring.type, "select", (condition, first, second))
        return result


_Rewrite = Callable[..., Expr | None]


def _minus(free: Callable[[Expr], bool], a: Expr, b: Expr) -> Expr:
    return apply("+", a, apply("*", Const(b.type, b.type.wrap(-1)) if b.type.is_int else const(b.type, -1.0), b))


def _less_free(free: Callable[[Expr], bool], a: Expr, b: Expr) -> Expr | None:
    return apply("+", a, apply("neg", b)) if free(b) else None


def _shift(free: Callable[[Expr], bool], a: Expr, b: Expr) -> Expr | None:
    fits = isinstance(b, Const) and 0 <= b.value < a.type.bits - (a.type.code == "int")
    return apply("*", a, Const(a.type, 1 << int(b.value))) if isinstance(b, Const) and fits else None


def _xor_of_or(free: Callable[[Expr], bool], a: Expr, b: Expr) -> Expr | None:
    for one, other in ((a, b), (b, a)):
        if free(one):
            return apply("^", apply("&", other, apply("~", one)), one)
    return None


def _differs_of_or(free: Callable[[Expr], bool], a: Expr, b: Expr) -> Expr | None:
    for one, other in ((a, b), (b, a)):
        if free(one):
            return apply("!=", apply("and", other, apply("not", one)), one)
    return None


def _complement(free: Callable[[Expr], bool], a: Expr) -> Expr:
    return apply("^", a, Const(a.type, a.type.wrap(-1)))


def _divided(free: Callable[[Expr], bool], a: Expr, b: Expr) -> Expr | None:
    """By what does not depend on the state, and is not 0."""
    if not free(b):
        return None
    inverse = apply("/", const(b.type, 1.0), b)
    return apply("*", a, simplify_real(inverse) if isinstance(b, Const) else inverse)


_REWRITES: dict[tuple[str, str, str], _Rewrite] = {
    ("+", "*", "-"): _minus,
    ("+", "*", "neg"): lambda free, a: _minus(free, Const(a.type, 0), a),
    ("+", "*", "<<"): _shift,
    ("+", "*", "/"): _divided,
    ("max", "+", "-"): _less_free,
    (LOG_SUM, "+", "-"): _less_free,
    ("min", "+", "-"): _less_free,
    ("^", "&", "~"): _complement,
    ("^", "&", "|"): _xor_of_or,
    ("!=", "and", "or"): _differs_of_or,
    ("!=", "and", "not"): lambda free, a: apply("!=", a, Const(BOOL, True)),
    ("!=", "and", "^"): lambda free, a, b: apply("!=", a, b),
    ("!=", "and", "=="): lambda free, a, b: apply("!=", apply("!=", a, b), Const(BOOL, True)),
    ("!=", "and", "&"): lambda free, a, b: apply("and", a, b),
    ("!=", "and", "|"): lambda free, a, b: apply("or", a, b),
    ("or", "and", "|"): lambda free, a, b: apply("or", a, b),
    ("or", "and", "&"): lambda free, a, b: apply("and", a, b),
}
"""Operations written by those of a semiring, by (plus, times, operation)."""
