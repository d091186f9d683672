"""Sums in disguise: log(exp(x) + exp(a)), sqrt(x*x + a*a), 1/(1/x + 1/a), by meaning.

Where h(f(x; d)) = h(x) + h(g(d)) for one of a few functions h, the operator is h's inverse of h(x) + h(y). The
logarithm of a sum of exponentials is written relative to the larger operand if the update takes such care.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, const, intrinsic, names, select, substitute, walk
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.operators.guess import ROWS, Column, Points
from rfactor.matcher.terms import logarithm, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities


@dataclass(frozen=True, slots=True)
class _Disguise:
    """An operator that is a sum in other coordinates, with its identity and what its results satisfy."""

    operator: Callable[[Expr, Expr], Expr]
    identity: Const
    invariant: Callable[[Expr], tuple[Expr, ...]] = lambda y: ()
    positive: bool = False
    """Whether data must be positive, lest a partial result divide by zero; the identity with itself would too."""


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of one float that is a sum in disguise."""
    (type_, *more) = update.types
    if more or not type_.is_float:
        return
    nodes = list(walk(update.components[0]))
    called = {node.name for node in nodes if isinstance(node, Call)}
    used = {node.op for node in nodes if isinstance(node, Op)}
    if not called & {"exp", "log", "sqrt", "pow"} and "/" not in used:
        return
    points = Points(update, frozenset((0,)))
    careful = not any(
        isinstance(node, Call)
        and node.name == "exp"
        and names(node) & {"x0"}
        and names(node) <= {"x0"} | update.constants
        for node in nodes
    )
    for disguise in _disguises(update, type_, called, careful):
        found = _data(update, points, disguise)
        if found is not None:
            data, assumes = found
            if any(names(condition) & update.constants for condition in assumes):
                return  # it would be for some constants only
            x, y = Var(type_, "x0"), Var(type_, "y0")
            operator = (disguise.operator(x, y),)
            invariant = disguise.invariant(y)
            if not disguise.positive:
                yield Claim(update, operator, (disguise.identity,), (data,), invariant=invariant, assumes=assumes)
            yield Claim(update, operator, None, (data,), invariant=invariant, assumes=assumes)
            return


def _disguises(update: Update, type_: Type, called: set[str], careful: bool) -> Iterator[_Disguise]:
    one = const(type_, 1)
    if "sqrt" in called or "pow" in called:
        yield _Disguise(
            lambda x, y: intrinsic("sqrt", apply("+", apply("*", x, x), apply("*", y, y))),
            const(type_, 0),
            lambda y: (apply(">=", y, const(type_, 0)),),
        )
    if "log" in called:
        scales: list[Expr] = [one, const(type_, -1)]
        scales += [v for v in sampling.used(update.components) if v.name in update.constants and v.type == type_]
        scales += [Const(type_, v) for v in sampling.literals(update.components).get(type_, ()) if v not in (0, 1, -1)]
        scales += [intrinsic("log", base) for base in _bases(update.components[0])]
        for k in scales:
            end = float("inf") if _is_negative(k) else float("-inf")
            yield _Disguise(careful_log(k) if careful else _plain_log(k), const(type_, end))
    if not called:
        yield _Disguise(
            lambda x, y: apply("/", one, apply("+", apply("/", one, x), apply("/", one, y))),
            const(type_, float("inf")),
            lambda y: (apply(">", y, const(type_, 0)),),
            positive=True,
        )


def _bases(component: Expr) -> list[Const]:
    """Literals that are raised to powers."""
    powers = (node.args[0] for node in walk(component) if isinstance(node, Call) and node.name == "pow")
    return list(dict.fromkeys(base for base in powers if isinstance(base, Const) and 0 < float(base.value) != 1))


def _is_negative(k: Expr) -> bool:
    """Whether a literal, or the logarithm of one, is below zero."""
    if isinstance(k, Call) and isinstance(k.args[0], Const):
        return float(k.args[0].value) < 1
    return isinstance(k, Const) and float(k.value) < 0


