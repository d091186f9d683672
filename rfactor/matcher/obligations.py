"""What a yes of the matcher rests on, as statements: its claim is proved once more and all that is met is kept."""

from __future__ import annotations

from rfactor.matcher.answer import Answer
from rfactor.prover.claim import Claim, Discharged, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.prover.obligation import Obligation


def claim_of(answer: Answer) -> Claim | None:
    """The claim that an answer makes; None where it makes none."""
    lift = answer.lift
    if lift is None and answer.operator is None:
        return None
    return Claim(
        answer.update,
        operator=answer.operator,
        identity=None if lift is not None else answer.identity,
        data=answer.data,
        lift=None if lift is None else Lift(lift.types, lift.data, lift.operator, lift.identity, lift.apply),
        invariant=answer.invariant,
        assumes=answer.assumed_of_data,
    )


def obligations_of(answer: Answer, limits: Limits) -> tuple[Obligation, ...] | None:
    """The obligations of a yes; None where there is no yes, or its claim is not proved as a whole within the limits."""
    claim = claim_of(answer)
    if claim is None:
        return None
    result = discharge(claim, limits.starting_now())
    return result.obligations if isinstance(result, Discharged) else None
