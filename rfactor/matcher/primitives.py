"""Operators that are one associative operation of the language, matched by meaning.

If `op` with identity `e` stands behind an update of one component, then `g(d) = f(e; d)`: so there is one equation to
try, however the update is written.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import OPERATIONS, Const, Expr, Op, Var, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import run_from
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, is_infinite
from rfactor.prover.operator import Operator

_BOOL_TWINS = frozenset(("&", "|", "min", "max", "^"))


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of one component, its own operation first."""
    (type_,) = update.types
    component = update.components[0]
    own = component.op if isinstance(component, Op) else ""
    candidates = [*_of_type(type_)]
    for op in sorted(candidates, key=lambda op: op != own):
        e = unit(op, type_, update.meaning)
        claim = with_operator(update, (Op(type_, op, (Var(type_, "x0"), Var(type_, "y0"))),), (e,))
        if claim is not None:
            yield claim


def _of_type(type_: Type) -> Iterator[str]:
    for name, operation in OPERATIONS.items():
        if not operation.associative:
            continue
        if type_.is_bool:
            if operation.shape == "logic":
                yield name
        elif operation.shape == "numeric" or (operation.shape == "bits" and type_.is_int):
            yield name
    if type_.is_bool:
        yield from ("!=", "==")


def unit(op: str, type_: Type, meaning: Meaning) -> Expr:
    """The identity of an associative operation: ±inf where no value of the type will do."""
    if type_.is_bool:
        return Const(type_, op in ("and", "=="))
    if op in ("min", "max"):
        if type_.is_int and meaning is Meaning.MATH:
            if op == "max" and type_.code == "uint":
                return Const(type_, 0)
            return INFINITY if op == "min" else MINUS_INFINITY
        return Const(type_, type_.max if op == "min" else type_.min)
    if op == "&":
        return Const(type_, type_.wrap(-1))
    return const(type_, 1 if op == "*" else 0)


_POINTS = 48


def _agrees(update: Update, operator: tuple[Expr, ...], e: tuple[Expr, ...]) -> bool:
    """Whether f(x; d) = op(x, f(e; d)) at a few points; true where an infinite `e` cannot be computed with."""
    if any(part.type != type_ or part.children for part, type_ in zip(e, update.types, strict=True)):
        return True
    near = sampling.literals([*update.components, *e])
    env = sampling.points(sampling.used(update.components), update.meaning, _POINTS, near)
    start = {f"x{i}": evaluate(part, {}, update.meaning) for i, part in zip(range(len(e)), e, strict=True)}
    at_start = env | {name: np.broadcast_to(value, (_POINTS,)) for name, value in start.items()}
    images = [np.broadcast_to(evaluate(c, at_start, update.meaning), (_POINTS,)) for c in update.components]
    both = env | {f"y{i}": image for i, image in zip(range(len(images)), images, strict=True)}
    for x in update.accumulators:
        both.setdefault(x.name, sampling.column(x.type, update.meaning, 40, _POINTS))
    return not any(
        np.any(sampling.differs(evaluate(c, both, update.meaning), evaluate(o, both, update.meaning)))
        for c, o in zip(update.components, operator, strict=True)
    )


def with_operator(update: Update, operator: tuple[Expr, ...], e: tuple[Expr, ...]) -> Claim | None:
    """The claim that `operator` with identity `e` stands behind the update, unless samples refute it."""
    if not _agrees(update, operator, e):
        return None
    try:
        data = run_from(update, e)
    except Undefined:
        return None
    if any(map(is_infinite, data)):
        return None
    op = Operator(operator, update.types, update.meaning)
    if sampling.refute(update.components, op(update.accumulators, data), update.meaning, count=48) is not None:
        return None
    return Claim(update, operator, e, data)
