"""Operators of groups put together to one operator of the whole update (rfactor 2017, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rfactor.ir.expr import Expr
from rfactor.ir.graph import Subgraph
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, IdentityKind, ProofRecord
from rfactor.matcher.solve import Solution, renumbered
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.limits import Limits

WEAKER: tuple[IdentityKind, ...] = ("two-sided", "left", "right", "none")
"""Kinds of identities, each weaker than those before it."""


@dataclass(frozen=True, slots=True)
class Combined:
    """A proved operator for the whole tuple."""

    operator: tuple[Expr, ...]
    identity: tuple[Expr, ...] | None
    identity_kind: IdentityKind
    data: tuple[Expr, ...]
    commutative: bool | None
    invariant: tuple[Expr, ...]
    assumes: tuple[Expr, ...]
    proofs: tuple[ProofRecord, ...]
    table: bool
    """Whether every group was answered by the table."""


_FEW = Limits(cases=200)
"""Of the proof that two groups say the same of a component in other words."""


def combine(count: int, solutions: Sequence[tuple[Subgraph, Solution]]) -> Combined | None:
    """One operator from those of the groups, or None where groups disagree on a component they share.

    They agree if operator, identity and data are the same functions, an operator where the invariants of all groups
    hold, as they do for all that runs reach: what one group proves of them serves the other.

    The identity is as weak as the weakest group's; the whole commutes if all groups do, and does not if one does not.
    """
    operator: list[Expr | None] = [None] * count
    identity: list[Expr | None] = [None] * count
    data: list[Expr | None] = [None] * count
    invariant: dict[Expr, None] = {}
    assumes: dict[Expr, None] = {}
    kind: IdentityKind = "two-sided"
    for group, solution in solutions:
        numbers = dict(zip(range(len(group)), group, strict=True))
        invariant |= {renumbered(condition, numbers): None for condition in solution.proved.claim.invariant}
    for group, solution in solutions:
        claim = solution.proved.claim
        assert claim.operator is not None
        assert claim.data is not None
        numbers = dict(zip(range(len(group)), group, strict=True))
        kind = max(kind, solution.proved.identity_kind, key=WEAKER.index)
        for at, component in numbers.items():
            own = renumbered(claim.operator[at], numbers)
            e = None if claim.identity is None else claim.identity[at]
            if operator[component] is None:
                operator[component], identity[component], data[component] = own, e, claim.data[at]
                continue
            known = (operator[component], identity[component], data[component])
            if not all(map(partial(_agree, claim.update.meaning, tuple(invariant)), known, (own, e, claim.data[at]))):
                return None
        assumes |= dict.fromkeys(claim.assumes)
    kinds = [solution.proved.commutative for _, solution in solutions]
    commutative = True if all(kinds) else False if False in kinds else None
    if kind in ("right", "none"):
        kind = "none"
    return Combined(
        tuple(e for e in operator if e is not None),
        None if kind == "none" else tuple(e for e in identity if e is not None),
        kind,
        tuple(e for e in data if e is not None),
        commutative,
        tuple(invariant),
        tuple(assumes),
        _proofs(solutions, kind, commutative),
        all(solution.tier == "table" for _, solution in solutions),
    )


def answer_of(update: Update, groups: tuple[Subgraph, ...], whole: Combined) -> Answer:
    """The answer that what was put together of groups is."""
    return Answer(
        update,
        "associative",
        operator=whole.operator,
        identity=whole.identity,
        identity_kind=whole.identity_kind,
        data=whole.data,
        commutative=whole.commutative,
        groups=groups,
        source="table" if whole.table else "synthesis",
        invariant=whole.invariant,
        assumes=whole.assumes,
        proofs=whole.proofs,
    )


def _agree(meaning: Meaning, invariant: tuple[Expr, ...], one: Expr | None, other: Expr | None) -> bool:
    """Whether two expressions are shown to be the same function where `invariant` holds; or neither is there."""
    if one is None or other is None or one == other:
        return one == other
    return one.type == other.type and prove_by_cases((one,), (other,), meaning, invariant, _FEW) is not None


def _proofs(
    solutions: Sequence[tuple[Subgraph, Solution]], kind: IdentityKind, commutative: bool | None
) -> tuple[ProofRecord, ...]:
    """One record a claim: the dearest of the groups' proofs stands for all, with the time of all."""
    records: dict[str, ProofRecord] = {}
    for _, solution in solutions:
        for name, proof in solution.proved.proofs:
            before = records.get(name)
            record = ProofRecord(name, proof.method, proof.ms, proof.row)
            if before is not None:
                dearest = max(before, record, key=lambda r: r.ms)
                record = ProofRecord(name, dearest.method, before.ms + proof.ms, dearest.row)
            records[name] = record
    if kind not in ("two-sided", "right"):
        records.pop("right_identity", None)
    if kind == "none":
        records.pop("left_identity", None)
    if commutative is not True:
        records.pop("commutative", None)
    if commutative is not False:
        records.pop("not_commutative", None)
    return tuple(records.values())
