"""Conditions on right operands under which the laws of an operator may be proved."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Op, apply
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator, Tuple

TRUE = Const(BOOL, True)


def _fixed(data: Tuple, op: Operator) -> Tuple:
    """That right operands are what the data always are: a constant, or alike."""
    y = op.operands("y")
    found: list[Expr] = []
    for i, (own, datum) in zip(range(len(y)), zip(y, data, strict=True), strict=True):
        twin = next((j for j in range(i) if data[j] == datum and y[j].type == own.type), None)
        if isinstance(datum, Const):
            found.append(apply("==", own, datum))
        elif twin is not None:
            found.append(apply("==", y[twin], own))
    return tuple(found)


def candidates(given: Tuple, identity: Tuple | None, data: Tuple, op: Operator) -> Iterator[Tuple]:
    """Invariants to try: the one given, none, what data always are, and that the identity leaves y as it is."""
    if given:
        yield given
    yield ()
    fixed = _fixed(data, op)
    for condition in fixed:
        yield (condition,)
    if len(fixed) > 1:
        yield fixed
    if identity is None:
        return
    y = op.operands("y")
    try:
        after = [simplify(without_infinities(result)) for result in op(identity, y)]
    except Undefined:
        return
    if any(has_infinity(result) and not _among_floats(result) for result in after):
        return
    if any(result.type != operand.type for result, operand in zip(after, y, strict=True)):
        return  # an infinity that no value of the type is
    kept = [apply("==", result, operand) for result, operand in zip(after, y, strict=True) if result != operand]
    needed = tuple(
        condition
        for condition in kept
        if prove_by_cases((condition,), (TRUE,), op.meaning, (), Limits(cases=200)) is None
    )
    if needed and needed != given:
        yield needed


def _among_floats(expr: Expr) -> bool:
    """Whether infinities in `expr` are only compared with floats, so that it can be written down."""
    if isinstance(expr, Op) and any(map(has_infinity, expr.args)):
        operands = {arg.type for arg in expr.args if not arg.type.is_bool} - (
            {expr.type} if expr.op == "select" else set()
        )
        return all(t.is_float for t in operands) and len(operands) <= 1 and all(map(_among_floats, expr.args))
    return True
