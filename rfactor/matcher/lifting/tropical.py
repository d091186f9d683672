"""Liftings to maps over (max, +) of components some of which run the other way: profits, segment sums, longest runs.
Over sums of probabilities kept as logarithms too: forward algorithms.

`min(x0, a), max(x1, a - x0)` is affine over (max, +) in -x0 and x1. Choices that compare what they choose between are
extrema. Among unbounded integers and logarithms an entry that a datum may leave out is carried as a flag beside its
value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, select, substitute, transform
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought
from rfactor.matcher.lifting.affine import Cell, Pattern, closed, lifting
from rfactor.matcher.lifting.semiring import LOG_SUM, OFFSET, Row, Semiring, affine, logarithms_of, semirings
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity, is_infinite

_MOST_SIGNS = 4
Maybe = tuple[Expr, Expr]
"""Whether there is an element, and its value."""


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update whose integers do not wrap or whose numbers are reals."""
    type_ = update.types[0]
    exact = type_.is_float or (type_.is_int and update.meaning is Meaning.MATH)
    if not exact or any(t != type_ for t in update.types):
        return
    for logarithms in semirings(type_, update.meaning):
        if logarithms.plus == LOG_SUM:
            rows = affine(update, logarithms)
            assumes = None if rows is None else logarithms_of(rows, update)
            found = None if rows is None or assumes is None else _flagged(rows, logarithms)
            if found is not None:
                yield Claim(update, lift=found[0], invariant=found[1], assumes=assumes or ())
    (ring,) = [r for r in semirings(type_, update.meaning) if (r.plus, r.times) == ("max", "+")]
    free = free_of(accumulator_names(update))
    shaped = replace(update, components=tuple(extremal(c, free) for c in update.components))
    for signs in itertools.islice(_signs(len(update.types)), 1 if type_.code == "uint" else None):
        turned = _turned(shaped, signs)
        rows = None if turned is None else affine(turned, ring)
        found = None if rows is None else _lifting(rows, ring)
        if found is not None:
            lift, invariant = found
            turned_back = replace(lift, apply=_turned_back(lift.apply, update, signs))
            yield Claim(update, lift=turned_back, invariant=invariant)


def _signs(count: int) -> Iterator[tuple[int, ...]]:
    """Which components are negated: none, all, then some."""
    yield (1,) * count
    yield (-1,) * count
    if 1 < count <= _MOST_SIGNS:
        for signs in itertools.product((1, -1), repeat=count):
            if len(set(signs)) > 1:
                yield signs


# Choices that are extrema.


def extremal(expr: Expr, free: Callable[[Expr], bool]) -> Expr:
    """`expr` with choices between sums written as `max` and `min` where they are that."""

    def rule(node: Expr) -> Expr | None:
        if not isinstance(node, Op) or free(node):
            return None
        if node.op == "*":
            return _chosen_factor(node, free)
        if node.op in ("+", "-"):
            return _distributed(node, free)
        if node.op != "select" or node.type.is_bool:
            return None
        condition, true, false = node.args
        if isinstance(condition, Op) and condition.op in ("and", "or"):
            for guard, rest in (condition.args, condition.args[::-1]):
                if free(guard) and not free(rest):
                    inner = rule(select(rest, true, false)) or select(rest, true, false)
                    return select(guard, inner, false) if condition.op == "and" else select(guard, true, inner)
        if not isinstance(condition, Op) or condition.op not in ("<", "<=", ">", ">="):
            return None
        low, high = condition.args if condition.op[0] == "<" else condition.args[::-1]
        if low.type != node.type:
            return None
        # Of integers, low < high says that high - low - 1 >= 0, low <= high that high - low + 1 > 0.
        slack = 0 if not node.type.is_int else -1 if len(condition.op) == 1 else 1
        terms, constant = linear(apply("-", high, low))
        alike = [(terms, constant), (terms, constant + slack)]
        if linear(apply("-", true, false)) in alike:
            return apply("max", true, false)
        return apply("min", true, false) if linear(apply("-", false, true)) in alike else None

    return transform(expr, rule)


def _distributed(node: Op, free: Callable[[Expr], bool]) -> Expr | None:
    """A sum of the state and an extremum that reads it as the extremum of sums: `x - min(x, a)` is `max(0, x - a)`."""
    for place, (extremum, other) in enumerate((node.args, node.args[::-1])):
        if isinstance(extremum, Op) and extremum.op in ("min", "max") and not free(extremum) and not free(other):
            turned = node.op == "-" and place == 1
            op = {"min": "max", "max": "min"}[extremum.op] if turned else extremum.op
            ends = (extremum.args[0], extremum.args[1])
            sums = [apply(node.op, other, end) if place else apply(node.op, end, other) for end in ends]
            first, second = (
                (_distributed(total, free) if isinstance(total, Op) else None) or canonical(total) for total in sums
            )
            return apply(op, first, second)
    return None


