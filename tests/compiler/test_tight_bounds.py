"""Bounds of indices are no wider than they need be, and hold at the ends of the types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError
from tests.compiler.pipelines import computed, expected, same

MOST = 2**31 - 1
x = hl.Var("x")


@pytest.mark.parametrize(
    ("index", "size", "held"),
    [
        (lambda x: hl.select(x < 0, 0, hl.select(x > 9, 9, x)), 14, 10),
        (lambda x: hl.select((x >= 3) & (x < 8), x - 3, 0), 20, 5),
        (lambda x: hl.select((x < 3) | (x > 7), 0, x - 3), 20, 5),
        (lambda x: x - x // 4 * 4, 33, 4),
        (lambda x: (x + 3) // 4 * 4 - x, 33, 4),
        (lambda x: x // 8 * 8 + x % 8, 16, 16),
        (lambda x: (2 * x) % 6 + (2 * x) // 6 * 6, 8, 15),
    ],
)
def test_a_read_asks_for_what_it_reads(index: Callable[[Any], Any], size: int, held: int) -> None:
    a = np.arange(100, 100 + held, dtype=np.int32)
    f = hl.Func("f")
    f[x] = hl.Buffer(a)[index(x)]
    before = expected(f, [size])
    f.vectorize(x, 4)
    assert same(before[0], computed(f, [size])[0])
    g = hl.Func("g")
    g[x] = hl.Buffer(a[:-1])[index(x)]
    with pytest.raises(BufferError, match="is read from"):
        g.realize([size])


@pytest.mark.parametrize("value", [MOST, MOST - 1, 50, 0, -1])
@pytest.mark.parametrize("condition", [lambda r, p: r.x <= p, lambda r, p: p >= r.x, lambda r, p: -r.x >= -p])
def test_a_guard_up_to_the_greatest_number_stops_nothing(value: int, condition: Callable[[Any, Any], Any]) -> None:
    p, f, r = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.RDom([(0, 100)], "r")
    p.set(value)
    r.where(condition(r, p))
    f[()] = 0
    f[()] += r.x * 0 + 1
    assert computed(f, [])[0] == expected(f, [])[0] == min(value + 1, 100)


def test_a_guard_whose_own_arithmetic_wraps_is_an_error() -> None:
    p, f, r = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.RDom([(0, 100)], "r")
    r.where(r.x < p + 1)
    f[()] = 0
    f[()] += r.x * 0 + 1
    p.set(MOST - 1)
    assert f.realize()[()] == 100
    p.set(MOST)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize()


def test_a_condition_of_a_specialization_whose_arithmetic_wraps_is_an_error() -> None:
    p, q, f = hl.Param(hl.Int(32), "p"), hl.Param(hl.Int(32), "q"), hl.Func("f")
    condition = (p + 1 > p) | (q > 3)
    f[x] = hl.select(condition, 1, 2)
    f.specialize(condition).vectorize(x, 4)
    q.set(0)
    p.set(5)
    assert np.asarray(f.realize([5])).tolist() == [1] * 5
    p.set(MOST)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize([5])
