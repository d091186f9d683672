"""The judge tells apart what a user could tell apart, and the corpus agrees with itself."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from tests.loops.cases import own_cases
from tests.loops.judge import EXACT, SIZES, compare, difference, judge, outcome, rounding

CASES = own_cases()

DIFFERENT = [
    (1, np.int64(1)),
    (1, True),
    (1, 1.0),
    (1.0, np.float64(1.0)),
    (np.float32(1), np.float64(1)),
    (0.0, -0.0),
    (1.0, 1.0 + 2**-52),
    (math.nan, 1.0),
    ((1, 2), [1, 2]),
    ([1, 2], [1, 2, 3]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1: 1}, {1.0: 1}),
    (Counter(a=1), {"a": 1}),
    (defaultdict(int), defaultdict(float)),
    ({1, 2}, {1, np.int64(2)}),
    (np.zeros(3), np.zeros(3, dtype=np.float32)),
    (np.zeros((1, 3)), np.zeros(3)),
    (np.array([0.0]), np.array([-0.0])),
    (1 + 0j, complex(1, -0.0)),
    (None, False),
    ("a", b"a"),
]

SAME = [
    (math.nan, math.nan),
    (np.array([math.nan, 1]), np.array([math.nan, 1])),
    ({"a": [1, (2.0, None)]}, {"a": [1, (2.0, None)]}),
    (10**30, 10**30),
    (iter([1, 2]), iter([1, 2])),
    (np.zeros(2, dtype=[("x", "f8")]), np.zeros(2, dtype=[("x", "f8")])),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_different_values_and_types_are_told_apart(one, other):
    assert difference(one, other)


@pytest.mark.parametrize(("one", "other"), SAME, ids=lambda value: type(value).__name__)
def test_equal_values_are_equal(one, other):
    assert difference(one, other) is None


def test_rounding_is_allowed_to_floats_alone_and_within_its_bound():
    within = rounding((np.ones(10),), 10)
    assert difference(1.0, 1.0 + 1e-12, within) is None
    assert difference(1.0, 1.0 + 1e-6, within)
    assert difference(1, 2, within)
    assert difference(math.inf, 1e308, within)
    assert difference(np.float32(1), np.float32(1.00001), within) is None


def test_changed_arguments_prints_and_exceptions_are_told_apart():
    plain = outcome(lambda a: a.append(1), ([],))
    assert compare(plain, outcome(lambda a: None, ([],))).status == "wrong"
    assert compare(outcome(print, ("x",)), outcome(lambda v: None, ("x",))).status == "wrong"
    failing = outcome(lambda a: a[3], ([],))
    assert compare(failing, outcome(lambda a: a[5], ([],))).status == "right"
    assert compare(failing, outcome(lambda a: {}[3], ([],))).status == "crash"
    assert compare(failing, outcome(lambda a: None, ([],))).status == "wrong"
    assert compare(failing, outcome(lambda a: {}[3], ([],)), EXACT, (KeyError,)).status == "refused"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corpus_agrees_with_itself(case):
    for n in SIZES[:-1]:
        if n >= case.least:
            verdict = judge(case, case.function, n)
            assert verdict.status == "right", verdict.detail
            assert case.raises or not verdict.plain_error
