"""The answer about an update from its start: where there is none about the update as it is, what loop invariants leave
of it is asked about."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from rfactor.ir.expr import Op, names, variables, walk
from rfactor.ir.printer import show
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, FromStart
from rfactor.matcher.decisions import both_without_decisions
from rfactor.matcher.invariants.facts import Facts, Tuple
from rfactor.matcher.invariants.inductive import Simplification, Unproved, prove
from rfactor.matcher.invariants.infer import bounded, infer
from rfactor.matcher.invariants.runs import Start
from rfactor.matcher.invariants.simplify import simplify_under
from rfactor.matcher.recognize import DEFAULT, Effort, recognize
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven, Refuted

_CHOICES = frozenset(("select", "min", "max", "and", "or", "<", "<=", ">", ">=", "==", "!="))


def recognize_from(update: Update, start: Start, limits: Limits = DEFAULT) -> tuple[Answer, Tuple, Update]:
    """Give the answer about `update` from `start`, the invariants that it rests on, and the update that they leave.

    `start` has each accumulator's value before the loop, over constants of the loop; None where nothing is known of
    it. Where `update` has an operator as it is, or none under invariants either, there are no invariants, and the
    update is left as it is. Otherwise the operator or lifting is that of the simplified update, `answer.update`: for
    the summaries of chunks and their merges, which may be in any state. The state at the left of all has to be one of
    the serial run from `start`.
    """

    def simplified() -> Simplification | None:
        if not _chooses(update):
            return None
        found = infer(update, start, limits)
        other = simplify_under(update, found, limits)
        return None if other == update else Simplification(update, other, _needed(update, other, found, limits), start)

    answer = _answer(update, simplified, limits)
    return answer, () if answer.from_start is None else answer.from_start.invariants, answer.update


def recognize_assuming(update: Update, assumed: Tuple, start: Start | None, limits: Limits = DEFAULT) -> Answer:
    """Give the answer about `update` under loop invariants that are stated, once they are proved inductive.

    Conditions on constants alone are assumptions of the answer. Without a `start` so are the invariants: they are
    promised to hold there.
    """
    own = {x.name for x in update.accumulators}
    invariants = tuple(e for e in assumed if not own.isdisjoint(names(e)))
    claim = Simplification(update, update, invariants, start, tuple(e for e in assumed if e not in invariants))
    broken = prove(claim, limits.starting_now())
    if isinstance(broken, Unproved):
        return _broken(update, broken)

    def simplified() -> Simplification | None:
        other = simplify_under(update, assumed, limits)
        return None if other == update else replace(claim, simplified=other)

    return _answer(update, simplified, limits)


def _chooses(update: Update) -> bool:
    """Tell whether anything is chosen or compared that accumulators decide."""
    own = {x.name for x in update.accumulators}
    nodes = (node for component in update.components for node in walk(component))
    return any(isinstance(n, Op) and n.op in _CHOICES and not own.isdisjoint(names(n)) for n in nodes)


def _answer(update: Update, simplified: Callable[[], Simplification | None], limits: Limits) -> Answer:
    """Ask about the update, then about the simplified one: first what the table knows, then what is found."""
    started = time.perf_counter()
    limits = limits.starting_now()

    def told(answer: Answer) -> Answer:
        return replace(answer, ms=(time.perf_counter() - started) * 1000)

    def left() -> Limits:
        return replace(limits, seconds=limits.remaining(), until=None)

    answer = recognize(update, limits=left(), effort="look_up")
    if _is_yes(answer):
        return told(answer)
    claim = simplified()
    if claim is None:
        return told(recognize(update, limits=left()))
    efforts: tuple[Effort, ...] = ("look_up", "find")
    for effort in efforts:
        if effort == "find":
            answer = recognize(update, limits=left(), effort=effort)
            if _is_yes(answer):
                return told(answer)
        found = _of_simplified(claim, recognize(claim.simplified, limits=left(), effort=effort), limits)
        if found is not None:
            return told(found)
    return told(recognize(update, limits=left()))


def _is_yes(answer: Answer) -> bool:
    return answer.verdict in ("associative", "lifted")


def _of_simplified(claim: Simplification, answer: Answer, limits: Limits) -> Answer | None:
    """Give the answer about the simplified update for the one that was asked about, if all obligations are proved."""
    if not _is_yes(answer):
        return None
    proofs = prove(claim, limits)
    if isinstance(proofs, Unproved):
        return None
    promised = claim.invariants if claim.start is None else ()
    return replace(
        answer,
        assumes=tuple(dict.fromkeys((*answer.assumes, *claim.assumes, *promised))),
        from_start=FromStart(claim.update, claim.invariants, proofs, claim.start, claim.assumes),
    )


def _needed(update: Update, other: Update, found: Tuple, limits: Limits) -> Tuple:
    """Give the invariants that the simplified update rests on: one for each component where one suffices, else all."""
    own, simple = both_without_decisions(update, other)
    facts = Facts(own, bounded(limits))
    needed: dict[int, None] = {}
    for one, new in zip(own.components, simple.components, strict=True):
        if facts.same(one, new, tuple(found[i] for i in needed)):
            continue
        place = next((i for i, e in enumerate(found) if facts.same(one, new, (e,))), None)
        if place is None:
            return found
        needed[place] = None
    chosen = tuple(found[i] for i in sorted(needed))
    return chosen if all(isinstance(facts.kept(e, chosen), Proven) for e in chosen) else found


def _broken(update: Update, unproved: Unproved) -> Answer:
    """Give the answer where what is stated is no loop invariant, or is not known to be one."""
    verdict, stated = unproved.verdict, "what is assumed" if unproved.condition is None else show(unproved.condition)
    if not isinstance(verdict, Refuted):
        where = "to hold at the start" if unproved.claim == "initial" else "to be a loop invariant"
        return Answer(update, "unknown", reason=f"{stated} was not proved {where}: {verdict.reason}")
    own = {var.name for component in update.components for var in variables(component)}
    values = {name: value for name, value in verdict.counterexample.items() if " " not in name or name in own}
    at = ", ".join(f"{name} = {value}" for name, value in values.items())
    if unproved.claim == "initial":
        reason = f"{stated} does not hold at the start" + (f", where {at}" if at else "")
    else:
        reason = f"{stated} is no loop invariant: a step from {at} leads to a state in which it does not hold"
    return Answer(update, "unknown", counterexample=values or None, reason=reason)
