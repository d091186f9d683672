"""Identities that are computed of constants, as the machine rounds them.

    select(x0 < k, a, x0)          k - 1.0 is below k for real numbers, but is k where k is 1e30

A slice that starts from k then takes nothing. Where an operator compares, such an identity is one only if it is proved
of the number that is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from rfactor.ir.evaluate import evaluate, to_value
from rfactor.ir.expr import Const, Expr, Op, names, walk
from rfactor.ir.operations import OPPOSITE
from rfactor.ir.rounded import whole_range
from rfactor.ir.update import Update, apply_update
from rfactor.matcher.answer import Answer, ProofRecord
from rfactor.matcher.obligations import claim_of
from rfactor.prover.claim import Discharged
from rfactor.prover.discharge import discharge
from rfactor.prover.infinity import Undefined, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Tuple


def with_stored_identity(answer: Answer, limits: Limits) -> Answer:
    """A yes with an identity that is one as it is stored: its own, another one, or none."""
    claim = claim_of(answer)
    if claim is None or claim.identity is None or claim.operator is None:
        return answer
    computed = frozenset(i for i, e in zip(range(len(claim.identity)), claim.identity, strict=True) if _is_computed(e))
    if not computed or not any(_compares(node) for expr in claim.operator for node in walk(expr)):
        return answer
    for identity in _candidates(claim.identity, computed):
        for data in (claim.data, after_one_datum(claim.update, identity)):
            found = None if data is None else discharge(replace(claim, identity=identity, data=data), limits)
            if not isinstance(found, Discharged) or found.claim.identity is None:
                continue
            return replace(
                answer,
                identity=found.claim.identity,
                identity_kind=found.identity_kind,
                data=found.claim.data,
                commutative=found.commutative,
                invariant=found.claim.invariant,
                proofs=tuple(ProofRecord(name, proof.method, proof.ms, proof.row) for name, proof in found.proofs),
            )
    kept = tuple(proof for proof in answer.proofs if proof.claim not in ("left_identity", "right_identity"))
    return replace(answer, identity=None, identity_kind="none", proofs=kept)


def after_one_datum(update: Update, identity: Tuple) -> Tuple | None:
    """What a slice that starts from the identity holds after one datum; None where it has no value."""
    try:
        return tuple(without_infinities(expr) for expr in apply_update(update, identity))
    except Undefined:
        return None


def _candidates(identity: Tuple, computed: frozenset[int]) -> Iterator[Tuple]:
    """The identity with its computed parts as literals, where they are the same for all constants; with infinities."""

    def put(i: int, expr: Expr, end: float | None) -> Expr:
        if i not in computed:
            return expr
        return Const(expr.type, to_value(evaluate(expr, {})[0]) if end is None else end)

    if not any(names(identity[i]) for i in computed):
        yield tuple(put(i, e, None) for i, e in zip(range(len(identity)), identity, strict=True))
    for end in (-math.inf, math.inf):
        yield tuple(put(i, e, end) for i, e in zip(range(len(identity)), identity, strict=True))


def _is_computed(expr: Expr) -> bool:
    """Whether a float may be another number than its expression is for reals."""
    return expr.type.is_float and any(
        node.type.is_float and node.children and whole_range(node) is None and getattr(node, "op", "") != "neg"
        for node in walk(expr)
    )


def _compares(node: Expr) -> bool:
    return isinstance(node, Op) and node.op in (*OPPOSITE, "==", "!=", "min", "max") and node.args[0].type.is_float
