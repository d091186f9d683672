"""Unbounded integers that become floats, as the reals that floats are: what holds of all reals holds of integers.

    m + (a - m) / f64(n + 1)   ->   m + (a - m) / (n + 1.0)

A claim about them is proved of the reals where sums, products and comparisons are all that is computed of integers.
What is false of reals may be true of integers.
"""

from __future__ import annotations

from collections.abc import Iterable

from rfactor.ir.expr import Const, Expr, Op, Var, apply, variables, walk
from rfactor.ir.types import F64

Tuple = tuple[Expr, ...]

_EXACT = 1 << F64.digits
"""The largest whole number up to which all are floats."""
_OPERATIONS = frozenset(("+", "-", "*", "/", "neg", "abs", "min", "max", "select", "and", "or", "not", "<", "<=", ">",
                         ">=", "==", "!="))  # fmt: skip


class _NoReal(Exception):
    """Something else is computed."""


def as_reals(exprs: Tuple) -> Tuple | None:
    """The expressions with reals for their integers; None where these become no floats, or are more than numbers."""
    if not any(map(_is_embedded, (node for expr in exprs for node in walk(expr)))):
        return None
    memo: dict[Expr, Expr] = {}
    try:
        return tuple(_real(expr, memo) for expr in exprs)
    except _NoReal:
        return None


def ranges(exprs: Iterable[Expr]) -> Tuple:
    """What is known of the reals that stand for unsigned numbers."""
    unsigned = {v.name for expr in exprs for v in variables(expr) if v.type.code == "uint" and not v.type.is_bool}
    return tuple(apply(">=", Var(F64, name), Const(F64, 0.0)) for name in sorted(unsigned))


def _is_embedded(node: Expr) -> bool:
    """Whether an integer becomes a float."""
    return isinstance(node, Op) and node.op == "cast" and node.type.is_float and node.args[0].type.is_int


def _real(expr: Expr, memo: dict[Expr, Expr]) -> Expr:
    done = memo.get(expr)
    if done is None:
        done = memo[expr] = _made(expr, memo)
    return done


def _made(expr: Expr, memo: dict[Expr, Expr]) -> Expr:
    if isinstance(expr, Var):
        return expr if expr.type.is_bool else Var(F64, expr.name)
    if isinstance(expr, Const):
        if expr.type.is_bool:
            return expr
        if not abs(expr.value) <= _EXACT:
            raise _NoReal
        return Const(F64, float(expr.value))
    if _is_embedded(expr):
        return _real(expr.children[0], memo)
    if not isinstance(expr, Op) or expr.op not in _OPERATIONS:
        raise _NoReal
    return Op(expr.type if expr.type.is_bool else F64, expr.op, tuple(_real(arg, memo) for arg in expr.args))
