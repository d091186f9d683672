"""Liftings of running products and their extrema: `x0*a, max(x1, x0*a)`, the maximum product of a segment.

Factors may have any sign. The greatest and the least of the products so far are kept together: which of them the state
makes the greatest depends on its sign. A pair of a greatest and a least product is itself such a state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial, reduce

from rfactor.ir.expr import Call, Expr, Op, Var, apply, const, select, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.terms import accumulator_names, chain, free_of, maximal_free, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_MOST_GUESSES = 16
_EXTREMAL = frozenset(("min", "max", "select"))


def claims(update: Update) -> Iterator[Claim]:
    """The claim for a product, or the two extrema of products, and extrema of what these have been."""
    type_ = update.types[0]
    exact = type_.is_float or (type_.is_int and type_.is_signed and update.meaning is Meaning.MATH)
    if len(update.types) < 2 or not exact or any(t != type_ for t in update.types):
        return
    nodes = [node for e in update.components for node in walk(e)]
    used = {node.op for node in nodes if isinstance(node, Op)}
    if "*" not in used or not used & _EXTREMAL or any(isinstance(node, Call) for node in nodes):
        return
    reader = _Reader(update)
    shape = reader.single() or reader.pair()
    if shape is not None:
        lift, invariant = _lifting(shape, type_)
        yield Claim(update, lift=lift, invariant=invariant)


@dataclass(frozen=True, slots=True)
class _Row:
    """A component that is an extremum of what was: x := op(x, c*v, ..., b)."""

    at: int
    op: str
    factors: tuple[Expr, ...]
    offset: Expr | None


@dataclass(frozen=True, slots=True)
class _Shape:
    """A product, or a greatest and a least one, with the rows that read it."""

    state: tuple[int, ...]
    """The product; or the greatest, then the least."""
    factor: Expr
    offsets: tuple[Expr, ...]
    """What the greatest and the least start anew with."""
    rows: tuple[_Row, ...]
    exchanged: bool = False
    """Whether the sign of the factor says which of the two becomes which, even if they are in the wrong order."""


class _Reader:
    def __init__(self, update: Update) -> None:
        self.update = update
        self.free = free_of(accumulator_names(update))
        self.x = update.accumulators
        self.components = tuple(extremal(e, self.free) for e in update.components)

    def single(self) -> _Shape | None:
        """One component that is only multiplied."""
        for at, component in zip(range(len(self.x)), self.components, strict=True):
            factor = self.times(component, at)
            if factor is None:
                continue
            rows = [self.row(i, (at,)) for i in range(len(self.x)) if i != at]
            found = tuple(row for row in rows if row is not None)
            if len(found) == len(rows):
                return _Shape((at,), factor, (), found)
        return None

    def pair(self) -> _Shape | None:
        """A greatest and a least of the products of both."""
        count = len(self.x)
        for high, low in itertools.permutations(range(count), 2):
            if not all(isinstance(self.components[i], Op) for i in (high, low)):
                continue
            above, below = self.both(high, (high, low), "max"), self.both(low, (high, low), "min")
            if above is None or below is None:
                continue
            (factor, top), (other, bottom) = above, below
            if factor != other or (top is None) != (bottom is None):
                continue
            rows = [self.row(i, (high, low)) for i in range(count) if i not in (high, low)]
            found = tuple(row for row in rows if row is not None)
            if len(found) == len(rows):
                offsets = () if top is None or bottom is None else (top, bottom)
                return _Shape((high, low), factor, offsets, found)
        return self.guessed() if count == 2 else None

    def guessed(self) -> _Shape | None:
        """The same where the sign of the factor chooses, on samples."""
        products = [
            n for e in self.components for n in walk(e) if isinstance(n, Op) and n.op == "*" and not self.free(n)
        ]
        type_ = self.x[0].type
        if any(x.type != type_ for x in self.x):
            return None
        factors = dict.fromkeys(tidy(arg) for n in products for arg in n.args if self.free(arg) and n.type == type_)
        offsets = dict.fromkeys(tidy(e) for e in maximal_free(self.components, self.free) if e.type == type_)
        guesses = itertools.product(factors, offsets, ((0, 1), (1, 0)))
        for factor, offset, (high, low) in itertools.islice(guesses, _MOST_GUESSES):
            up = apply("<=", nought(factor.type), factor)
            top, bottom = (apply("*", self.x[i], factor) for i in (high, low))
            meant = {
                high: apply("max", offset, choose(up, top, bottom)),
                low: apply("min", offset, choose(up, bottom, top)),
            }
            ordered = (meant[0], meant[1])
            if sampling.refute(self.update.components, ordered, self.update.meaning, count=64) is None:
                return _Shape((high, low), factor, (offset, offset), (), True)
        return None

    def times(self, expr: Expr, at: int) -> Expr | None:
        """c where `expr` is c times the component."""
        if expr == self.x[at]:
            return const(expr.type, 1)
        if not isinstance(expr, Op):
            return None
        if expr.op == "neg":
            factor = self.times(expr.args[0], at)
            return None if factor is None else tidy(apply("neg", factor))
        if expr.op == "*":
            for other, inner in (expr.args, expr.args[::-1]):
                if self.free(other):
                    factor = self.times(inner, at)
                    return None if factor is None else tidy(apply("*", factor, other))
        return None

    def terms(self, op: str, expr: Expr) -> Iterator[Expr]:
        """The operands of a chain of extrema."""
        for part in chain(op, expr):
            if op == "max" and isinstance(part, Op) and part.op == "abs":
                yield part.args[0]
                yield apply("neg", part.args[0])
            elif part == expr:
                yield part
            else:
                yield from self.terms(op, part)

    def both(self, at: int, state: tuple[int, ...], op: str) -> tuple[Expr, Expr | None] | None:
        """The one factor of both, and the rest of the chain."""
        factors, offset = self.split(op, list(self.terms(op, self.components[at])), state) or ((), None)
        return (factors[0], offset) if len(factors) == 1 else None

    def split(self, op: str, terms: list[Expr], state: tuple[int, ...]) -> tuple[tuple[Expr, ...], Expr | None] | None:
        """The factors of the state, each with all of its components, and what is free of it."""
        loose = [t for t in terms if self.free(t)]
        found: dict[Expr, set[int]] = {}
        for term in terms:
            if term in loose:
                continue
            for at in state:
                factor = self.times(term, at)
                if factor is not None:
                    found.setdefault(factor, set()).add(at)
                    break
            else:
                return None
        if any(used != set(state) for used in found.values()):
            return None
        return tuple(found), tidy(reduce(partial(apply, op), loose)) if loose else None

    def row(self, at: int, state: tuple[int, ...]) -> _Row | None:
        component = self.components[at]
        if not isinstance(component, Op) or component.op not in ("min", "max"):
            return None
        terms = list(self.terms(component.op, component))
        rest = [t for t in terms if t != self.x[at]]
        split = self.split(component.op, rest, state) if len(rest) < len(terms) else None
        return None if split is None or not split[0] else _Row(at, component.op, *split)


@dataclass(slots=True)
class _Builder:
    """Parts of the richer state, each with its datum, what two make of it, and the unit's."""

    types: list[Type] = field(default_factory=lambda: [BOOL])
    data: list[Expr] = field(default_factory=lambda: [TRUE])
    identity: list[Expr] = field(default_factory=lambda: [FALSE])

    def part(self, type_: Type, datum: Expr, unit: Expr) -> tuple[Expr, Expr]:
        """A new part of the left and of the right operand."""
        at = len(self.types)
        self.types.append(type_)
        self.data.append(datum)
        self.identity.append(unit)
        return Var(type_, f"x{at}"), Var(type_, f"y{at}")