def _chosen_factor(node: Op, free: Callable[[Expr], bool]) -> Expr | None:
    """`x * select(c, 1, 0)` as a choice."""
    for factor, other in (node.args, node.args[::-1]):
        if free(factor) and isinstance(factor, Op) and factor.op == "select":
            condition, *branches = factor.args
            if all(isinstance(branch, Const) and branch.value in (0, 1) for branch in branches):
                values = [other if branch.value == 1 else branch for branch in branches if isinstance(branch, Const)]
                return select(condition, values[0], values[1])
    return None


# Components that run the other way.


def _turned(update: Update, signs: tuple[int, ...]) -> Update | None:
    """The update of the signed components, its extrema all maxima; None where one stays a minimum."""
    sign = {x.name: s for x, s in zip(update.accumulators, signs, strict=True)}
    free = free_of(accumulator_names(update))

    def visit(node: Expr, up: bool) -> Expr | None:
        """`node`, or its negative, with the accumulators replaced by the signed ones."""
        if free(node):
            return node if up else _negative(node)
        if isinstance(node, Var):
            return node if (sign[node.name] > 0) == up else None
        if not isinstance(node, Op):
            return None
        if node.op == "neg":
            return visit(node.args[0], not up)
        if node.op in ("+", "-"):
            sides = visit(node.args[0], up), visit(node.args[1], up == (node.op == "+"))
        elif node.op in ("min", "max") and (node.op == "max") == up:
            sides = visit(node.args[0], up), visit(node.args[1], up)
            return None if sides[0] is None or sides[1] is None else apply("max", sides[0], sides[1])
        elif node.op == "select" and free(node.args[0]):
            sides = visit(node.args[1], up), visit(node.args[2], up)
            return None if sides[0] is None or sides[1] is None else select(node.args[0], sides[0], sides[1])
        else:
            return None
        return None if sides[0] is None or sides[1] is None else apply("+", sides[0], sides[1])

    components = []
    for component, s in zip(update.components, signs, strict=True):
        turned = visit(component, s > 0)
        if turned is None:
            return None
        components.append(turned)
    return replace(update, components=tuple(components))


def _negative(node: Expr) -> Expr:
    if isinstance(node, Op) and node.op == "neg":
        return node.args[0]
    fits = isinstance(node, Const) and node.type.min <= -node.value <= node.type.max
    return const(node.type, -node.value) if isinstance(node, Const) and fits else apply("neg", node)


def _turned_back(applied: tuple[Expr, ...], update: Update, signs: tuple[int, ...]) -> tuple[Expr, ...]:
    old: dict[str, Expr] = {
        x.name: x if s > 0 else apply("neg", x) for x, s in zip(update.accumulators, signs, strict=True)
    }
    return tuple(
        substitute(e, old) if s > 0 else apply("neg", substitute(e, old)) for e, s in zip(applied, signs, strict=True)
    )


# Entries that may be left out.


def _lifting(rows: list[Row], ring: Semiring) -> tuple[Lift, tuple[Expr, ...]] | None:
    """The plain lifting; for integers, with flags where data leave entries out. Also what is always true of flags."""
    plain = lifting(rows, ring)
    if plain is not None or ring.type.is_float:
        return None if plain is None else (plain, ())
    return _flagged(rows, ring)


def _flagged(rows: list[Row], ring: Semiring) -> tuple[Lift, tuple[Expr, ...]] | None:
    """The lifting with a flag for each entry that may be left out."""
    size = len(rows)
    entries = {
        (i, size if j == OFFSET else j): entry
        for i, row in zip(range(size), rows, strict=True)
        for j, entry in row.items()
    }
    pattern = closed(entries, ring, size)
    return None if pattern is None else _Flagged(ring, size, entries, pattern).lift()


