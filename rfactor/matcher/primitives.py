"""Operators that are one associative operation of the language, matched by meaning.

If `op` with identity `e` stands behind an update of one component, then `g(d) = f(e; d)`: so there is one equation to
try, however the update is written.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def with_operator(update: Update, operator: tuple[Expr, ...], e: tuple[Expr, ...]) -> Claim | None:
    """The claim that `operator` with identity `e` stands behind the update, unless samples refute it."""
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
