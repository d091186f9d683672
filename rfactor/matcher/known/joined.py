"""What is known of an update from what is known of its groups of components, or of these in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, permutations

from rfactor.ir.expr import Expr, Var, substitute_all
from rfactor.ir.graph import Subgraph, restrict, shared_data, subgraphs
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, of
from rfactor.matcher.answer import Answer, Lifting, ProofRecord
from rfactor.matcher.groups import first_groups
from rfactor.matcher.lifting.lift import side_by_side
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.operators.by_table import reordered
from rfactor.matcher.recombine import answer_of, combine
from rfactor.matcher.solve import Solution, renumbered
from rfactor.prover.claim import Discharged
from rfactor.prover.verdict import Proven

Ask = Callable[[Update], Answer | None]
"""What is known of a group."""


def of_groups(update: Update, ask: Ask) -> Answer | None:
    """The answers about groups of components that do not read one another, put together."""
    groups = first_groups(update)
    if len(groups) == 1:
        return None
    found: list[tuple[Subgraph, Answer]] = []
    for group in groups:
        answer = ask(restrict(update, group))
        if answer is None or answer.verdict not in ("associative", "lifted") or answer.identity_kind is None:
            return None
        found.append((group, answer))
    if all(answer.lift is None for _, answer in found):
        whole = combine(len(update.types), [(group, Solution(_proved(own), own.source or "")) for group, own in found])
        return None if whole is None else answer_of(update, groups, whole)
    return _beside(update, found)


def _proved(answer: Answer) -> Discharged:
    """The claim of a yes, as it was proved."""
    claim, kind = claim_of(answer), answer.identity_kind
    assert claim is not None
    assert kind is not None
    proofs = tuple([(proof.claim, Proven(proof.method, proof.ms, proof.row)) for proof in answer.proofs])
    return Discharged(claim, kind, answer.commutative, proofs)


def _beside(update: Update, found: Sequence[tuple[Subgraph, Answer]]) -> Answer | None:
    """The answer whose richer state is that of all groups, side by side.

    None where two of them share data: together they might have an operator without a richer state.
    """
    if any(set(one) & set(other) or shared_data(update, one, other) for (one, _), (other, _) in combinations(found, 2)):
        return None
    actions: list[tuple[Subgraph, Action]] = []
    for group, answer in found:
        action = None if answer.invariant else of(_proved(answer))
        if action is None:
            return None
        actions.append((group, action))
    lift = side_by_side(update, actions)
    commuting = [answer.commutative for _, answer in found]
    commutative = True if all(commuting) else False if False in commuting else None
    records: dict[str, ProofRecord] = {proof.claim: proof for _, answer in found for proof in answer.proofs}
    for claim, told in (("associative", None), ("commutative", commutative), ("not_commutative", commutative is False)):
        if told is not True:
            records.pop(claim, None)
    return Answer(
        update,
        "lifted",
        identity_kind="two-sided",
        commutative=commutative,
        groups=subgraphs(update),
        source="synthesis",
        assumes=tuple(dict.fromkeys(condition for _, action in actions for condition in action.assumes)),
        lift=Lifting(lift.types, lift.data, lift.operator, lift.identity, lift.apply),
        proofs=tuple(records.values()),
    )


_LARGEST = 3
"""Components of updates that are looked up in every order."""


def in_another_order(update: Update, ask: Ask) -> Answer | None:
    """The yes about the update with its components in another order."""
    count = len(update.types)
    if not 1 < count <= _LARGEST or len(subgraphs(update)) > 1:
        return None
    for order in list(permutations(range(count)))[1:]:
        answer = ask(reordered(update, order))
        if answer is not None and answer.verdict in ("associative", "lifted"):
            return _in_order(answer, update, order)
    return None


def _in_order(answer: Answer, update: Update, order: Subgraph) -> Answer:
    """What is said of the update with component `order[i]` as its i-th, said of the update."""
    numbers = dict(zip(range(len(order)), order, strict=True))
    place = [order.index(i) for i in range(len(order))]

    def moved(exprs: Sequence[Expr] | None, *, over_state: bool = False) -> tuple[Expr, ...] | None:
        if exprs is None:
            return None
        return tuple([renumbered(exprs[at], numbers) if over_state else exprs[at] for at in place])

    groups = tuple([tuple(sorted(numbers[i] for i in group)) for group in answer.groups])
    lift = answer.lift
    if lift is not None:
        states = {f"x{i}": Var(update.types[order[i]], f"x{order[i]}") for i in range(len(order))}
        apply = substitute_all(lift.apply, states)
        return replace(
            answer, update=update, groups=groups, lift=replace(lift, apply=tuple([apply[at] for at in place]))
        )
    return replace(
        answer,
        update=update,
        operator=moved(answer.operator, over_state=True),
        identity=moved(answer.identity),
        data=moved(answer.data),
        groups=tuple(sorted(groups)),
        invariant=tuple([renumbered(condition, numbers) for condition in answer.invariant]),
    )
