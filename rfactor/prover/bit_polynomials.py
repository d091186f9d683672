"""Claims about single bits: every bit of a value as a polynomial over GF(2) in the bits of the variables.

Every function of bits has exactly one such polynomial without powers (its algebraic normal form, Zhegalkin 1927), so
two values are equal for all variables exactly if their polynomials are. Read are bitwise operations, shifts by
literals, choices by a bit, products with a bit, casts between integers, comparisons of few bits; sums are not, whose
carries have long polynomials. This is what linear maps of bits are made of: shift registers, checksums, xorshift.
"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.expr import Const, Expr, Op, Var, names
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
_MOST_READ = 100_000
"""Bits that one claim reads; long ones are not kept, and are read again."""
_SHORT = 256
"""Monomials of a bit that is kept."""
_MOST_COMPARED = 8
"""Bits of a comparison that are not known."""


class _Unread(Exception):
    """Something that is no operation on bits, or too much of it."""


def equal_as_bits(left: Sequence[Expr], right: Sequence[Expr], limits: Limits = DEFAULT) -> bool | None:
    """Whether left = right for all values of the variables (`wrap`); None where this does not read the claim."""
    reader = _Reader(limits)
    try:
        return all(
            reader.bit(a, place) == reader.bit(b, place)
            for a, b in zip(left, right, strict=True)
            for place in range(1 if _alike_everywhere(reader, (a, b)) else _width(a.type))
        )
    except _Unread:
        return None


def _alike_everywhere(reader: _Reader, exprs: Sequence[Expr]) -> bool:
    """Whether values are made of their variables place by place, each place alike: then one place shows all.

    In `(x & 1)*y ^ z` it is with y and z; x, which does not stand for a place, must be none of these.
    """
    placed: set[str] = set()
    others: set[str] = set()
    pending, seen = list(exprs), set[Expr]()
    while pending:
        expr = pending.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if isinstance(expr, Var):
            placed.add(expr.name)
        elif isinstance(expr, Const) and expr.value == 0:
            continue
        elif not isinstance(expr, Op) or expr.type.is_bool:
            return False
        elif expr.op in ("^", "&", "|", "~"):
            pending += expr.args
        elif expr.op == "select":
            others |= names(expr.args[0])
            pending += expr.args[1:]
        elif expr.op == "*" and any(map(reader.is_single, expr.args)):
            single, factor = expr.args if reader.is_single(expr.args[0]) else expr.args[::-1]
            others |= names(single)
            pending.append(factor)
        else:
            return False
    return placed.isdisjoint(others)


class _Reader:
    """Bits of expressions, each when it is asked for: at one place of two values most of the others are not."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.memo: dict[tuple[Expr, int], Bit] = {}
        self.numbers: dict[tuple[str, int], int] = {}
        self.work = 0
        self.read = 0

    def bit(self, expr: Expr, place: int) -> Bit:
        """The bit at a place below the width."""
        found = self.memo.get((expr, place))
        if found is None:
            found = self.compute(expr, place)
            if len(found) <= _SHORT:
                self.memo[expr, place] = found
        return found

    def word(self, expr: Expr) -> Word:
        return tuple(self.bit(expr, place) for place in range(_width(expr.type)))

    def compute(self, expr: Expr, place: int) -> Bit:
        type_ = expr.type
        self.read += 1
        if not (type_.is_int or type_.is_bool) or self.read > _MOST_READ or self.limits.expired:
            raise _Unread
        if isinstance(expr, Const):
            return _ONE if int(expr.value) >> place & 1 else _ZERO
        if isinstance(expr, Var):
            return frozenset((1 << self.numbers.setdefault((expr.name, place), len(self.numbers)),))
        if not isinstance(expr, Op):
            raise _Unread
        op, args = expr.op, expr.args
        if op == "^":
            return self.sum(expr, place)
        if op in ("<<", ">>"):
            return self.shifted(expr, place)
        if op == "cast":
            return self.cast(args[0], type_, place)
        if op == "select":
            true, false = self.bit(args[1], place), self.bit(args[2], place)
            return true if true == false else false ^ self.times(self.bit(args[0], 0), true ^ false)
        if op in ("&", "and"):
            return self.product(args, place)
        if op in ("|", "or"):
            first, second = self.bit(args[0], place), self.bit(args[1], place)
            return first ^ second ^ self.times(first, second)
        if op in ("~", "not"):
            return self.bit(args[0], place) ^ _ONE
        if op == "neg" and self.is_single(args[0]):
            return self.bit(args[0], 0)  # 0 or -1
        if op == "*":
            for one, factor in (args, args[::-1]):
                if self.is_single(one):
                    return self.times(self.bit(one, 0), self.bit(factor, place))
        if op in ("==", "!="):
            return self.same(self.word(args[0]), self.word(args[1])) ^ (_ZERO if op == "==" else _ONE)
        if op in ("<", ">=") and args[0].type.code == "int" and not any(self.word(args[1])):
            return self.bit(args[0], args[0].type.bits - 1) ^ (_ZERO if op == "<" else _ONE)
        raise _Unread

    def is_single(self, expr: Expr) -> bool:
        """Whether a value is 0 or 1."""
        return all(not self.bit(expr, place) for place in range(1, _width(expr.type)))

    def product(self, args: Sequence[Expr], place: int) -> Bit:
        """Of bits: what a mask leaves out is not read."""
        one, other = args if isinstance(args[0], Const) else args[::-1]
        first = self.bit(one, place)
        return self.times(first, self.bit(other, place)) if first else _ZERO

    def sum(self, expr: Expr, place: int) -> Bit:
        """A chain of exclusive ors at once: partial sums are not kept."""
        total: set[Monomial] = set()
        pending = [expr]
        while pending:
            part = pending.pop()
            if isinstance(part, Op) and part.op == "^" and (part, place) not in self.memo:
                pending.extend(part.args)
            else:
                total ^= self.bit(part, place)
        return frozenset(total)

    def shifted(self, expr: Op, place: int) -> Bit:
        """By a literal; the sign is shifted in from the left of signed values."""
        value, amount = expr.args
        if not isinstance(amount, Const):
            raise _Unread
        start, width = place - int(amount.value) * (1 if expr.op == "<<" else -1), _width(expr.type)
        if start < 0:
            return _ZERO
        return self.bit(value, start) if start < width else self.sign(value)

    def sign(self, value: Expr) -> Bit:
        """What is to the left of all bits."""
        return self.bit(value, value.type.bits - 1) if value.type.code == "int" else _ZERO

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

    def cast(self, value: Expr, new: Type, place: int) -> Bit:
        if value.type.is_float:  # it has no bits, also at places beyond its width
            raise _Unread
        if new.is_bool:
            word = self.word(value)
            return self.same(word, (_ZERO,) * len(word)) ^ _ONE
        return self.bit(value, place) if place < _width(value.type) else self.sign(value)


def _width(type_: Type) -> int:
    return 1 if type_.is_bool else type_.bits


__all__ = ["equal_as_bits"]
