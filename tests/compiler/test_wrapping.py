"""Arithmetic on data wraps, in values and in indices, whatever lowering does to coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError
from tests.compiler.pipelines import computed, expected, same

MOST, LEAST = 2**31 - 1, -(2**31)
x = hl.Var("x")


def buffer(*values: int, dtype: Any = np.int32) -> hl.Buffer:
    return hl.Buffer(np.array(values, dtype))


def test_values_of_a_tuple_wrap() -> None:
    a, f = buffer(MOST - 1, LEAST, 0, 3, 4), hl.Func("f")
    f[x] = (hl.min(a[x] + 1, a[x] + 2), (a[x] * 2) // 2, hl.max(x + MOST, x + MOST - 1))
    before = expected(f, [5])
    f.vectorize(x, 4)
    assert before[0][0] == LEAST
    assert all(map(same, before, computed(f, [5])))


@pytest.mark.parametrize("value", [MOST - 1, LEAST + 5, 3])
def test_an_index_of_data_wraps(value: int) -> None:
    a, b, f = buffer(*range(0, 1000, 100)), buffer(value), hl.Func("f")
    f[x] = a[hl.clamp(hl.min(b[x] + 1, b[x] + 2), 0, 9)] + a[hl.clamp((b[x] * 2) // 2, 0, 9)]
    assert all(map(same, expected(f, [1]), computed(f, [1])))


def test_a_predicate_on_wrapped_data_bounds_only_what_it_compares() -> None:
    a, b = buffer(*range(10)), buffer(LEAST + 5, 3)
    r, f = hl.RDom([(0, 2)], "r"), hl.Func("f")
    wrapped = (b[r.x] * 2) // 2
    r.where((wrapped >= 0) & (wrapped < 10))
    f[()] = 0
    f[()] += a[b[r.x]]
    with pytest.raises(AlgorithmError, match="nothing bounds that index"):
        f.realize()


def test_an_index_whose_bound_holds_after_wrapping_is_computed_in_32_bits() -> None:
    a, b = buffer(*range(7, 17)), buffer(32768, 0, 1, dtype=np.uint16)
    r, f = hl.RDom([(0, 3)], "r"), hl.Func("f")
    wrapped = hl.i32(b[r.x]) * 131072
    r.where((wrapped >= 0) & (wrapped < 10))
    f[()] = 0
    f[()] += a[wrapped]
    assert f.realize()[()] == 14
