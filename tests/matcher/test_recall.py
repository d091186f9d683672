"""What was found for one update serves its likes, and is proved again for each."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rfactor.ir.expr import apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import F16, F32, I8, I32, I64, U8, Type
from rfactor.ir.update import Update
from rfactor.matcher.recall import Likeness, Memory
from rfactor.matcher.solve import Solver, late_tiers, quick_tiers
from rfactor.prover.limits import Limits


def update(text: str, type_: Type = I32) -> Update:
    return parse_update(text, type_, {}, (), Meaning.WRAP)


def solver(memory: Memory) -> Solver:
    limits = Limits(seconds=20.0)
    return Solver(limits, quick_tiers(), late_tiers(limits), memory=memory)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (update("x*a + b"), update("x*p + q", I8), True),
        (update("max(x, 100) + a", F32), update("max(x, 100) + b", F16), True),
        (update("min(x, 2147483647) + a", I32), update("min(x, 127) + a", I8), True),
        (update("x + a", I8), update("x + a", U8), False),
        (update("min(x, 127) + a", I32), update("min(x, 127) + a", I8), False),
        (update("x + k"), update("x + a"), False),
        (update("x + a*b"), update("x + a*a"), False),
    ],
)
def test_updates_are_alike_up_to_names_and_the_width_of_one_type(one: Update, other: Update, alike: bool) -> None:
    assert (Likeness.of(one).shape == Likeness.of(other).shape) is alike


@pytest.mark.parametrize("text", ["min(x0, d), select(x0 < d, x1, i)", "select(d < 0, x, x ^ d)", "x + d + k*x*d"])
def test_a_claim_goes_to_the_shape_and_back(text: str) -> None:
    first, second = update(text, I64), update(re.sub(r"\bd\b", "q", text), I8)
    memory = Memory()
    one = solver(memory).solve(first, thorough=True)
    other = solver(memory).solve(second, thorough=True)
    fresh = solver(Memory()).solve(second, thorough=True)
    assert one is not None
    assert other is not None
    assert fresh is not None
    assert other.proved.claim.update == second
    assert other.proved.identity_kind == fresh.proved.identity_kind
    assert {name for name, _ in other.proved.proofs} >= {"step", "associative"}


def test_a_false_memory_is_not_believed() -> None:
    sum_ = update("x + a*b")
    found = solver(Memory()).solve(sum_, thorough=True)
    assert found is not None
    claim = found.proved.claim
    assert claim.operator is not None
    memory = Memory()
    (whole,) = claim.operator
    false = replace(claim, operator=(apply("-", whole, whole),), known=())
    memory.keep(Likeness.of(sum_), "quick", "substitution", false)
    again = solver(memory).solve(update("x + p*q", I8), thorough=False)
    assert again is not None
    assert str(again.proved.claim.operator[0]) == "x0 + y0"  # type: ignore[index]
