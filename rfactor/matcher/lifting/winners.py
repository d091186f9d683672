"""Updates some of whose components are greatest sums, and others what goes with the sum that won.

In `x0 + a, max(x1, x0 + a), select(x0 + a > x1, i, x2)` x2 goes with x1: it is kept where x1 wins, and `i` where x0 + a
does. What goes with which sum, and which of equal ones wins, is read from samples, so that every spelling of the
conditions is the same; a proof decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, substitute, walk
from rfactor.ir.expr import replace as exchange
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought
from rfactor.matcher.lifting.semiring import Semiring, semirings
from rfactor.matcher.lifting.spread import Sum, SumReader
from rfactor.matcher.lifting.tropical import Maybe, present
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover import sampling
from rfactor.prover.infinity import has_infinity

_POINTS = 600
_MOST_SPLITS = 64
"""Conditions that may be open while one sum wins."""
_MOST_SIGNS, _MOST_CHOICES = 64, 8
_HIGHEST = 3
_LOWEST = -(10**30)
"""Below every sample."""
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Arm:
    """What a component becomes: a sum of the state with something added, or data."""

    kept: Expr
    """On data: whether it is the sum."""
    source: Sum
    """No component where it is data always."""
    value: Expr
    """What is added to it, or the data."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A reading of an update."""

    ring: Semiring
    signs: Mapping[int, int]
    """Of each component that is a greatest (1) or a least (-1)."""
    rows: Mapping[int, Mapping[Sum, Maybe]]
    """What is added to the sums of which it is the greatest, where that is there."""
    ranks: Mapping[int, tuple[Sum, ...]]
    """Of equal sums the first wins."""
    follows: Mapping[int, int]
    """Components that go with another's winning sum."""
    arms: Mapping[int, Mapping[Sum, Arm]]
    """What they become where each of the sums wins."""
    alone: Mapping[int, Arm]
    """Components that are kept, perhaps with something added, or set, as data say."""

    def shifts(self, i: int) -> bool:
        """Whether a component is only added to."""
        if i in self.rows:
            return is_shift(i, self.rows[i])
        return i in self.alone and self.alone[i].kept == TRUE


def is_shift(i: int, row: Mapping[Sum, object]) -> bool:
    """Whether a greatest sum is only added to: nothing that it depends on may be missing then."""
    return row.keys() <= {((i, 1),), ((i, -1),)}


def shapes(update: Update) -> Iterator[Shape]:
    """The readings of an update, for each type of what is greatest."""
    for type_ in dict.fromkeys(update.types):
        exact = type_.is_float or (type_.is_int and update.meaning is Meaning.MATH)
        if exact:
            yield from _Reader(update, type_).shapes()


