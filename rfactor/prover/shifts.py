"""Bitwise claims with shifts by bounded amounts: every amount is tried, and for each the bits are compared.

With the amounts known, a value is a sum (exclusive or) of products of shifted variables under masks, and that is a
normal form: two values are equal for all variables exactly if they have the same masks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, names, variables, walk
from rfactor.ir.meaning import Meaning

Term = frozenset[tuple[str, int]]
"""Variables, each shifted to the left by an amount (to the right where it is negative)."""
Bits = dict[Term, int]
"""The bits that each product contributes to."""
_MOST = 5000
"""Most combinations of amounts."""
_ONE: Term = frozenset()


class _Unread(Exception):
    """An operation that is not bitwise, nor a shift by an amount that is known."""


def equal_under_shifts(left: Sequence[Expr], right: Sequence[Expr], assumptions: Sequence[Expr]) -> bool | None:
    """Whether left = right for all values of the variables (`wrap`); None where this does not read the claim."""
    amounts: dict[str, Var] = {}
    for expr in (*left, *right):
        for node in walk(expr):
            if isinstance(node, Op) and node.op in ("<<", ">>"):
                amounts |= {var.name: var for var in variables(node.args[1])}
    if not amounts:
        return None
    ranges = [_range(var, assumptions) for var in amounts.values()]
    total = math.prod(max(0, values.stop - values.start) for values in ranges)  # len() has an end
    if total > _MOST:
        return None
    typed = zip(ranges, amounts.values(), strict=True)
    grid = np.meshgrid(*(np.array(values, dtype=dtype_of(var.type)) for values, var in typed))
    known = _Known({name: axis.ravel() for name, axis in zip(amounts, grid, strict=True)})
    allowed = np.ones(total, dtype=bool)
    for claim in assumptions:
        if known.speaks_of(claim):
            allowed &= evaluate(claim, known.env, Meaning.WRAP).astype(bool)
    try:
        for row in np.flatnonzero(allowed).tolist():
            reader = _Reader(known, row)
            if any(reader.read(a) != reader.read(b) for a, b in zip(left, right, strict=True)):
                return False
    except _Unread:
        return None
    return True


@dataclass(slots=True)
class _Known:
    """Every choice of the amounts, and the values of what is made of them alone."""

    env: dict[str, NDArray[Any]]
    values: dict[Expr, list[int]] = field(default_factory=dict)

    def speaks_of(self, expr: Expr) -> bool:
        """Whether `expr` has no other variables."""
        return names(expr) <= self.env.keys()

    def at(self, expr: Expr, row: int) -> int:
        """Its value in one choice."""
        if expr not in self.values:
            rows = len(next(iter(self.env.values())))
            self.values[expr] = np.broadcast_to(evaluate(expr, self.env, Meaning.WRAP), (rows,)).tolist()
        return int(self.values[expr][row])


def _range(var: Var, assumptions: Sequence[Expr]) -> range:
    """The values of an amount that bounds by literals leave."""
    low, high = int(var.type.min), int(var.type.max)
    for claim in assumptions:
        if isinstance(claim, Op) and claim.op in ("<", "<=") and claim.args[0] == var:
            bound = claim.args[1]
            if isinstance(bound, Const):
                high = min(high, int(bound.value) - (claim.op == "<"))
    return range(low, high + 1)


class _Reader:
    def __init__(self, known: _Known, row: int) -> None:
        self.known, self.row = known, row
        self.memo: dict[Expr, Bits] = {}

    def read(self, expr: Expr) -> Bits:
        found = self.memo.get(expr)
        if found is None:
            found = self.memo[expr] = self.compute(expr)
        return found

    def compute(self, expr: Expr) -> Bits:
        type_ = expr.type
        if not type_.is_int:
            raise _Unread
        full = (1 << type_.bits) - 1
        if self.known.speaks_of(expr):
            return _constant(self.known.at(expr, self.row) & full)
        if isinstance(expr, Var):
            return {frozenset(((expr.name, 0),)): full}
        if not isinstance(expr, Op):
            raise _Unread
        if expr.op == "cast":
            inner = expr.args[0].type
            if not inner.is_int or inner.bits != type_.bits:
                raise _Unread
            return self.read(expr.args[0])
        if expr.op in ("<<", ">>"):
            amount = self.known.at(expr.args[1], self.row)
            amount = amount if expr.op == "<<" else -amount
            if amount < 0 and type_.code == "int":
                raise _Unread  # the sign is shifted in
            return _shifted(self.read(expr.args[0]), amount, type_.bits)
        args = [self.read(arg) for arg in expr.args]
        if expr.op == "^":
            return _plus(args[0], args[1])
        if expr.op == "&":
            return _product(args[0], args[1])
        if expr.op == "|":
            return _plus(_plus(args[0], args[1]), _product(args[0], args[1]))
        if expr.op == "~":
            return _plus(args[0], _constant(full))
        raise _Unread


def _constant(value: int) -> Bits:
    return {_ONE: value} if value else {}


def _plus(a: Bits, b: Bits) -> Bits:
    result = dict(a)
    for term, mask in b.items():
        total = result.get(term, 0) ^ mask
        if total:
            result[term] = total
        else:
            result.pop(term, None)
    return result


def _product(a: Bits, b: Bits) -> Bits:
    result: Bits = {}
    for (one, left), (other, right) in itertools.product(a.items(), b.items()):
        if left & right:
            result = _plus(result, {one | other: left & right})
    return result


def _shifted(a: Bits, amount: int, bits: int) -> Bits:
    full = (1 << bits) - 1
    moved = ((t, m << amount & full if amount >= 0 else m >> -amount) for t, m in a.items())
    return {frozenset((name, offset + amount) for name, offset in term): mask for term, mask in moved if mask}