def _either(op: str, up: Expr, greatest: Expr, least: Expr) -> Expr:
    """What becomes the extremum: the greatest stays the greatest where `up`."""
    return choose(up, greatest, least) if op == "max" else choose(up, least, greatest)


def _lifting(shape: _Shape, type_: Type) -> tuple[Lift, tuple[Expr, ...]]:
    """The lifting, and that ends are in order.

    State: whether there was a step, its factor, what it starts anew with, and for rows the factors' two ends.
    """
    some, more = Var(BOOL, "x0"), Var(BOOL, "y0")
    x = {i: Var(type_, f"x{i}") for i in (*shape.state, *(row.at for row in shape.rows))}
    zero, one = nought(type_), const(type_, 1)
    built = _Builder()
    factor, by = built.part(type_, shape.factor, one)
    after: list[Expr] = [apply("*", factor, by)]
    up = apply("<=", zero, by)
    extrema = ("max", "min")
    starts = [built.part(type_, offset, zero) for offset in shape.offsets]
    for op, (_, new) in zip(extrema, starts, strict=False):
        moved = _either(op, up, *(apply("*", old, by) for old, _ in starts))
        after.append(apply(op, moved, new))
    applied: dict[int, Expr] = {}
    if len(shape.state) == 1:
        applied[shape.state[0]] = apply("*", x[shape.state[0]], by)
    else:
        products = [apply("*", x[i], by) for i in shape.state]
        for at, op in zip(shape.state, extrema, strict=True):
            pair = products if op == "max" else products[::-1]
            applied[at] = choose(up, pair[0], pair[1]) if shape.exchanged else apply(op, *pair)
        for at, op, (_, new) in zip(shape.state, extrema, starts, strict=False):
            applied[at] = apply(op, applied[at], new)
    ends: dict[tuple[Expr, ...], list[tuple[Expr, Expr]]] = {}
    for row in shape.rows:
        if row.factors not in ends:
            both = [built.part(type_, tidy(reduce(partial(apply, op), row.factors)), zero) for op in extrema]
            ends[row.factors] = both
            ahead = apply("<=", zero, factor)
            for op, (old, _) in zip(extrema, both, strict=True):
                moved = _either(op, ahead, *(apply("*", new, factor) for _, new in both))
                after.append(apply(op, old, moved))
        factors = ends[row.factors]
        best: Expr = x[row.at]
        for _, new in factors:
            for i in shape.state:
                best = apply(row.op, best, apply("*", x[i], new))
        if row.offset is not None or starts:
            end = row.offset if row.offset is not None else zero
            own, other = built.part(type_, end, zero)
            total = apply(row.op, own, other)
            for (_, new), (start, _) in itertools.product(factors, starts):
                total = apply(row.op, total, apply("*", start, new))
            after.append(total)
            best = apply(row.op, best, other)
        applied[row.at] = best
    ordered = [*ends.values(), *([starts] if starts and not shape.exchanged else [])]
    operator: list[Expr] = [apply("or", some, more)]
    for at, joined in zip(range(1, len(built.types)), after, strict=True):
        first, second = Var(built.types[at], f"x{at}"), Var(built.types[at], f"y{at}")
        operator.append(choose(some, choose(more, joined, first), second))
    lift = Lift(
        tuple(built.types),
        tuple(built.data),
        tuple(operator),
        tuple(built.identity),
        tuple(select(more, applied[i], x[i]) for i in sorted(applied)),
    )
    return lift, tuple(apply("<=", least, greatest) for (_, greatest), (_, least) in ordered)


__all__ = ["claims"]
