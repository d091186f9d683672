"""Products that leave out what the update leaves out: `select(c, x*a, 0.0)` is 0.0 of an infinite x too.

Its operator over the reals is x0*y0, with 0.0 for y0 where c does not hold; but inf*0.0 is no number. Where samples
with an infinite state show such a difference, the operator is told with a choice, `select(y0 == 0.0, 0.0, x0*y0)`, and
so are the products of a lifting.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rfactor.ir.evaluate import evaluate_all
from rfactor.ir.expr import Expr, Op, Var, apply, const, names, select, substitute, transform, walk
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, Lifting, ProofRecord
from rfactor.matcher.obligations import claim_of
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Discharged
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Tuple

_COUNT = 64


def with_zeros_kept(answer: Answer, limits: Limits) -> Answer:
    """A yes of which the step is 0 where the update chooses that, whatever the state was."""
    claim = claim_of(answer)
    if claim is None or not _chooses_zero(claim.update):
        return answer
    exact = _with_choices(claim)
    if exact == claim or _is_number_as_often(claim) or not _is_number_as_often(exact):
        return answer
    found = discharge(exact, limits)
    if not isinstance(found, Discharged) or found.claim.identity != claim.identity:
        return answer
    if (found.identity_kind, found.commutative) != (answer.identity_kind, answer.commutative):
        return answer
    lift = exact.lift
    return replace(
        answer,
        operator=exact.operator,
        lift=None if lift is None else Lifting(lift.types, lift.data, lift.operator, lift.identity, lift.apply),
        source="synthesis",
        invariant=found.claim.invariant,
        proofs=tuple(ProofRecord(name, proof.method, proof.ms, proof.row) for name, proof in found.proofs),
    )


def _chooses_zero(update: Update) -> bool:
    """Whether a choice may be the literal 0.0."""
    return any(
        isinstance(node, Op) and node.op == "select" and node.type.is_float and const(node.type, 0) in node.args[1:]
        for component in update.components
        for node in walk(component)
    )


def _with_choices(claim: Claim) -> Claim:
    if claim.lift is None:
        assert claim.operator is not None
        return replace(claim, operator=tuple(transform(e, _chosen) for e in claim.operator))
    operator, applied = (tuple(transform(e, _chosen) for e in part) for part in (claim.lift.operator, claim.lift.apply))
    return replace(claim, lift=replace(claim.lift, operator=operator, apply=applied))


def _chosen(node: Expr) -> Expr | None:
    """A product of state and datum that is 0 where the datum is."""
    if not isinstance(node, Op) or node.op != "*" or not node.type.is_float:
        return None
    for one, other in (node.args, node.args[::-1]):
        if isinstance(other, Var) and other.name[0] == "y" and any(name[0] == "x" for name in names(one)):
            zero = const(node.type, 0)
            return select(apply("==", other, zero), zero, node)
    return None


def _step(claim: Claim) -> Tuple:
    """What the operator, or the lifting, makes of a state and one datum."""
    merged, data = (claim.operator, claim.data) if claim.lift is None else (claim.lift.apply, claim.lift.data)
    assert merged is not None
    assert data is not None
    right = {f"y{i}": e for i, e in enumerate(data)}
    return tuple(substitute(e, right) for e in merged)


def _is_number_as_often(claim: Claim) -> bool:
    """Whether a step is a number wherever the update is, on samples in which a part of the state is infinite."""
    update = claim.update
    exprs = (*update.components, *_step(claim))
    points = sampling.points(sampling.used((*exprs, *claim.assumes)), update.meaning, _COUNT, sampling.literals(exprs))
    for var in update.accumulators:
        if not var.type.is_float or var.name not in points:
            continue
        for end in (math.inf, -math.inf):
            values = list(evaluate_all(exprs, {**points, var.name: np.full(_COUNT, end)}, update.meaning))
            for wanted, found in zip(values, values[len(update.types) :], strict=False):
                if wanted.dtype.kind == "f" and bool(np.any(~np.isnan(wanted) & np.isnan(found))):
                    return False
    return True
