"""One group of components: candidates from every tier, cheapest first, until one is proved.

A group is an update of its own. Where its dependency graph has several cycles, each is solved after those it refers to,
whose operators are then given; so components that stand in several groups have one operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from rfactor.ir.expr import Expr, Var, substitute
from rfactor.ir.graph import Subgraph, closures, restrict
from rfactor.ir.rounded import rounds_values
from rfactor.ir.update import Update
from rfactor.matcher.groups import cycles
from rfactor.matcher.operators import (
    carry,
    conjugate,
    coupled,
    derived,
    directed,
    distinct,
    generalized,
    guard,
    mapped,
    moments,
    polynomials,
    primitives,
    replay,
    rescaled,
    saturating,
    selection,
    starts,
    substitution,
    verbatim,
)
from rfactor.matcher.recall import Kind, Likeness, Memory
from rfactor.prover.claim import Claim, Discharged, Failed
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Refuted, Unknown
from rfactor.table.store import Table

_SHARE = 15_000_000
"""Resource units for one query, so that a hard one leaves time for other candidates."""

_RECALLED = 1_000_000
"""Resource units for one query about a recalled claim."""

Tier = Callable[[Update], Iterable[Claim]]

_FAILURES = 12
"""Unproved candidates of one tier after which it is left."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A proved operator for a group, in the group's own numbering."""

    proved: Discharged
    tier: str


@dataclass(slots=True)
class Solver:
    """Solves groups within one budget, each once."""

    limits: Limits
    tiers: Iterable[tuple[str, Tier]]
    """Tiers for a group as a whole, before it is taken apart."""
    late_tiers: Iterable[tuple[str, Tier]] = ()
    """Tiers that search, for a group as a whole."""
    before_parts: str = "selection"
    """The late tier after which a group is taken apart."""
    memory: Memory | None = None
    """What was found before by the same tiers."""
    known: dict[tuple[Update, bool], Solution | None] = field(default_factory=dict)
    failures: list[Failed] = field(default_factory=list)

    def solve(self, update: Update, thorough: bool) -> Solution | None:
        """The best operator found for `update`: with a two-sided identity, else with a left one, else with none."""
        key = (update, thorough)
        if key not in self.known:
            self.known[key] = self.remembered(update, thorough)
        return self.known[key]

    def remembered(self, update: Update, thorough: bool) -> Solution | None:
        """What was found for one like it, if that is proved again; else what a search finds."""
        if self.memory is None:
            return self.started(self.search(update, thorough))
        kind: Kind = "thorough" if thorough else "quick"
        likeness = Likeness.of(update)
        if self.memory.knows(likeness, kind):
            recalled = self.memory.recall(update, likeness, kind)
            if recalled is None:
                return None
            again = discharge(recalled[1], self.for_recalled)
            if isinstance(again, Discharged) and (again.claim.identity is None) == (recalled[1].identity is None):
                return Solution(again, recalled[0])
        before = len(self.failures)
        found = self.started(self.search(update, thorough))
        if found is not None and found.tier != "table":
            self.memory.keep(likeness, kind, found.tier, found.proved.claim)
        elif found is None and not self.gave_up(before):
            self.memory.keep(likeness, kind, "", None)
        return found

    def started(self, found: Solution | None) -> Solution | None:
        """What was found, with an identity where it had none and there is one."""
        if found is None or found.proved.identity_kind != "none":
            return found
        return self.better(found, self.first_proved(found.tier, starts.claims(found.proved.claim)))

    def unrounded(self, found: Solution | None) -> Solution | None:
        """What was found; where it computes floats and the update only chooses one of them, an operator that chooses
        one too, has as strong an identity and commutes if that one does, if there is one."""
        if found is None or not _computes(found.proved.claim) or not _chooses(found.proved.claim.update):
            return found
        update, identity = found.proved.claim.update, found.proved.claim.identity
        claims = chain(selection.claims(update), verbatim.claims(update))
        other = self.first_proved("selection", (claim for claim in claims if not _computes(claim)))
        if other is not None and other.proved.identity_kind != "two-sided" and identity is not None:
            started = starts.claims(replace(other.proved.claim, identity=identity))
            other = self.better(other, self.first_proved(other.tier, started))
        if other is None or (found.proved.commutative and not other.proved.commutative):
            return found
        return self.better(other, found)

    def gave_up(self, since: int) -> bool:
        """Whether time ran out, or a candidate was neither proved nor refuted."""
        return self.limits.expired or any(isinstance(f.verdict, Unknown) for f in self.failures[since:])

    def search(self, update: Update, thorough: bool) -> Solution | None:
        if self.limits.expired:
            return None
        if not thorough:
            return self.quick(update)
        best = self.solve(update, thorough=False)
        if best is not None and best.proved.identity_kind in ("two-sided", "left"):
            return best
        return self.unrounded(self.late(update, best))

    def late(self, update: Update, best: Solution | None) -> Solution | None:
        """What the later tiers find, or `best`, which the first ones found."""
        best = self.better(best, self.first_proved("guard", guard.claims(update, self.proved)))
        if best is not None and best.proved.identity_kind == "two-sided":
            return best
        best = self.better(best, self.first_proved("coupled", coupled.claims(update, self.proved)))
        if best is not None and best.proved.identity_kind == "two-sided":
            return best
        best = self.better(best, self.first_proved("derived", derived.claims(update, self.proved)))
        if best is not None and best.proved.identity_kind in ("two-sided", "left"):
            return best
        best = self.better(best, self.first_proved("mapped", mapped.claims(update, self.proved)))
        if best is not None and best.proved.identity_kind in ("two-sided", "left"):
            return best
        parts = cycles(update)
        for name, tier in self.late_tiers:
            found = self.first_proved(name, tier(update))
            # Of floats that are only chosen it is the choice as it is spelled that is wanted, so with an identity.
            best = self.better(best, self.started(found) if name == "selection" and _chooses(update) else found)
            if best is None and name == self.before_parts and len(parts) > 1:
                best = self.stepwise(update, parts)
            if best is not None and best.proved.identity_kind in ("two-sided", "left"):
                break
        return best

    def quick(self, update: Update) -> Solution | None:
        """What the first tiers find."""
        best: Solution | None = None
        for name, tier in self.tiers:
            best = self.better(best, self.first_proved(name, tier(update)))
            if best is not None and best.proved.identity_kind in ("two-sided", "left"):
                break
        return best

    def proved(self, update: Update) -> Discharged | None:
        """What was found for an update that this one is made from."""
        found = self.solve(update, thorough=True)
        return None if found is None else found.proved

    @property
    def share(self) -> Limits:
        """What one query may take."""
        return self.limits.at_most(rlimit=_SHARE)

    @property
    def for_recalled(self) -> Limits:
        """What the proof of a recalled claim may take: where it takes more than it did, a search may find another."""
        return self.limits.at_most(rlimit=_RECALLED)

    def better(self, one: Solution | None, other: Solution | None) -> Solution | None:
        """The solution whose identity serves more schedules; the earlier of equals."""
        if one is None or other is None:
            return one or other
        order = ("two-sided", "left", "right", "none")
        return min(one, other, key=lambda s: order.index(s.proved.identity_kind))

    def first_proved(self, name: str, claims: Iterable[Claim]) -> Solution | None:
        """The first claim that is proved with a two-sided identity; failing that, the first that is proved."""
        best: Solution | None = None
        failures = 0
        for claim in claims:
            if self.limits.expired:
                break
            result = discharge(claim, self.share)
            if isinstance(result, Failed):
                self.failures.append(result)
                failures += 1 if isinstance(result.verdict, Refuted) else 4
                if failures >= _FAILURES:
                    break
                continue
            best = self.better(best, Solution(result, name))
            if result.identity_kind == "two-sided":
                break
            failures += 3  # one-sided: a few more are tried, in the hope of a two-sided one
        return best

    def stepwise(self, update: Update, parts: tuple[Subgraph, ...]) -> Solution | None:
        """Cycle after cycle, with the operators of what each refers to given."""
        reach = closures(update)
        operator: dict[int, Expr] = {}
        identity: dict[int, Expr] = {}
        last: Solution | None = None
        for part in parts:
            group = reach[part[0]]
            own = restrict(update, group)
            if len(group) == len(part):
                found = self.solve(own, thorough=True) if len(group) < len(update.types) else None
            else:
                to_group = {old: new for new, old in zip(range(len(group)), group, strict=True)}
                given = substitution.Solved(
                    {to_group[i]: renumbered(operator[i], to_group) for i in group if i in operator},
                    {to_group[i]: identity[i] for i in group if i in identity},
                )
                found = self.first_proved("substitution", substitution.claims(own, given, limits=self.limits))
            if found is None or found.proved.claim.operator is None or found.proved.claim.identity is None:
                return None
            back = dict(zip(range(len(group)), group, strict=True))
            for at, old in back.items():
                operator[old] = renumbered(found.proved.claim.operator[at], back)
                identity[old] = found.proved.claim.identity[at]
            last = found if len(group) == len(update.types) else None
        return last


