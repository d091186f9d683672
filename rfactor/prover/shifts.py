"""Bitwise claims with shifts by bounded amounts: all amounts are tried at once, and for each the bits are compared.

With the amounts known, a value is a sum (exclusive or) of products of shifted variables under masks, and that is a
normal form: two values are equal for all variables exactly if they have the same masks. Offsets and masks are arrays,
a row for each choice of the amounts. A signed number below 0 is shifted to the right as its complement is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, names, variables, walk
from rfactor.ir.meaning import Meaning

Array = NDArray[Any]
Term = frozenset[tuple[str, bytes]]
"""Variables, each with the amounts by which it is shifted to the left (to the right where they are negative)."""
Bits = dict[Term, Array]
"""The bits that each product contributes to; offsets are 0 where these are none."""
_MOST = 5000
"""Most combinations of amounts."""
_MOST_SIGNED = 3
"""Most variables that are looked at below 0 and from 0 on."""
_ONE: Term = frozenset()


class _Unread(Exception):
    """An operation that is not bitwise, nor a shift by an amount that is known."""


def equal_under_shifts(left: Sequence[Expr], right: Sequence[Expr], assumptions: Sequence[Expr]) -> bool | None:
    """Whether left = right is shown for all values of the variables (`wrap`); None where the claim is not read."""
    amounts: dict[str, Var] = {}
    for expr in (*left, *right):
        for node in walk(expr):
            if isinstance(node, Op) and node.op in ("<<", ">>"):
                amounts |= {var.name: var for var in variables(node.args[1])}
    if not amounts or any(var.type.is_float for var in amounts.values()):
        return None
    ranges = [_range(var, assumptions) for var in amounts.values()]
    total = math.prod(max(0, values.stop - values.start) for values in ranges)  # len() has an end
    if total > _MOST:
        return None
    typed = zip(ranges, amounts.values(), strict=True)
    grid = np.meshgrid(*(np.array(values, dtype=dtype_of(var.type)) for values, var in typed))
    env = {name: axis.ravel() for name, axis in zip(amounts, grid, strict=True)}
    allowed = np.ones(total, dtype=bool)
    for claim in assumptions:
        if names(claim) <= env.keys():
            allowed &= evaluate(claim, env, Meaning.WRAP).astype(bool)
    if not allowed.any():
        return True
    amounts_of = {name: values[allowed] for name, values in env.items()}
    signed = list(_with_a_sign([*left, *right], amounts_of.keys()))
    if len(signed) > _MOST_SIGNED:
        return None
    try:
        return all(
            _vanishes(_plus(reader.read(a), reader.read(b)))
            for below in itertools.product((False, True), repeat=len(signed))
            for reader in (_Reader(amounts_of, int(allowed.sum()), dict(zip(signed, below, strict=True))),)
            for a, b in zip(left, right, strict=True)
        )
    except _Unread:
        return None


def _with_a_sign(exprs: Iterable[Expr], amounts: Collection[str]) -> Iterator[str]:
    """Variables whose signs shifts to the right shift in."""
    shifted = [n for expr in exprs for n in walk(expr) if isinstance(n, Op) and n.op == ">>" and n.type.code == "int"]
    found = {var.name: var for node in shifted for var in variables(node.args[0])}
    yield from (name for name, var in found.items() if name not in amounts and var.type.code == "int")


def _range(var: Var, assumptions: Sequence[Expr]) -> range:
    """The values of an amount that bounds by literals leave."""
    low, high = int(var.type.min), int(var.type.max)
    for claim in assumptions:
        if isinstance(claim, Op) and claim.op in ("<", "<=") and claim.args[0] == var:
            bound = claim.args[1]
            if isinstance(bound, Const):
                high = min(high, int(bound.value) - (claim.op == "<"))
        if isinstance(claim, Op) and claim.op in ("<", "<=") and claim.args[1] == var:
            bound = claim.args[0]
            if isinstance(bound, Const):
                low = max(low, int(bound.value) + (claim.op == "<"))
    return range(low, high + 1)


@dataclass(slots=True)
class _Reader:
    """The values of expressions, where the amounts have each of their values."""

    amounts: dict[str, Array]
    rows: int
    below: Mapping[str, bool] = field(default_factory=dict)
    """Of some signed variables, whether they are below 0."""
    memo: dict[Expr, Bits] = field(default_factory=dict)

    def read(self, expr: Expr) -> Bits:
        found = self.memo.get(expr)
        if found is None:
            found = self.memo[expr] = self.compute(expr)
        return found

    def known(self, expr: Expr) -> Array | None:
        """The values of what is made of the amounts alone."""
        if not names(expr) <= self.amounts.keys():
            return None
        return np.broadcast_to(evaluate(expr, self.amounts, Meaning.WRAP), (self.rows,))

    def same(self, mask: int) -> Array:
        return np.full(self.rows, mask, dtype=np.uint64)

    def negative(self, value: Bits, bits: int) -> bool:
        """Whether the highest bit is set, everywhere; raises `_Unread` where it depends on something."""
        highest = np.uint64(1 << (bits - 1))
        if any((mask & highest).any() for term, mask in value.items() if term != _ONE):
            raise _Unread
        set_ = (value.get(_ONE, self.same(0)) & highest) != 0
        if set_.any() and not set_.all():
            raise _Unread
        return bool(set_.any())

    def compute(self, expr: Expr) -> Bits:
        type_ = expr.type
        if not type_.is_int:
            raise _Unread
        full = (1 << type_.bits) - 1
        known = self.known(expr)
        if known is not None:
            return _sum([(_ONE, known.astype(np.uint64) & np.uint64(full))])
        if isinstance(expr, Var):
            own = frozenset(((expr.name, bytes(8 * self.rows)),))
            below = self.below.get(expr.name)
            if below is None:
                return {own: self.same(full)}
            rest: Bits = {own: self.same(full >> 1)}
            return _plus(rest, {_ONE: self.same(full)}) if below else rest
        if not isinstance(expr, Op):
            raise _Unread
        if expr.op == "cast":
            inner = expr.args[0].type
            if not inner.is_int or inner.bits != type_.bits:
                raise _Unread
            return self.read(expr.args[0])
        if expr.op in ("<<", ">>"):
            amount = self.known(expr.args[1])
            assert amount is not None
            amount = np.clip(amount.astype(object), -type_.bits, type_.bits).astype(np.int64)
            amount = amount if expr.op == "<<" else -amount
            value = self.read(expr.args[0])
            if type_.code == "int" and (amount < 0).any() and self.negative(value, type_.bits):
                if (amount > 0).any():
                    raise _Unread  # ones are shifted in from one side
                ones: Bits = {_ONE: self.same(full)}
                return _plus(_shifted(_plus(value, ones), amount, type_.bits), ones)
            return _shifted(value, amount, type_.bits)
        args = [self.read(arg) for arg in expr.args]
        if expr.op == "^":
            return _plus(args[0], args[1])
        if expr.op == "&":
            return _product(args[0], args[1])
        if expr.op == "|":
            return _plus(_plus(args[0], args[1]), _product(args[0], args[1]))
        if expr.op == "~":
            return _plus(args[0], {_ONE: self.same(full)})
        raise _Unread


def _sum(parts: Iterable[tuple[Term, Array]]) -> Bits:
    """Masked products added up, with offsets 0 where a mask is 0."""
    result: Bits = {}
    for term, mask in parts:
        used = mask != 0
        if not used.any():
            continue
        if not used.all():
            term = frozenset((name, np.where(used, _offsets(at), 0).tobytes()) for name, at in term)
        total = result[term] ^ mask if term in result else mask
        if total.any():
            result[term] = total
        else:
            del result[term]
    return result


def _offsets(at: bytes) -> Array:
    return np.frombuffer(at, dtype=np.int64)


def _plus(a: Bits, b: Bits) -> Bits:
    return _sum([*a.items(), *b.items()])


def _product(a: Bits, b: Bits) -> Bits:
    return _sum((one | other, p & q) for (one, p), (other, q) in itertools.product(a.items(), b.items()))


def _shifted(a: Bits, amount: Array, bits: int) -> Bits:
    full = np.uint64((1 << bits) - 1)
    up, down = (
        np.where(side < 64, side, 0).astype(np.uint64) for side in (np.maximum(amount, 0), -np.minimum(amount, 0))
    )
    beyond = np.abs(amount) >= bits
    return _sum(
        (
            frozenset((name, (_offsets(at) + amount).tobytes()) for name, at in term),
            np.where(beyond, np.uint64(0), (mask << up & full) >> down),
        )
        for term, mask in a.items()
    )


def _vanishes(value: Bits) -> bool:
    """Whether a value is 0 for all variables: products that are the same for some amounts only are added up there."""
    pending = [(sorted(term), mask) for term, mask in value.items()]
    while pending:
        term, mask = pending.pop()
        for i in range(len(pending)):
            other, its = pending[i]
            if [name for name, _ in term] == [name for name, _ in other]:
                pairs = zip(term, other, strict=True)
                alike = np.logical_and.reduce([_offsets(a) == _offsets(b) for (_, a), (_, b) in pairs])
                mask = np.where(alike, mask ^ its, mask)
                pending[i] = other, np.where(alike, np.uint64(0), its)
        if mask.any():
            return False
    return True
