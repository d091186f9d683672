"""Coordinates that are stored values between parameters: what they ask for, at the ends of their types too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, Error

Array = np.ndarray[Any, Any]
FIRST, SIZE, COUNT = -300, 600, 24
LIMIT = 2**31
TABLE = np.arange(SIZE, dtype=np.int32) * 7
DATA = np.random.default_rng(5).integers(-LIMIT, LIMIT, COUNT)
WHOLE = (-LIMIT, 1 - LIMIT, -5, 0, 3, LIMIT - 1)
FLOATS = (-np.inf, -3e38, -7.5, -0.0, 0.5, 200.25, 3e38, np.inf, np.nan)
UNSIGNED = (0, 5, 100, 2 * LIMIT - 3)
SHORTS = (-32768, -5, 0, 100, 32767)
f32 = np.float32


def wrapped(value: Any) -> Any:
    return (value + LIMIT) % (2 * LIMIT) - LIMIT


def bounded(value: Any, low: Any, high: Any) -> Any:
    """NaN where one of them is."""
    return np.maximum(np.minimum(value, high), low)


def whole(value: Array) -> Array:
    """An i32 of a float, as a cast has it."""
    inside = np.clip(np.nan_to_num(value.astype(float), nan=0, posinf=LIMIT, neginf=-LIMIT), -LIMIT, LIMIT - 1)
    return inside.astype(np.int64)


Rule = Callable[[Any, Any, Any], Any]
CASES: dict[str, tuple[hl.Type, tuple[float, ...], Rule, Rule]] = {
    "clamp": (hl.Int(32), WHOLE, lambda v, p, q: hl.clamp(v, p, q), bounded),
    "the other way round": (
        hl.Int(32), WHOLE, lambda v, p, q: hl.min(hl.max(v, p), q), lambda v, p, q: np.minimum(np.maximum(v, p), q),
    ),
    "ends that wrap": (
        hl.Int(32), WHOLE, lambda v, p, q: hl.clamp(v + p, -q, q * 2),
        lambda v, p, q: bounded(wrapped(v + p), wrapped(-q), wrapped(q * 2)),
    ),
    "sum": (
        hl.Int(32), WHOLE, lambda v, p, q: q - hl.clamp(v, 0, p), lambda v, p, q: wrapped(q - bounded(v, 0, p)),
    ),
    "unsigned sum": (
        hl.UInt(32), UNSIGNED, lambda v, p, q: hl.i32(hl.f32(hl.min(hl.u32(v), p) + q)),
        lambda v, p, q: whole(((np.minimum(v % (2 * LIMIT), p) + q) % (2 * LIMIT)).astype(f32)),
    ),
    "negative": (hl.Int(32), WHOLE, lambda v, p, q: -hl.clamp(v, p, q), lambda v, p, q: wrapped(-bounded(v, p, q))),
    "choice": (
        hl.Int(32), WHOLE, lambda v, p, q: hl.select(v > 0, p, hl.clamp(v, q, 3)),
        lambda v, p, q: np.where(v > 0, p, bounded(v, q, 3)),
    ),
    "narrow": (
        hl.Int(16), SHORTS, lambda v, p, q: hl.clamp(hl.i16(v), p, q),
        lambda v, p, q: bounded(v.astype(np.int16).astype(np.int64), p, q),
    ),
    "float": (
        hl.Float(32), FLOATS, lambda v, p, q: hl.clamp(hl.f32(v), p, q),
        lambda v, p, q: whole(bounded(v.astype(f32), f32(p), f32(q))),
    ),
    "scaled float": (
        hl.Float(32), FLOATS, lambda v, p, q: hl.i32(hl.clamp(hl.f32(v) * 1e-9, -1.0, 1.0) * p + q),
        lambda v, p, q: whole(bounded(v.astype(f32) * f32(1e-9), f32(-1), f32(1)) * f32(p) + f32(q)),
    ),
    "choice of floats": (
        hl.Float(32), FLOATS, lambda v, p, q: hl.i32(hl.select(v > 0, p * 2, q * 3)),
        lambda v, p, q: whole(np.where(v > 0, f32(p) * f32(2), f32(q) * f32(3))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_lies_between_parameters_is_read_there_or_refused(case: str) -> None:
    type, values, value, meant = CASES[case]
    x, p, q, h, f = hl.Var("x"), hl.Param(type, "p"), hl.Param(type, "q"), hl.Func("h"), hl.Func("f")
    table = hl.Buffer(TABLE)
    table.set_min([FIRST])
    h[x] = value(hl.Buffer(DATA.astype(np.int32))[x], p, q)
    h.compute_root()
    f[x] = table[x + hl.i32(h[x])]
    computed = 0
    for first, second in product(values, values):
        p.set(first)
        q.set(second)
        with np.errstate(all="ignore"):
            at = np.arange(COUNT) + meant(DATA, first, second) - FIRST
        inside = at.min() >= 0 and at.max() < SIZE
        try:
            found = np.array(f.realize([COUNT]))
        except Error:
            assert not inside or max(abs(first), abs(second)) > 1000 or np.isnan(first + second)
        else:
            assert inside
            np.testing.assert_array_equal(found, TABLE[at])
            computed += 1
    assert computed >= 4


def test_what_is_computed_of_another_function_is_as_large_as_parameters_ask_for() -> None:
    x, p, f, g, h = hl.Var("x"), hl.Param(hl.Int(32), "p", 3), hl.Func("f"), hl.Func("g"), hl.Func("h")
    image = hl.ImageParam(hl.Int(32), 1, "image")
    h[x] = hl.clamp(hl.Buffer(DATA.astype(np.int32))[x], -p, p)
    g[x] = image[x] * 2
    f[x] = g[x + h[x]]
    h.compute_root()
    g.compute_root()
    assert f.verify().verdict == "proven"
    for size, last in ((3, 22), (5, 24)):
        p.set(size)
        image.set(hl.Buffer(np.zeros(5, np.int32)))
        with pytest.raises(Error, match=f"read from -{size} to {last} "):
            f.realize([20])


def test_what_data_or_a_coordinate_bounds_is_refused() -> None:
    x = hl.Var("x")
    data = hl.Buffer(DATA.astype(np.int32))
    for limit in (data[x], x, x + hl.Param(hl.Int(32), "p", 1)):
        h, f = hl.Func("h"), hl.Func("f")
        h[x] = hl.clamp(data[x], -limit, limit)
        h.compute_root()
        f[x] = hl.Buffer(TABLE)[h[x]]
        with pytest.raises(AlgorithmError, match="nothing bounds that index"):
            f.realize([4])


def test_what_the_array_of_a_caller_holds_is_between_no_ends() -> None:
    """Where a function is undefined, an output keeps any numbers, and those are read."""
    x, p, f, g = hl.Var("x"), hl.Param(hl.Int(32), "p", 3), hl.Func("f"), hl.Func("g")
    data = hl.Buffer(np.arange(COUNT, dtype=np.int32))
    f[x] = hl.select(data[x] % 2 == 0, hl.clamp(data[x], -p, p), hl.undef(hl.Int(32)))
    g[x] = hl.Buffer(TABLE)[f[x]]
    f.compute_root()
    outputs = np.full(COUNT, 10, np.int32), np.zeros(COUNT, np.int32)
    with pytest.raises(AlgorithmError, match="nothing bounds that index"):
        hl.Pipeline([f, g]).realize(outputs)


def test_coordinates_where_a_function_is_defined_are_clamped_too() -> None:
    x, p, f, h = hl.Var("x"), hl.Param(hl.Int(32), "p", 3), hl.Func("f"), hl.Func("h")
    h[x] = hl.clamp(hl.Buffer(np.arange(COUNT, dtype=np.int32))[x] - 6, -p, p)
    f[x] = hl.select(hl.Buffer(np.arange(7, dtype=np.int32))[3 + h[x]] > 4, x, hl.undef(hl.Int(32)))
    h.compute_root()
    found = np.full(12, -1, np.int32)
    f.realize(found)
    assert found.tolist() == [-1] * 8 + [8, 9, 10, 11]
