"""Operators that are one associative operation of the language, matched by meaning.

If `op` with identity `e` stands behind an update of one component, then `g(d) = f(e; d)`: so there is one equation to
try, however the update is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import run_from
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, is_infinite


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of one component, its own operation first."""
    (type_,) = update.types
    component = update.components[0]
    own = component.op if isinstance(component, Op) else ""
    candidates = sorted(_of_type(type_), key=lambda op: op != own)
    units = {op: unit(op, type_, update.meaning) for op in candidates}
    agreeing = _agreeing(update, units)
    for op in candidates:
        if op in agreeing:
            operator = (Op(type_, op, (Var(type_, "x0"), Var(type_, "y0"))),)
            claim = with_operator(update, operator, (units[op],))
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


def _agreeing(update: Update, units: Mapping[str, Expr]) -> set[str]:
    """The operations with f(x; d) = op(x, f(e; d)) at a few points, and those whose `e` is no value of the type."""
    (type_,) = update.types
    (component,), meaning = update.components, update.meaning
    finite = [op for op, e in units.items() if e.type == type_ and not e.children]
    result = set(units) - set(finite)
    values = sampling.literals([component, *(units[op] for op in finite)])
    env = sampling.points(sampling.used(update.components), meaning, _POINTS, values)
    env.setdefault("x0", sampling.column(type_, meaning, 40, _POINTS))
    after = evaluate(component, env, meaning)
    wide = {name: np.tile(value, len(finite)) for name, value in env.items()}
    wide["x0"] = np.concatenate([np.broadcast_to(evaluate(units[op], {}, meaning), (_POINTS,)) for op in finite])
    images = np.broadcast_to(evaluate(component, wide, meaning), (len(finite) * _POINTS,)).reshape(-1, _POINTS)
    x, y = Var(type_, "x0"), Var(type_, "y0")
    for op, image in zip(finite, images, strict=True):
        both = evaluate(Op(type_, op, (x, y)), {"x0": env["x0"], "y0": image}, meaning)
        if not np.any(sampling.differs(after, both)):
            result.add(op)
    return result


def with_operator(update: Update, operator: tuple[Expr, ...], e: tuple[Expr, ...]) -> Claim | None:
    """The claim that `operator` with identity `e` stands behind the update."""
    try:
        data = run_from(update, e)
    except Undefined:
        return None
    return None if any(map(is_infinite, data)) else Claim(update, operator, e, data)
