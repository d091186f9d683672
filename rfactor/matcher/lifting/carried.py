"""Liftings of greatest sums with what goes with them: the best prefix and where it ends, the best segment with its
first and last index, the best trade with its days, the longest run and where it was.

A run is what it adds to each sum of each greatest component, as over (max, +), and for each of these what becomes of
what goes with it: it is kept, perhaps with something added, or replaced by data. Of equal sums the serial loop takes
the one that it came to first, or last; so a run also says, of any two sums, which wins where they are equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from rfactor.ir.expr import Const, Expr, apply
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought
from rfactor.matcher.lifting import presence
from rfactor.matcher.lifting.coalesced import Part, Run, coalesced
from rfactor.matcher.lifting.presence import Presence
from rfactor.matcher.lifting.spread import Sum, plus, product
from rfactor.matcher.lifting.winners import Shape, shapes
from rfactor.prover.claim import Claim, Lift

_MOST_ENTRIES, _MOST_PARTS, _HIGHEST = 16, 32, 3
Path = tuple[Sum, Sum | None]
"""The sum that wins in the later run, and the one that won what moves in it in the earlier."""


def claims(update: Update) -> Iterator[Claim]:
    """The claim for numbers where nothing wraps, some of them greatest sums, and others that go with them."""
    if len(update.types) < 2:
        return
    for shape in shapes(update):
        found = _Runs(update, shape).claim()
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class _Best:
    """The best of some paths."""

    there: Presence
    value: Expr
    carried: Mapping[int, tuple[Expr, Expr]]
    """Of what goes with it, whether it is kept, and what is added or what it is."""
    won: tuple[tuple[Path, Expr], ...]
    """Each path with whether it is better than those before; the last of these is the best."""


@dataclass(slots=True)
class _Runs:
    update: Update
    shape: Shape
    entries: dict[int, list[Sum]] = field(default_factory=dict)
    sources: dict[tuple[int, Sum], dict[int, Sum]] = field(default_factory=dict)
    """What is kept of what goes with a sum: by the component, a sum of the state."""

    def claim(self) -> Claim | None:
        if not self.close():
            return None
        types = self.parts()
        if len(types) > 4 * _MOST_PARTS:
            return None
        state = coalesced(types, self.datum(), self.unit(), self.composed)
        if len(state.types) > _MOST_PARTS:
            return None
        lift = Lift(state.types, state.data, state.operator, state.identity, self.acted(state.right))
        return Claim(self.update, lift=lift, invariant=self.invariant(state.right))

    # Sums.

    def own(self, i: int) -> Sum:
        return ((i, self.shape.signs[i]),)

    def mover(self, s: Sum) -> tuple[int, int] | None:
        """The component of a sum that is more than added to, and how often it counts."""
        return next(((j, n) for j, n in s if not self.shape.shifts(j)), None)

    def after(self, s: Sum) -> Iterator[tuple[Sum, Sum | None]]:
        """What an earlier step makes of a sum: sums, each with the one that won what moves in it."""
        moving = self.mover(s)
        if moving is None:
            yield s, None
            return
        j, n = moving
        rest = tuple(part for part in s if part[0] != j)
        for t in self.entries[j]:
            yield plus(rest, tuple((k, m * abs(n)) for k, m in t)), t

    def close(self) -> bool:
        """Find the sums of all runs; False where they do not end."""
        shape = self.shape
        self.entries = {i: [self.own(i), *(s for s in row if s != self.own(i))] for i, row in shape.rows.items()}
        while True:
            for s in (s for row in self.entries.values() for s in row):
                movers = [(j, n) for j, n in s if not shape.shifts(j)]
                if len(movers) > 1 or any((n > 0) != (shape.signs[j] > 0) for j, n in movers):
                    return False
                if sum(abs(n) for _, n in s) > _HIGHEST:
                    return False
            found = {
                i: dict.fromkeys([*row, *(t for s in row for t, _ in self.after(s))]) for i, row in self.entries.items()
            }
            if sum(map(len, found.values())) > _MOST_ENTRIES:
                return False
            if all(len(found[i]) == len(row) for i, row in self.entries.items()):
                return self.close_sources()
            self.entries = {i: list(row) for i, row in found.items()}

    def payloads(self, i: int) -> list[int]:
        return [p for p, key in self.shape.follows.items() if key == i]

    def close_sources(self) -> bool:
        """Find what is kept with each sum; False where it is not one thing, or does not go with what moves."""
        shape = self.shape
        for i, row in self.entries.items():
            for s in row:
                self.sources[i, s] = {p: ((p, 1),) for p in self.payloads(i)} if s == self.own(i) else {}
        for p, arms in shape.arms.items():
            for s, arm in arms.items():
                known = self.sources[shape.follows[p], s]
                if arm.source and known.setdefault(p, arm.source) != arm.source:
                    return False
        before = None
        while before != (before := {at: dict(own) for at, own in self.sources.items()}):
            for (i, s), own in before.items():
                for (p, source), (u, t) in itertools.product(own.items(), self.after(s)):
                    earlier = self.earlier(source, s, t)
                    if earlier is None or (earlier and self.sources[i, u].setdefault(p, earlier) != earlier):
                        return False
        return True

    def earlier(self, source: Sum, s: Sum, t: Sum | None) -> Sum | None:
        """Of what a sum was made where t wins of what moves in s; None where that is not known."""
        moving, shape = self.mover(s), self.shape
        result: Sum = ()
        for c, n in source:
            if shape.shifts(c):
                result = plus(result, ((c, n),))
            elif moving is not None and t is not None and c == moving[0]:
                result = plus(result, _multiple(t, n * shape.signs[c]))
            elif moving is not None and t is not None and shape.follows.get(c) == moving[0] and len(source) == 1:
                result = _multiple(self.sources[moving[0], t].get(c, ()), n)
            elif c in shape.alone and len(source) == 1:
                result = source
            else:
                return None
        return result

    # Parts of the richer state.

    def parts(self) -> dict[Part, Type]:
        result: dict[Part, Type] = {}
        for i, row in self.entries.items():
            for s in row:
                result["there", i, s] = BOOL
                result["value", i, s] = self.shape.ring.type
                for p in self.payloads(i):
                    result["kept", i, s, p] = BOOL
                    result["with", i, s, p] = self.update.types[p]
            if self.payloads(i):
                for s, t in itertools.combinations(row, 2):
                    result["first", i, s, t] = BOOL
        for g in self.alone():
            result["kept", g], result["with", g] = BOOL, self.update.types[g]
        return result

    def alone(self) -> list[int]:
        """Components that go by themselves, and are no greatest sums or are kept with one."""
        taken = {c for own in self.sources.values() for source in own.values() for c, _ in source}
        return [g for g in self.shape.alone if g not in self.shape.rows or (g in taken and not self.shape.shifts(g))]

    def datum(self) -> dict[Part, Expr | None]:
        """A step; None where nothing is said."""
        shape, result = self.shape, dict[Part, Expr | None]()
        for i, row in self.entries.items():
            for s in row:
                there, value = shape.rows[i].get(s, (FALSE, None))
                result["there", i, s], result["value", i, s] = there, value
                for p in self.payloads(i):
                    arm = shape.arms[p].get(s)
                    result["kept", i, s, p] = None if arm is None else arm.kept
                    result["with", i, s, p] = None if arm is None else arm.value
            for s, t in itertools.combinations(row, 2) if self.payloads(i) else ():
                rank = shape.ranks[i]
                result["first", i, s, t] = (
                    Const(BOOL, rank.index(s) < rank.index(t)) if s in rank and t in rank else None
                )
        for g in self.alone():
            result["kept", g], result["with", g] = shape.alone[g].kept, shape.alone[g].value
        return result

    def unit(self) -> dict[Part, Expr | None]:
        """The run without a step; None where nothing is said."""
        result: dict[Part, Expr | None] = {}
        for part, type_ in self.parts().items():
            own = len(part) == 2 or (len(part) > 2 and part[0] != "first" and part[2] == self.own(part[1]))  # type: ignore[arg-type]
            if part[0] == "there":
                result[part] = TRUE if own else FALSE
            elif part[0] == "kept":
                result[part] = TRUE if own else None
            else:
                result[part] = nought(type_) if own else None
        return result

    # Composition.

    def first(self, run: Run, i: int, s: Sum, t: Sum) -> Expr:
        """Whether s wins where component i's sums s and t are equal."""
        row = self.entries[i]
        if not self.payloads(i):
            return Const(BOOL, row.index(s) < row.index(t))
        if row.index(s) < row.index(t):
            return run["first", i, s, t]
        return _not(run["first", i, t, s])

    def shifted(self, run: Run, g: int) -> Expr:
        """What a run adds to a component that is only added to."""
        return run["value", g, self.own(g)] if g in self.shape.rows else run["with", g]

    def composed(self, x: Run, y: Run) -> dict[Part, Expr]:
        """The parts of first the run x, then y."""
        result: dict[Part, Expr] = {}
        for i, row in self.entries.items():
            best = {u: self.best(i, self.paths(i, u), x, y) for u in row}
            for u, one in best.items():
                result["there", i, u], result["value", i, u] = presence.expression(one.there), one.value
                for p, (kept, value) in one.carried.items():
                    result["kept", i, u, p], result["with", i, u, p] = kept, value
            if self.payloads(i):
                for u, v in itertools.combinations(row, 2):
                    result["first", i, u, v] = self.before(i, best[u], best[v], x, y)
        for g in self.alone():
            (kept, value), (before, added) = ((run["kept", g], run["with", g]) for run in (y, x))
            result["kept", g], result["with", g] = _and(kept, before), choose(kept, _sum(value, added), value)
        return result

    def paths(self, i: int, u: Sum) -> list[Path]:
        """The ways from a sum before both runs to component i; the one that the empty run leaves as it is first."""
        found = [(s, t) for s in self.entries[i] for v, t in self.after(s) if v == u]
        plain = [
            (s, t) for s, t in found if s == u and (t is None or (m := self.mover(s)) is None or t == self.own(m[0]))
        ]
        return [*plain, *(path for path in found if path not in plain)]

    def best(self, i: int, paths: Sequence[Path], x: Run, y: Run) -> _Best:
        """The best of some paths to component i."""
        result: _Best | None = None
        for path in paths:
            one = self.along(i, path, x, y)
            result = one if result is None else self.better(i, result, one, x, y)
        assert result is not None
        return result

    def along(self, i: int, path: Path, x: Run, y: Run) -> _Best:
        s, t = path
        moving = self.mover(s)
        there, value = presence.of(y["there", i, s]), y["value", i, s]
        for j, n in s:
            if moving is None or j != moving[0]:
                value = _plus(value, self.shifted(x, j), n)
        if moving is not None and t is not None:
            there = presence.both(there, presence.of(x["there", moving[0], t]))
            value = _plus(value, x["value", moving[0], t], abs(moving[1]))
        carried = {}
        for p in self.payloads(i):
            kept, own = y["kept", i, s, p], y["with", i, s, p]
            source = self.sources[i, s].get(p, ())
            before = self.taken(source, path, x) if source else (FALSE, own)
            carried[p] = _and(kept, before[0]), choose(kept, _sum(own, before[1]), own)
        return _Best(there, value, carried, ((path, TRUE),))

    def taken(self, source: Sum, path: Path, x: Run) -> tuple[Expr, Expr]:
        """What an earlier run makes of a sum: whether it is one of the state, and what is added or what it is."""
        s, t = path
        moving = self.mover(s)
        c, n = source[0]
        if len(source) == 1 and not self.shape.shifts(c) and (moving is None or c != moving[0]):
            at = (
                ("kept", moving[0], t, c)
                if moving is not None and self.shape.follows.get(c) == moving[0]
                else ("kept", c)
            )
            return x[at], product(x["with", *at[1:]], n)
        value: Expr = nought(self.update.types[c])
        for c, n in source:
            if self.shape.shifts(c):
                value = _plus(value, self.shifted(x, c), n)
            else:
                assert moving is not None
                value = _plus(value, x["value", c, t], n * self.shape.signs[c])
        return (TRUE if self.earlier(source, s, t) else FALSE), value

    def better(self, i: int, best: _Best, other: _Best, x: Run, y: Run) -> _Best:
        """The better of the best so far and one path."""
        ((path, _),) = other.won
        there = presence.either(best.there, other.there)
        if not self.payloads(i):
            value = self.greater(best, other)
            return _Best(there, value, {}, ((path, TRUE),))
        wins = _last(best.won, lambda old: self.wins(i, path, old, x, y))
        if wins in (TRUE, FALSE):
            more: Expr = apply(">=" if wins == TRUE else ">", other.value, best.value)
        else:
            equal = _and(apply("==", other.value, best.value), wins)
            more = _or(apply(">", other.value, best.value), equal)
        if not presence.implies(other.there, best.there):
            more = _or(_not(presence.expression(best.there)), more)
        beats = _and(presence.expression(other.there), more)
        carried = {
            p: (choose(beats, other.carried[p][0], kept), choose(beats, other.carried[p][1], value))
            for p, (kept, value) in best.carried.items()
        }
        won = (*best.won, (path, beats))
        value = choose(beats, other.value, best.value)
        return _Best(there, value, carried, won)

    def greater(self, best: _Best, other: _Best) -> Expr:
        """The greater value of those that are there; the first where none is."""
        both: Expr = apply("max", best.value, other.value)
        if not presence.implies(other.there, best.there):
            both = choose(presence.expression(best.there), both, other.value)
        return choose(presence.expression(other.there), both, best.value)

    def wins(self, i: int, one: Path, other: Path, x: Run, y: Run) -> Expr:
        """Whether one path to component i wins over another that is equal."""
        if one[0] != other[0]:
            return self.first(y, i, one[0], other[0])
        moving = self.mover(one[0])
        assert moving is not None
        assert one[1] is not None
        assert other[1] is not None
        return self.first(x, moving[0], one[1], other[1])

    def before(self, i: int, one: _Best, other: _Best, x: Run, y: Run) -> Expr:
        """Whether the best of one set of paths wins over that of another where they are equal."""
        return _last(one.won, lambda path: _last(other.won, lambda against: self.wins(i, path, against, x, y)))

    def acted(self, y: Run) -> tuple[Expr, ...]:
        """The loop's state after a run."""
        own, result = self.update.accumulators, {}
        for i, row in self.entries.items():
            best: _Best | None = None
            for s in row:
                value = y["value", i, s]
                for j, n in s:
                    value = _plus(value, own[j], n)
                carried: dict[int, tuple[Expr, Expr]] = {}
                for p in self.payloads(i):
                    carried[p] = FALSE, self.made(self.sources[i, s].get(p, ()), y["kept", i, s, p], y["with", i, s, p])
                one = _Best(presence.of(y["there", i, s]), value, carried, (((s, None), TRUE),))
                best = one if best is None else self.better(i, best, one, y, y)
            assert best is not None
            result[i] = best.value if self.shape.signs[i] > 0 else apply("neg", best.value)
            for p, (_, state) in best.carried.items():
                result[p] = state
        for g in self.alone():
            if g not in result:
                result[g] = self.made(((g, 1),), y["kept", g], y["with", g])
        return tuple(result[i] for i in range(len(own)))

    def made(self, source: Sum, kept: Expr, value: Expr) -> Expr:
        """A sum of the state with something added where that is kept, else the value."""
        state = value
        for c, n in source:
            state = _plus(state, self.update.accumulators[c], n)
        return choose(kept, state, value)

    def invariant(self, y: Run) -> tuple[Expr, ...]:
        """That each greatest component has a value, and that its sums are in an order."""
        found: list[Expr] = []
        for i, row in self.entries.items():
            some = reduce(presence.either, (presence.of(y["there", i, s]) for s in row))
            if some != presence.ALWAYS:
                found.append(presence.expression(some))
            for three in itertools.combinations(row, 3) if self.payloads(i) else ():
                one, two, across = (y["first", i, s, t] for s, t in ((three[:2]), (three[1:]), (three[::2])))
                ordered = choose(one, choose(two, across, TRUE), choose(two, TRUE, _not(across)))
                if ordered != TRUE:
                    found.append(ordered)
        return tuple(dict.fromkeys(found))


# Conditions.


def _and(a: Expr, b: Expr) -> Expr:
    return choose(a, b, FALSE)


def _or(a: Expr, b: Expr) -> Expr:
    return choose(a, TRUE, b)


def _not(a: Expr) -> Expr:
    return FALSE if a == TRUE else TRUE if a == FALSE else apply("not", a)


def _last(won: Sequence[tuple[Path, Expr]], value: Callable[[Path], Expr]) -> Expr:
    """The value for the last of the paths that is better than those before."""
    result = value(won[0][0])
    for path, beats in won[1:]:
        result = choose(beats, value(path), result)
    return result


def _sum(a: Expr, b: Expr) -> Expr:
    if a.type.is_bool:
        return b
    return b if a == nought(a.type) else a if b == nought(b.type) else apply("+", a, b)


def _multiple(s: Sum, n: int) -> Sum:
    return tuple((j, m * n) for j, m in s)


def _plus(total: Expr, value: Expr, n: int) -> Expr:
    """`total` and n times `value`."""
    if n < 0:
        return apply("-", total, product(value, -n))
    return _sum(total, product(value, n))
