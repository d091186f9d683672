"""Unrolled loops that choose between values: the right one, in time that grows as their number does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.lower.choices import Choices
from rfactor.compiler.pipeline import lowered
from rfactor.ir.expr import Const, Expr, Var, apply, select
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32
from tests.compiler.pipelines import agrees, expected

x, y = hl.Var("x"), hl.Var("y")
SIZE = 12


def _nested(f: Any) -> Any:
    return hl.mux(x % 3, [hl.mux(x // 3, [y, y + 1, 7]), x * y, hl.mux(y, [x, 3])])


def _shared(f: Any) -> Any:
    chosen = hl.mux(x - 2, [y * i for i in range(5)])
    return chosen * chosen + hl.select(x == 4, chosen, x == 4, 99, x == 5, chosen + 1, 3)


def _of_data(f: Any) -> Any:
    return hl.mux(hl.i32(hl.Buffer(np.arange(SIZE, dtype=np.uint8) % 5)[x]), [x + i for i in range(5)])


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "of each": lambda f: hl.mux(x, [y + i * i for i in range(SIZE)]),
    "of fewer": lambda f: hl.mux(SIZE - 1 - x, [y, 7, x]),
    "of bytes": lambda f: hl.mux(hl.u8(x * 64), [y, 7, x]),
    "nested": _nested,
    "shared": _shared,
    "of data": _of_data,
    "of what is no number": lambda f: hl.select(hl.f32(x) == 3.0, 1, hl.f32(x) == 4.0, 2, x > 6, 5, 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unrolled_choice_is_the_right_one(name: str) -> None:
    f = hl.Func("f")
    f[x, y] = PROGRAMS[name](f)
    before = expected(f, [SIZE, 4])
    f.bound(x, 0, SIZE).unroll(x)
    agrees(f, before, [SIZE, 4])


def test_a_chain_is_looked_at_once_for_all_of_its_values() -> None:
    """Otherwise this takes minutes."""
    index, count = Var(I32, "i"), 3000
    chain: Expr = Var(I32, "none")
    for i in range(count):
        chain = select(apply("==", index, Const(I32, i)), apply("+", Var(I32, "a"), Const(I32, i)), chain)
    choices = Choices("i")
    for i in range(count):
        assert choices.of(chain, Const(I32, i)) == apply("+", Var(I32, "a"), Const(I32, i))
    assert choices.of(chain, Const(I32, count)) == Var(I32, "none")
    assert choices.of(chain, Var(I32, "n")).children[0] == apply("==", Var(I32, "n"), Const(I32, count - 1))


def test_unrolled_rows_of_an_intermediate_are_a_known_distance_apart() -> None:
    """So that nothing asks at run time whether they overlap."""
    x, y, xi, yi, k = hl.Var("x"), hl.Var("y"), hl.Var("xi"), hl.Var("yi"), hl.RDom([(0, 5)])
    f, out = hl.Func("rows_apart"), hl.Func("rows_apart_out")
    f[x, y] = 0
    f[x, y] += (x + k.x) * (y - k.x)
    out[x, y] = f[x, y]
    out.tile(x, y, xi, yi, 8, 4).vectorize(xi, 4).unroll(xi).unroll(yi)
    f.compute_at(out, x).vectorize(x, 4).unroll(x).unroll(y)
    f.update(0).reorder(x, y, k.x).vectorize(x, 4).unroll(x).unroll(y)
    wanted = sum((np.arange(17) + i) * (np.arange(9) - i)[:, None] for i in range(5))
    np.testing.assert_array_equal(np.asarray(out.realize([17, 9])), wanted)
    assert ".kept" not in show_nest(lowered([out]).body)
