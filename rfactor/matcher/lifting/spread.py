"""Liftings over (max, +) in which sums and differences of components count: ranges, drawdowns, largest magnitudes.

`x0 + a, max(x1, x0 + a), max(x2, x1 - x0 - a)` makes of every component a greatest of such sums as x1 - x0, each with
something added. Composing two runs puts sums in sums, as long as what is negated is only added to: a run is what is
added to each sum of each component.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial, reduce

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, nought, pruned
from rfactor.matcher.lifting.semiring import Semiring, semirings
from rfactor.matcher.lifting.tropical import Maybe, extremal, present, times, total
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity

_MOST_ENTRIES, _MOST_TERMS, _HIGHEST = 16, 32, 4
Sum = tuple[tuple[int, int], ...]
"""How often each accumulator occurs, by its number; those that occur."""
Terms = dict[Sum, Expr]
"""What is added to each sum; the greatest of them all is meant."""
Entry = tuple[int, Sum]
"""A component and one of its sums."""
_EXTREMAL = frozenset(("min", "max", "abs", "select"))


def claims(update: Update) -> Iterator[Claim]:
    """The claim for numbers of one type, where nothing wraps, some of which are extrema of sums of several."""
    type_ = update.types[0]
    exact = type_.is_float or (type_.is_int and type_.is_signed and update.meaning is Meaning.MATH)
    if len(update.types) < 2 or not exact or any(t != type_ for t in update.types):
        return
    if not any(isinstance(node, Op) and node.op in _EXTREMAL for e in update.components for node in walk(e)):
        return
    (ring,) = [r for r in semirings(type_, update.meaning) if (r.plus, r.times) == ("max", "+")]
    reader = SumReader(update, ring)
    rows: list[Terms] = []
    signs: list[int] = []
    for component in reader.components:
        for sign in (1, -1):
            terms = reader.terms(component, sign > 0)
            if terms is not None:
                rows.append({s: e if has_infinity(e) else tidy(e) for s, e in terms.items()})
                signs.append(sign)
                break
        else:
            return
    found = _Runs(ring, rows, signs).lift()
    if found is not None:
        yield Claim(update, lift=found[0], invariant=found[1])


@dataclass(slots=True)
class _Runs:
    """What runs add to each sum of each component, or of its negative: closed under composition."""

    ring: Semiring
    rows: list[Terms]
    signs: list[int]
    """Whether a component is a greatest or a least."""
    entries: list[Entry] = field(default_factory=list)

    def lift(self) -> tuple[Lift, tuple[Expr, ...]] | None:
        """The lifting, and that no component is without a value."""
        if not self.close() or all(len(s) < 2 and self.runs_along(s) for _, s in self.entries):
            return None
        flagged = self.flagged()
        types: list[Type] = []
        place: dict[Entry, int] = {}
        for entry in self.entries:
            place[entry] = len(types)
            types += [self.ring.type, BOOL] if entry in flagged else [self.ring.type]

        def parts(entry: Entry, element: Maybe) -> list[Expr]:
            return [element[1], element[0]] if entry in flagged else [element[1]]

        def operand(letter: str) -> dict[Entry, Maybe]:
            return {
                entry: (
                    Var(BOOL, f"{letter}{at + 1}") if entry in flagged else TRUE,
                    Var(self.ring.type, f"{letter}{at}"),
                )
                for entry, at in place.items()
            }

        x, y = operand("x"), operand("y")
        composed = {entry: total(terms, self.ring) for entry, terms in (self.composed(x, y) or {}).items()}
        operator = [part for entry in self.entries for part in parts(entry, composed[entry])]
        data = [part for entry in self.entries for part in parts(entry, self.datum(entry))]
        unit = [part for entry in self.entries for part in parts(entry, self.unit(entry))]
        applied, invariant = [], []
        for i in range(len(self.rows)):
            own = [(s, y[i, s]) for j, s in self.entries if j == i]
            value = total([times((TRUE, self.written(s)), element, self.ring) for s, element in own], self.ring)[1]
            applied.append(value if self.signs[i] > 0 else apply("neg", value))
            flags = [flag for _, (flag, _) in own]
            if TRUE not in flags:
                invariant.append(reduce(partial(apply, "or"), flags))
        lift = Lift(tuple(types), tuple(data), tuple(operator), tuple(unit), tuple(applied))
        return (lift if invariant else pruned(lift)), tuple(invariant)

    def runs_along(self, s: Sum) -> bool:
        """Whether the sum is nothing, or one component taken as its row takes it."""
        return not s or s == self.own(s[0][0])

    def own(self, i: int) -> Sum:
        return ((i, self.signs[i]),)

    def close(self) -> bool:
        """Find the entries of all runs; False where they do not end."""
        found = {(i, s): None for i, row in zip(range(len(self.rows)), self.rows, strict=True) for s in row}
        found |= {(i, self.own(i)): None for i in range(len(self.rows))}
        while len(found) <= _MOST_ENTRIES:
            self.entries = sorted(found)
            some: dict[Entry, Maybe] = {entry: (TRUE, nought(self.ring.type)) for entry in self.entries}
            composed = self.composed(some, some)
            if composed is None or any(sum(abs(n) for _, n in s) > _HIGHEST for _, s in composed):
                return False
            if composed.keys() <= found.keys():
                return True
            found |= dict.fromkeys(composed)
        return False

    def composed(self, first: dict[Entry, Maybe], second: dict[Entry, Maybe]) -> dict[Entry, list[Maybe]] | None:
        """The terms of each entry of (second after first); None where something negated is not only added to.

        The second's own entry is last: where it alone is open, as it is where the first is the unit, it comes through
        whole.
        """
        result: dict[Entry, list[Maybe]] = {}
        last: dict[Entry, Maybe] = {}
        for i, s in self.entries:
            after = self.after(s, first)
            if after is None or len(result) > _MOST_ENTRIES:
                return None
            for inner, element in after.items():
                term = times(element, second[i, s], self.ring)
                result.setdefault((i, inner), []).extend([] if inner == s else [term])
                if inner == s:
                    last[i, inner] = term
        for entry, term in last.items():
            result[entry].append(term)
        return result

    def after(self, s: Sum, first: dict[Entry, Maybe]) -> dict[Sum, Maybe] | None:
        """What a run makes of a sum."""
        result: dict[Sum, Maybe] = {(): (TRUE, self.ring.one)}
        for i, n in s:
            row = {inner: first[j, inner] for j, inner in self.entries if j == i}
            if (n > 0) != (self.signs[i] > 0):
                if row.keys() != {self.own(i)} or row[self.own(i)][0] != TRUE:
                    return None
                row = {((i, -self.signs[i]),): (TRUE, apply("neg", row[self.own(i)][1]))}
            terms: dict[Sum, list[Maybe]] = {}
            for a, left in result.items():
                for b, right in row.items():
                    both = plus(a, tuple((j, m * abs(n)) for j, m in b))
                    terms.setdefault(both, []).append(times(left, (right[0], product(right[1], abs(n))), self.ring))
            result = {both: total(found, self.ring) for both, found in terms.items()}
        return result

    def datum(self, entry: Entry) -> Maybe:
        value = self.rows[entry[0]].get(entry[1], self.ring.zero)
        return (TRUE, value) if self.ring.type.is_float else present(value, self.ring)

    def unit(self, entry: Entry) -> Maybe:
        """The entry of the run without a step."""
        i, s = entry
        if s == self.own(i):
            return TRUE, self.ring.one
        return (TRUE, self.ring.zero) if self.ring.type.is_float else (FALSE, nought(self.ring.type))

    def flagged(self) -> set[Entry]:
        """The entries that may be missing and have no value for that."""
        result = {e for e in self.entries if FALSE in (self.datum(e)[0], self.unit(e)[0]) or self.datum(e)[0] != TRUE}
        while True:
            some: dict[Entry, Maybe] = {
                e: (Var(BOOL, f"flag {e}") if e in result else TRUE, Var(self.ring.type, f"value {e}"))
                for e in self.entries
            }
            composed = self.composed(some, some) or {}
            grown = {e for e in self.entries if e in result or total(composed.get(e, []), self.ring)[0] != TRUE}
            if grown == result:
                return result
            result = grown

    def written(self, s: Sum) -> Expr:
        """A sum as an expression, what is added first."""
        result: Expr = self.ring.one
        for i, n in sorted(s, key=lambda part: -part[1]):
            part = product(Var(self.ring.type, f"x{i}"), abs(n))
            if result == self.ring.one:
                result = part if n > 0 else apply("neg", part)
            else:
                result = apply("+" if n > 0 else "-", result, part)
        return result


class SumReader:
    """Components as the greatest, or the least, of sums."""

    def __init__(self, update: Update, ring: Semiring) -> None:
        self.ring = ring
        self.free = free_of(accumulator_names(update))
        self.index: dict[Expr, int] = {x: i for i, x in zip(range(len(update.types)), update.accumulators, strict=True)}
        self.components = tuple(extremal(c, self.free) for c in update.components)

    def terms(self, expr: Expr, up: bool) -> Terms | None:
        """The sums of which `expr` is the greatest; of its negative where not `up`."""
        if self.free(expr):
            return {(): expr if up else tidy(apply("neg", expr))}
        if expr in self.index:
            return {((self.index[expr], 1 if up else -1),): self.ring.one}
        if not isinstance(expr, Op):
            return None
        if expr.op == "neg":
            return self.terms(expr.args[0], not up)
        if expr.op == "select":
            return self.chosen(expr, up) if self.free(expr.args[0]) else None
        if expr.op == "abs" and up:
            return self.union(self.terms(expr.args[0], True), self.terms(expr.args[0], False))
        if expr.op == "*":
            for factor, other in (expr.args, expr.args[::-1]):
                if isinstance(factor, Const) and factor.value in range(-_HIGHEST, _HIGHEST + 1) and factor.value:
                    terms = self.terms(other, up == (factor.value > 0))
                    return None if terms is None else _multiple(terms, abs(int(factor.value)))
            return None
        if expr.op in ("+", "-"):
            first, second = self.terms(expr.args[0], up), self.terms(expr.args[1], up == (expr.op == "+"))
            return None if first is None or second is None else self.product(first, second)
        if expr.op == ("max" if up else "min"):
            return self.union(*(self.terms(arg, up) for arg in expr.args))
        return None

    def union(self, first: Terms | None, second: Terms | None) -> Terms | None:
        if first is None or second is None:
            return None
        zero = self.ring.zero
        return {s: self.ring.add(first.get(s, zero), second.get(s, zero)) for s in {**first, **second}}

    def product(self, first: Terms, second: Terms) -> Terms | None:
        if len(first) * len(second) > _MOST_TERMS:
            return None
        result: Terms = {}
        for a, left in first.items():
            for b, right in second.items():
                s = plus(a, b)
                result[s] = self.ring.add(result.get(s, self.ring.zero), self.ring.multiply(left, right))
        return result

    def chosen(self, choice: Op, up: bool) -> Terms | None:
        condition, true, false = choice.args
        first, second = self.terms(true, up), self.terms(false, up)
        if first is None or second is None:
            return None
        result: Terms = {}
        for s in {**first, **second}:
            a, b = first.get(s, self.ring.zero), second.get(s, self.ring.zero)
            result[s] = a if a == b else Op(self.ring.type, "select", (condition, a, b))
        return result


def plus(a: Sum, b: Sum) -> Sum:
    total = dict(a)
    for i, n in b:
        total[i] = total.get(i, 0) + n
    return tuple(sorted((i, n) for i, n in total.items() if n))


def product(value: Expr, n: int) -> Expr:
    return value if n == 1 or value == const(value.type, 0) else apply("*", value, const(value.type, n))


def _multiple(terms: Terms, n: int) -> Terms:
    """Each sum n times: n * max(a, b) = max(n * a, n * b)."""
    return {tuple((i, m * n) for i, m in s): product(e, n) for s, e in terms.items()}
