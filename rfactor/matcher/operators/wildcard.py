"""Wildcard matching of canonical expressions (rfactor 2017, section 4.3, step 6).

In a pattern `x0, x1, …` stand for themselves, `y0, y1, …` match any expression free of accumulators, and `k` one that
is free of the iteration's data too. Sums, products and lattice chains match whatever the order of their operands: what
the other operands leave over goes to a wildcard that stands alone among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from rfactor.ir.canonical import Rank, canonical, default_rank
from rfactor.ir.expr import Const, Expr, Op, Var, names
from rfactor.ir.linear import Coefficient, from_linear, linear, reduce
from rfactor.ir.types import Type
from rfactor.ir.update import Update

_Item = TypeVar("_Item")
Bindings = Mapping[str, Expr]
_SUMS = frozenset(("+", "-", "neg", "*"))
_CHAINS = frozenset(("min", "max", "and", "or", "&", "|", "^"))
_MOST_LEFT_OVER = 5
"""Operands that are shared out among several wildcards at most."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches patterns against parts of one update."""

    accumulators: frozenset[str]
    constants: frozenset[str]

    @staticmethod
    def of(update: Update) -> Matcher:
        return Matcher(frozenset(x.name for x in update.accumulators), update.constants)

    def rank(self) -> Rank:
        """The order of the update's variables in canonical form: accumulators, data, constants."""

        def rank(name: str) -> tuple[int, int, str]:
            if name in self.constants:
                return (3, 0, name)
            return default_rank(name) if name in self.accumulators else (2, 0, name)

        return rank

    def canonical(self, expr: Expr) -> Expr:
        return canonical(expr, self.rank())

    def matches(
        self, patterns: Sequence[Expr], subjects: Sequence[Expr], bindings: Bindings | None = None
    ) -> Iterator[Bindings]:
        """Every way in which canonical `subjects` are instances of `patterns`, component by component."""
        bindings = bindings or {}
        if not patterns:
            yield bindings
            return
        for found in self.match(patterns[0], subjects[0], bindings):
            yield from self.matches(patterns[1:], subjects[1:], found)

    def match(self, pattern: Expr, subject: Expr, bindings: Bindings) -> Iterator[Bindings]:
        if pattern.type != subject.type:
            return
        if isinstance(pattern, Var):
            if self.is_wildcard(pattern):
                yield from self.bind(pattern, subject, bindings)
            elif pattern == subject:
                yield bindings
        elif isinstance(pattern, Const):
            if pattern == subject:
                yield bindings
        elif isinstance(pattern, Op):
            if pattern.op in _SUMS and not pattern.type.is_bool:
                yield from self.match_sum(pattern, subject, bindings)
            elif pattern.op in _CHAINS or (pattern.op == "!=" and pattern.args[0].type.is_bool):
                yield from self.match_chain(pattern.op, pattern, subject, bindings)
            elif isinstance(subject, Op) and subject.op == pattern.op and len(subject.args) == len(pattern.args):
                yield from self.matches(pattern.args, subject.args, bindings)
                if pattern.op == "==":
                    yield from self.matches(pattern.args, subject.args[::-1], bindings)

    def is_wildcard(self, expr: Expr) -> bool:
        return isinstance(expr, Var) and expr.name[0] in "yk"

    def fits(self, wildcard: Var, subject: Expr) -> bool:
        used = names(subject)
        return used <= self.constants if wildcard.name[0] == "k" else not used & self.accumulators

    def bind(self, wildcard: Var, subject: Expr, bindings: Bindings) -> Iterator[Bindings]:
        subject = self.canonical(subject)
        known = bindings.get(wildcard.name)
        if known is not None:
            if known == subject:
                yield bindings
        elif wildcard.type == subject.type and self.fits(wildcard, subject):
            yield {**bindings, wildcard.name: subject}

    # Sums of products.

    def match_sum(self, pattern: Expr, subject: Expr, bindings: Bindings) -> Iterator[Bindings]:
        wanted, constant = linear(pattern)
        given, rest = linear(subject)
        alone = [(atom, c) for atom, c in wanted.items() if self.is_wildcard(atom) and c in (1, -1)]
        terms = [(atom, c) for atom, c in wanted.items() if not (self.is_wildcard(atom) and c in (1, -1))]
        left = [*given.items(), *([(Const(subject.type, 1), rest)] if rest else [])]
        if constant:
            return  # table patterns have none
        yield from self.match_terms(terms, alone, left, subject.type, bindings)

    def match_terms(
        self,
        terms: list[tuple[Expr, Coefficient]],
        alone: list[tuple[Expr, Coefficient]],
        left: list[tuple[Expr, Coefficient]],
        type_: Type,
        bindings: Bindings,
    ) -> Iterator[Bindings]:
        if terms:
            (atom, coefficient), *others = terms
            for at in range(len(left)):
                for found in self.match_product(atom, coefficient, *left[at], type_, bindings):
                    yield from self.match_terms(others, alone, left[:at] + left[at + 1 :], type_, found)
            return
        if any(names(atom) & self.accumulators for atom, _ in left):
            return
        yield from self.share(alone, left, type_, bindings)

    def share(
        self,
        alone: list[tuple[Expr, Coefficient]],
        left: list[tuple[Expr, Coefficient]],
        type_: Type,
        bindings: Bindings,
    ) -> Iterator[Bindings]:
        """Give the terms that are left over to the wildcards that stand alone."""
        if not alone:
            if not left:
                yield bindings
            return
        (wildcard, sign), *others = alone
        assert isinstance(wildcard, Var)
        known = bindings.get(wildcard.name)
        if known is not None:
            total = from_linear(type_, left, 0) if left else Const(type_, 0)
            terms, constant = linear(Op(type_, "-" if sign == 1 else "+", (total, known)))
            rest = [*terms.items(), *([(Const(type_, 1), constant)] if constant else [])]
            if len(rest) < max(len(left), 1):
                yield from self.share(others, rest, type_, bindings)
            return
        for taken, rest in _parts(left, last=not others):
            value = from_linear(type_, [(a, reduce(type_, c * sign)) for a, c in taken], 0)
            for found in self.bind(wildcard, value, bindings):
                yield from self.share(others, rest, type_, found)

    def match_product(
        self, pattern: Expr, wanted: Coefficient, subject: Expr, given: Coefficient, type_: Type, bindings: Bindings
    ) -> Iterator[Bindings]:
        """Factor by factor; the numeric coefficient goes to a wildcard, or must be the pattern's."""
        factors = _flatten("*", pattern)
        alone = [factor for factor in factors if self.is_wildcard(factor)]
        fixed = [factor for factor in factors if not self.is_wildcard(factor)]
        if wanted not in (1, -1) or not alone:
            if wanted != given:
                return
            scale: Coefficient = 1
        else:
            scale = reduce(type_, given * wanted)
        left = [] if isinstance(subject, Const) else _flatten("*", subject)
        if isinstance(subject, Const):
            scale = reduce(type_, scale * subject.value)
        yield from self.match_factors(fixed, alone, left, scale, type_, bindings)

    def match_factors(
        self,
        fixed: list[Expr],
        alone: list[Expr],
        left: list[Expr],
        scale: Coefficient,
        type_: Type,
        bindings: Bindings,
    ) -> Iterator[Bindings]:
        if fixed:
            for at in range(len(left)):
                for found in self.match(fixed[0], left[at], bindings):
                    yield from self.match_factors(fixed[1:], alone, left[:at] + left[at + 1 :], scale, type_, found)
            return
        if any(names(factor) & self.accumulators for factor in left):
            return
        if not alone:
            if not left and scale == 1:
                yield bindings
            return
        wildcard, *others = alone
        assert isinstance(wildcard, Var)
        coefficients = (scale,) if not others or scale == 1 else (1, scale)
        for taken, rest in _parts(left, last=not others, empty=True):
            for coefficient in coefficients:
                value = from_linear(type_, [(_product(type_, taken), coefficient)], 0) if taken else None
                if value is None:
                    value = from_linear(type_, (), coefficient)
                remaining = scale if coefficient == 1 and others else 1
                for found in self.bind(wildcard, value, bindings):
                    yield from self.match_factors([], others, rest, remaining, type_, found)

    # Chains of one operation.

    def match_chain(self, op: str, pattern: Expr, subject: Expr, bindings: Bindings) -> Iterator[Bindings]:
        operands, left = _flatten(op, pattern), _flatten(op, subject)
        alone = [operand for operand in operands if self.is_wildcard(operand)]
        fixed = [operand for operand in operands if not self.is_wildcard(operand)]
        yield from self.match_operands(op, fixed, alone, left, bindings)

    def match_operands(
        self, op: str, fixed: list[Expr], alone: list[Expr], left: list[Expr], bindings: Bindings
    ) -> Iterator[Bindings]:
        if fixed:
            for at in range(len(left)):
                for found in self.match(fixed[0], left[at], bindings):
                    yield from self.match_operands(op, fixed[1:], alone, left[:at] + left[at + 1 :], found)
            return
        if not alone:
            if not left:
                yield bindings
            return
        wildcard, *others = alone
        assert isinstance(wildcard, Var)
        for taken, rest in _parts(left, last=not others):
            value = taken[0]
            for operand in taken[1:]:
                value = Op(value.type, op, (value, operand))
            for found in self.bind(wildcard, value, bindings):
                yield from self.match_operands(op, [], others, rest, found)


def _flatten(op: str, expr: Expr) -> list[Expr]:
    """The operands of a chain of `op`."""
    if isinstance(expr, Op) and expr.op == op:
        return [operand for arg in expr.args for operand in _flatten(op, arg)]
    return [expr]


def _product(type_: Type, factors: Sequence[Expr]) -> Expr:
    result = factors[0]
    for factor in factors[1:]:
        result = Op(type_, "*", (result, factor))
    return result


def _parts(items: list[_Item], *, last: bool, empty: bool = False) -> Iterator[tuple[list[_Item], list[_Item]]]:
    """Ways to take some of the items, the rest left; all of them for the last taker."""
    if last:
        if items or empty:
            yield items, []
        return
    if len(items) > _MOST_LEFT_OVER:
        return
    for count in range(0 if empty else 1, len(items) + 1):
        for chosen in combinations(range(len(items)), count):
            yield [items[i] for i in chosen], [items[i] for i in range(len(items)) if i not in chosen]
