"""Comparisons that exclude one another: elimination says what the solver says, on small systems."""

from __future__ import annotations

from fractions import Fraction

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.prover.contradiction import Fact, contradict
from rfactor.prover.polynomial import ONE, Monomial, Polynomial

X, Y, XY = ((0, 1),), ((1, 1),), ((0, 1), (1, 1))
MONOMIALS: tuple[Monomial, ...] = (ONE, X, Y, XY, ((2, 1),))


def by_solver(facts: list[Fact]) -> bool:
    solver = z3.Solver()
    names = {monomial: z3.Real(f"m{i}") for i, monomial in zip(range(9), MONOMIALS, strict=False)}

    def total(side: Polynomial) -> z3.ArithRef:
        terms = [
            z3.RealVal(str(c)) * (z3.RealVal(1) if monomial == ONE else names[monomial]) for monomial, c in side.items()
        ]
        return z3.Sum([z3.RealVal(0), *terms])

    for low, high, strict in facts:
        solver.add(total(low) < total(high) if strict else total(low) <= total(high))
    return bool(solver.check() == z3.unsat)


coefficients = st.one_of(st.integers(-3, 3), st.fractions(-2, 2, max_denominator=3)).filter(bool)
sides = st.dictionaries(st.sampled_from(MONOMIALS), coefficients, max_size=3)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(sides, sides, st.booleans()), max_size=9))
def test_it_says_what_the_solver_says(facts: list[Fact]) -> None:
    assert contradict(facts, ()) == by_solver(facts)


@pytest.mark.parametrize(
    ("facts", "excluded"),
    [
        ([({X: 1}, {Y: 1}, True), ({Y: 1}, {X: 1}, False)], True),
        ([({X: 1}, {Y: 1}, False), ({Y: 1}, {X: 1}, False)], False),
        ([({X: 2}, {ONE: 1}, False), ({ONE: Fraction(1, 2)}, {X: 1}, False)], False),
        ([({X: 2}, {ONE: 1}, False), ({ONE: Fraction(1, 2)}, {X: 1}, True)], True),
        ([({}, {}, True)], True),
        ([({}, {}, False)], False),
        ([], False),
    ],
)
def test_strictness_and_fractions(facts: list[Fact], excluded: bool) -> None:
    assert contradict(facts, ()) is excluded


def test_facts_about_infinities_say_nothing_here() -> None:
    facts: list[Fact] = [({X: 1}, {Y: 1}, True), ({Y: 1}, {X: 1}, True)]
    assert contradict(facts, ())
    assert not contradict(facts, {0})


def test_what_would_grow_too_large_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    circle: list[Fact] = [({((i, 1),): 1}, {(((i + 1) % 6, 1),): 1}, True) for i in range(6)]
    assert contradict(circle, ())
    monkeypatch.setattr("rfactor.prover.contradiction._MOST_ROWS", 2)
    assert not contradict(circle, ())
