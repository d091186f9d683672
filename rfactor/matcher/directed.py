"""Sums of what is taken in the direction of another sum: `x0 + d*cos(x2), x1 + d*sin(x2), x2 + a`.

Where t is only added to, and another component adds w + u*cos(c*t) + v*sin(c*t), or w + u*exp(c*t), with w, u and v of
the data, runs add such terms too: those of a later part are turned, or scaled, by what t was added before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rfactor.ir.expr import (
    Call,
    Const,
    Expr,
    Op,
    Var,
    apply,
    const,
    intrinsic,
    names,
    replace,
    substitute,
    transform,
    walk,
)
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.update import Update
from rfactor.matcher.terms import accumulator_names, exact_value, free_of, tidy

_TURNS = frozenset(("sin", "cos"))


@dataclass(frozen=True, slots=True)
class Directed:
    """An update in which one component, `at`, directs the others."""

    update: Update
    at: int
    factor: float
    turns: bool
    """Whether terms are turned; else scaled."""
    added: Expr
    """What is added to the direction."""
    parts: dict[int, tuple[Expr, ...]]
    """For every other component w and u, and v where terms are turned."""

    def along(self, direction: Expr, *uv: Expr) -> Expr:
        """u*cos(c*t) + v*sin(c*t), or u*exp(c*t)."""
        angle = tidy(apply("*", Const(direction.type, self.factor), direction))
        if not self.turns:
            return apply("*", uv[0], intrinsic("exp", angle))
        terms = (apply("*", one, intrinsic(name, angle)) for one, name in zip(uv, ("cos", "sin"), strict=True))
        return apply("+", *terms)


def directed(update: Update) -> Iterator[Directed]:
    """The readings of an update as one."""
    own, count = accumulator_names(update), len(update.types)
    type_ = update.types[0]
    if count < 2 or not type_.is_float or len(set(update.types)) > 1:
        return
    calls = [n for e in update.components for n in walk(e) if isinstance(n, Call) and not own.isdisjoint(names(n))]
    if not calls or any(call.name not in (*_TURNS, "exp") for call in calls):
        return
    free = free_of(own)
    for at, t in enumerate(update.accumulators):
        added = _added(update.components[at], t)
        if added is None or not free(added):
            continue
        factors = {_factor(call, t, own) for call in calls}
        (factor,) = factors if len(factors) == 1 else (None,)
        turns = {call.name in _TURNS for call in calls}
        if factor is None or len(turns) > 1:
            return
        parts: dict[int, tuple[Expr, ...]] = {}
        for i, x in enumerate(update.accumulators):
            rest = None if i == at else _added(update.components[i], x)
            if rest is not None and names(rest) & own <= {t.name}:
                parts[i] = _parts(rest, t, calls, turns == {True})
        if len(parts) == count - 1 and all(free(e) for part in parts.values() for e in part):
            yield Directed(update, at, factor, turns == {True}, tidy(added), parts)
        return


def _added(component: Expr, x: Var) -> Expr | None:
    """What a component adds to an accumulator."""
    terms, constant = linear(component)
    if terms.pop(x, 0) != 1 or any(x.name in names(atom) for atom in terms):
        return None
    return from_linear(x.type, terms.items(), constant)


def _factor(call: Call, t: Var, own: frozenset[str]) -> float | None:
    """What t is multiplied by in the argument."""
    terms, _ = linear(call.args[0])
    factor = terms.pop(t, 0)
    return float(factor) if factor and own.isdisjoint(name for atom in terms for name in names(atom)) else None


def _parts(rest: Expr, t: Var, calls: list[Call], turns: bool) -> tuple[Expr, ...]:
    """w, u and v, if the expression is linear in the calls: else anything."""
    zero = const(t.type, 0)
    start = {t.name: zero}
    constant = _plain(replace(rest, dict.fromkeys(calls, zero)))

    def varying(expr: Expr) -> Expr:
        return _plain(apply("-", substitute(expr, start), constant))

    u = varying(rest)
    if not turns:
        return constant, u
    slopes: dict[Expr, Expr] = {
        call: intrinsic("cos", call.args[0]) if call.name == "sin" else apply("neg", intrinsic("sin", call.args[0]))
        for call in calls
    }
    return constant, u, varying(replace(rest, slopes))


def _plain(expr: Expr) -> Expr:
    """`expr`, made of data alone, without products by 0 and with the values of functions of 0; sums put together."""

    def rule(node: Expr) -> Expr | None:
        if isinstance(node, Call):
            return exact_value(node)
        if not isinstance(node, Op) or not node.type.is_float:
            return None
        if (node.op in ("*", "/") and _is_zero(node.args[0])) or (node.op == "*" and _is_zero(node.args[1])):
            return const(node.type, 0)
        return tidy(node)

    terms, constant = linear(transform(expr, rule))
    return tidy(from_linear(expr.type, terms.items(), constant))


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0