def _exponential(k: Expr, value: Expr) -> Expr:
    """exp(k value); of the logarithm of a base, its power."""
    return intrinsic("pow", k.args[0], value) if isinstance(k, Call) else intrinsic("exp", _times(k, value))


def _times(k: Expr, value: Expr) -> Expr:
    if isinstance(k, Const) and float(k.value) in (1.0, -1.0):
        return value if float(k.value) > 0 else apply("neg", value)
    return apply("*", k, value)


def _over(value: Expr, k: Expr) -> Expr:
    return _times(k, value) if isinstance(k, Const) and float(k.value) in (1.0, -1.0) else apply("/", value, k)


def _plain_log(k: Expr) -> Callable[[Expr, Expr], Expr]:
    """log(exp(k x) + exp(k y)) / k."""

    def operator(x: Expr, y: Expr) -> Expr:
        return _over(intrinsic("log", apply("+", *(_exponential(k, v) for v in (x, y)))), k)

    return operator


def careful_log(k: Expr) -> Callable[[Expr, Expr], Expr]:
    """The same relative to the operand that counts, which has a value where both are infinite."""

    def operator(x: Expr, y: Expr) -> Expr:
        one = const(x.type, 1)

        def beside(greater: Expr, lesser: Expr) -> Expr:
            rest = _exponential(k, apply("-", lesser, greater))
            return apply("+", greater, _over(intrinsic("log", apply("+", one, rest)), k))

        twice = apply("+", x, _over(intrinsic("log", const(x.type, 2)), k))
        return select(apply("<", x, y), beside(y, x), select(apply("<", y, x), beside(x, y), twice))

    return operator


def _data(update: Update, points: Points, disguise: _Disguise) -> tuple[Expr, tuple[Expr, ...]] | None:
    """What one datum makes of the identity, if that explains the update at samples; and where it has a value."""
    type_, component = update.types[0], update.components[0]
    single = points.values(component, {"x0": np.full(ROWS, float(disguise.identity.value))})
    if single is not None and _explains(update, points, disguise, single):
        data = points.plainest(type_, single)
        if data is None:
            try:
                data = without_infinities(substitute(component, {"x0": disguise.identity}))
            except Undefined:
                return None
            data = data if has_infinity(data) else tidy(data)
            if isinstance(data, Call) and data.name == "log":
                data = logarithm(data.args[0])
        return data, _where(data, points.values(data), disguise.positive)
    for part in (*update.data, *points.parts()):
        value = points.values(part) if part.type == type_ else None
        if value is not None and _explains(update, points, disguise, value):
            return part, _where(part, value, disguise.positive)
    return None


def _explains(update: Update, points: Points, disguise: _Disguise, single: Column) -> bool:
    """Whether the update is the operator with this right operand, at the samples where it has a value."""
    single = single.astype(float)
    some = ~np.isnan(single)
    operator = disguise.operator(Var(update.types[0], "x0"), Var(update.types[0], "y0"))
    for state in points.states:
        wanted, found = points.values(update.components[0], state), points.values(operator, {**state, "y0": single})
        if wanted is None or found is None or some.sum() < ROWS // 4:
            return False
        if bool(np.any(sampling.differs(wanted, found) & some)):
            return False
    return True


def _where(data: Expr, values: Column | None, positive: bool) -> tuple[Expr, ...]:
    """Conditions under which the datum has a value, and one that is allowed."""
    if positive:
        return (apply(">", data, const(data.type, 0)),)
    if values is not None and not np.any(np.isnan(values.astype(float))):
        return ()
    found: list[Expr] = []
    for node in walk(data):
        if isinstance(node, Call) and node.name in ("sqrt", "log") and not isinstance(node.args[0], Const):
            found.append(apply(">=" if node.name == "sqrt" else ">", node.args[0], const(node.type, 0)))
    return tuple(found)