class _Reader:
    def __init__(self, update: Update, type_: Type) -> None:
        self.update, self.type = update, type_
        self.index: dict[Expr, int] = {x: i for i, x in enumerate(update.accumulators)}
        self.free = free_of(accumulator_names(update))
        (self.ring,) = [r for r in semirings(type_, update.meaning) if (r.plus, r.times) == ("max", "+")]
        arms = {i: self.arm(tidy(component)) for i, component in enumerate(update.components)}
        self.alone = {i: arm for i, arm in arms.items() if arm is not None and arm.source in ((), ((i, 1),))}

    def shapes(self) -> Iterator[Shape]:
        """The readings, for each choice of what goes with what."""
        found = self.greatest()
        if found is None:
            return
        signs, rows = found
        others = [i for i in range(len(self.update.types)) if i not in rows and i not in self.alone]
        if not others or all(len(row) < 2 for row in rows.values()):
            return
        env = _samples(self.update)
        values = {i: self.values(row, env) for i, row in rows.items()}
        arms: dict[int, dict[int, dict[Sum, Arm]]] = {}
        for p in others:
            read = {i: self.arms(p, row, values[i], env) for i, row in rows.items() if len(row) > 1}
            arms[p] = {i: arm for i, arm in read.items() if arm is not None}
        for keys in itertools.islice(itertools.product(*arms.values()), _MOST_CHOICES):
            follows = dict(zip(others, keys, strict=True))
            own = {p: arms[p][i] for p, i in follows.items()}
            ranks = {
                i: self.rank(row, values[i], {p: own[p] for p in others if follows[p] == i}, env)
                for i, row in rows.items()
            }
            known = {i: rank for i, rank in ranks.items() if rank is not None}
            if len(known) == len(ranks):
                needed = {j for i, row in rows.items() for s in row for j, _ in s if j != i} | {*keys}
                kept = {i: row for i, row in rows.items() if i in needed or i not in self.alone}
                yield Shape(self.ring, signs, kept, known, follows, own, self.alone)

    def greatest(self) -> tuple[dict[int, int], dict[int, dict[Sum, Maybe]]] | None:
        """The components that are greatest or least sums of one another."""
        reader = SumReader(self.update, self.ring)
        read: dict[int, dict[int, dict[Sum, Expr]]] = {}
        for i, type_ in enumerate(self.update.types):
            if type_ == self.type:
                both = {sign: reader.terms(reader.components[i], sign > 0) for sign in (1, -1)}
                read[i] = {sign: terms for sign, terms in both.items() if terms is not None}
        while True:
            closed = {
                i: kept
                for i, both in read.items()
                if (kept := {n: terms for n, terms in both.items() if all(j in read for s in terms for j, _ in s)})
            }
            if closed == read:
                break
            read = closed
        signs = _signs(read)
        if signs is None:
            return None
        rows = {
            i: {s: present(e, self.ring) if has_infinity(e) else (TRUE, tidy(e)) for s, e in read[i][sign].items()}
            for i, sign in signs.items()
        }
        return signs, {i: {s: e for s, e in row.items() if e[0] != FALSE} for i, row in rows.items()}

    def values(self, row: Mapping[Sum, Maybe], env: Mapping[str, Array]) -> dict[Sum, Array]:
        """The sums at samples, the lowest where one is missing."""
        result = {}
        for s, (flag, added) in row.items():
            total = self.at(added, env)
            for j, n in s:
                total = total + n * env[f"x{j}"]
            result[s] = np.where(self.at(flag, env).astype(bool), total, _LOWEST)
        return result

    def at(self, expr: Expr, env: Mapping[str, Array]) -> Array:
        return np.broadcast_to(evaluate(expr, env, self.update.meaning), (_POINTS,))

    # What goes with the winning sum.

    def arms(
        self, p: int, row: Mapping[Sum, Maybe], sums: Mapping[Sum, Array], env: Mapping[str, Array]
    ) -> dict[Sum, Arm] | None:
        """What component p becomes where each of the sums wins alone."""
        result = {}
        for s, value in sums.items():
            wins = np.ones(_POINTS, dtype=bool)
            for t, other in sums.items():
                wins &= (value > other).astype(bool) if t != s else wins
            self.splits = 0
            expr = self.settled(self.where(row[s][0], self.update.components[p], env), wins, env)
            arm = None if expr is None else self.arm(expr)
            if arm is None:
                return None
            result[s] = arm
        return result

    def where(self, flag: Expr, expr: Expr, env: Mapping[str, Array]) -> Expr:
        """`expr` with the conditions on data that a flag seems to decide."""
        there = self.at(flag, env).astype(bool)
        known: dict[Expr, Expr] = {}
        for node in walk(expr) if flag != TRUE else ():
            if node.type.is_bool and self.free(node) and not isinstance(node, Const):
                holds = self.at(node, env).astype(bool)
                if (holds | ~there).all() or not (holds & there).any():
                    known[node] = Const(BOOL, bool((holds & there).any()))
        return exchange(expr, known)

    def settled(self, expr: Expr, mask: Array, env: Mapping[str, Array]) -> Expr | None:
        """`expr` at the samples, without comparisons of the state; None where these decide something."""
        expr = tidy(expr)
        asked = next((n for n in walk(expr) if self.compares(n)), None)
        if asked is None:
            return expr
        self.splits += 1
        if self.splits > _MOST_SPLITS:
            return None
        holds = self.at(asked, env).astype(bool)
        branches = [
            self.settled(exchange(expr, {asked: Const(BOOL, value)}), mask & where, env)
            for value, where in ((True, holds), (False, ~holds))
            if (mask & where).any()
        ]
        if not branches:
            return nought(expr.type)
        one, other = branches[0], branches[-1]
        if one is None or other is None:
            return None
        if one == other:
            return one
        return self.alike(one, other, mask & holds, mask & ~holds, env)

    def alike(self, one: Expr, other: Expr, here: Array, there: Array, env: Mapping[str, Array]) -> Expr | None:
        """What two expressions both are, one at some samples, the other at others."""
        forms = {one, self.chosen(one, here, env)}, {other, self.chosen(other, there, env)}
        return next(iter(forms[0] & forms[1]), None)

    def chosen(self, expr: Expr, mask: Array, env: Mapping[str, Array]) -> Expr:
        """`expr` where conditions on data are as at the samples, if they are the same at all."""
        while isinstance(expr, Op) and expr.op == "select" and self.free(expr.args[0]):
            holds = self.at(expr.args[0], env).astype(bool)
            if (holds | ~mask).all():
                expr = expr.args[1]
            elif not (holds & mask).any():
                expr = expr.args[2]
            else:
                break
        return expr

    def compares(self, node: Expr) -> bool:
        return node.type.is_bool and isinstance(node, Op) and not node.args[0].type.is_bool and not self.free(node)

    def arm(self, expr: Expr) -> Arm | None:
        """A value of the state with something added, or data; as a condition on data says."""
        if self.free(expr):
            return Arm(FALSE, (), expr)
        chosen = next((n for n in walk(expr) if isinstance(n, Op) and self.chooses(n)), None)
        if chosen is not None:
            condition, *branches = chosen.args
            a, b = (self.arm(exchange(expr, {chosen: branch})) for branch in branches)
            if a is None or b is None or (a.source and b.source and a.source != b.source):
                return None
            kept = tidy(choose(condition, a.kept, b.kept))
            return Arm(kept, a.source or b.source, tidy(choose(condition, a.value, b.value)))
        terms: Mapping[Expr, float] = {expr: 1} if expr.type.is_bool else linear(expr)[0]
        state = {atom: n for atom, n in terms.items() if not self.free(atom)}
        if not all(isinstance(atom, Var) and n in range(-_HIGHEST, _HIGHEST + 1) for atom, n in state.items()):
            return None
        source = tuple(sorted((self.index[atom], int(n)) for atom, n in state.items()))
        return Arm(TRUE, source, tidy(substitute(expr, {f"x{i}": nought(expr.type) for i, _ in source})))

    def chooses(self, node: Op) -> bool:
        """Whether data choose a part of the state."""
        return node.op == "select" and self.free(node.args[0]) and not self.free(node)

    # Which of equal sums wins.

    def rank(
        self,
        row: Mapping[Sum, Maybe],
        sums: Mapping[Sum, Array],
        arms: Mapping[int, Mapping[Sum, Arm]],
        env: Mapping[str, Array],
    ) -> tuple[Sum, ...] | None:
        """The sums in an order in which the first of equal ones wins; None where there is none."""
        before: dict[Sum, set[Sum]] = {s: set() for s in row}
        for s, t in itertools.combinations(row, 2):
            tied = (sums[s] == sums[t]).astype(bool) & (sums[s] > _LOWEST).astype(bool)
            for u in row:
                tied &= (sums[s] > sums[u]).astype(bool) if u not in (s, t) else tied
            for p, own in arms.items():
                one, other = (self.taken(own[winner], env) for winner in (s, t))
                actual = self.at(self.update.components[p], env)
                told = tied & (one != other).astype(bool)
                if (told & (actual == one)).any():
                    before[t].add(s)
                if (told & (actual == other)).any():
                    before[s].add(t)
        try:
            return tuple(TopologicalSorter(before).static_order())
        except CycleError:
            return None

    def taken(self, arm: Arm, env: Mapping[str, Array]) -> Array:
        """The values of an arm at samples."""
        value = self.at(arm.value, env)
        kept = value
        for i, n in arm.source:
            x = self.update.accumulators[i]
            kept = env[x.name] if x.type.is_bool else kept + n * env[x.name]
        return np.where(self.at(arm.kept, env).astype(bool), kept, value)


