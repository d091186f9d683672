"""Loops over rows of zeros that follow each other are one loop; others stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.lower.zeros import zeros
from rfactor.compiler.pipeline import lowered
from rfactor.ir.expr import Expr, apply, cast
from rfactor.ir.loopnest import Allocate, For, Let, Stmt
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32, I64
from tests.codegen.reference import add, i32, i64, load, store, times, var, wide

LENGTH = apply("max", var("n"), i32(0))


def rows(extent: Expr, stride: Expr, low: Expr, value: Expr | None = None, count: int = 4) -> Stmt:
    """`count` rows of `extent` elements from `low` on, each `stride` after the one before."""
    index = add(wide("i"), apply("*", wide("v"), stride))
    inner = For("i", low, extent, "serial", store("f", index, i32(0) if value is None else value))
    return For("v", i32(0), i32(count), "serial", inner)


def loops(stmt: Stmt) -> int:
    return show_nest(stmt).count("for ")


@pytest.mark.parametrize("stride", [cast(I64, LENGTH), apply("+", cast(I64, LENGTH), i64(0))])
def test_rows_that_follow_each_other(stride: Expr) -> None:
    found = zeros(Allocate("f", I32, times(cast(I64, LENGTH), 4), rows(var("n"), stride, i32(0))))
    assert loops(found) == (1 if stride == cast(I64, LENGTH) else 2)


def test_lengths_are_seen_through_definitions() -> None:
    body = Let(
        "s", cast(I64, apply("max", apply("+", var("m"), i32(1)), i32(0))), rows(var("n"), var("s", I64), i32(0))
    )
    size = i64(64)
    assert loops(zeros(Let("n", apply("+", var("m"), i32(1)), Allocate("f", I32, size, body)))) == 1
    assert loops(zeros(Let("n", apply("+", var("m"), i32(2)), Allocate("f", I32, size, body)))) == 2
    read = load(I32, "b", i64(0))  # may be another when it is read again
    again = Let("s", cast(I64, apply("max", read, i32(0))), rows(var("n"), var("s", I64), i32(0)))
    assert loops(zeros(Let("n", read, Allocate("f", I32, size, again)))) == 2


@pytest.mark.parametrize(
    "stmt",
    [
        rows(i32(5), i64(6), i32(0)),
        rows(i32(5), i64(4), i32(0)),
        rows(var("n"), var("s", I64), i32(0)),
        rows(var("v"), cast(I64, apply("max", var("v"), i32(0))), i32(0)),
        rows(i32(5), i64(5), var("v")),
        rows(i32(5), i64(5), i32(0), i32(1)),
        rows(i32(1 << 20), i64(1 << 20), i32(0), count=1 << 12),
    ],
)
def test_what_stays(stmt: Stmt) -> None:
    assert zeros(Allocate("f", I32, i64(1 << 33), stmt)) == Allocate("f", I32, i64(1 << 33), stmt)


def test_constant_rows() -> None:
    stmt = rows(i32(5), i64(5), i32(3))
    assert loops(zeros(Allocate("f", I32, i64(40), stmt))) == 1
    assert zeros(stmt) == stmt  # a caller's array may hold more than an i32 counts


@pytest.mark.parametrize(("size", "low"), [(6, 0), (1, 0), (0, 0), (3, -2), (9, 4)])
def test_a_histogram_in_copies(size: int, low: int) -> None:
    data: Any = np.random.default_rng(1).integers(0, 6, (8, 16), dtype=np.uint8)
    f, i, u, v, r = hl.Func("f"), hl.Var("i"), hl.Var("u"), hl.Var("v"), hl.RDom([(0, 16), (0, 8)], "r")
    f[i] = hl.i32(0)
    f[hl.i32(hl.Buffer(data)[r.x, r.y])] += hl.i32(1)
    yo, yi = hl.RVar("yo"), hl.RVar("yi")
    f.update(0).split(r.y, yo, yi, 2)
    strip = f.update(0).rfactor([(yo, u)])
    strip.compute_root().update(0).parallel(u)
    copy = strip.update(0).rfactor([(r.x, v)])
    copy.compute_at(strip, u)
    cleared = [line for line in show_nest(lowered([f]).body).splitlines() if line.endswith("] = 0")]
    assert len(cleared) == 3
    assert all(" * " not in line for line in cleared)
    out = hl.Buffer(hl.Int(32), [size])
    out.set_min([low])
    f.realize(out)
    counted = np.bincount(data.ravel(), minlength=16)
    wanted = [int(counted[x]) if 0 <= x < 16 else 0 for x in range(low, low + size)]
    assert np.asarray(out).tolist() == wanted
