"""Is there an associative operator behind an update? The matcher's one entrance."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from rfactor.ir.expr import Op, Var, names, substitute_all, variables, walk
from rfactor.ir.fused import as_sums
from rfactor.ir.graph import Subgraph, restrict, subgraphs
from rfactor.ir.meaning import Meaning
from rfactor.ir.unknown import unknown_calls
from rfactor.ir.update import Update
from rfactor.kept import Kept
from rfactor.matcher.alike import Form, renamed
from rfactor.matcher.answer import Answer, Lifting, ProofRecord
from rfactor.matcher.decisions import Rounded, with_decisions, without_decisions
from rfactor.matcher.exact import with_zeros_kept
from rfactor.matcher.groups import first_groups, joined
from rfactor.matcher.known.lookup import known_answer, shipped
from rfactor.matcher.lifting.lift import Lifter
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.recall import Memory
from rfactor.matcher.recombine import Combined, answer_of, combine
from rfactor.matcher.refusal import instances
from rfactor.matcher.refusal.instance import Refutation, of_whole
from rfactor.matcher.refusal.refute import refute
from rfactor.matcher.respell import respelled
from rfactor.matcher.rounding import rounded_integer
from rfactor.matcher.solve import Solution, Solver, late_tiers, quick_tiers
from rfactor.matcher.starts import with_stored_identity
from rfactor.matcher.steady import with_steady_exponentials
from rfactor.prover.claim import Discharged
from rfactor.prover.defined import is_evident
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.table.store import Table

DEFAULT = Limits(seconds=10.0)


_ANSWERED: Kept[tuple[Update, Table | None, bool, bool], Answer] = Kept(1024)
"""Answers that hold for good: a compiler asks about the same update again and again. The last of a key is whether the
update is a form, of which a yes about another update is kept."""


_HINT = 5_000_000
"""Resource units for the search for what unbounded integers would make of the update: about half a second."""


_MEMORY = Memory()
"""What the shipped table and the other tiers found, by the shape of updates."""


def forget() -> None:
    """Let go of all that was found before, so that answers do not depend on it."""
    _ANSWERED.clear()
    _MEMORY.claims.clear()


Effort = Literal["look_up", "find", "refute"]
"""What is tried for an answer: the table of known reductions alone, also the search for an operator, also a no."""


def recognize(
    update: Update,
    *,
    table: Table | None = None,
    limits: Limits = DEFAULT,
    known: bool = True,
    effort: Effort = "refute",
) -> Answer:
    """The answer about `update`, with a proof of every claim in it.

    `table` holds the elementary operators, by default the shipped ones; then the table of known reductions is looked
    up first, unless `known` is false. `limits.seconds` bounds the whole; when it is used up the answer is `unknown`,
    and so it is where less `effort` than a proof of a no is asked for.
    """
    start = time.perf_counter()
    answer = _ANSWERED.get((update, table, known, False))
    if answer is None:
        form = Form.of(update)
        like = None if form is None else _ANSWERED.get((form.update, table, known, True))
        answer = None if form is None or like is None else form.said_of(like, update)
        if answer is None:
            limits = limits.starting_now()
            answer = _first_answer(update, _Search(limits, table, known, effort))
            if answer.rounded is not None and limits.expired:  # more time may leave nothing open
                return replace(answer, ms=(time.perf_counter() - start) * 1000)
            if form is not None and answer.verdict in ("associative", "lifted"):
                _ANSWERED.keep((form.update, table, known, True), answer)
        if answer.verdict != "unknown":
            _ANSWERED.keep((update, table, known, False), answer)
    return replace(answer, ms=(time.perf_counter() - start) * 1000)


@dataclass(frozen=True, slots=True)
class _Search:
    """How an answer is looked for."""

    limits: Limits
    table: Table | None
    known: bool
    effort: Effort

    def held(self, update: Update) -> Answer | None:
        """What the table of known reductions says of the update."""
        return known_answer(update, shipped()) if self.known and self.table is None else None


def _first_answer(update: Update, search: _Search) -> Answer:
    """The answer about an update that nothing is kept of."""
    try:
        return _whatever_floats_do(update, search)
    except RecursionError:
        return Answer(update, "unknown", reason="the update is nested too deep")


def _whatever_floats_do(update: Update, search: _Search) -> Answer:
    """The answer, of which a yes holds where floats that decide integers are rounded, infinite or no numbers too."""
    try:
        other, meanings = without_decisions(update)
    except Rounded as rounded:
        unsure = f"{rounded} may be rounded, or NaN"
    else:
        if not meanings:
            return _as_stored(_held_or_found(other, search), search.limits)
        said = _of_reals(other, lambda real: _first_of(search.held(real), lambda: _yes(real, search)))
        if said is not None and said.verdict in _HINTS:
            return with_decisions(_as_stored(said, search.limits), update, meanings)
        unsure = "what is compared may be NaN, infinite or rounded"
    answer = _held_or_found(update, search)
    if answer.verdict in _HINTS:
        reason = f"no operator was found whatever floats are, but for real numbers: {unsure}"
        return Answer(update, "unknown", reason=reason)
    return answer


def _as_stored(answer: Answer, limits: Limits) -> Answer:
    """A yes as it holds of floats that are stored: with an identity that is one, and what rounding may change told.
    What holds of all numbers is none of its assumptions."""
    if answer.verdict not in _HINTS:
        return answer
    answer = with_steady_exponentials(with_zeros_kept(with_stored_identity(answer, limits), limits), limits)
    assumes = tuple([e for e in answer.assumes if not is_evident(e)])
    return replace(answer, assumes=assumes, rounded=rounded_integer(answer, limits))


def _first_of(answer: Answer | None, otherwise: Callable[[], Answer | None]) -> Answer | None:
    return answer if answer is not None else otherwise()


def _held_or_found(update: Update, search: _Search) -> Answer:
    answer = _of_reals(update, lambda real: _first_of(search.held(real), lambda: _answer(real, search)))
    assert answer is not None
    return answer


def _of_reals(update: Update, answered: Callable[[Update], Answer | None]) -> Answer | None:
    """What is answered of the update with a product and a sum for each `fma` of accumulators, told of the update
    itself. One of data is a datum like any other: so the answer says of it what holds of any function."""
    own = {x.name for x in update.accumulators}
    components = as_sums(update.components, lambda node: not own.isdisjoint(names(node)))
    if components is update.components:
        return answered(update)
    answer = answered(replace(update, components=components))
    return None if answer is None else replace(answer, update=update)


def _yes(update: Update, search: _Search) -> Answer | None:
    """The answer about an update behind which an operator is found."""
    if search.effort == "look_up":
        return None
    own, back = _without_operand_names(update)
    answer = _in_any_spelling(own, _solver(search.limits, search.table), search.table)
    return None if answer is None else _with_names(answer, update, back)


def _answer(update: Update, search: _Search) -> Answer:
    """The answer about an update that is in no table."""
    if search.effort != "refute":
        found = _yes(update, search)
        return Answer(update, "unknown", reason="no associative operator was found so far") if found is None else found
    own, back = _without_operand_names(update)
    limits, table = search.limits, search.table
    solver = _solver(limits, table)
    answer = _in_any_spelling(own, solver, table)
    if answer is None:
        answer = _without_operator(own, solver)
        if _may_overflow(update) and not limits.expired:
            answer = _with_overflow_hint(answer, own, search)
    return _with_names(answer, update, back)


def _in_any_spelling(own: Update, solver: Solver, table: Table | None) -> Answer | None:
    """A yes for an update, as it is spelled or otherwise."""
    limits = solver.limits
    answer = _found(own, solver)
    if (answer is None or answer.identity_kind == "none" or answer.lift is not None) and not limits.expired:
        other = _respelled(own, limits, table, lift=answer is None or answer.lift is None)
        if other is not None and (other.operator is not None or answer is None):
            answer = other
    return answer


def _solver(limits: Limits, table: Table | None) -> Solver:
    return Solver(limits, quick_tiers(table), late_tiers(limits), memory=_MEMORY if table is None else None)


def _found(update: Update, solver: Solver, *, lift: bool = True) -> Answer | None:
    """A yes for an update as it is spelled; with `lift` false only an operator on the state as it is is sought."""
    found = decompose(update, solver)
    if found is not None:
        groups, whole = found
        return answer_of(update, groups, whole)
    lifted = Lifter(solver).lift(update) if lift else None
    return None if lifted is None else _lifted(update, lifted)


def _without_operator(update: Update, solver: Solver) -> Answer:
    """The answer for an update behind which no operator was found: a proof that there is none, or unknown."""
    limits = solver.limits
    refuted = _refuted(update, _apart(update, solver), limits)
    if refuted is not None:
        return Answer(
            update,
            "not_associative",
            counterexample=refuted.instance,
            reason=refuted.sentence,
        )
    reason = (
        "the time limit was reached"
        if limits.expired
        else "no associative operator was found, nor a proof that there is none"
    )
    return Answer(update, "unknown", reason=reason)


def _respelled(update: Update, limits: Limits, table: Table | None, *, lift: bool) -> Answer | None:
    """A yes for the update in another spelling, proved for the update."""
    other = respelled(update)
    if other == update:
        return None
    solver = _solver(limits, table)
    answer = _found(other, solver, lift=lift)
    claim = None if answer is None else claim_of(replace(answer, update=update))
    if answer is None or claim is None:
        return None
    proved = discharge(claim, limits)
    if not isinstance(proved, Discharged):
        return None
    return replace(
        answer,
        update=update,
        identity=None if answer.lift is not None else proved.claim.identity,
        identity_kind=proved.identity_kind,
        commutative=proved.commutative,
        invariant=proved.claim.invariant,
        proofs=tuple(ProofRecord(name, proof.method, proof.ms) for name, proof in proved.proofs),
    )


def _may_overflow(update: Update) -> bool:
    """Whether the update's integers may wrap around, which unbounded ones would not."""
    integers = any(type_.is_int for type_ in update.types)
    return (
        integers
        and update.meaning is Meaning.WRAP
        and any(
            isinstance(node, Op) and node.type.is_int and node.op in ("+", "-", "*", "neg", "<<", "abs")
            for component in update.components
            for node in walk(component)
        )
    )


