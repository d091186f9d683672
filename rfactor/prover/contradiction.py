"""Comparisons of polynomials that cannot hold together, by linear arithmetic over their monomials."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction

from rfactor.ir.expr import Const, Expr, Var, apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import F64
from rfactor.prover.limits import Limits
from rfactor.prover.polynomial import Monomial, Polynomial

Fact = tuple[Polynomial, Polynomial, bool]
"""low <= high, or low < high."""


def contradict(facts: Sequence[Fact], infinite: Collection[int], limits: Limits) -> bool:
    """Whether no values of the monomials satisfy all facts; those about infinities are left out."""
    numbers: dict[Monomial, Var] = {}
    claims: list[Expr] = []
    for low, high, strict in facts:
        if any(f in infinite for side in (low, high) for monomial in side for f, _ in monomial):
            continue
        scale = math.lcm(*(Fraction(c).denominator for side in (low, high) for c in side.values()))
        sides = [_sum(side, scale, numbers) for side in (low, high)]
        if None in sides:
            continue
        claims.append(apply("<" if strict else "<=", *(side for side in sides if side is not None)))
    if len(claims) < 2:
        return False
    from rfactor.prover.smt import Unsat, solve

    return isinstance(solve(claims, Meaning.MATH, limits.at_most(rlimit=500_000)), Unsat)


def _sum(side: Polynomial, scale: int, numbers: dict[Monomial, Var]) -> Expr | None:
    total: Expr = Const(F64, 0.0)
    for monomial, coefficient in side.items():
        factor = int(coefficient * scale)
        if abs(factor) > 1 << 50:
            return None  # no literal holds it exactly
        term: Expr = Const(F64, factor)
        if monomial:
            number = numbers.setdefault(monomial, Var(F64, f"m{len(numbers)}"))
            term = apply("*", term, number)
        total = apply("+", total, term)
    return total
