"""Polynomials over opaque atoms: the normal form of integer arithmetic (mod 2^w or unbounded) and of the reals.

A polynomial maps monomials to nonzero coefficients; a monomial is a sorted tuple of (atom, power). Atoms are small
integers handed out by the caller. Powers are negative where the caller divides by something it knows is not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

Number = int | Fraction
Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Number]
Key = frozenset[tuple[Monomial, Number]]

ONE: Monomial = ()
_MAX_TERMS = 4000


class TooLarge(Exception):
    """A polynomial outgrew the limit; the normal form is given up."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Where coefficients live: the integers mod 2^bits, or (bits 0) all integers or rationals."""

    bits: int = 0

    def reduce(self, value: Number) -> Number:
        return int(value) & ((1 << self.bits) - 1) if self.bits else value

    def constant(self, value: Number) -> Polynomial:
        value = self.reduce(value)
        return {ONE: value} if value else {}

    def atom(self, atom: int, power: int = 1) -> Polynomial:
        return {((atom, power),): 1}

    def add(self, a: Polynomial, b: Polynomial, factor: Number = 1) -> Polynomial:
        """a + factor * b."""
        result = dict(a)
        mask = (1 << self.bits) - 1 if self.bits else 0
        for monomial, coefficient in b.items():
            total = result.get(monomial, 0) + factor * coefficient
            if mask:
                total = int(total) & mask
            if total:
                result[monomial] = total
            else:
                result.pop(monomial, None)
        return result

    def scale(self, a: Polynomial, factor: Number) -> Polynomial:
        return self.add({}, a, factor)

    def multiply(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if len(a) * len(b) > _MAX_TERMS:
            raise TooLarge
        mask = (1 << self.bits) - 1 if self.bits else 0
        result: Polynomial = {}
        for left, p in a.items():
            for right, q in b.items():
                monomial = product(left, right)
                result[monomial] = result.get(monomial, 0) + p * q
        if mask:
            result = {m: int(c) & mask for m, c in result.items()}
        return {m: c for m, c in result.items() if c}

    def substitute(self, a: Polynomial, atom: int, value: Polynomial) -> Polynomial:
        """`a` with `atom` replaced by `value`; monomials with a negative power of it are kept."""
        result: Polynomial = {}
        for monomial, coefficient in a.items():
            powers = dict(monomial)
            power = powers.pop(atom, 0)
            if power <= 0:
                result = self.add(result, {monomial: coefficient})
                continue
            term: Polynomial = {tuple(sorted(powers.items())): coefficient}
            for _ in range(power):
                term = self.multiply(term, value)
            result = self.add(result, term)
        return result

    def map_atoms(self, a: Polynomial, rename: Callable[[int], Polynomial]) -> Polynomial:
        """The image of `a` under a ring homomorphism given on atoms, with coefficients taken into this ring."""
        result: Polynomial = {}
        for monomial, coefficient in a.items():
            term = self.constant(coefficient)
            for atom, power in monomial:
                image = rename(atom)
                for _ in range(power):
                    term = self.multiply(term, image)
            result = self.add(result, term)
        return result


@cache
def ring_of(bits: int) -> Ring:
    """The ring of this width."""
    return Ring(bits)


def product(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a:
        return b
    if not b:
        return a
    powers = dict(a)
    for atom, power in b:
        total = powers.get(atom, 0) + power
        if total:
            powers[atom] = total
        else:
            del powers[atom]
    return tuple(sorted(powers.items()))


def key(a: Polynomial) -> Key:
    """A hashable form: equal keys mean equal polynomials."""
    return frozenset(a.items())


def constant_value(a: Polynomial) -> Number | None:
    """The value of a constant polynomial, else None."""
    if not a:
        return 0
    if len(a) == 1 and ONE in a:
        return a[ONE]
    return None


def single_atom(a: Polynomial) -> int | None:
    """The atom of a polynomial that is one atom alone, else None."""
    if len(a) == 1:
        ((monomial, coefficient),) = a.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]
    return None