def _signs(read: Mapping[int, Mapping[int, Mapping[Sum, Expr]]]) -> dict[int, int] | None:
    """Whether each component is a greatest or a least, so that others read it as that."""
    for chosen in itertools.islice(itertools.product(*read.values()), _MOST_SIGNS):
        signs = dict(zip(read, chosen, strict=True))
        rows = {i: read[i][sign] for i, sign in signs.items()}
        moving = {i for i, row in rows.items() if not is_shift(i, row)}
        if all((n > 0) == (signs[j] > 0) for row in rows.values() for s in row for j, n in s if j in moving):
            return signs
    return None


def _samples(update: Update) -> dict[str, Array]:
    """Small numbers with many ties, and some near the update's literals."""
    used = sampling.used([*update.accumulators, *update.components])
    near = sampling.points(used, update.meaning, _POINTS // 2, sampling.literals(update.components))
    random = np.random.default_rng(len(used))
    env: dict[str, Array] = {}
    for var in used:
        few = random.integers(0 if var.type.code == "uint" else -3, 4, _POINTS - _POINTS // 2)
        small: Array
        if var.type.is_int and update.meaning is Meaning.MATH:
            small = np.empty(len(few), dtype=object)
            small[:] = few.tolist()
        else:
            small = few.astype(bool if var.type.is_bool else np.float64 if var.type.is_float else dtype_of(var.type))
        env[var.name] = np.concatenate([small, near[var.name]])
    return env