def _chooses(update: Update) -> bool:
    """Whether an update has floats, and only chooses them."""
    return any(type_.is_float for type_ in update.types) and not rounds_values(update.components)


def _computes(claim: Claim) -> bool:
    """Whether an operator, or what it is given, computes floats that are rounded."""
    return rounds_values((*(claim.operator or ()), *(claim.data or ())))


def renumbered(expr: Expr, numbers: dict[int, int]) -> Expr:
    """An expression over x_i and y_i with its operands renumbered."""
    from rfactor.ir.expr import variables

    values: dict[str, Expr] = {}
    for var in variables(expr):
        letter, digits = var.name[0], var.name[1:]
        if letter in "xy" and digits.isdigit():
            values[var.name] = Var(var.type, f"{letter}{numbers[int(digits)]}")
    return substitute(expr, values)


def quick_tiers(table: Table | None = None) -> list[tuple[str, Tier]]:
    """What needs no search: a table (by default the shipped one), the language's own operations, linear algebra."""
    from rfactor.matcher.operators import by_table

    def tabled(update: Update) -> Iterator[Claim]:
        return by_table.claims(update, by_table.shipped() if table is None else table)

    def single(update: Update) -> Iterator[Claim]:
        if len(update.types) == 1:
            yield from primitives.claims(update)

    return [
        ("table", tabled),
        ("primitive", single),
        ("linear", polynomials.claims),
        ("carry", carry.claims),
        ("rescaled", rescaled.claims),
        ("moments", moments.claims),
        ("distinct", distinct.claims),
        ("conjugate", conjugate.claims),
    ]


def late_tiers(limits: Limits) -> list[tuple[str, Tier]]:
    """What needs a search, and ends with the limits."""
    return [
        ("directed", directed.claims),
        ("saturating", saturating.claims),
        ("selection", selection.claims),
        ("replay", replay.claims),
        ("substitution", partial(substitution.claims, limits=limits)),
        ("generalized", partial(generalized.claims, limits=limits)),
        ("verbatim", verbatim.claims),
    ]
