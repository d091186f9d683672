"""Claims about single bits: every bit of a value as a polynomial over GF(2) in the bits of the variables.

Every function of bits has exactly one such polynomial without powers (its algebraic normal form, Zhegalkin 1927), so
two values are equal for all variables exactly if their polynomials are. Read are bitwise operations, shifts by
literals, choices by a bit, products with a bit, casts between integers, comparisons of few bits; sums are not, whose
carries have long polynomials. This is what linear maps of bits are made of: shift registers, checksums, xorshift.
"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.expr import Const, Expr, Op, Var
from rfactor.ir.types import Type
from rfactor.prover.limits import DEFAULT, Limits

Monomial = int
"""Which variable bits are multiplied, a bit each; 0 for 1."""
Bit = frozenset[Monomial]
"""A polynomial: the monomials whose sum modulo 2 it is."""
Word = tuple[Bit, ...]
"""A value's bits, the lowest first."""
_ZERO: Bit = frozenset()
_ONE: Bit = frozenset((0,))
_MOST = 300_000
"""Products of monomials in one claim."""
_MOST_COMPARED = 8
"""Bits of a comparison that are not known."""


class _Unread(Exception):
    """Something that is no operation on bits, or too much of it."""


def equal_as_bits(left: Sequence[Expr], right: Sequence[Expr], limits: Limits = DEFAULT) -> bool | None:
    """Whether left = right for all values of the variables (`wrap`); None where this does not read the claim."""
    reader = _Reader(limits)
    try:
        return all(reader.read(a) == reader.read(b) for a, b in zip(left, right, strict=True))
    except _Unread:
        return None


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.memo: dict[Expr, Word] = {}
        self.numbers: dict[tuple[str, int], int] = {}
        self.work = 0

    def read(self, expr: Expr) -> Word:
        found = self.memo.get(expr)
        if found is None:
            found = self.memo[expr] = self.compute(expr)
        return found

    def compute(self, expr: Expr) -> Word:
        type_ = expr.type
        if not (type_.is_int or type_.is_bool) or self.limits.expired:
            raise _Unread
        width = _width(type_)
        if isinstance(expr, Const):
            value = int(expr.value)
            return tuple(_ONE if value >> i & 1 else _ZERO for i in range(width))
        if isinstance(expr, Var):
            bits = (self.numbers.setdefault((expr.name, i), len(self.numbers)) for i in range(width))
            return tuple(frozenset((1 << bit,)) for bit in bits)
        if not isinstance(expr, Op):
            raise _Unread
        if expr.op == "^":
            return self.sums(expr, width)
        if expr.op in ("<<", ">>"):
            return _shifted(self.read(expr.args[0]), expr)
        args = [self.read(arg) for arg in expr.args]
        if expr.op == "cast":
            return self.cast(args[0], expr.args[0].type, type_)
        if expr.op == "select":
            (condition,), true, false = args
            return tuple(b if a == b else b ^ self.times(condition, a ^ b) for a, b in zip(true, false, strict=True))
        if expr.op in ("&", "and"):
            return tuple(map(self.times, args[0], args[1]))
        if expr.op in ("|", "or"):
            return tuple(a ^ b ^ self.times(a, b) for a, b in zip(*args, strict=True))
        if expr.op in ("~", "not"):
            return tuple(a ^ _ONE for a in args[0])
        if expr.op == "neg" and not any(args[0][1:]):
            return args[0][:1] * width  # 0 or -1
        if expr.op == "*":
            for one, other in (args, args[::-1]):
                if not any(one[1:]):
                    return tuple(self.times(one[0], bit) for bit in other)
        if expr.op in ("==", "!="):
            return (self.same(args[0], args[1]) ^ (_ZERO if expr.op == "==" else _ONE),)
        if expr.op in ("<", ">=") and expr.args[0].type.code == "int" and not any(args[1]):
            return (args[0][-1] ^ (_ZERO if expr.op == "<" else _ONE),)
        raise _Unread

    def sums(self, expr: Expr, width: int) -> Word:
        """A chain of exclusive ors at once: partial sums are not kept."""
        totals: list[set[Monomial]] = [set() for _ in range(width)]
        pending = [expr]
        while pending:
            part = pending.pop()
            if isinstance(part, Op) and part.op == "^" and part not in self.memo:
                pending.extend(part.args)
            else:
                for total, bit in zip(totals, self.read(part), strict=True):
                    total ^= bit
        return tuple(map(frozenset, totals))

    def times(self, a: Bit, b: Bit) -> Bit:
        if a == _ONE or not b:
            return b
        if b == _ONE or not a:
            return a
        self.work += len(a) * len(b)
        if self.work > _MOST:
            raise _Unread
        if len(a) > len(b):
            a, b = b, a
        result: set[Monomial] = set()
        for one in a:
            if self.limits.expired:
                raise _Unread
            products = [one | other for other in b]
            different = set(products)
            if len(different) == len(products):
                result ^= different
            else:
                for product in products:
                    result ^= {product}
        return frozenset(result)

    def same(self, a: Word, b: Word) -> Bit:
        differences = [bit for one, other in zip(a, b, strict=True) if (bit := one ^ other)]
        if _ONE in differences:
            return _ZERO
        if len(differences) > _MOST_COMPARED:
            raise _Unread
        result = _ONE
        for bit in differences:
            result = self.times(result, bit ^ _ONE)
        return result

    def cast(self, value: Word, old: Type, new: Type) -> Word:
        if new.is_bool:
            return (self.same(value, (_ZERO,) * len(value)) ^ _ONE,)
        sign = value[-1] if old.code == "int" else _ZERO
        width = _width(new)
        return (*value, *((sign,) * (width - len(value))))[:width]


def _width(type_: Type) -> int:
    return 1 if type_.is_bool else type_.bits


def _shifted(value: Word, expr: Op) -> Word:
    """By a literal; the sign is shifted in from the left of signed values."""
    amount = expr.args[1]
    if not isinstance(amount, Const):
        raise _Unread
    by, width = int(amount.value) * (1 if expr.op == "<<" else -1), len(value)
    if by >= 0:
        return ((_ZERO,) * min(by, width) + value)[:width]
    sign = value[-1] if expr.type.code == "int" else _ZERO
    return value[-by:] + (sign,) * min(-by, width)


__all__ = ["equal_as_bits"]
