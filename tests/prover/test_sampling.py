"""What sampling asks of arrays, beside NumPy's functions of the same meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rfactor.prover import sampling

NUMBERS = st.lists(st.integers(0, 9) | st.integers(0, 2**64 - 1))


@given(NUMBERS)
def test_distinct_values(values):
    array = np.array(values, np.uint64)
    assert sampling.distinct(array).tolist() == sorted(set(values))
    assert sampling.distinct(array.reshape(-1, 1)).tolist() == sorted(set(values))


@given(NUMBERS, NUMBERS.filter(bool))
def test_values_among_others(values, others):
    found = sampling.among(np.array(values, np.uint64), np.array(others, np.uint64))
    assert found.tolist() == [value in others for value in values]


@pytest.mark.parametrize("dtype", [np.int8, np.float64, np.bool_])
def test_distinct_values_keep_their_type(dtype):
    found = sampling.distinct(np.array([1, 0, 1, 1], dtype))
    assert found.dtype == dtype
    assert found.tolist() == [0, 1]
