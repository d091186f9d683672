"""Random loops run as plain Python, and a faulty form of them is found and made smaller."""

import ast

import pytest

from tests.loops.fuzz import run
from tests.loops.fuzz.program import generate
from tests.loops.subject import Joined


class Reversed(Joined):
    """Merge states in the wrong order."""

    def __iadd__(self, other):
        self.arguments, other.arguments = other.arguments, self.arguments
        return super().__iadd__(other)


class Forgetful(Joined):
    """Leave out the last element of long data."""

    def __call__(self, *arguments):
        return self.function(*(one[:-1] if len(one) > 5 else one for one in arguments))


class Failing(Joined):
    """Raise what the plain function does not."""

    def __call__(self, *arguments):
        raise KeyError("internal")


def found(faulty, monkeypatch, seeds):
    monkeypatch.setattr(run, "Joined", faulty)
    return [run.check(seed, plain_only=True, shrink=40) for seed in seeds]


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_the_programs_of_seeds_agree_with_themselves(start):
    for seed in range(start, start + 20):
        told = run.check(seed, plain_only=True)
        assert told["status"] == "agree", told.get("script")


def test_a_seed_names_one_program():
    assert generate(7) == generate(7)
    assert len({generate(seed).source for seed in range(100)}) > 95


def test_most_programs_tell_when_an_element_is_lost(monkeypatch):
    told = found(Forgetful, monkeypatch, range(60))
    wrong = [one for one in told if one["status"] == "wrong"]
    assert len(wrong) > 30
    for one in wrong:
        ast.parse(one["script"])
        assert "rfactor.fold(loop)" in one["script"]


def test_programs_tell_when_states_are_merged_in_another_order(monkeypatch):
    told = found(Reversed, monkeypatch, range(40))
    assert {one["way"] for one in told if one["status"] == "wrong"} == {"partial"}
    assert sum(one["status"] == "wrong" for one in told) > 10


def test_an_exception_of_its_own_is_a_crash(monkeypatch):
    assert {one["status"] for one in found(Failing, monkeypatch, range(5))} == {"crash"}
