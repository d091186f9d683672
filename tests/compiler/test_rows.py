"""Rows of storage that vectors write begin where a vector would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower.rows import layout
from rfactor.compiler.lower.storage import flatten
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const
from rfactor.ir.loopnest import Allocate, Block, Layout, Let, Realize
from rfactor.ir.types import I32, I64, U8

x, y, xo, xi, xii = (hl.Var(name) for name in ("x", "y", "xo", "xi", "xii"))


def padding(schedule: Any, *dimensions: Any) -> tuple[int, ...]:
    """That of a function of (x, y), or of `dimensions`, with directives given by `schedule`."""
    g, f = hl.Func("g"), hl.Func("f")
    over = dimensions or (x, y)
    g[over] = sum(over, hl.i32(0))
    f[over] = g[over]
    schedule(g.compute_root())
    frozen = freeze(f)
    return layout(frozen.algorithm.function("g"), frozen.schedule.functions["g"]).padding


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (lambda g: g.vectorize(x, 8), (8, 1)),
        (lambda g: g.split(x, xo, xi, 64).vectorize(xi, 16), (16, 1)),
        (lambda g: g.tile(x, y, xo, hl.Var("yo"), xi, hl.Var("yi"), 32, 8).vectorize(xi), (32, 1)),
        (lambda g: g.reorder_storage(y, x).vectorize(y, 4), (1, 4)),
        (lambda g: g.vectorize(x, 8).align_storage(x, 3), (3, 1)),  # what is asked for is done
        (lambda g: g, (1, 1)),
        (lambda g: g.vectorize(y, 8), (1, 1)),  # across rows
        (lambda g: g.split(x, xo, xi, 8).vectorize(xo, 4), (1, 1)),  # eight apart
        (lambda g: g.unroll(x, 8), (1, 1)),
    ],
)
def test_rows_are_padded_to_vectors_along_them(schedule: Any, expected: tuple[int, ...]) -> None:
    assert padding(schedule) == expected


def test_a_single_row_is_not_padded() -> None:
    assert padding(lambda g: g.vectorize(x, 8), x) == (1,)


def test_values_and_sizes_are_those_without_padding() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x * 100 + y
    f[x, y] = g[x, y] + g[x + 1, y + 1]
    g.compute_root().vectorize(x, 8)
    assert "let g.stride.1 = (i64(max(f.extent.0 + 1, 0)) + 7) // 8 * 8" in f.lowered()
    rows, columns = np.indices((5, 11))
    np.testing.assert_array_equal(np.array(f.realize([11, 5])), 101 + 200 * columns + 2 * rows)


def test_padding_counts_beyond_i32() -> None:
    """Rows of almost 2^31 elements, padded to more."""
    most, zero = Const(I32, 2**31 - 3), Const(I32, 0)
    realize = Realize("g", (U8,), ((zero, most), (zero, most)), Block(()), Layout((0, 1), (16, 1), (None, None)))
    stmt = flatten(realize, Algorithm((), (), (), ()))
    while isinstance(stmt, Let):
        stmt = stmt.body
    assert isinstance(stmt, Allocate)
    assert stmt.size == Const(I64, 2**31 * (2**31 - 3))


def test_storage_that_is_rounded_up_beyond_i64_is_refused() -> None:
    """Its bytes would wrap around to a few."""
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = hl.i64(x + y)
    f[x, y] = g[x, y] + g[x, y + 1]
    g.compute_root().align_storage(x, 2**16).align_storage(y, 2**12)
    assert "g.stride.1" in f.lowered()
    g.align_storage(x, 2**31 - 1).align_storage(y, 2**31 - 1)
    with pytest.raises(ScheduleError, match="g: align_storage and fold_storage ask for multiples of"):
        f.lowered()
