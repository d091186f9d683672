"""The harness and the wild judge tell right, refused, wrong and crashed apart."""

import pytest

from tests.loops import doctested, harness, wild
from tests.loops.cases import EXPECTED, own_cases

COLLECTION = '''"""A collection."""


def total(values):
    """
    >>> total([1, 2, 3])
    6
    >>> total([])
    0
    """
    s = 0
    for v in values:
        s += v
    return s


def failing(values):
    """
    >>> failing([1])
    2
    """
    for v in values:
        return v


def quiet(values):
    """Have no example."""
    for v in values:
        print(v)
'''


class Refusal(Exception):
    """Stand in for `FoldError`."""

    reason = "nothing is known of `g()`"
    line = 3


def refused(function):
    def call(*arguments):
        raise Refusal

    return call


def wrong(function):
    return lambda *arguments: (function(*arguments), 1)


def crashing(function):
    def call(*arguments):
        raise ZeroDivisionError("internal")

    return call


DECORATORS = [(lambda function: function, "right"), (refused, "refused"), (wrong, "wrong"), (crashing, "crash")]


@pytest.fixture
def collection(tmp_path):
    (tmp_path / "sums.py").write_text(COLLECTION)
    return tmp_path


@pytest.mark.parametrize(("decorator", "status"), DECORATORS, ids=[status for _, status in DECORATORS])
def test_the_harness_gives_each_case_its_status(decorator, status, monkeypatch):
    monkeypatch.setattr(harness, "decorator", lambda plain: (decorator, (Refusal,)))
    case = next(one for one in own_cases() if one.name == "signs")
    told = harness.measure(case, (0, 3, 7), 0, plain=False)
    assert told["status"] == status
    assert status != "refused" or (told["detail"], told["line"]) == (Refusal.reason, 3)
    assert case.name in harness.line_of(told)
    assert "all" in harness.table([told])


@pytest.mark.parametrize(("decorator", "status"), DECORATORS, ids=[status for _, status in DECORATORS])
def test_examples_give_each_function_its_status(decorator, status, monkeypatch, collection):
    monkeypatch.setattr(doctested, "decorator", lambda plain: (decorator, (Refusal,)))
    monkeypatch.setattr(doctested, "_modules", {})
    request = {"root": str(collection), "path": "sums.py", "name": "total", "plain": False, "check": False}
    told = doctested.answer(request)
    assert told["status"] == status
    assert status != "refused" or told["refusal"]["line"] == 3
    assert doctested.answer({**request, "name": "failing"})["status"] == "excluded"


def test_functions_with_examples_and_loops_are_found(collection):
    assert [one["name"] for one in wild.functions(collection)] == ["total", "failing"]


def test_the_corpus_has_every_kind_of_answer():
    cases = own_cases()
    assert {case.expect for case in cases} == set(EXPECTED)
    assert all(case.kind or case.note for case in cases)
