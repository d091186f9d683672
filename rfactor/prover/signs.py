"""Equality of extrema of products: in each case of the signs of factors, products distribute over min and max.

What is left is made of min and max over monomials, and the 0-1 principle decides it: such a claim holds for all values
if it holds where every monomial is 0 or 1, as long as known orders of monomials are kept (v*a <= v*b where a <= b and v
is not below zero).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.expr import MIRRORED, Const, Expr, Op, Var, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL
from rfactor.prover import sampling

_MOST_FLAGS, _MOST_SIGNS, _MOST_MONOMIALS = 4, 6, 15
Monomial = tuple[str, ...]
"""Names of the factors, sorted."""
Lattice = Monomial | tuple[str, "Lattice", "Lattice"]
"""A monomial, or `>` or `<` of two."""
Signs = dict[str, bool]
"""Which variables are not below zero; those that are not named may have either sign."""


class _Unread(Exception):
    """The claim is not of this kind."""


def equal_by_signs(
    left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning, assumptions: tuple[Expr, ...]
) -> bool:
    """Whether left = right wherever the assumptions hold is shown so, for reals and unbounded integers."""
    exprs = (*left, *right)
    if not all(map(_is_read, (node for e in exprs for node in walk(e)))):
        return False
    variables = sampling.used(exprs)
    if any(v.type.is_int for v in variables) and meaning is Meaning.WRAP:
        return False
    flags = [v for v in variables if v.type.is_bool]
    if len(flags) > _MOST_FLAGS or not any(isinstance(n, Op) and n.op == "*" for e in exprs for n in walk(e)):
        return False
    orders = [(a.args[0].name, a.args[1].name) for a in assumptions if _is_order(a)]  # type: ignore[attr-defined]
    for values in itertools.product((True, False), repeat=len(flags)):
        chosen = {flag.name: Const(BOOL, value) for flag, value in zip(flags, values, strict=True)}
        sides = [[simplify(substitute(e, chosen)) for e in side] for side in (left, right)]
        if not all(a == b or _equal_in_all_signs(a, b, orders) for a, b in zip(*sides, strict=True)):
            return False
    return True


def _is_read(node: Expr) -> bool:
    if isinstance(node, Var):
        return True
    if isinstance(node, Const):
        return node.type.is_bool or node.value == 0
    if not isinstance(node, Op):
        return False
    return node.op in ("*", "min", "max", "select", "and", "or", "not") or _sign(node) is not None


def _sign(node: Expr) -> tuple[str, bool] | None:
    """The variable of a condition that asks whether it is below zero, and what the condition says if it is not."""
    if not isinstance(node, Op) or node.op not in ("<", "<=", ">", ">="):
        return None
    relation, (value, zero) = node.op, node.args
    if isinstance(value, Const):
        relation, value, zero = MIRRORED[relation], zero, value
    if not isinstance(value, Var) or not isinstance(zero, Const) or zero.value != 0 or relation not in ("<", ">="):
        return None
    return value.name, relation == ">="


def _is_order(claim: Expr) -> bool:
    return isinstance(claim, Op) and claim.op == "<=" and all(isinstance(arg, Var) for arg in claim.args)


def _equal_in_all_signs(left: Expr, right: Expr, orders: Sequence[tuple[str, str]]) -> bool:
    needed = sorted({name for e in (left, right) for node in walk(e) for name in _needed(node)})
    if len(needed) > _MOST_SIGNS:
        return False
    for values in itertools.product((True, False), repeat=len(needed)):
        signs = dict(zip(needed, values, strict=True))
        if any(signs.get(low) and signs.get(high) is False for low, high in orders):
            continue  # low <= high excludes it
        try:
            if not _equal_lattices(_read(left, signs), _read(right, signs), signs, orders):
                return False
        except _Unread:
            return False
    return True


def _needed(node: Expr) -> list[str]:
    """Variables whose sign says what the node is."""
    sign = _sign(node)
    if sign is not None:
        return [sign[0]]
    if not isinstance(node, Op) or node.op != "*":
        return []
    plain = [arg for arg in node.args if all(_is_product(n) for n in walk(arg))]
    return [] if len(plain) == 2 else [n.name for arg in plain for n in walk(arg) if isinstance(n, Var)]


def _is_product(node: Expr) -> bool:
    return isinstance(node, Var) or (isinstance(node, Op) and node.op == "*")


def _read(expr: Expr, signs: Signs) -> Lattice:
    if isinstance(expr, Var):
        return (expr.name,)
    if not isinstance(expr, Op):
        raise _Unread
    if expr.op == "select":
        sign = _sign(expr.args[0])
        if sign is None:
            raise _Unread
        return _read(expr.args[1 if signs[sign[0]] == sign[1] else 2], signs)
    first, second = (_read(arg, signs) for arg in expr.args)
    if expr.op in ("min", "max"):
        return (">" if expr.op == "max" else "<", first, second)
    if expr.op != "*":
        raise _Unread
    if _is_monomial(first):
        return _times(second, first, signs)
    if _is_monomial(second):
        return _times(first, second, signs)
    raise _Unread


def _is_monomial(value: Lattice) -> bool:
    return value[0] not in ("<", ">")


def _times(value: Lattice, factor: Lattice, signs: Signs) -> Lattice:
    """A lattice expression times a monomial, which turns it over if it is below zero."""
    if _is_monomial(value):
        return tuple(sorted((*value, *factor)))
    if not all(name in signs for name in factor):
        raise _Unread
    op, first, second = value
    below = sum(not signs[name] for name in factor) % 2 == 1  # type: ignore[index]
    turned = {"<": ">", ">": "<"}[str(op)] if below else str(op)
    return (turned, _times(first, factor, signs), _times(second, factor, signs))  # type: ignore[arg-type]


def _equal_lattices(left: Lattice, right: Lattice, signs: Signs, orders: Sequence[tuple[str, str]]) -> bool:
    monomials = sorted({*_monomials(left), *_monomials(right)})
    count = len(monomials)
    if count > _MOST_MONOMIALS:
        raise _Unread
    index = np.arange(1 << count)
    columns = {m: (index >> i) & 1 == 1 for i, m in zip(range(count), monomials, strict=True)}
    possible = np.ones(1 << count, dtype=bool)
    for low, high in itertools.permutations(monomials, 2):
        if _is_below(low, high, signs, orders):
            possible &= ~columns[low] | columns[high]
    return bool(np.all(~possible | (_cut(left, columns) == _cut(right, columns))))


def _monomials(value: Lattice) -> set[Monomial]:
    if _is_monomial(value):
        return {value}  # type: ignore[arg-type]
    return _monomials(value[1]) | _monomials(value[2])  # type: ignore[arg-type]


def _is_below(low: Monomial, high: Monomial, signs: Signs, orders: Sequence[tuple[str, str]]) -> bool:
    """Whether a*v <= b*v is known."""
    for a, b in orders:
        for lesser, greater, up in ((a, b, True), (b, a, False)):
            if lesser in low and greater in high:
                rest, other = list(low), list(high)
                rest.remove(lesser)
                other.remove(greater)
                known = rest == other and all(name in signs for name in rest)
                if known and (sum(not signs[name] for name in rest) % 2 == 0) == up:
                    return True
    return False


def _cut(value: Lattice, columns: dict[Monomial, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    if _is_monomial(value):
        return columns[value]  # type: ignore[index]
    op, first, second = value
    sides = _cut(first, columns), _cut(second, columns)  # type: ignore[arg-type]
    result: NDArray[np.bool_] = sides[0] | sides[1] if op == ">" else sides[0] & sides[1]
    return result
