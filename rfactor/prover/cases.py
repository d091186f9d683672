"""Proof by cases: both sides are run symbolically, and split on every comparison that is not yet decided.

In each case every `select`, `min`, `max` and `abs` is resolved, so that a value is a polynomial over opaque atoms and
the two sides are compared as polynomials. Comparisons are decided in the theory of total preorders over those
polynomials, which knows nothing of arithmetic: a case that arithmetic excludes may be visited, so a failure proves
nothing, but a success holds at every width the polynomials are right for. It is the 0-1 principle, the few values of an
order-only claim, and the opaque key of a computed selection, in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rfactor.ir.expr import Const, Expr, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import F64, Type
from rfactor.prover import functions
from rfactor.prover.comparisons import Split, State, Unsupported
from rfactor.prover.contradiction import Fact, contradict
from rfactor.prover.limits import SPLIT, Limits
from rfactor.prover.polynomial import Key, Polynomial, Ring, TooLarge, key, single_atom
from rfactor.prover.values import Values
from rfactor.prover.verdict import Method

Pair = tuple[Expr, Expr]
_MOST_FACTS, _MOST_ASKED = 80, 24
"""Comparisons on a branch, and branches, up to which arithmetic is asked whether a branch exists."""


class _OutOfCases(Exception):
    """The budget of branches is used up."""


def prove_by_cases(
    left: Sequence[Expr],
    right: Sequence[Expr],
    meaning: Meaning,
    assumptions: Sequence[Expr],
    limits: Limits,
) -> Method | None:
    """`normal_form` or `order` if left = right componentwise wherever the assumptions hold; None if not shown."""
    session = Cases(left, right, meaning, tuple(assumptions), limits)
    try:
        for one, other in zip(left, right, strict=True):
            if one != other and not session.equal(one, other):
                return None
    except (Unsupported, _OutOfCases, TooLarge):
        return None
    return "order" if session.splits else "normal_form"


class Cases(Values):
    """The search through the cases, for any of the components of one claim."""

    def __init__(
        self,
        left: Sequence[Expr],
        right: Sequence[Expr],
        meaning: Meaning,
        assumptions: tuple[Expr, ...],
        limits: Limits,
    ) -> None:
        super().__init__(meaning, assumptions)
        self.known_cleared: dict[Key, Polynomial] = {}
        self.assumptions, self.limits = assumptions, limits
        self.splits = 0
        self.asked = 0
        self.open: dict[Pair, list[State]] = {}
        """The branches that are left of each search."""
        self.few: int | None = None
        """The most branches of a search that is soon broken off."""
        for expr in (*left, *right, *assumptions):
            self.meet_infinities(expr)

    def meet_infinities(self, expr: Expr) -> None:
        """Know the infinite ends in advance: everything of their type lies between them."""
        for node in walk(expr):
            if isinstance(node, Const) and isinstance(node.value, float) and math.isinf(node.value):
                self.constant(node)

    def without_alike(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs that are not the same polynomial already, whatever is assumed."""
        return [pair for pair in pairs if not self.is_shown(self.alike, pair)]

    def without_equal(self, pairs: Sequence[Pair], few: int | None = None) -> list[Pair]:
        """The pairs that are not shown equal by cases; or by a few branches, and arithmetic is not asked.

        Where a search was broken off, another goes on.
        """
        self.few = few
        return [pair for pair in pairs if not self.is_shown(self.equal, pair)]

    def is_shown(self, show: Callable[[Expr, Expr], bool], pair: Pair) -> bool:
        try:
            return show(*pair)
        except (Unsupported, _OutOfCases, TooLarge):
            return False

    def alike(self, left: Expr, right: Expr) -> bool:
        """Whether both sides are the same polynomial without a split."""
        state = State()
        try:
            if self.same(left, right, state):
                return True
        except Split:
            pass
        if not self.assumptions:  # they are looked at first: what is known of divisors depends on them
            self.open[left, right] = [state]
        return False

    def equal(self, left: Expr, right: Expr) -> bool:
        """Whether both sides are the same in all cases; raises what says that this cannot be told."""
        pending = self.open.setdefault((left, right), [State()])
        most = self.limits.cases if self.few is None else min(self.few, self.limits.cases)
        while pending:
            state = pending[-1]
            try:
                if (
                    all(self.condition(claim, state) for claim in self.assumptions)
                    and not self.same(left, right, state)
                    and (self.few is not None or not self.excluded(state))
                ):
                    return False
                pending.pop()
            except Split as split:
                self.splits += 1
                self.limits.spend(SPLIT)
                if self.splits > most or (self.splits % 64 == 0 and self.limits.expired):
                    raise _OutOfCases from None
                pending[-1:] = self.branches(split, state)
        return True

    def excluded(self, state: State) -> bool:
        """Whether arithmetic on the reals or the unbounded integers leaves nothing of this branch."""
        facts = [
            (self.nodes[low], self.nodes[high], strict)
            for domain, order in state.orders.items()
            if domain[1] == 0
            for low, high, strict in order.facts
        ]
        if not self.limits.cases or len(facts) > _MOST_FACTS or self.asked >= _MOST_ASKED:
            return False
        self.asked += 1
        facts += [found for fact in facts if (found := self.by_equal_exponents(fact, state)) is not None]
        facts += functions.signs_of_logarithms(self)
        return contradict(facts, self.infinite)

    def by_equal_exponents(self, fact: Fact, state: State) -> Fact | None:
        """A comparison of exponentials whose exponents are equal in this case to others; None of anything else."""
        low, high, strict = fact
        if not functions.speaks_of_exponentials(self, low) and not functions.speaks_of_exponentials(self, high):
            return None
        difference, changed = functions.REALS.add(high, low, -1), False
        for _ in range(8):
            smaller = self.by_equalities(difference, functions.REALS, F64, state)
            if smaller is None:
                break
            difference, changed = smaller, True
        return ({}, difference, strict) if changed else None

    def branches(self, split: Split, state: State) -> list[State]:
        """What there is of the state in each way of deciding; the state itself is used up."""
        if split.low is None:
            other = state.copy()
            state.booleans[split.high], other.booleans[split.high] = True, False
            return [state, other]
        low, high = split.low, split.high
        assert isinstance(high, int)
        edges = [[(low, high, True)], [(high, low, False)]]
        if split.equality:
            order = state.orders[split.domain]
            edges = [[(low, high, False), (high, low, False)]]
            if order.path(high, low) == "none":
                edges.append([(low, high, True)])
            if order.path(low, high) == "none":
                edges.append([(high, low, True)])
        branches = [state, *(state.copy() for _ in edges[1:])]
        for branch, choice in zip(branches, edges, strict=True):
            for edge in choice:
                branch.orders[split.domain].know(*edge)
        return branches

    def same(self, left: Expr, right: Expr, state: State) -> bool:
        if left.type.is_bool:
            return self.condition(left, state) == self.condition(right, state)
        ring = self.ring(left.type)
        difference = ring.add(self.number(left, state), self.number(right, state), -1)
        for _ in range(8):
            if left.type.is_float:
                difference = self.cleared(difference)
            if not difference:
                return True
            smaller = self.by_equalities(difference, ring, left.type, state)
            if smaller is None:
                return False
            difference = smaller
        return False

    def cleared(self, difference: Polynomial) -> Polynomial:
        """`functions.cleared`: many branches ask of the same differences."""
        known = self.known_cleared.get(key(difference))
        if known is None:
            known = self.known_cleared[key(difference)] = functions.cleared(self, difference)
        return known

    def by_equalities(self, value: Polynomial, ring: Ring, type_: Type, state: State) -> Polynomial | None:
        """`value` with an atom replaced by what this case says it equals; None if nothing changes it."""
        domain = self.domain(type_)
        order = state.orders.get(domain)
        if order is None:
            return None
        found: list[tuple[int, Polynomial]] = []
        for node in list(order.above):
            atom = single_atom(self.nodes[node])
            if atom is None or atom not in functions.spoken_of(self, value):
                continue
            equal = [self.nodes[other] for other in order.equals(node)]
            alike = {atom, *(other for image in equal if (other := single_atom(image)) is not None)}
            for image in equal:
                single = single_atom(image)
                if single is not None and single < atom:  # towards the older atom, so that this ends
                    return self.exchanged(value, ring, type_, atom, image, state)
                if single is None and alike.isdisjoint(functions.spoken_of(self, image)):
                    found.append((atom, image))
        return self.exchanged(value, ring, type_, *found[0], state) if found else None

    def exchanged(
        self, value: Polynomial, ring: Ring, type_: Type, atom: int, image: Polynomial, state: State
    ) -> Polynomial:
        """`value` with an atom replaced."""
        if type_.is_float:
            return functions.replaced(self, type_, value, atom, image, state)
        return ring.substitute(value, atom, image)
