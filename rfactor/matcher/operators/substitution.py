"""Operators made from the update's own text: its data replaced by the right operand.

Where `f` reads a datum, `op` must read what `y = f(e; d)` tells of it. For a candidate `e`, each part of `f` that is
free of accumulators is replaced by a `y_j` (or a simple function of one) that agrees with it on samples, or, failing
that, by any `y_j` of its type; what steps and runs agree with on samples is claimed. Gives argmin in its spellings,
ties broken by an index, clamps, carries, saturation, masks, without a table.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from rfactor.ir.evaluate import evaluate, evaluate_all, spread
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, const, names, replace, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import MIRRORED
from rfactor.ir.simplify import simplify
from rfactor.ir.types import Type
from rfactor.ir.update import Update, apply_update
from rfactor.matcher.ordered import chosen_by_order
from rfactor.matcher.refusal.separation import promising
from rfactor.matcher.terms import State, accumulator_names, free_of, gathered, maximal_free, run_from
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import Undefined, is_infinite, without_infinities
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.operator import Operator, constants_of

_POINTS = 48
_CHOICES = 96
"""Most combinations of replacements tried for one `e` in one component."""
_AFTER_FIRST, _PER_START = 3, 2
"""Starts searched in full once something was found, and claims taken from one start."""
_TRIED = 1200
"""Candidates for components after which a search stops."""
_STARTS = 200
"""Most values of `e` tried."""
_FRUITLESS = 16
"""Promising starts in a row without a claim after which a search stops: the likeliest come first."""


_WEIGHT = "weight of the datum"
"""Stands before what a component adds; 1 in the update, a right operand that is 1 for one datum in the operator."""
_ADDED = "added by the datum"
"""Stands behind what a component adds; 0 in the update, a right operand that is 0 for one datum in the operator."""
_NEUTRAL = {_WEIGHT: 1, _ADDED: 0}


def _general(expr: Expr, component: int, free: Callable[[Expr], bool]) -> Expr:
    """A component that adds what depends on accumulators, with what longer runs add there: a carry, a rescaled sum.

    `x*u + t` is read as `x*u + t*weight` among floats; `x + t` as `x + t + added`.
    """
    if not isinstance(expr, Op) or expr.op not in ("+", "-") or any(map(free, expr.args)):
        return expr
    own = f"x{component}"
    first, second = expr.args
    if own not in names(first) and expr.op == "+":
        first, second = second, first
    if own not in names(first) or own in names(second):
        return expr
    if first == Var(expr.type, own):
        return apply("+", expr, Var(expr.type, _ADDED))
    return Op(expr.type, expr.op, (first, apply("*", second, Var(expr.type, _WEIGHT)))) if expr.type.is_float else expr


@dataclass(frozen=True, slots=True)
class Solved:
    """What is known of some components already: operator, identity."""

    operator: Mapping[int, Expr]
    identity: Mapping[int, Expr]


def starts(update: Update, solved: Solved, infinite: bool) -> Iterator[State]:
    """Values of `e` to try: those known; else what identities are made of and the update's own constants."""
    loop_constants = [v for v in sampling.used(update.components) if v.name in update.constants]
    near = sampling.literals(update.components)
    choices: list[list[Expr]] = []
    for i, type_ in zip(range(len(update.types)), update.types, strict=True):
        if i in solved.identity:
            choices.append([solved.identity[i]])
            continue
        options = constants_of(type_, loop_constants, update.meaning, infinite)
        options += [Const(type_, value) for value in near.get(type_, ())]
        choices.append(list(dict.fromkeys(options)))
    # By distance from the likeliest, so that no component waits for all combinations of the others.
    for at in itertools.islice(_nearest([len(c) for c in choices[:8]]), _STARTS):
        yield tuple(choice[i] for choice, i in zip(choices, at, strict=False)) + tuple(c[0] for c in choices[8:])


def likely(update: Update, solved: Solved | None = None) -> Iterator[State]:
    """Values of `e` that are enough to try where the operator is looked for too: 0 in totals."""
    solved = solved or Solved({}, {})
    totals = {i: const(type_, 0) for i, type_ in enumerate(update.types) if _is_total(update, i)}
    infinite = update.meaning is Meaning.MATH
    return starts(update, Solved(solved.operator, totals | dict(solved.identity)), infinite)


def _is_total(update: Update, i: int) -> bool:
    """Whether a component is added to and read by nothing else.

    Then the update is the same from everywhere: where an operator has an identity with c there, the one that takes
    x - c and y - c and adds c again has one with 0.
    """
    x, component = update.accumulators[i], update.components[i]
    if x.type.is_bool or (x.type.code == "uint" and update.meaning is Meaning.MATH):
        return False
    return _adds(component, x) and not any(x.name in names(c) for j, c in enumerate(update.components) if j != i)


