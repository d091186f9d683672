"""The obligations of loop invariants, each proved: what is said of an update from its start rests on nothing else.

    initial      inv(start)
    inductive    inv(x)  implies  inv(f(x; d))            for all data and constants
    simplified   inv(x)  implies  f(x; d) = f'(x; d)

So every state of a serial run satisfies the invariants, and the run of f' is the run of f.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, names, substitute_all
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, InvariantClaim, InvariantProof
from rfactor.matcher.decisions import Rounded, both_without_decisions
from rfactor.matcher.invariants.facts import TRUE, Facts, Tuple
from rfactor.matcher.invariants.runs import Start
from rfactor.prover.limits import Limits
from rfactor.prover.obligation import Obligation
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict


@dataclass(frozen=True, slots=True)
class Simplification:
    """Say that an update does in every state of a serial run what another one does."""

    update: Update
    simplified: Update
    invariants: Tuple
    """Conditions on x0, x1, … and constants."""
    start: Start | None
    """Each accumulator's value before the loop; None where the invariants are promised to hold there."""
    assumes: Tuple = ()
    """Conditions on constants."""


@dataclass(frozen=True, slots=True)
class Unproved:
    """An obligation that is not proved, and what was found."""

    claim: InvariantClaim
    condition: Expr | None
    """The invariant in question; None where it is the simplified update."""
    verdict: Refuted | Unknown


def prove(claim: Simplification, limits: Limits) -> tuple[InvariantProof, ...] | Unproved:
    """Prove all obligations, or give the first that is not proved."""
    try:
        owed = tuple(obligations(claim))
    except Rounded as rounded:
        return Unproved("inductive", None, Unknown(f"{rounded} may be rounded, or NaN"))
    facts = Facts(claim.update, limits)
    proved: list[InvariantProof] = []
    for name, condition, stated in owed:
        verdict = verdict_on(stated, facts)
        if not isinstance(verdict, Proven):
            return Unproved(name, condition, verdict)
        proved.append(InvariantProof(name, verdict.method, verdict.ms))
    return tuple(proved)


def obligations(claim: Simplification) -> Iterator[tuple[InvariantClaim, Expr | None, Obligation]]:
    """Give what has to be proved, and of which invariant it is.

    Raises `Rounded` where integers depend on how floats are rounded, `ValueError` as `check_constant` does.
    """
    check_constant(claim.update, claim.start or (), (*claim.invariants, *claim.assumes))
    update, other = both_without_decisions(claim.update, claim.simplified)
    facts, given = Facts(update, Limits()), claim.invariants + claim.assumes
    for e in claim.invariants if claim.start is not None else ():
        assert claim.start is not None
        at_start = before(e, update, claim.start)
        yield "initial", e, Obligation("initial", (at_start,), (TRUE,), claim.assumes, update.meaning)
    for e in claim.invariants:
        yield "inductive", e, Obligation("inductive", (facts.after(e),), (TRUE,), given, update.meaning)
    if update != other:
        sides = update.components, other.components
        yield "simplified", None, Obligation("simplified", *sides, given, update.meaning)


def obligations_from_start(answer: Answer) -> tuple[Obligation, ...]:
    """Give what an answer owes to loop invariants; nothing where it needs none."""
    held = answer.from_start
    if held is None:
        return ()
    claim = Simplification(held.update, answer.update, held.invariants, held.start, held.assumes)
    return tuple(stated for _, _, stated in obligations(claim))


def check_constant(update: Update, start: Iterable[Expr | None], conditions: Iterable[Expr]) -> None:
    """Raise `ValueError` where data are spoken of, which differ from step to step, or accumulators at the start."""
    data, own = {var.name for var in update.data}, {x.name for x in update.accumulators}
    for expr in (*start, *conditions):
        wrong = frozenset[str]() if expr is None else names(expr) & data
        if wrong:
            raise ValueError(f"{', '.join(sorted(wrong))} of {expr} is data of an iteration, and no constant")
    for expr in start:
        if expr is not None and names(expr) & own:
            raise ValueError(f"{expr} is made of accumulators, which have no value before the loop")


def verdict_on(obligation: Obligation, facts: Facts) -> Verdict:
    """Prove an obligation: by its value where it has no variables."""
    if not any(map(names, (*obligation.left, *obligation.right))) and obligation.right == (TRUE,):
        held = bool(evaluate(obligation.left[0], {}, obligation.meaning))
        return Proven("normal_form") if held else Refuted({}, (False,), (True,))
    return facts.equal(obligation.left, obligation.right, obligation.assumptions)


def before(condition: Expr, update: Update, start: Start) -> Expr:
    """Read a condition on the accumulators of their values before the loop."""
    values = {x.name: v for x, v in zip(update.accumulators, start, strict=True) if v is not None}
    return substitute_all((condition,), values)[0]
