"""Running values in vectors: the bits of the serial loop, and what stays a serial loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.compiler.lower import passes
from rfactor.compiler.pipeline import lowered
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I8, I16, I32, I64, U8, U16, U32, U64
from rfactor.semantics.interpreter import ImageValue
from rfactor.semantics.nest import interpret_nest

x, y = hl.Var("x"), hl.Var("y")
INT = hl.Int(32)
Step = Callable[[Any, Any], Any]

STEPS: dict[str, Step] = {
    "+": lambda f, a: f + a,
    "-": lambda f, a: f - a,
    "min": lambda f, a: hl.min(a, f),
    "max": lambda f, a: hl.max(f, a),
    "&": lambda f, a: f & a,
    "|": lambda f, a: f | a,
    "^": lambda f, a: f ^ a,
}
SERIAL: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "min": np.minimum, "max": np.maximum,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
}  # fmt: skip


def running(step: Step, element: Any, type_: Any = INT) -> tuple[Any, Any, Any]:
    """`f[r.x] = step(f[r.x - 1], element(a, r.x))` over `n` elements from 1 on, both parameters."""
    a, n, f = hl.ImageParam(type_, 1, "a"), hl.Param(hl.Int(32), "n"), hl.Func("f")
    r = hl.RDom([(1, n)], "r")
    f[x] = hl.cast(type_, 3)
    f[r.x] = step(f[r.x - 1], element(a, r.x))
    return f, a, n


def nest(f: Any) -> str:
    *_, (_, found) = passes(*(lambda frozen: (frozen.algorithm, frozen.schedule))(freeze(f)))
    return show_nest(found)


@pytest.mark.parametrize("op", sorted(STEPS))
@pytest.mark.parametrize("type_", [U8, I8, U16, I16, U32, I32, U64, I64], ids=str)
def test_every_prefix_has_the_serial_bits(op: str, type_: Any) -> None:
    f, a, n = running(STEPS[op], lambda a, at: a[at], Type(type_))
    dtype = dtype_of(type_)
    ends: Any = np.iinfo(dtype)
    data = np.random.default_rng(7).integers(ends.min, ends.max, 90, dtype, endpoint=True)
    data[[5, 40, 41]] = ends.min, ends.max, ends.max
    a.set(data)
    assert "prefixes[" in nest(f)
    for count in (-3, 0, 1, 7, 8, 15, 16, 17, 32, 33, 63, 64, 65, 89):
        n.set(count)
        right = np.full(90, 3, dtype)
        for i in range(1, count + 1):
            right[i] = SERIAL[op](right[i - 1], data[i])
        assert np.array_equal(np.asarray(f.realize([90])), right), (op, count)


@pytest.mark.parametrize("count", [-1, 0, 15, 16, 40])
def test_the_nest_means_the_same(count: int) -> None:
    f, a, n = running(STEPS["-"], lambda a, at: a[at] * 3 + at)
    data = np.arange(50, dtype=np.int32) ** 3
    a.set(data)
    n.set(count)
    frozen = freeze(f)
    *_, (_, body) = passes(frozen.algorithm, frozen.schedule)
    images = {"a": ImageValue(data, (0,))}
    found = interpret_nest(body, frozen.algorithm, images, {"n.param": count}, {"f": ((0, 50),)}, flat=True)
    assert np.array_equal(np.asarray(f.realize([50])), found["f"][0])


def test_rows_at_once_and_parts_of_a_sum() -> None:
    a, f, r = hl.ImageParam(hl.Int(32), 2), hl.Func("f"), hl.RDom([(1, 70)])
    f[x, y] = a[x, y]
    f[r.x, y] = (a[r.x, y] - y) + f[r.x - 1, y] - a[0, y]
    f.update(0).parallel(y)
    data = np.random.default_rng(3).integers(-(2**31), 2**31, (4, 71), np.int32)
    a.set(data)
    assert "prefixes[+]" in nest(f)
    rows = np.arange(4, dtype=np.int32)[:, None]
    steps = data - rows - data[:, :1]
    steps[:, 0] = data[:, 0]
    assert np.array_equal(np.asarray(f.realize([71, 4])), np.cumsum(steps, 1, dtype=np.int32))


REFUSED: dict[str, Callable[[], Any]] = {
    "floats round": lambda: running(STEPS["+"], lambda a, at: a[at], hl.Float(32))[0],
    "products take long": lambda: running(lambda f, a: f * a, lambda a, at: a[at])[0],
    "no such operation": lambda: running(lambda f, a: f * 3 + a, lambda a, at: a[at])[0],
    "elements lie apart": lambda: running(STEPS["+"], lambda a, at: a[at * 2])[0],
    "elements at places that data say": lambda: running(STEPS["+"], lambda a, at: a[hl.clamp(a[at], 0, 9)])[0],
    "something is printed": lambda: running(STEPS["+"], lambda a, at: hl.print(a[at]))[0],
}


@pytest.mark.parametrize("why", sorted(REFUSED))
def test_what_stays_serial(why: str) -> None:
    assert "prefixes[" not in nest(REFUSED[why]())


def test_other_points_of_the_function_stay_serial() -> None:
    for distance in (2, -1):
        f, r = hl.Func("f"), hl.RDom([(3, 60)])
        f[x] = x
        f[r.x] = f[r.x - distance] + r.x
        assert "prefixes[" not in nest(f)
        assert np.array_equal(np.asarray(f.realize([70])), by_hand(distance))
    f, r = hl.Func("f"), hl.RDom([(3, 60)])
    f[x] = x
    f[r.x] = f[r.x - 1] + f[r.x - 3]
    assert "prefixes[" not in nest(f)
    g = hl.Func("g")
    g[x, y] = x
    g[x, r.x] = g[x, r.x - 1] + r.x
    g.reorder_storage(x, y)
    assert "prefixes[" not in nest(g)


def by_hand(distance: int) -> Any:
    right = np.arange(70, dtype=np.int32)
    for i in range(3, 63):
        right[i] = right[i - distance] + i
    return right


def test_other_loops_are_still_left_to_llvm() -> None:
    from rfactor.compiler.codegen.module import passes_for

    f, _, _ = running(STEPS["+"], lambda a, at: a[at])
    assert passes_for(lowered([f])).loop_vectorizer
    f.vectorize(x, 8)
    assert not passes_for(lowered([f])).loop_vectorizer


def test_running_values_stay_in_registers_beside_explicit_vectors() -> None:
    """At the level of code that has nothing but vectors they went through memory."""
    from rfactor.compiler.codegen.module import passes_for

    f, _, _ = running(STEPS["+"], lambda a, at: a[at])
    f.vectorize(x, 8)
    assert passes_for(lowered([f])).level > 1
    g = hl.Func("no_running_values")
    g[x] = x * 3
    g.vectorize(x, 8)
    assert passes_for(lowered([g])).level == 1
