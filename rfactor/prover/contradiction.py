"""Comparisons of polynomials that cannot hold together, by linear arithmetic over their monomials."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

from rfactor.prover.polynomial import ONE, Monomial, Polynomial

Fact = tuple[Polynomial, Polynomial, bool]
"""low <= high, or low < high."""
_Row = tuple[dict[Monomial, int], bool]
"""A sum of monomials that is >= 0, or > 0."""

_MOST_ROWS = 600
"""Rows after which elimination is given up: they may grow as a tower of squares."""


def contradict(facts: Sequence[Fact], infinite: Collection[int]) -> bool:
    """Whether it is shown that no real values of the monomials satisfy all facts; those about infinities are left out.

    By Fourier and Motzkin's elimination: every row is a sum of facts with factors >= 0.
    """
    rows = [
        _row(low, high, strict)
        for low, high, strict in facts
        if not any(f in infinite for side in (low, high) for monomial in side for f, _ in monomial)
    ]
    while True:
        if any(_is_false(row) for row in rows):
            return True
        monomial = _cheapest(rows)
        if monomial is None:
            return False
        above = [row for row in rows if row[0].get(monomial, 0) > 0]
        below = [row for row in rows if row[0].get(monomial, 0) < 0]
        others = [row for row in rows if monomial not in row[0]]
        if len(others) + len(above) * len(below) > _MOST_ROWS:
            return False
        rows = _strongest([*others, *(_without(monomial, one, other) for one in above for other in below)])


def _row(low: Polynomial, high: Polynomial, strict: bool) -> _Row:
    total = dict(high)
    for monomial, coefficient in low.items():
        total[monomial] = total.get(monomial, 0) - coefficient
    scale = math.lcm(*(Fraction(c).denominator for c in total.values()))
    return _reduced({monomial: int(c * scale) for monomial, c in total.items() if c}, strict)


def _reduced(sum_: dict[Monomial, int], strict: bool) -> _Row:
    divisor = math.gcd(*sum_.values())
    return ({monomial: c // divisor for monomial, c in sum_.items()} if divisor > 1 else sum_), strict


def _is_false(row: _Row) -> bool:
    sum_, strict = row
    if sum_.keys() - {ONE}:
        return False
    constant = sum_.get(ONE, 0)
    return constant < 0 or (strict and constant == 0)


def _cheapest(rows: Sequence[_Row]) -> Monomial | None:
    """The monomial whose elimination makes the fewest rows; None where only constants are left."""
    counts: dict[Monomial, list[int]] = {}
    for sum_, _ in rows:
        for monomial, coefficient in sum_.items():
            if monomial != ONE:
                counts.setdefault(monomial, [0, 0])[coefficient > 0] += 1
    return min(counts, key=lambda m: counts[m][0] * counts[m][1] - sum(counts[m]), default=None)


def _without(monomial: Monomial, above: _Row, below: _Row) -> _Row:
    """The sum of two rows, each times what makes the monomial vanish."""
    (one, one_strict), (other, other_strict) = above, below
    factor, times = -other[monomial], one[monomial]
    total = {m: c * factor for m, c in one.items()}
    for m, c in other.items():
        changed = total.get(m, 0) + c * times
        if changed:
            total[m] = changed
        else:
            del total[m]
    return _reduced(total, one_strict or other_strict)


def _strongest(rows: Sequence[_Row]) -> list[_Row]:
    """Of rows that differ in their constant alone, and in strictness, the one that says most."""
    best: dict[frozenset[tuple[Monomial, int]], _Row] = {}
    for row in rows:
        sum_, strict = row
        key = frozenset((m, c) for m, c in sum_.items() if m != ONE)
        known = best.get(key)
        if known is None or (sum_.get(ONE, 0), not strict) < (known[0].get(ONE, 0), not known[1]):
            best[key] = row
    return list(best.values())
