"""Indices that are affine in the number of the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rfactor.ir.expr import Const, Expr, Op, Var, names


def coefficient(expr: Expr, steps: Sequence[Var]) -> int | None:
    """By how much an index grows with the innermost step; None where it is not affine, or not the same for all."""
    found = affine(expr, {s.name for s in steps}, {})
    if found is None:
        return None
    factors, _ = found
    if any(factors.get(s.name, 0) for s in steps[:-1]):
        return None
    value = factors.get(steps[-1].name, 0)
    return value if isinstance(value, int) else None


def affine(expr: Expr, steps: set[str], constants: Mapping[str, Any]) -> tuple[dict[str, int], int | None] | None:
    """The factor of each step, and what is added (None where constants of unknown value are); None if not affine."""
    if isinstance(expr, Const):
        return {}, int(expr.value)
    if isinstance(expr, Var):
        if expr.name in steps:
            return {expr.name: 1}, 0
        if expr.name in constants:
            return {}, int(constants[expr.name])
        return ({}, None) if expr.name.startswith("k") else None
    if not isinstance(expr, Op):
        return None
    if not names(expr) & steps and not any(n[0] in "sp" for n in names(expr)):
        return ({}, _value(expr, constants)) if not any(n[0] == "x" for n in names(expr)) else None
    if expr.op in ("+", "-"):
        a, b = (affine(e, steps, constants) for e in expr.args)
        if a is None or b is None:
            return None
        sign = 1 if expr.op == "+" else -1
        factors = {n: a[0].get(n, 0) + sign * b[0].get(n, 0) for n in {*a[0], *b[0]}}
        return factors, None if a[1] is None or b[1] is None else a[1] + sign * b[1]
    if expr.op == "neg":
        a = affine(expr.args[0], steps, constants)
        return None if a is None else ({n: -f for n, f in a[0].items()}, None if a[1] is None else -a[1])
    if expr.op == "*":
        a, b = (affine(e, steps, constants) for e in expr.args)
        if a is None or b is None:
            return None
        if a[0]:
            a, b = b, a
        if a[0] or a[1] is None:
            return None
        by = a[1]
        return {n: f * by for n, f in b[0].items()}, None if b[1] is None else b[1] * by
    if expr.op == "cast" and expr.type.is_int and expr.type.bits == 64:
        return affine(expr.args[0], steps, constants)
    return None


def _value(expr: Expr, constants: Mapping[str, Any]) -> int | None:
    from rfactor.ir.evaluate import evaluate_scalar

    if not names(expr) <= set(constants):
        return None
    return int(evaluate_scalar(expr, dict(constants)))
