"""Arithmetic on data wraps, in values and in indices, whatever lowering does to coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError
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


@pytest.mark.parametrize(
    ("index", "p", "q", "at"),
    [
        (lambda p, q: hl.clamp(p << q, 0, 7), 1 << 30, 2, 0),
        (lambda p, q: hl.clamp(p << q, 0, 7), 1 << 30, 33, 0),
        (lambda p, q: (p << q) % 7, 1 << 30, 4, 0),
        (lambda p, q: hl.clamp(p >> q, 0, 7), 1 << 30, -2, 0),
        (lambda p, q: hl.clamp(p // q, 0, 7), LEAST, -1, 0),
        (lambda p, q: hl.clamp((p << q) >> 5, 0, 7), 1 << 30, 2, 0),
        (lambda p, q: hl.select((p << q) < 1, 3, 6), 1 << 30, 2, 3),
    ],
)
def test_what_wraps_around_in_an_index_of_parameters_wraps_around_where_it_is_checked(
    index: Callable[[Any, Any], Any], p: int, q: int, at: int
) -> None:
    held, given = hl.Buffer(np.arange(100, 101, dtype=np.int32)), (hl.Param(hl.Int(32), value=n) for n in (p, q))
    a, f = hl.ImageParam(hl.Int(32), 1), hl.Func("f")
    f[x] = a[index(*given) + x]
    a.set(held)
    held.set_min([at])
    assert np.asarray(f.realize([1])).tolist() == [100]
    held.set_min([7 if at == 0 else 6])  # where it would be in i64
    with pytest.raises(BufferError, match=f"is read from {at} to {at} "):
        f.realize([1])
