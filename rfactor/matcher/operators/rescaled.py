"""Sums relative to a running extremum: online softmax and streaming attention, however they are written.

The state is an extremum m and sums of w * E(key - m), where E is an exponential; a larger m rescales the sums. The
operator is written with the two extrema compared, so that it has a value where both are infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from rfactor.ir.expr import Call, Const, Expr, Var, apply, const, intrinsic, select, substitute, transform, walk
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.operators.guess import Column, Points
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import Undefined, without_infinities

_FAR = 100
Exponential = Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class _Extremum:
    """The component that runs to an end, and what a datum offers it."""

    at: int
    op: str
    key: Expr


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of floats with one extremum to which all other components are relative."""
    type_, calls = update.types[0], exponentials(update)
    if not calls:
        return
    nearby, back = _nearby(update)
    points = Points(nearby)
    for extremum in _extrema(nearby, points):
        for scale in scales(update, type_, calls):
            weights = _weights(nearby, points, extremum, scale)
            if weights is not None:
                data = [substitute(weight, back) for weight in weights]
                yield _claim(update, extremum, scale, data)
                return


def exponentials(update: Update) -> list[Call]:
    """The exponentials in an update of several floats of one type; none in any other."""
    type_ = update.types[0]
    if len(update.types) < 2 or not type_.is_float or any(t != type_ for t in update.types):
        return []
    return [n for c in update.components for n in walk(c) if isinstance(n, Call) and n.name in ("exp", "pow")]


def _nearby(update: Update) -> tuple[Update, dict[str, Expr]]:
    """The update with data for literals of which no exponential is left, as masks have them, and the way back."""
    far = dict.fromkeys(
        n
        for component in update.components
        for n in walk(component)
        if isinstance(n, Const) and n.type.is_float and _FAR < abs(float(n.value)) < float("inf")
    )
    data = {literal: Var(literal.type, f"far {i}") for i, literal in zip(range(len(far)), far, strict=True)}

    def rule(node: Expr) -> Expr | None:
        return data.get(node) if isinstance(node, Const) else None

    nearby = replace(update, components=tuple(transform(component, rule) for component in update.components))
    return nearby, {var.name: literal for literal, var in data.items()}


def _extrema(update: Update, points: Points) -> Iterator[_Extremum]:
    for i, x in zip(range(len(update.types)), update.accumulators, strict=True):
        for op in ("max", "min"):
            start = const(x.type, float("-inf") if op == "max" else float("inf"))
            try:
                shown = without_infinities(substitute(update.components[i], {x.name: start}))
            except Undefined:
                continue
            offered = points.free_value(lambda state, e=shown: points.values(e, state))  # type: ignore[misc]
            key = None if offered is None else points.plainest(x.type, offered)
            if key is None:
                continue
            difference = apply("-", update.components[i], apply(op, x, key))
            zero = points.free_value(lambda state, e=difference: points.values(e, state))  # type: ignore[misc]
            if zero is not None and not zero.any():
                yield _Extremum(i, op, key)


def scales(update: Update, type_: Type, calls: list[Call]) -> Iterator[Exponential]:
    """Exponentials of a difference: exp(u), or of it scaled by a literal or a constant of the loop."""
    factors: list[Expr] = [v for v in sampling.used(update.components) if v.name in update.constants]
    factors += [Const(type_, v) for v in sampling.literals(update.components).get(type_, ()) if v not in (0, 1)]
    for base in dict.fromkeys(call.args[0] for call in calls if call.name == "pow" and isinstance(call.args[0], Const)):
        yield lambda u, base=base: intrinsic("pow", base, u)  # type: ignore[misc]
    if any(call.name == "exp" for call in calls):
        yield lambda u: intrinsic("exp", u)
        for factor in factors:
            if factor.type == type_:
                yield lambda u, k=factor: intrinsic("exp", apply("*", u, k))  # type: ignore[misc]
                yield lambda u, k=factor: intrinsic("exp", apply("/", u, k))  # type: ignore[misc]


def gap(op: str, lesser: Expr, greater: Expr) -> Expr:
    """How far the value that loses lies behind, never above 0."""
    return apply("-", lesser, greater) if op == "max" else apply("-", greater, lesser)


def _weights(update: Update, points: Points, extremum: _Extremum, scale: Exponential) -> list[Expr] | None:
    """For each other component w where f_i = x_i E(m - m') + w E(key - m'); None if one is not so."""
    m = update.accumulators[extremum.at]
    after = apply(extremum.op, m, extremum.key)
    found: list[Expr] = []
    for i, x in zip(range(len(update.types)), update.accumulators, strict=True):
        if i == extremum.at:
            found.append(extremum.key)
            continue
        own = apply("*", x, scale(gap(extremum.op, m, after)))
        weight = apply("/", apply("-", update.components[i], own), scale(gap(extremum.op, extremum.key, after)))

        def value(state: Mapping[str, Column], e: Expr = weight) -> Column | None:
            return points.values(e, state)

        wanted = points.free_value(value)
        plain = None if wanted is None else points.plainest(x.type, wanted)
        if plain is None:
            return None
        found.append(plain)
    return found


def _claim(update: Update, extremum: _Extremum, scale: Exponential, data: list[Expr]) -> Claim:
    type_, at, op = update.types[0], extremum.at, extremum.op
    x = update.accumulators
    y = tuple(Var(type_, f"y{i}") for i in range(len(x)))
    m, n = x[at], y[at]
    losing = apply("<" if op == "max" else ">", m, n)
    winning = apply("<" if op == "max" else ">", n, m)
    operator: list[Expr] = []
    for i in range(len(x)):
        if i == at:
            operator.append(apply(op, m, n))
            continue
        rescaled = apply("+", apply("*", x[i], scale(gap(op, m, n))), y[i])
        other = apply("+", x[i], apply("*", y[i], scale(gap(op, n, m))))
        operator.append(select(losing, rescaled, select(winning, other, apply("+", x[i], y[i]))))
    end = const(type_, float("-inf") if op == "max" else float("inf"))
    identity = tuple(end if i == at else const(type_, 0) for i in range(len(x)))
    return Claim(update, tuple(operator), identity, tuple(data))