_HINTS = {
    "associative": "it is associative if nothing overflows (--semantics math)",
    "lifted": "it is associative on a richer state if nothing overflows (--semantics math)",
}


def _with_overflow_hint(answer: Answer, update: Update, search: _Search) -> Answer:
    """Say so where unbounded integers would make the difference."""
    verdict = _without_overflow(replace(update, meaning=Meaning.MATH), search)
    return replace(answer, reason=f"{answer.reason}; {_HINTS[verdict]}") if verdict in _HINTS else answer


def _without_overflow(unbounded: Update, search: _Search) -> str:
    """The verdict on an update of unbounded integers, as far as it is soon found."""
    held = search.held(unbounded)
    if held is not None:
        return held.verdict
    limits = search.limits.with_purse(_HINT)
    solver = _solver(limits, search.table)
    if decompose(unbounded, solver) is not None:
        return "associative"
    return "unknown" if Lifter(solver).lift(unbounded) is None else "lifted"


def _apart(update: Update, solver: Solver) -> list[Subgraph]:
    """Unsolved groups with all that shares data with them: what is false of these is false of the whole."""
    groups = first_groups(update)
    failing = [group for group in groups if solver.solve(restrict(update, group), thorough=True) is None]
    others = [group for group in groups if group not in failing]
    return list(joined(update, failing, others)[-1])


