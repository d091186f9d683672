"""Running means and what is built on them: sums of powers of deviations up to the fourth, variances, weights.

With the count n, a mean m and a second moment M of two means, n, n*m and M + n*m*m' are sums: each datum adds to them
an amount of its own. That is how components are told, on samples; the operator is that of Chan, Golub and
LeVeque (1979), and of Pébay (2008) for the third and fourth moments, guarded where the right operand has seen nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, conjunction, const, select, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.operators.guess import Column, Points
from rfactor.prover.claim import Claim

_MOST = 8
State = tuple[Expr, ...]


@dataclass(slots=True)
class _Roles:
    """What each component is, with what one datum alone makes of it."""

    count: int
    data: dict[int, Expr]
    means: list[int] = field(default_factory=list)
    sums: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Sums of products of deviations from two means."""
    variances: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The same, divided by the count."""
    cubes: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Sums of third powers of deviations: of which mean, with the sum of their squares."""
    fourths: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Sums of fourth powers: of which mean, with the sums of squares and of third powers."""


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of floats (the count may be an integer that does not wrap) that divides by its count."""
    if not 2 <= len(update.types) <= _MOST:
        return
    if not any(isinstance(node, Op) and node.op == "/" for c in update.components for node in walk(c)):
        return
    for count in range(len(update.types)):
        others = {update.types[i] for i in range(len(update.types)) if i != count}
        if len(others) != 1 or not next(iter(others)).is_float or update.types[count].is_bool:
            continue
        if update.types[count].is_int and update.meaning is Meaning.WRAP:
            continue  # what wraps is no number of elements
        claim = _Finder(update, count, next(iter(others))).claim()
        if claim is not None:
            yield claim
            return


class _Finder:
    def __init__(self, update: Update, count: int, type_: Type) -> None:
        self.update, self.count, self.type = update, count, type_
        self.points = Points(update, frozenset((count,)))

    def claim(self) -> Claim | None:
        roles = self.roles()
        return None if roles is None else _claim(self.update, roles, self.type)

    def roles(self) -> _Roles | None:
        weight = self.added(lambda s: s[self.count])
        if weight is not None and not (self.points.keep(weight > 0)):
            return None  # a datum without weight is no element
        weight = None if weight is None else self.added(lambda s: s[self.count])
        plain = None if weight is None else self.points.plainest(self.update.types[self.count], weight)
        if weight is None or plain is None:
            return None
        roles = _Roles(self.count, {self.count: plain})
        single: dict[int, Column] = {}
        others = [i for i in range(len(self.update.types)) if i != self.count]
        for i in others:
            total = self.added(lambda s, i=i: self.times_n(s, i))  # type: ignore[misc]
            if total is not None:
                single[i] = total / weight.astype(float)
                roles.means.append(i)
        left = [i for i in others if i not in single]
        for find in (self.moment, self.cube, self.fourth):
            left = [i for i in left if not find(i, roles, single, weight)]
        if left:
            return None
        for i, value in single.items():
            shown = self.points.plainest(self.type, value)
            if shown is None:
                return None
            roles.data[i] = shown
        return roles if roles.means else None

    def moment(self, i: int, roles: _Roles, single: dict[int, Column], weight: Column) -> bool:
        """Whether the component is a second moment of two means; if so its role is entered."""
        for j, k in itertools.combinations_with_replacement(roles.means, 2):
            square = weight.astype(float) * single[j] * single[k]
            total = self.added(lambda s, j=j, k=k: apply("+", s[i], self.square(s, j, k)))  # type: ignore[misc]
            if total is not None:
                roles.sums[i], single[i] = (j, k), total - square
                return True
            total = self.added(lambda s, j=j, k=k: apply("+", self.times_n(s, i), self.square(s, j, k)))  # type: ignore[misc]
            if total is not None:
                roles.variances[i], single[i] = (j, k), (total - square) / weight.astype(float)
                return True
        return False

    def cube(self, i: int, roles: _Roles, single: dict[int, Column], weight: Column) -> bool:
        """Whether the component is a third moment; if so its role is entered."""
        three = const(self.type, 3)
        for squares, (j, k) in roles.sums.items():

            def total(s: State, j: int = j, squares: int = squares) -> Expr:
                rest = apply("+", apply("*", three, s[squares]), apply("*", self.n(s), apply("*", s[j], s[j])))
                return apply("+", s[i], apply("*", s[j], rest))

            found = self.added(total) if j == k else None
            if found is not None:
                own = 3 * single[squares] + weight.astype(float) * single[j] ** 2
                roles.cubes[i], single[i] = (j, squares), found - single[j] * own
                return True
        return False

    def fourth(self, i: int, roles: _Roles, single: dict[int, Column], weight: Column) -> bool:
        """Whether the component is a fourth moment; if so its role is entered."""
        four, six = const(self.type, 4), const(self.type, 6)
        for cubes, (j, squares) in roles.cubes.items():

            def total(s: State, j: int = j, squares: int = squares, cubes: int = cubes) -> Expr:
                """The sum of fourth powers, by Horner's rule in the mean."""
                rest = apply("+", apply("*", six, s[squares]), apply("*", self.n(s), apply("*", s[j], s[j])))
                rest = apply("+", apply("*", four, s[cubes]), apply("*", s[j], rest))
                return apply("+", s[i], apply("*", s[j], rest))

            found = self.added(total)
            if found is not None:
                mean = single[j]
                own = 4 * single[cubes] + mean * (6 * single[squares] + weight.astype(float) * mean**2)
                roles.fourths[i], single[i] = (j, squares, cubes), found - mean * own
                return True
        return False

    def n(self, state: State) -> Expr:
        return cast(self.type, state[self.count])

    def times_n(self, state: State, i: int) -> Expr:
        return apply("*", self.n(state), state[i])

    def square(self, state: State, j: int, k: int) -> Expr:
        return apply("*", self.n(state), apply("*", state[j], state[k]))

    def added(self, total: Callable[[State], Expr]) -> Column | None:
        """What a datum adds to a function of the state, where that depends on the datum alone."""
        change = apply("-", total(self.update.components), total(self.update.accumulators))

        def value(state: Mapping[str, Column]) -> Column | None:
            return self.points.values(change, state)

        return self.points.free_value(value)


