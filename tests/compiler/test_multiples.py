"""Vectors inside of one multiple of what they are divided by: one quotient, and remainders that are a ramp."""

from __future__ import annotations

import random
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.lower.multiples import in_one_multiple, never_wraps, rest
from rfactor.compiler.lower.vectorize import vectorize
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast
from rfactor.ir.loopnest import For, Let, Ramp
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I8, I32, I64, U8, Type
from tests.codegen.reference import add, i32, load, store, times, var
from tests.compiler.test_lowering import printed

x, y, xi = (hl.Var(name) for name in ("x", "y", "xi"))


def blocked(height: int) -> Any:
    """Rows of a matrix, kept in blocks of 16 columns."""
    a = hl.Buffer(np.arange(96 * height, dtype=np.int32).reshape(height, 96), "a")
    strips, f = hl.Func("strips"), hl.Func("f")
    k = hl.Var("k")
    strips[x, y, k] = a[k * 16 + x, y] * 3
    f[x, y] = strips[x % 16, y, x // 16] + 1
    strips.compute_root().bound(x, 0, 16).bound(k, 0, 6)
    return f


def test_a_block_is_loaded_as_one_vector() -> None:
    f = blocked(8)
    f.bound(x, 0, 96).bound(y, 0, 8).split(x, x, xi, 16).vectorize(xi)
    consumed = printed(f, "vectorize").split("produce f:\n")[1]
    assert dedent(consumed) == dedent("""\
        for f.s0.y in (0, 8):
          for f.s0.x in (0, 6):
            f.0[ramp(i64(f.s0.x) * 16 + i64(f.s0.y) * f.0.stride.1 - i64(f.0.min.0) - i64(f.0.min.1) * f.0.stride.1, \
1, 16)] = strips.0[ramp(i64(f.s0.y) * 16 + i64(f.s0.x) * 128, 1, 16)] + x16(1)
        """)
    assert (np.array(f.realize([96, 8])) == np.arange(768).reshape(8, 96) * 3 + 1).all()


@pytest.mark.parametrize(("factor", "lanes"), [(16, 8), (32, 32), (4, 4), (16, 16), (12, 12), (24, 8)])
@pytest.mark.parametrize("tail", [hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards])
def test_values_are_those_of_the_serial_loop(factor: int, lanes: int, tail: Any) -> None:
    f = blocked(5)
    f.split(x, x, xi, factor, tail).vectorize(xi, lanes)
    assert (np.array(f.realize([96, 5])) == np.arange(480).reshape(5, 96) * 3 + 1).all()
    assert (np.array(f.realize([91, 5])) == np.arange(480).reshape(5, 96)[:, :91] * 3 + 1).all()


def test_definitions_around_tell_of_multiples() -> None:
    """Where the tile of an intermediate begins is a name."""
    a = hl.Buffer(np.arange(128, dtype=np.int32), "a")
    inner, f = hl.Func("inner"), hl.Func("f")
    inner[x] = a[x // 32 * 32 + x % 32] * 5
    f[x] = inner[x] + 1
    f.bound(x, 0, 128).split(x, x, xi, 32)
    inner.compute_at(f, x).bound_extent(x, 32).vectorize(x)
    text = printed(f, "vectorize")
    assert "% x32" not in text
    assert "// x32" not in text
    assert (np.array(f.realize([128])) == np.arange(128) * 5 + 1).all()


def test_a_name_that_is_bound_again_is_another() -> None:
    """A loop variable is no multiple, whatever the name was around."""
    index = cast(I64, apply("%", add(var("b"), var("v")), i32(8)))
    copied = store("f", cast(I64, var("v")), load(I32, "a", index))
    lanes = For("v", i32(0), i32(8), "vectorized", copied)
    eights = times(var("n"), 8)
    assert "a[ramp(0, 1, 8)]" in show_nest(vectorize(Let("b", eights, lanes)))
    again = Let("b", eights, For("b", i32(0), i32(8), "serial", lanes))
    assert "ramp(b, 1, 8) % x8(8)" in show_nest(vectorize(again))
    other = Let("b", eights, Let("b", var("m"), lanes))
    assert "ramp(b, 1, 8) % x8(8)" in show_nest(vectorize(other))


def test_ramps_that_do_not_wrap() -> None:
    def of(base: Expr, stride: int, lanes: int) -> Ramp:
        return Ramp(base, Const(I8, stride), lanes)

    within = apply("%", var("x", I8), Const(I8, 100))
    assert never_wraps(of(Const(I8, 120), 1, 8))
    assert not never_wraps(of(Const(I8, 121), 1, 8))
    assert never_wraps(of(Const(I8, -121), -1, 8))
    assert not never_wraps(of(Const(I8, -122), -1, 8))
    assert never_wraps(of(within, 4, 8))
    assert not never_wraps(of(within, 4, 9))
    assert not never_wraps(of(var("x", I8), 1, 2))


def made(chance: random.Random, type_: Type, depth: int) -> Expr:
    """Some sum, product or choice of two variables."""
    if depth == 0 or chance.random() < 0.2:
        number = Const(type_, chance.choice([1, 3, 4, 8, 32, 100]))
        return chance.choice([Var(type_, "x"), Var(type_, "y"), number, Op(type_, "*", (Var(type_, "x"), number))])
    op = chance.choice(["+", "-", "*", "*", "min", "max", "%", "neg", "//"])
    first = made(chance, type_, depth - 1)
    if op == "neg":
        return Op(type_, op, (first,))
    return Op(type_, op, (first, made(chance, type_, depth - 1)))


@pytest.mark.parametrize("type_", [I8, U8])
def test_what_is_left_is_left_by_all_values(type_: Type) -> None:
    """Sums that wrap too."""
    chance = random.Random(5)
    dtype = np.int8 if type_ is I8 else np.uint8
    generator = np.random.default_rng(1)
    given = {name: generator.integers(int(type_.min), int(type_.max) + 1, 400).astype(dtype) for name in "xy"}
    told = divided = 0
    for _ in range(1500):
        base = made(chance, type_, 3)
        power, left = rest(base, {})
        values = np.broadcast_to(np.asarray(evaluate(base, given)), 400)
        assert ((values.astype(np.int64) - left) % power == 0).all(), base
        told += power > 1
        lanes, stride = chance.choice([2, 4, 8]), chance.choice([1, 1, 2, 3, -1])
        count = Const(type_, chance.choice([2, 4, 8, 12, 16, 24, 32, 96]))
        ramp = Ramp(base, Const(type_, type_.wrap(stride)), lanes)
        every = (values[:, None].astype(np.int64) + stride * np.arange(lanes)).astype(dtype).astype(np.int64)
        for op, wanted in (("//", every // int(count.value)), ("%", every % int(count.value))):
            found = in_one_multiple(op, ramp, count, {})
            if found is None:
                continue
            divided += 1
            low = found.base if isinstance(found, Ramp) else found
            first = np.broadcast_to(np.asarray(evaluate(low, given)), 400).astype(np.int64)
            step = stride if isinstance(found, Ramp) else 0
            assert (first[:, None] + step * np.arange(lanes) == wanted).all(), (op, base, ramp, count)
    assert told > 200
    assert divided > 50