def _refuted(update: Update, parts: list[Subgraph], limits: Limits) -> Refutation | None:
    """The first refutation of a part; of unknown functions, where they are plain ones."""

    def tried(one: Update) -> Refutation | None:
        return next(filter(None, (_refuted_part(one, part, limits) for part in parts)), None)

    return instances.refuted(update, tried) if unknown_calls(update.components) else tried(update)


def _refuted_part(update: Update, part: Subgraph, limits: Limits) -> Refutation | None:
    """A refutation of a part, told of the whole."""
    if limits.expired:
        return None
    own = restrict(update, part)
    found = refute(own, limits, same_length=len(part) < len(update.types))
    if found is None or len(part) == len(update.types):
        return found
    whole = of_whole(update, part, found)
    components = ", ".join(f"x{i}" for i in part)
    return None if whole is None else replace(whole, sentence=f"of {components}: {found.sentence}")


def _lifted(update: Update, lifted: Discharged) -> Answer:
    claim, lift = lifted.claim, lifted.claim.lift
    assert lift is not None
    return Answer(
        update,
        "lifted",
        identity_kind=lifted.identity_kind,
        commutative=lifted.commutative,
        groups=subgraphs(update),
        source="synthesis",
        invariant=claim.invariant,
        assumes=claim.assumes,
        lift=Lifting(lift.types, lift.data, lift.operator, lift.identity, lift.apply),
        proofs=tuple(ProofRecord(name, proof.method, proof.ms, proof.row) for name, proof in lifted.proofs),
    )


