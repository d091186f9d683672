"""Sums modulo a power of two: what additions of machine integers come to before they are reduced to their type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rfactor.ir.types import Type


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant + sum(coefficient * atom)`, right modulo 2^width; atoms are numbered by the caller."""

    terms: Mapping[int, int]
    constant: int


def plus(a: Sum, b: Sum, factor: int, type_: Type) -> Sum:
    """a + factor * b, coefficients nearest zero modulo the type's size."""
    size = 1 << type_.bits

    def near(value: int) -> int:
        value %= size
        return value - size if value > size // 2 else value

    terms = dict(a.terms)
    for number, coefficient in b.terms.items():
        terms[number] = terms.get(number, 0) + factor * coefficient
    return Sum({n: near(c) for n, c in terms.items() if near(c)}, near(a.constant + factor * b.constant))