def _adds(expr: Expr, x: Var) -> bool:
    """Whether it is x with something added that does not depend on x."""
    if expr == x:
        return True
    if not isinstance(expr, Op) or x.name not in names(expr):
        return False
    if expr.op == "select":
        condition, *branches = expr.args
        return x.name not in names(condition) and all(_adds(branch, x) for branch in branches)
    if expr.op not in ("+", "-"):
        return False
    first, second = expr.args
    if x.name not in names(second):
        return _adds(first, x)
    return expr.op == "+" and x.name not in names(first) and _adds(second, x)


def _nearest(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every choice of one place a component, made as asked for: by the sum of the places, then in order."""

    def of_sum(total: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if not sizes:
            yield ()
            return
        room = sum(sizes[1:]) - len(sizes[1:])
        for first in range(max(0, total - room), min(total, sizes[0] - 1) + 1):
            for others in of_sum(total - first, sizes[1:]):
                yield (first, *others)

    for total in range(sum(sizes) - len(sizes) + 1):
        yield from of_sum(total, sizes)


class Samples:
    """Points of x, of y, of two data, at which candidates are tried before anything is proved."""

    def __init__(self, update: Update) -> None:
        self.update = update
        self.x = update.accumulators
        data = update.data
        second = tuple(Var(var.type, f"{var.name} next") for var in data)
        constants = [v for v in sampling.used(update.components) if v.name in update.constants]
        self.env = sampling.points(
            [*self.x, *data, *second, *constants], update.meaning, _POINTS, sampling.literals(update.components)
        )
        self.second = second

    def values(
        self, exprs: Sequence[Expr], instead: Mapping[str, sampling.Array] | None = None
    ) -> list[sampling.Array] | None:
        """The values at the points, some names having other values; None where an infinity has none."""
        env = self.env if instead is None else self.env | dict(instead)
        try:
            finite = [without_infinities(e) for e in exprs]
            return [spread(value, _POINTS) for value in evaluate_all(finite, env, self.update.meaning)]
        except (Undefined, KeyError):
            return None

    def at(self, operator: Sequence[Expr], right: Sequence[sampling.Array]) -> list[sampling.Array] | None:
        """An operator's values with these right operands."""
        return self.values(operator, {f"y{i}": value for i, value in zip(range(len(right)), right, strict=True)})


def agrees(left: Sequence[sampling.Array] | None, right: Sequence[sampling.Array] | None) -> bool:
    """Whether two tuples of sample values are the same."""
    if left is None or right is None:
        return False
    return not any(bool(np.any(sampling.differs(a, b))) for a, b in zip(left, right, strict=True))


def claims(
    update: Update,
    solved: Solved | None = None,
    starts_given: Iterable[State] | None = None,
    limits: Limits = DEFAULT,
) -> Iterator[Claim]:
    """Claims whose operator is the update with its data replaced, those with a two-sided identity first.

    Nothing more is begun once the limits have expired.
    """
    solved = solved or Solved({}, {})
    search: _Search | None = None
    waiting: list[Claim] = []
    tried: set[State] = set()
    after_first = fruitless = 0
    for e in promising(update, likely(update, solved) if starts_given is None else starts_given):
        search = search or _Search(update, solved, limits)
        if waiting:
            after_first += 1
            if after_first > _AFTER_FIRST and not search.improves(e, waiting):
                continue
        if limits.expired:
            return
        fruitless += 1
        for claim, two_sided in search.from_start(e):
            assert claim.operator is not None
            fruitless = 0
            if two_sided:
                yield claim
                waiting = [other for other in waiting if other.operator != claim.operator]
            elif claim.operator not in tried:
                tried.add(claim.operator)
                waiting.append(claim)
        if len(waiting) > 12 or fruitless == _FRUITLESS:
            break
    yield from waiting


class _Search:
    def __init__(self, update: Update, solved: Solved, limits: Limits) -> None:
        self.update, self.solved, self.limits = update, solved, limits
        own = accumulator_names(update)
        self.free = free_of(own)
        self.open = [i for i in range(len(update.types)) if i not in solved.operator]
        ordered = {i: self._by_order(update.components[i]) for i in self.open}
        shown = {i: ordered[i] or update.components[i] for i in self.open}
        self.body = {i: _general(gathered(shown[i], self.free), i, self.free) for i in self.open}
        self.terms = [
            (i, term)
            for i in self.open
            for term in maximal_free([self.body[i]], self.free)
            if not names(term) <= update.constants and names(term).isdisjoint(_NEUTRAL)
        ]
        self.literals = [
            (i, node)
            for i in self.open
            for node in walk(self.body[i])
            if isinstance(node, Const) and (not node.type.is_bool or ordered[i] is not None)
        ]
        self.samples = Samples(update)
        self.step = self.samples.values([update.components[i] for i in self.open])
        self.second = self._second()
        after_two = apply_update(self.second, update.components)
        self.two = self.samples.values([after_two[i] for i in self.open])
        self.images: dict[Expr, sampling.Array | None] = {}
        self.tried = 0
        self.order = list(range(len(update.types)))
        """Components in the order in which they are looked at: those for which nothing was found first."""
        self.y = tuple(Var(t, f"y{i}") for i, t in zip(range(len(update.types)), update.types, strict=True))

    def _by_order(self, component: Expr) -> Expr | None:
        """A truth value that an order of state and datum decides, as a choice by that order."""
        if not component.type.is_bool:
            return None
        for node in walk(component):
            if isinstance(node, Op) and node.op in (*MIRRORED, "==", "!=") and not node.args[0].type.is_bool:
                one, other = node.args if self.free(node.args[0]) else node.args[::-1]
                if self.free(one) and not self.free(other):
                    return chosen_by_order(component, one, other)
        return None

    def _second(self) -> Update:
        """The update reading the second datum."""
        update = self.update
        values: dict[Expr, Expr] = dict(zip(update.data, self.samples.second, strict=True))
        return Update(
            tuple(replace(c, values) for c in update.components), update.types, update.constants, update.meaning
        )

    def from_start(self, e: State) -> Iterator[tuple[Claim, bool]]:
        """Claims with this `e`, and whether each looks two-sided."""
        update = self.update
        if self.tried > _TRIED:
            return
        try:
            data = tuple(without_infinities(c) for c in run_from(update, e))
        except Undefined:
            return
        if any(map(is_infinite, data)):
            return
        one = self.samples.values(data)
        if one is None:
            return
        data = tuple(self.plainer(g, value) for g, value in zip(data, one, strict=True))
        options = {term: self.options(term, data, one) for term in {term for _, term in self.terms}}
        if any(not option for option in options.values()):
            return
        standing: dict[Expr, list[Expr]] = {
            term: self.standing_for(term, one, self.y) for term in {term for _, term in self.literals}
        }
        places: list[tuple[int, Expr]] = [*self.terms]
        places += [(i, literal) for i, literal in self.literals if len(standing[literal]) > 1]
        for i in self.open:
            for name, neutral in _NEUTRAL.items():
                if name in names(self.body[i]):
                    place, literal = Var(update.types[i], name), const(update.types[i], neutral)
                    places.append((i, place))
                    standing[place] = self.standing_for(literal, one[i : i + 1], self.y[i : i + 1])
        two = cache(lambda: self.run_of_two(one))
        components: dict[int, list[Expr]] = {}
        for i in self.order:
            if i in self.solved.operator:
                components[i] = [self.solved.operator[i]]
                continue
            own = {term: options.get(term) or standing[term] for at, term in places if at == i}
            components[i] = self.components(i, own, one, two)
            if not components[i]:
                self.order.remove(i)
                self.order.insert(0, i)
                return
        in_order = [components[i] for i in range(len(update.types))]
        for operator in itertools.islice(_by_rank(in_order), _PER_START):
            op = Operator(operator, update.types, update.meaning)
            yield Claim(update, operator, e, data), self.looks_two_sided(op, e)

    def components(
        self,
        i: int,
        options: Mapping[Expr, list[Expr]],
        one: Sequence[sampling.Array],
        two: Callable[[], Sequence[sampling.Array] | None],
    ) -> list[Expr]:
        """What component i of the operator may be, with places replaced: what agrees with runs of one and two data."""
        found: list[Expr] = []
        wanted = self.open.index(i)
        for at, choice in zip(range(_CHOICES), _by_rank(list(options.values())), strict=False):
            if at % 8 == 0 and self.limits.expired:
                return []
            candidate = replace(self.body[i], dict(zip(options, choice, strict=True)))
            self.tried += 1
            if agrees(self.samples.at([candidate], one), self.step and [self.step[wanted]]) and (
                (right := two()) is None or agrees(self.samples.at([candidate], right), self.two and [self.two[wanted]])
            ):
                found.append(simplify(candidate))
                if len(found) >= _PER_START:
                    break
        return found

    def standing_for(self, literal: Const, values: Sequence[sampling.Array], operands: Sequence[Var]) -> list[Expr]:
        """The right operands that are always this literal, and the literal: a count adds 1 as its datum."""
        if literal.type.is_bool:
            return [literal, *(y for y in operands if y.type.is_bool)]
        held = const(literal.type, literal.value).value
        same = [
            y for y, value in zip(operands, values, strict=True) if y.type == literal.type and np.all(value == held)
        ]
        return [*same, literal]

    def plainer(self, expr: Expr, value: sampling.Array) -> Expr:
        """A datum or a constant instead of an expression that is it at every sample; the step is proved later."""
        if not expr.children:
            return expr
        for var in self.update.data:
            if var.type == expr.type and np.array_equal(self.samples.env[var.name], value):
                return var
        first = value[0].item() if isinstance(value[0], np.generic) else value[0]
        if np.all(value == value[0]) and not expr.type.is_bool and expr.type.min <= first <= expr.type.max:
            return const(expr.type, first)
        return expr

    def improves(self, e: State, waiting: Sequence[Claim]) -> bool:
        """Whether an operator found with another start has `e` as its right identity, on samples."""
        x = [self.samples.env[v.name] for v in self.samples.x]
        if any(map(is_infinite, e)):
            return False
        right = self.samples.values(e)
        return right is not None and any(agrees(self.samples.at(c.operator or (), right), x) for c in waiting)

    def looks_two_sided(self, op: Operator, e: State) -> bool:
        """Whether op(x, e) = x on samples that lie near the constants of both."""
        try:
            after = tuple(without_infinities(c) for c in op(self.samples.x, e))
        except Undefined:
            return False
        return sampling.refute(after, self.samples.x, self.update.meaning) is None

    def run_of_two(self, values: Sequence[sampling.Array]) -> Sequence[sampling.Array] | None:
        """`f(f(e; d); d')` at the samples, given `f(e; d)` there."""
        state = {x.name: value for x, value in zip(self.samples.x, values, strict=True)}
        return self.samples.values(self.second.components, state)

    def image(self, term: Expr) -> sampling.Array | None:
        """What a part of the update is at the samples; None where it has no value."""
        if term not in self.images:
            found = self.samples.values([term])
            self.images[term] = None if found is None else found[0]
        return self.images[term]

    def options(self, term: Expr, data: State, values: Sequence[sampling.Array], depth: int = 0) -> list[Expr]:
        """Expressions over y that may stand for a part, those that agree with it on samples first."""
        exact: list[Expr] = []
        loose: list[Expr] = []
        own = self.image(term)
        if own is None:
            return []
        for y, g, value in zip(self.y, data, values, strict=True):
            for candidate, image in _derived(y, value, term.type, self.update.meaning):
                if term == g or not np.any(sampling.differs(own, image)):
                    exact.append(candidate)
            if y.type == term.type:
                exact += _offset(y, value, own)
                loose.append(y)
        if isinstance(term, Op) and depth < 4:
            parts = []
            for child in term.args:
                fixed = isinstance(child, Const) or names(child) <= self.update.constants
                parts.append([child] if fixed else self.options(child, data, values, depth + 1)[:3])
            if all(parts):
                for choice in itertools.islice(itertools.product(*parts), 6):
                    built = Op(term.type, term.op, choice)
                    (exact if depth == 0 and not exact else loose).append(built)
        return list(dict.fromkeys(exact + loose))


def _derived(y: Expr, value: sampling.Array, type_: Type, meaning: Meaning) -> Iterator[tuple[Expr, sampling.Array]]:
    """Simple functions of y of the given type, with their values."""
    if y.type == type_:
        yield y, value
        if type_.is_bool:
            yield apply("not", y), ~value.astype(bool)
    elif not (type_.is_bool and y.type.is_float):
        probe = Var(y.type, "y")
        yield cast(type_, y), evaluate(cast(type_, probe), {"y": value}, meaning)


def _offset(y: Expr, value: sampling.Array, wanted: sampling.Array) -> list[Expr]:
    """`c - y` or `y + c` where that is what is wanted, at every sample."""
    if y.type.is_bool:
        return []
    found: list[Expr] = []
    with np.errstate(all="ignore"):
        for rest, sign in ((wanted + value, "-"), (wanted - value, "+")):
            if np.all(rest == rest[0]) and rest[0] == rest[0] and abs(rest[0]) < 2**62:
                offset = rest[0].item() if isinstance(rest[0], np.generic) else rest[0]
                if not y.type.min <= offset <= y.type.max:
                    continue
                constant = const(y.type, offset)
                if sign == "+" and offset:
                    found.append(apply("+", y, constant))
                elif sign == "-":
                    found.append(apply("-", constant, y) if offset else apply("neg", y))
    return found


def _by_rank(options: Sequence[list[Expr]]) -> Iterator[tuple[Expr, ...]]:
    """All choices, those that depart least from the first options first; made as they are asked for."""
    waiting = [(0, (0,) * len(options), 0)]
    while waiting:
        rank, at, last = heapq.heappop(waiting)
        yield tuple(option[i] for option, i in zip(options, at, strict=True))
        for place in range(last, len(options)):  # places are raised in order, so that each choice is met once
            if at[place] + 1 < len(options[place]):
                heapq.heappush(waiting, (rank + 1, (*at[:place], at[place] + 1, *at[place + 1 :]), place))
