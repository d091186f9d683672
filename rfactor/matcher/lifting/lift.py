"""Liftings: an update whose runs act on the state through a richer one (design, section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Expr, names
from rfactor.ir.graph import Subgraph, restrict, subgraphs
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, of, operands
from rfactor.matcher.recall import Likeness
from rfactor.matcher.solve import Solver, renumbered
from rfactor.matcher.terms import accumulator_names, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Discharged, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.infinity import has_infinity

_DEEPEST = 2
"""How many liftings may stand inside one another."""


@dataclass(slots=True)
class Lifter:
    """Finds liftings within the budget of a solver."""

    solver: Solver
    known: dict[Update, Discharged | None] = field(default_factory=dict)

    def lift(self, update: Update, depth: int = 0) -> Discharged | None:
        """A proved lifting of the whole update, or None."""
        if update not in self.known:
            self.known[update] = None  # an update inside its own lifting is not lifted again
            self.known[update] = self.search(update, depth) if depth else self.remembered(update)
        return self.known[update]

    def remembered(self, update: Update) -> Discharged | None:
        """What was found for one like it, if that is proved again; else what a search finds."""
        memory = self.solver.memory
        if memory is None:
            return self.search(update, 0)
        likeness = Likeness.of(update)
        recalled = memory.recall(update, likeness, "lifted")
        if recalled is not None:
            again = discharge(recalled[1], self.solver.for_recalled)
            if isinstance(again, Discharged):
                return again
        found = self.search(update, 0)
        if found is not None:
            memory.keep(likeness, "lifted", "", found.claim)
        return found

    def search(self, update: Update, depth: int) -> Discharged | None:
        plain = _plainly(update)
        if plain != update:
            found = self.search(plain, depth)
            again = None if found is None else discharge(replace(found.claim, update=update), self.solver.limits)
            if isinstance(again, Discharged):
                return again
        groups = subgraphs(update)
        if len(groups) > 1:
            found = self.together(update, groups) or self.product(update, groups, depth)
            if found is not None:
                return found
        return self.whole(update, depth)

    def together(self, update: Update, groups: tuple[Subgraph, ...]) -> Discharged | None:
        """A lifting of groups that overlap in which what they have in common is carried once."""
        if sum(map(len, groups)) == len(update.types):
            return None
        from rfactor.matcher.lifting import carried

        return self.first_proved(carried.claims(update))

    def whole(self, update: Update, depth: int) -> Discharged | None:
        """Each family in turn on the update as one group."""
        hands_on = _hands_on(update)

        def inner(part: Update) -> Action | None:
            # What is handed on is taken off place by place: as many liftings inside one another as there are places.
            shorter = hands_on and len(part.types) < len(update.types)
            return self.action(part, depth if shorter else depth + 1)

        from rfactor.matcher.lifting import families  # most updates need none of these many

        for family in families.of(update, inner if depth < _DEEPEST else None):
            found = self.first_proved(family)
            if found is not None or self.solver.limits.expired:
                return found
        return None

    def first_proved(self, claims: Iterable[Claim]) -> Discharged | None:
        """The first of some claims that is proved."""
        for claim in claims:
            if self.solver.limits.expired:
                return None
            result = discharge(_tidied(claim), self.solver.limits)
            if isinstance(result, Discharged):
                return result
        return None

    def action(self, update: Update, depth: int) -> Action | None:
        """How runs of an update act, plainly or lifted."""
        solution = self.solver.solve(update, thorough=True)
        if solution is not None:
            return of(solution.proved)
        lifted = self.lift(update, depth)
        return None if lifted is None else of(lifted)

    def product(self, update: Update, groups: tuple[Subgraph, ...], depth: int) -> Discharged | None:
        """The actions of the groups side by side."""
        actions = []
        for group in groups:
            part = restrict(update, group)
            action = self.action(part, depth)
            if action is None:
                return None
            actions.append((group, action))
        invariant = _invariants(actions)
        assumes = tuple(dict.fromkeys(condition for _, action in actions for condition in action.assumes))
        claim = Claim(update, lift=side_by_side(update, actions), invariant=invariant, assumes=assumes)
        result = discharge(claim, self.solver.limits)
        return result if isinstance(result, Discharged) else None


def _plainly(update: Update) -> Update:
    """The update with its components in canonical form where that shows that one depends on less than it says.

    `select(a == x0, x0, a)` only remembers `a`.
    """
    forms = [(e, canonical(e)) for e in update.components]
    return replace(update, components=tuple(form if names(form) < names(e) else e for e, form in forms))


def _hands_on(update: Update) -> bool:
    """Whether a component takes over data that another one took from the step before."""
    own = accumulator_names(update)
    taken = {x for x, e in zip(update.accumulators, update.components, strict=True) if not names(e) & own}
    return any(e in taken for e in update.components)


def _tidied(claim: Claim) -> Claim:
    """The claim with the lifting's expressions simplified."""
    assert claim.lift is not None

    def plainer(expr: Expr) -> Expr:
        plain = expr if has_infinity(expr) else tidy(expr)
        # Sums of literals may leave the type, where integers are unbounded.
        wraps = plain != expr and claim.update.meaning is Meaning.MATH
        return expr if wraps and sampling.refute((expr,), (plain,), Meaning.MATH) is not None else plain

    def tidied(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(map(plainer, exprs))

    lift = claim.lift
    return replace(
        claim,
        lift=replace(lift, data=tidied(lift.data), operator=tidied(lift.operator), apply=tidied(lift.apply)),
    )


def _invariants(actions: list[tuple[Subgraph, Action]]) -> tuple[Expr, ...]:
    """The conditions of actions side by side."""
    found: list[Expr] = []
    start = 0
    for _, action in actions:
        shift = {i: start + i for i in range(len(action.types))}
        found += [renumbered(condition, shift) for condition in action.invariant]
        start += len(action.types)
    return tuple(found)


def side_by_side(update: Update, actions: list[tuple[Subgraph, Action]]) -> Lift:
    """The actions of groups that do not read one another as one lifting."""
    types: list[Type] = []
    data: list[Expr] = []
    operator: list[Expr] = []
    identity: list[Expr] = []
    applied: dict[int, Expr] = {}
    for group, action in actions:
        start = len(types)
        shift = {i: start + i for i in range(len(action.types))}
        for i in range(len(action.types)):
            operator.append(renumbered(action.operator[i], shift))
        state = tuple(update.accumulators[i] for i in group)
        right = operands("y", action.types, start)
        for component, part in zip(group, action.act(state, right), strict=True):
            applied.setdefault(component, part)
        types += action.types
        data += action.data
        identity += action.identity
    return Lift(
        tuple(types),
        tuple(data),
        tuple(operator),
        tuple(identity),
        tuple(applied[i] for i in range(len(update.types))),
    )
