"""Rows that lie side by side are one: fused loops over them, and quotients and remainders of data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.lower.rejoined import rejoined
from rfactor.ir.expr import Expr, apply, cast
from rfactor.ir.types import I32, I64
from tests.codegen.reference import add, i32, i64, load, times, var, wide
from tests.compiler.pipelines import agrees, expected

c, x, y, t = hl.Var("c"), hl.Var("x"), hl.Var("y"), hl.Var("t")


def parts(whole: Expr, divisor: int, factor: int, step: int) -> Expr:
    """`i64(whole % divisor) * factor + i64(whole // divisor) * step`, in a sum with others."""
    remainder, quotient = (cast(I64, apply(op, whole, i32(divisor))) for op in ("%", "//"))
    return add(wide("m"), times(remainder, factor), i64(7), times(quotient, step))


def test_a_pair_is_the_number() -> None:
    at = add(times(var("t"), 16), var("v"), i32(2))
    assert rejoined(parts(at, 3, 5, 15)) == add(wide("m"), times(wide("t"), 80), times(wide("v"), 5), i64(17))


@pytest.mark.parametrize(("divisor", "factor", "step"), [(3, 1, 4), (3, 2, 3), (3, 1, -3), (-3, 1, -3), (1, 1, 2)])
def test_what_is_no_pair(divisor: int, factor: int, step: int) -> None:
    index = parts(var("t"), divisor, factor, step)
    assert rejoined(index) == index


def test_sums_of_data_stay_in_their_type() -> None:
    """They may wrap."""
    data = add(load(I32, "a", wide("t")), i32(2000000000))
    assert rejoined(parts(data, 3, 1, 3)) == add(wide("m"), cast(I64, data), i64(7))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_fused_loops_over_channels_beside_each_other(channels: int, gap: int, lanes: int) -> None:
    """With and without memory between the pixels."""
    data = np.random.default_rng(4).integers(0, 200, (9, 23, channels + gap), np.uint8)[..., :channels]
    a, f = hl.Buffer(data), hl.Func("f")
    f[c, x, y] = hl.u16(a[c, x, y]) * 3 + hl.u16(a[c, x + 1, y]) - hl.u16(a[c, x, y + 1])
    f.bound(c, 0, channels)
    for box in ([channels, 22, 8], [channels, 1, 1], [channels, 17, 3]):
        agrees(f, expected(f, box), box)
    before = expected(f, [channels, 22, 8])
    f.fuse(c, x, t)
    if lanes > 1:
        f.vectorize(t, lanes)
    agrees(f, before, [channels, 22, 8])
    room: Any = np.zeros((8, 22, channels + gap), np.uint16)[..., :channels]
    f.realize(hl.Buffer(room))
    assert np.array_equal(room, before[0])


def test_indices_that_data_make_of_a_quotient_and_a_remainder() -> None:
    at = np.array([0, 1, 2, 3, 4, 26, 25, 9], np.int32)
    data = np.arange(27, dtype=np.int32).reshape(9, 3) * 5
    f, a, b = hl.Func("f"), hl.Buffer(data), hl.Buffer(at)
    where = b[x] + 2147483647 - 2147483647  # wraps, and back
    f[x] = a[hl.clamp(where % 3, 0, 2), hl.clamp(where // 3, 0, 8)]
    agrees(f, expected(f, [8]), [8])
    f.vectorize(x, 4)
    assert np.array_equal(np.asarray(f.realize([8])), at * 5)
