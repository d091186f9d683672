"""What was found for one update serves its likes, and is proved again for each."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rfactor.ir.expr import apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import BF16, F16, F32, I8, I32, I64, U8, Type
from rfactor.ir.update import Update
from rfactor.matcher.lifting import lift
from rfactor.matcher.lifting.lift import Lifter
from rfactor.matcher.recall import Likeness, Memory
from rfactor.matcher.solve import Solver, late_tiers, quick_tiers
from rfactor.prover.claim import Claim, Discharged, Failed
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Unknown


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
        (update("max(x, 100) + a", F32), update("max(x, 100) + b", BF16), True),
        (update("x + a*100", F16), update("x + b*100", BF16), True),
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


def saturating(type_: Type) -> Update:
    low, high = type_.min, type_.max
    return update(
        f"select(a > 0 and x > {high} - a, {high}, select(a < 0 and x < {low} - a, {low}, x + a))",
        type_,
    )


def test_what_was_found_for_64_bits_is_tried_at_8_and_leaves_the_search_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = Memory()
    wide, narrow = saturating(I64), saturating(I8)
    assert Lifter(solver(memory)).lift(wide) is not None
    likeness = Likeness.of(narrow)
    recalled = memory.recall(narrow, likeness, "lifted")
    assert recalled is not None
    asked: list[tuple[Claim, Limits]] = []

    def given_up(claim: Claim, limits: Limits) -> Discharged | Failed:
        """Recalled claims take more than they may."""
        asked.append((claim, limits))
        if len(asked) == 1:
            return Failed("action", Unknown("the solver gave up"))
        return discharge(claim, limits)

    monkeypatch.setattr(lift, "discharge", given_up)
    found = Lifter(solver(memory)).lift(narrow)
    assert found is not None
    assert found.claim.update == narrow
    first, limits = asked[0]
    assert first == recalled[1]
    assert limits.rlimit < Limits().rlimit, "a recalled claim may take as much as a search"
    assert len(asked) > 1


def test_what_was_found_for_64_bits_is_proved_again_at_8() -> None:
    memory = Memory()
    assert Lifter(solver(memory)).lift(saturating(I64)) is not None
    recalled = memory.recall(saturating(I8), Likeness.of(saturating(I8)), "lifted")
    found = Lifter(solver(memory)).lift(saturating(I8))
    assert recalled is not None
    assert found is not None
    assert found.claim == recalled[1]
    assert found.claim.lift is not None
    assert I8 in found.claim.lift.types
