"""Where an expression of reals has a value: nothing that depends on the state is divided by zero.

A claim about reals speaks of the runs in which the update itself divides by no zero. That the operator then divides by
none either is an obligation of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from rfactor.ir.expr import Call, Const, Expr, Op, apply, const, names, walk
from rfactor.prover.infinity import has_infinity

_STATE = re.compile(r"[xyz]\d+")


def conditions(exprs: Sequence[Expr], *, everywhere: bool = False) -> tuple[Expr, ...]:
    """Conditions under which no divisor that depends on `x0…`, `y0…`, `z0…` is zero where it is divided by.

    `everywhere`: no divisor at all.
    """
    if not any(map(_divides, exprs)):
        return ()
    found: dict[Expr, dict[Expr, None]] = {}
    for expr in exprs:
        for node in walk(expr):
            found[node] = _of(node, found, everywhere)
    return tuple(dict.fromkeys(condition for expr in exprs for condition in found[expr]))


@lru_cache(maxsize=1 << 12)
def _divides(expr: Expr) -> bool:
    return any(isinstance(node, Op) and node.op == "/" for node in walk(expr))


def _of(node: Expr, found: dict[Expr, dict[Expr, None]], everywhere: bool) -> dict[Expr, None]:
    own: dict[Expr, None] = {}
    if isinstance(node, Op) and node.op == "select":
        condition, true, false = node.args
        own |= found[condition]
        for branch, excluded in ((true, apply("not", condition)), (false, condition)):
            own |= dict.fromkeys(apply("or", excluded, inner) for inner in found[branch] if inner not in own)
        return own
    for child in node.children:
        own |= found[child]
    if isinstance(node, Op) and node.op == "/":
        divisor = node.args[1]
        depends = not isinstance(divisor, Const) and any(map(_STATE.fullmatch, names(divisor)))
        if _is_positive(divisor):
            return own
        if depends or (everywhere and not (isinstance(divisor, Const) and divisor.value)):
            own[apply("!=", divisor, const(divisor.type, 0))] = None
    return own


def is_evident(condition: Expr) -> bool:
    """Whether a condition on reals evidently holds of all: that `exp(a)`, or `1 + b*b`, is above zero, or no zero."""
    if not isinstance(condition, Op):
        return False
    if condition.op == "or":
        return any(map(is_evident, condition.args))
    if condition.op == "and":
        return all(map(is_evident, condition.args))
    if len(condition.args) != 2 or not condition.args[0].type.is_float:
        return False
    one, other = condition.args
    if condition.op in ("<", "<="):
        one, other = other, one
    if not isinstance(other, Const) or other.value != 0:
        return False
    return (condition.op in ("<", ">", "!=") and _is_positive(one)) or (
        condition.op in ("<=", ">=") and _is_nonnegative(one)
    )


def _is_positive(expr: Expr) -> bool:
    """Whether the value is evidently above zero, over the reals."""
    if isinstance(expr, Const):
        return 0 < expr.value < math.inf
    if isinstance(expr, Call):
        if expr.kind != "intrinsic":
            return False
        if expr.name == "pow" and isinstance(expr.args[0], Const):
            return 0 < expr.args[0].value < math.inf
        return expr.name == "exp" or (expr.name == "sqrt" and _is_positive(expr.args[0]))
    if not isinstance(expr, Op) or not expr.type.is_float:
        return False
    if expr.op == "+":
        one, other = expr.args
        return (_is_positive(one) and _is_nonnegative(other)) or (_is_nonnegative(one) and _is_positive(other))
    if expr.op == "max":
        return any(map(_is_positive, expr.args)) and not any(map(has_infinity, expr.args))
    if expr.op == "select":
        return all(map(_is_positive, expr.args[1:]))
    return expr.op in ("*", "/", "min") and all(map(_is_positive, expr.args))


def _is_nonnegative(expr: Expr) -> bool:
    """Whether the value is evidently not below zero, over the reals."""
    if isinstance(expr, Const):
        return 0 <= expr.value < math.inf
    if not expr.type.is_float:
        return False
    if isinstance(expr, Op) and expr.op == "abs":
        return True
    if isinstance(expr, Op) and expr.op == "*" and expr.args[0] == expr.args[1]:
        return True
    if isinstance(expr, Op) and expr.op in ("+", "*"):
        return all(map(_is_nonnegative, expr.args))
    return (isinstance(expr, Call) and expr.kind == "intrinsic" and expr.name == "sqrt") or _is_positive(expr)