def decompose(update: Update, solver: Solver) -> tuple[tuple[Subgraph, ...], Combined] | None:
    """Groups with their operators put together, the finest grouping first (section 4.3, steps 4 to 7)."""
    initial = first_groups(update)
    solved: dict[Subgraph, Solution | None] = {}

    def attempt(group: Subgraph, thorough: bool) -> Solution | None:
        solved[group] = solver.solve(restrict(update, group), thorough) or solved.get(group)
        return solved[group]

    for group in initial:
        attempt(group, False)
    for thorough in (False, True):
        failing = [group for group in initial if solved[group] is None]
        if thorough:
            for group in failing:
                attempt(group, True)
            failing = [group for group in initial if solved[group] is None]
        others = [group for group in initial if solved[group] is not None]
        if failing:
            for blocks in joined(update, failing, others):
                blocks = tuple(block for block in blocks if block not in failing)
                if blocks and all(attempt(block, thorough) is not None for block in blocks):
                    rest = [group for group in initial if not any(set(group) <= set(block) for block in blocks)]
                    if all(solved[group] is not None for group in rest):
                        return _whole(update, (*blocks, *rest), solved)
        else:
            return _whole(update, initial, solved)
    return None


def _whole(
    update: Update, groups: tuple[Subgraph, ...], solved: dict[Subgraph, Solution | None]
) -> tuple[tuple[Subgraph, ...], Combined] | None:
    ordered = tuple(sorted(groups))
    pairs = [(group, solution) for group in ordered if (solution := solved[group]) is not None]
    combined = combine(len(update.types), pairs)
    return None if combined is None else (ordered, combined)


_ITS = "its "
"""Before names of data and constants that are called like operands; no name of a user's has a space."""


def _without_operand_names(update: Update) -> tuple[Update, dict[str, Var]]:
    """The update with data and constants renamed that are called like operands, and the way back."""
    own = {var.name: var for component in update.components for var in variables(component)}
    like = {name: var for name, var in own.items() if name[0] in "yz" and (not name[1:] or name[1:].isdigit())}
    if not like:
        return update, {}
    components = substitute_all(update.components, {n: Var(var.type, f"{_ITS}{n}") for n, var in like.items()})
    constants = frozenset(f"{_ITS}{name}" if name in like else name for name in update.constants)
    return replace(update, components=components, constants=constants), {f"{_ITS}{n}": v for n, v in like.items()}


def _with_names(answer: Answer, update: Update, back: dict[str, Var]) -> Answer:
    if not back:
        return replace(answer, update=update)
    counterexample, reason = answer.counterexample, answer.reason
    if counterexample is not None:
        counterexample = {name.removeprefix(_ITS): value for name, value in counterexample.items()}
    if reason is not None:
        reason = reason.replace(f"({_ITS}", "(").replace(f" {_ITS}", " ")
    return replace(renamed(answer, update, back), counterexample=counterexample, reason=reason)
