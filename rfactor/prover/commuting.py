"""Does an operator commute on what runs reach? A yes is proved; a no is two runs whose values were computed."""

from __future__ import annotations

from rfactor.ir.expr import Var, substitute
from rfactor.ir.update import Update
from rfactor.prover import sampling
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.lattice import equal_by_cutting
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator, Tuple
from rfactor.prover.verdict import Proven, Refuted

_QUICK = 300
"""Branches of a proof by cases that are worth less than a witness from runs of two data."""


def commutes(
    op: Operator, update: Update, data: Tuple, assumptions: Tuple, assumes: Tuple, limits: Limits
) -> Proven | Refuted | None:
    """A proof that `op` commutes where the `assumptions` hold, a witness that it does not, or None: more would be work.

    A witness is two runs of one or two `data`, for which `assumes` holds.
    """
    x, y = map(op.operands, "xy")
    try:
        forth, back = (tuple(map(without_infinities, side)) for side in (op(x, y), op(y, x)))
    except Undefined:
        return None
    finite = not any(map(has_infinity, (*op(x, y), *op(y, x))))
    if finite and prove_by_cases(forth, back, op.meaning, (), Limits(cases=0)) == "normal_form":
        return Proven("normal_form")
    refuted = _witness(op, update, data, assumes, long=False)
    if refuted is not None:
        return refuted
    if equal_by_cutting(forth, back, assumptions):
        return Proven("order")
    method = prove_by_cases(forth, back, op.meaning, assumptions, limits.at_most(cases=_QUICK))
    if method is not None:
        return Proven(method)
    return _witness(op, update, data, assumes, long=True)


def _witness(op: Operator, update: Update, data: Tuple, assumes: Tuple, long: bool) -> Refuted | None:
    """Two runs, of two data each if they are to be long, whose results do not commute."""

    def run(tag: str) -> Tuple:
        marked = [_marked(data, update, f"{tag}{i}") for i in range(2 if long else 1)]
        return op(marked[0], marked[1]) if long else marked[0]

    first, second = run("a"), run("b")
    try:
        sides = [tuple(map(without_infinities, side)) for side in (op(first, second), op(second, first))]
    except Undefined:
        return None
    conditions = [c for tag in ("a0", "a1", "b0", "b1") for c in _marked(assumes, update, tag)]
    return sampling.refute(sides[0], sides[1], op.meaning, conditions, count=64)


def _marked(exprs: Tuple, update: Update, tag: str) -> Tuple:
    """Data renamed, constants kept."""
    return tuple(
        substitute(
            e, {v.name: Var(v.type, f"{v.name} {tag}") for v in sampling.used([e]) if v.name not in update.constants}
        )
        for e in exprs
    )