def _claim(update: Update, roles: _Roles, type_: Type) -> Claim:
    types, count = update.types, roles.count
    x = update.accumulators
    y = tuple(Var(t, f"y{i}") for i, t in zip(range(len(types)), types, strict=True))
    nought = const(type_, 0)
    left, right = cast(type_, x[count]), cast(type_, y[count])
    total = cast(type_, apply("+", x[count], y[count]))
    nothing = apply("==", y[count], const(types[count], 0))
    share = apply("/", right, total)

    def apart(j: int, k: int) -> Expr:
        """What the means' distance adds to a second moment."""
        return apply("*", apply("*", apply("-", y[j], x[j]), apply("-", y[k], x[k])), apply("*", left, share))

    def apart_cubed(j: int, squares: int) -> Expr:
        """What the means' distance adds to a third moment."""
        distance = apply("-", y[j], x[j])
        own = apply("*", apart(j, j), apply("/", apply("-", left, right), total))
        spread = apply("-", apply("*", left, y[squares]), apply("*", right, x[squares]))
        return apply("*", distance, apply("+", own, apply("/", apply("*", const(type_, 3), spread), total)))

    def apart_fourth(j: int, squares: int, cubes: int) -> Expr:
        """What the means' distance adds to a fourth moment."""
        distance = apply("/", apply("-", y[j], x[j]), total)
        sizes = apply("-", apply("*", apply("+", left, right), apply("+", left, right)), times(3, left, right))
        own = apply("*", times(1, apart(j, j), distance, distance), sizes)
        spread = apply("+", times(1, left, left, y[squares]), times(1, right, right, x[squares]))
        skew = apply("-", apply("*", left, y[cubes]), apply("*", right, x[cubes]))
        return apply("+", own, apply("+", times(6, distance, distance, spread), times(4, distance, skew)))

    def times(factor: int, *factors: Expr) -> Expr:
        """A product."""
        return reduce(partial(apply, "*"), factors if factor == 1 else (const(type_, factor), *factors))

    operator: list[Expr] = []
    for i in range(len(types)):
        if i == count:
            operator.append(apply("+", x[i], y[i]))
        elif i in roles.means:
            moved = apply("+", x[i], apply("*", apply("-", y[i], x[i]), share))
            operator.append(select(nothing, x[i], moved))
        elif i in roles.sums:
            operator.append(apply("+", apply("+", x[i], y[i]), select(nothing, nought, apart(*roles.sums[i]))))
        elif i in roles.cubes or i in roles.fourths:
            added = apart_cubed(*roles.cubes[i]) if i in roles.cubes else apart_fourth(*roles.fourths[i])
            more = select(nothing, nought, added)
            operator.append(apply("+", apply("+", x[i], y[i]), more))
        else:
            within = apply("+", apply("*", left, x[i]), apply("*", right, y[i]))
            operator.append(select(nothing, x[i], apply("/", apply("+", within, apart(*roles.variances[i])), total)))
    identity = tuple(const(t, 0) for t in types)
    read = sorted({i for _, *parts in (*roles.cubes.values(), *roles.fourths.values()) for i in parts})
    zero = [apply("==", y[i], identity[i]) for i in (count, *roles.means, *roles.variances, *read)]
    some = apply(">", y[count], identity[count])
    weight = roles.data[count]
    assumes = () if isinstance(weight, Const) else (apply(">", weight, identity[count]),)
    data = tuple(roles.data[i] for i in range(len(types)))
    invariant = (apply("or", some, conjunction(*zero)),)
    return Claim(update, tuple(operator), identity, data, invariant=invariant, assumes=assumes)
