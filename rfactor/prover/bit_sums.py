"""Bitwise operations on machine words as sums: a bit that is in both operands is there once of `|`, and not of `^`.

Bit by bit, x | y = x + y - (x & y) and x ^ y = x + y - 2*(x & y), hence the same of the words modulo 2^width. A word
that is made of others by bitwise operations is thus a sum of conjunctions of these, in exactly one way, and the
conjunction of two such words is the product of their sums, in which a word occurs once.
"""

from __future__ import annotations

from collections.abc import Mapping

from rfactor.prover.polynomial import Key

BitSum = Mapping[frozenset[Key], int]
"""Coefficients of the conjunctions of words; no words: all ones."""
_MOST = 32
"""Conjunctions in a sum."""


def combined(op: str, one: BitSum, other: BitSum) -> BitSum | None:
    """`&`, `|` or `^` of two words; None where that is long."""
    if len(one) * len(other) > _MOST * _MOST:
        return None
    both: dict[frozenset[Key], int] = {}
    for words, times in one.items():
        for more, factor in other.items():
            both[words | more] = both.get(words | more, 0) + times * factor
    found = both
    if op != "&":
        found = dict(one)
        for words, times in other.items():
            found[words] = found.get(words, 0) + times
        for words, times in both.items():
            found[words] = found.get(words, 0) - times * (1 if op == "|" else 2)
    found = {words: times for words, times in found.items() if times}
    return found if len(found) <= _MOST else None
