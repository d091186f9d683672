"""Stores that change what is there by an operation whose data can be joined first.

f[i] = f[i] + a - b     ->   +  (a - b)       joined by +
f[i] = f[i] - a - b     ->   -  (a + b)       joined by +
f[i] = min(a, f[i])     ->   min  a           joined by min

This reassociates: for floats it is used where another rounding is allowed, or nothing is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from rfactor.ir.expr import Call, Const, Expr, Op, apply, intrinsic, walk
from rfactor.ir.fused import NAME, is_fused
from rfactor.ir.loopnest import Broadcast, Load, Store
from rfactor.ir.types import Type


@dataclass(frozen=True, slots=True)
class InPlace:
    """`op(kept, data)`, where `kept` is what is there and `data` does not depend on it."""

    op: str
    kept: Load
    data: Expr
    joins: str
    """The operation, associative and commutative, that makes one datum of two."""
    identity: Const
    """Of `joins`."""


def lanes_in_place(store: Store) -> InPlace | None:
    """The same, of lanes that are joined first: a product that is added in one rounding is a datum too,

    f[i] = fma(a, b, f[i])     ->   +  fma(a, b, -0.0)     joined by +

    which `added` takes back.
    """
    value, own = store.value, own_loads(store)
    if not is_fused(value):
        change = in_place(store)
        product = None if change is None else _product(change.data)  # which is rounded before it is added
        return change if change is None or product is None else replace(change, data=apply("*", *product))
    *factors, load = value.children
    if load not in own or any(node in own for factor in factors for node in walk(factor)):
        return None
    assert isinstance(load, Load)
    unit = Const(value.type, _identity(value.type, "+"))
    return InPlace("+", load, intrinsic(NAME, *factors, unit), "+", unit)


def added(op: str, held: Expr, data: Expr) -> Expr:
    """`held` after one more datum, in one rounding where that is a product of `lanes_in_place`."""
    factors = _product(data) if op == "+" else None
    return Op(data.type, op, (held, data)) if factors is None else Call(data.type, NAME, (*factors, held))


def _product(expr: Expr) -> tuple[Expr, Expr] | None:
    """The factors of `fma(a, b, -0.0)`; None of others."""
    if not is_fused(expr):
        return None
    a, b, more = expr.children
    unit = more.value if isinstance(more, Broadcast) else more
    return (a, b) if unit == Const(unit.type, _identity(unit.type, "+")) else None


def own_loads(store: Store) -> frozenset[Load]:
    """The loads of the buffer that is stored to. In an atomic update all are of the point that is written, though
    simplification may have left their indices in different forms."""
    return frozenset(n for n in walk(store.value) if isinstance(n, Load) and n.buffer == store.buffer)


def in_place(store: Store) -> InPlace | None:
    """How an atomic update changes its point; None if not by one such operation."""
    value, own = store.value, own_loads(store)
    if not isinstance(value, Op) or not own:
        return None
    op = "+" if value.op == "-" else value.op
    identity = _identity(value.type, op)
    if identity is None:
        return None
    added, taken = _terms(value, op)
    kept = [term for term in added if term in own]
    added = [term for term in added if term not in own]
    if len(kept) != 1 or any(node in own for term in (*added, *taken) for node in walk(term)):
        return None
    load = kept[0]
    assert isinstance(load, Load)
    unit = Const(value.type, identity)
    if not added:
        return InPlace("-", load, _fold("+", taken), op, unit) if taken else None
    data = _fold(op, added)
    if taken:
        data = Op(value.type, "-", (data, _fold("+", taken)))
    return InPlace(op, load, data, op, unit)


def _terms(expr: Expr, op: str) -> tuple[list[Expr], list[Expr]]:
    """What `op` joins in `expr`, and what is subtracted, if `op` is `+`."""
    if not isinstance(expr, Op) or not (expr.op == op or (op == "+" and expr.op == "-")):
        return [expr], []
    (added, taken), (more, less) = (_terms(arg, op) for arg in expr.args)
    if expr.op == "-":
        more, less = less, more
    return added + more, taken + less


def _fold(op: str, terms: list[Expr]) -> Expr:
    return reduce(lambda a, b: Op(a.type, op, (a, b)), terms)


def _identity(type: Type, op: str) -> Any:
    """The identity of an associative and commutative operation; None for any other."""
    if type.is_bool:
        return {"and": True, "or": False, "&": True, "|": False, "^": False}.get(op)
    if type.is_float:
        return {"+": -0.0, "*": 1.0, "min": math.inf, "max": -math.inf}.get(op)
    ones = -1 if type.is_signed else int(type.max)
    return {"+": 0, "*": 1, "min": int(type.max), "max": int(type.min), "&": ones, "|": 0, "^": 0}.get(op)