@dataclass(slots=True)
class _Flagged:
    ring: Semiring
    size: int
    entries: dict[Cell, Expr]
    pattern: Pattern

    def lift(self) -> tuple[Lift, tuple[Expr, ...]]:
        """The lifting, and that no row without an offset is empty."""
        count = len(set(self.pattern.cells.values()))
        example = {number: cell for cell, number in reversed(list(self.pattern.cells.items()))}
        data = {n: present(self.entries.get(example[n], self.ring.zero), self.ring) for n in range(count)}
        # A flag is carried for what a datum or the unit leaves out, and for what composition leaves out then.
        flagged = {n for n in range(count) if data[n][0] != TRUE or len(set(example[n])) > 1}
        while True:
            grown = {n for n in range(count) if n in flagged or self.composed(example[n], flagged)[0] != TRUE}
            if grown == flagged:
                break
            flagged = grown
        types: list[Type] = []
        place: dict[int, int] = {}
        for n in range(count):
            place[n] = len(types)
            types += [self.ring.type, BOOL] if n in flagged else [self.ring.type]

        def parts(n: int, element: Maybe) -> list[Expr]:
            return [element[1], element[0]] if n in flagged else [element[1]]

        def operand(letter: str) -> dict[int, Maybe]:
            return {
                n: (
                    Var(BOOL, f"{letter}{place[n] + 1}") if n in flagged else TRUE,
                    Var(self.ring.type, f"{letter}{place[n]}"),
                )
                for n in range(count)
            }

        x, y = operand("x"), operand("y")
        operator = [p for n in range(count) for p in parts(n, self.entry(example[n], x, y))]
        shown = [p for n in range(count) for p in parts(n, data[n])]
        one, nothing = (TRUE, self.ring.one), (FALSE, nought(self.ring.type))
        unit = [p for n in range(count) for p in parts(n, one if len(set(example[n])) == 1 else nothing)]
        rows = [[self.known((i, j), y) for j in range(self.size + 1)] for i in range(self.size)]
        flags = [[entry[0] for entry in row if entry is not None] for row in rows]
        invariant = [
            reduce(partial(apply, "or"), own)
            for own, row in zip(flags, rows, strict=True)
            if row[self.size] is None and TRUE not in own
        ]
        return Lift(tuple(types), tuple(shown), tuple(operator), tuple(unit), tuple(self.applied(y))), tuple(invariant)

    def composed(self, at: Cell, flagged: set[int]) -> Maybe:
        """An entry of the product where the flags of these parameters are open."""
        some: dict[int, Maybe] = {
            n: (Var(BOOL, f"flag {n}") if n in flagged else TRUE, Var(self.ring.type, f"value {n}"))
            for n in set(self.pattern.cells.values())
        }
        return self.entry(at, some, some)

    def known(self, at: Cell, operand: dict[int, Maybe]) -> Maybe | None:
        """An entry as it is meant: the offset of a row of which nothing else is there is there itself."""
        number = self.pattern.cells.get(at)
        if number is None:
            return (TRUE, self.ring.one) if at in self.pattern.ones else None
        flag, value = operand[number]
        i, j = at
        if j == self.size and flag != TRUE:
            others = [self.known((i, m), operand) for m in range(self.size)]
            flags = [other[0] for other in others if other is not None]
            if flags and TRUE not in flags:
                flag = apply("or", flag, apply("not", reduce(partial(apply, "or"), flags)))
        return flag, value

    def entry(self, at: Cell, first: dict[int, Maybe], second: dict[int, Maybe]) -> Maybe:
        """An entry of (second ∘ first). The term through the first's diagonal is last: where it alone is open, as it
        is where the first is the unit, the second's entry comes through whole."""
        i, j = at
        terms: list[Maybe] = []
        raw: list[Maybe] = []
        for middle in (*(m for m in range(self.size + 1) if m != j), j):
            left, right = self.known((i, middle), second), self.known((middle, j), first)
            if left is not None and right is not None:
                terms.append(times(right, left, self.ring))
                own = second[self.pattern.cells[at]] if middle == j and at in self.pattern.cells else left
                raw.append(times(right, own, self.ring))
        return total(raw, self.ring)[0], total(terms, self.ring)[1]

    def applied(self, y: dict[int, Maybe]) -> Iterator[Expr]:
        for i in range(self.size):
            terms: list[Maybe] = []
            for j in range(self.size + 1):
                entry = self.known((i, j), y)
                x = Var(self.ring.type, f"x{j}") if j < self.size else self.ring.one
                if entry is not None:
                    terms.append(times((TRUE, x), entry, self.ring))
            yield total(terms, self.ring)[1]


def times(a: Maybe, b: Maybe, ring: Semiring) -> Maybe:
    """The product of two elements, if both are there."""
    flag = b[0] if a[0] == TRUE else a[0] if b[0] == TRUE else apply("and", a[0], b[0])
    return flag, ring.multiply(a[1], b[1])


def total(terms: list[Maybe], ring: Semiring) -> Maybe:
    """The sum of those elements that are there."""
    result: Maybe = (FALSE, nought(ring.type))
    for flag, value in terms:
        result = (
            choose(result[0], TRUE, flag),
            choose(result[0], choose(flag, ring.add(result[1], value), result[1]), value),
        )
    return result


def present(entry: Expr, ring: Semiring) -> Maybe:
    """An entry with infinite parts as a flag and a value."""
    if entry == ring.zero:
        return FALSE, nought(ring.type)
    if not isinstance(entry, Op) or entry.type != ring.type or not has_infinity(entry):
        return (TRUE, entry) if not is_infinite(entry) else (FALSE, nought(ring.type))
    if entry.op == "select":
        (first, a), (second, b) = (present(arg, ring) for arg in entry.args[1:])
        return tidy(choose(entry.args[0], first, second)), choose(entry.args[0], a, b)
    elements = [present(arg, ring) for arg in entry.args]
    return times(elements[0], elements[1], ring) if entry.op == ring.times else total(elements, ring)
