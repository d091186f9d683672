"""What programs written for Halide's Python bindings rely on, with the values that they give there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, ScheduleError
from tests.compiler.pipelines import computed, expected, same

x, y, c = hl.vars("x y c")
IMAGE = np.random.default_rng(1).integers(0, 256, (20, 30), dtype=np.uint8)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a[x] << hl.i8(-3)", [0, 0, 0, 12, 15, 16, 25, 31]),
        ("a[x] >> hl.i8(-3)", [0, 8, 56, 32, 248, 0, 64, 248]),
        ("hl.rounding_shift_left(a[x], hl.i8(-3))", [0, 0, 1, 13, 16, 16, 25, 32]),
        ("hl.i8(a[x]) << hl.u8(200)", [0] * 8),
        ("hl.i8(a[x]) >> hl.u8(255)", [0, 0, 0, 0, 0, -1, -1, -1]),
        ("a[x] >> hl.i8(-128)", [0] * 8),
    ],
)
def test_a_constant_count_of_another_kind_shifts_by_its_value(text: str, values: list[int]) -> None:
    a = hl.Buffer(np.array([0, 1, 7, 100, 127, 128, 200, 255], np.uint8))
    f = hl.Func("f")
    f[x] = eval(text, {"hl": hl, "a": a, "x": x})
    assert list(f.realize([8])) == values


def spread() -> tuple[Any, Any]:
    """The difference of the extremes of a window, each an inline reduction."""
    clamped = hl.BoundaryConditions.repeat_edge(hl.Buffer(IMAGE))
    r, f = hl.RDom([(-2, 5), (-2, 5)]), hl.Func("spread")
    read = hl.i32(clamped[x + r.x, y + r.y])
    f[x, y] = hl.u8(hl.maximum(r, read) - hl.minimum(r, read))
    return clamped, f


@pytest.mark.parametrize("lanes", [1, 8])
def test_what_reductions_read_may_be_computed_in_a_loop_around_them(lanes: int) -> None:
    _, plain = spread()
    clamped, f = spread()
    yo, yi = hl.vars("yo yi")
    f.split(y, yo, yi, 4).parallel(yo).vectorize(x, lanes)
    clamped.store_at(f, yo).compute_at(f, yi)
    padded = np.pad(IMAGE, 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
    meant = windows.max((2, 3)) - windows.min((2, 3))
    for one in (plain, f):
        assert np.array_equal(np.array(one.realize([30, 20])), meant)


def test_reductions_of_reductions_follow_what_they_read() -> None:
    a, f, g, h = hl.Buffer(IMAGE), hl.Func("f"), hl.Func("g"), hl.Func("h")
    g[x, y] = hl.i32(a[x, y]) * 3
    inner = hl.RDom([(0, 3)])
    h[x, y] = 0
    h[x, y] += g[x + inner, y]
    outer = hl.RDom([(0, 2)])
    f[x, y] = hl.sum(h[x, y + outer]) + g[x, y]
    before = expected(f, [20, 10])
    g.compute_at(f, y)
    assert all(map(same, before, computed(f, [20, 10])))


def test_a_function_at_a_loop_that_does_not_hold_its_uses_is_refused() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    g[x] = x
    h[x] = g[x] + 1
    f[x] = h[x] + g[x]
    h.compute_root()
    g.compute_at(f, x)
    with pytest.raises(ScheduleError, match="g is computed at f, x, but is also used outside that loop"):
        f.realize([4])


@pytest.mark.parametrize("sizes", [(64, 64), (70, 37), (5, 3)])
def test_a_product_of_matrices_in_fused_tiles(sizes: tuple[int, int]) -> None:
    n = 16
    random = np.random.default_rng(0)
    left = random.integers(0, 99, (sizes[1], n)).astype(np.int32)
    right = random.integers(0, 99, (n, sizes[0])).astype(np.int32)
    a, b, k = hl.Buffer(left), hl.Buffer(right), hl.RDom([(0, n)])
    product, out = hl.Func("product"), hl.Func("out")
    product[x, y] = 0
    product[x, y] += a[k, y] * b[x, k]
    out[x, y] = product[x, y]
    xi, yi, xy, yii = hl.vars("xi yi xy yii")
    out.tile(x, y, xi, yi, 24, 32).fuse(x, y, xy).parallel(xy).split(yi, yi, yii, 4)
    out.vectorize(xi, 8).unroll(xi).unroll(yii)
    product.compute_at(out, yi).vectorize(x, 8).unroll(y)
    product.update(0).reorder(x, y, k).vectorize(x, 8).unroll(x).unroll(y).unroll(k, 2)
    assert np.array_equal(np.array(out.realize(list(sizes))), left @ right)


def test_a_loop_without_a_greatest_extent_is_not_unrolled() -> None:
    f = hl.Func("f")
    f[x] = x
    f.unroll(x)
    with pytest.raises(ScheduleError, match=r"f.s0.x cannot be unrolled: its extent .* is not a constant"):
        f.realize([4])


def test_a_function_defined_as_undef_is_computed_in_place() -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    r, f = hl.RDom([(1, 5)]), hl.Func("f")
    f[x, y] = hl.undef(hl.Int(32))
    f[r, y] += f[r - 1, y]
    f.update().parallel(y)
    meant = np.cumsum(array, axis=1)
    f.realize(hl.Buffer(array))
    assert np.array_equal(array, meant)


def test_components_defined_as_undef_are_kept() -> None:
    one, other = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.float32)
    f = hl.Func("f")
    f[x] = (hl.undef(hl.Int(32)), hl.undef(hl.Float(32)))
    f.vectorize(x, 4)
    f[1] = (f[1][0] + 10, f[1][1] * 5)
    f.realize([hl.Buffer(one), hl.Buffer(other)])
    assert (one.tolist(), other.tolist()) == ([0, 11, 2, 3], [0, 5, 2, 3])


@pytest.mark.parametrize("wide", [False, True])
def test_one_component_defined_as_undef_is_kept(wide: bool) -> None:
    first, second, third = np.full(6, 7, np.int32), np.full(6, 8, np.int32), np.full(6, 9, np.uint8)
    f, r = hl.Func("f"), hl.RDom([(1, 3)])
    f[x] = (hl.undef(hl.Int(32)), x * 2, hl.undef(hl.UInt(8)))
    f[r] = (f[r][0] + f[r - 1][1], f[r][1], f[r - 1][2] + hl.u8(1))
    if wide:
        f.vectorize(x, 4)
    f.realize([hl.Buffer(first), hl.Buffer(second), hl.Buffer(third)])
    assert first.tolist() == [7, 7, 9, 11, 7, 7]
    assert second.tolist() == [0, 2, 4, 6, 8, 10]
    assert third.tolist() == [9, 10, 11, 12, 9, 9]


def test_a_producer_with_an_undefined_component_has_the_values_of_the_others() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x] = (x * 2, hl.undef(hl.Int(32)))
    g[x] = f[x][0] + 1
    h[x] = f[x][0] + 1 + f[x][1]
    for root in (False, True):
        if root:
            f.compute_root().vectorize(x, 4)
        assert list(g.realize([4])) == [1, 3, 5, 7]
        array = np.full(4, 7, np.int32)
        h.realize(hl.Buffer(array))
        assert array.tolist() == ([1, 3, 5, 7] if root else [7, 7, 7, 7])  # in storage, what is not there is 0


@pytest.mark.parametrize("root", [False, True])
def test_a_producer_defined_as_undef_has_the_values_of_its_updates(root: bool) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.undef(hl.Int(32))
    f[x] = x * 2
    g[x] = f[x] + 1
    if root:
        f.compute_root().vectorize(x, 4)
    assert list(g.realize([4])) == [1, 3, 5, 7]


UNDEFINED: dict[str, tuple[Any, Any]] = {  # the value, and what is there then over an array of sevens; None for 7
    "a branch": (lambda u: hl.select(x > 2, x, u), [None, None, None, 3, 4, 5]),
    "the other branch": (lambda u: hl.select(x > 2, u, x), [0, 1, 2, None, None, None]),
    "a branch within": (lambda u: hl.select(x > 4, 1, x > 2, u, 9), [9, 9, 9, None, None, 1]),
    "branches of branches": (lambda u: hl.select(x > 1, hl.select(x > 3, u, 1), u), [None, None, 1, 1, None, None]),
    "of an operation": (lambda u: hl.select(x > 2, x, u) * 2 + 1, [None, None, None, 7, 9, 11]),
    "an operand": (lambda u: hl.min(u, 3) + x, [None] * 6),
    "the condition": (lambda u: hl.select(u > 3, x, 2), [None] * 6),
    "an index": (lambda u: hl.Buffer(np.arange(4, dtype=np.int32))[hl.clamp(u, 0, 3)], [None] * 6),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_calculated_with_undef_is_kept(name: str, wide: bool) -> None:
    value, there = UNDEFINED[name]
    for update in (False, True):
        f = hl.Func("f")
        if update:
            f[x] = 7
        f[x] = value(hl.undef(hl.Int(32)))
        if wide:
            (f.update() if update else f).vectorize(x, 4)
        array = np.full(6, 7, np.int32)
        f.realize(hl.Buffer(array))
        assert array.tolist() == [7 if v is None else v for v in there]


def test_a_producer_that_is_undefined_in_part_is_0_there() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.select(x > 2, x, hl.undef(hl.Int(32)))
    g[x] = f[x] + 1
    f.compute_root().vectorize(x, 4)
    assert list(g.realize([5])) == [1, 1, 1, 4, 5]
    h = hl.Func("h")
    with pytest.raises(hl.HalideError, match="Conditionally-undef values in a Tuple should have the same conditions"):
        h[x] = (x, hl.select(x > 2, x, hl.undef(hl.Int(32))))


def test_an_inner_condition_may_read_what_another_function_says() -> None:
    m, f = hl.Func("m"), hl.Func("f")
    m[x] = x % 3
    f[x] = hl.select(m.in_()[x] == 1, m[x] + 10, hl.undef(hl.Int(32)))
    m.in_().compute_root()
    array = np.full(6, 7, np.int32)
    f.realize(hl.Buffer(array))
    assert array.tolist() == [7, 11, 7, 7, 11, 7]


def test_promised_extents_are_constants_of_loops() -> None:
    im, f = hl.ImageParam(hl.UInt(8), 3), hl.Func("f")
    im.dim(0).set_stride(3).dim(2).set_stride(1).set_bounds(0, 3)
    f[x, y, c] = im[x, y, c] + 1
    f.output_buffer().dim(0).set_stride(3).dim(2).set_stride(1).set_bounds(0, 3)
    f.reorder(c, x, y).unroll(c).vectorize(x, 4)
    array = hl.Buffer.make_interleaved(hl.UInt(8), 5, 4, 3)
    array.fill(4)
    im.set(array)
    out = hl.Buffer.make_interleaved(hl.UInt(8), 5, 4, 3)
    f.realize(out)
    assert out.all_equal(5)
    with pytest.raises(BufferError, match=r"output f.* has stride 4 in dimension 0, where 3 was promised"):
        f.realize(hl.Buffer.make_interleaved(hl.UInt(8), 5, 4, 4))
    g = hl.Func("g")
    g[x] = x
    g.output_buffer().dim(0).set_extent(4)
    g.unroll(x)
    assert list(g.realize([4])) == [0, 1, 2, 3]
    with pytest.raises(BufferError, match=r"output g.* has extent 5 in dimension 0, where 4 was promised"):
        g.realize([5])


@pytest.mark.parametrize("stored", [False, True])
def test_a_function_may_be_computed_outside_the_loops_of_each_stage(stored: bool) -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    g[x, y] = x * y
    f[x, y] = g[x, y] + g[x + 1, y]
    f[x, 0] += g[x, 3]
    h[x, y] = f[x, y] - f[x, y + 1]
    before = expected(h, [6, 5])
    f.compute_at(h, y)
    g.compute_at(f, hl.Var.outermost())
    if stored:
        g.store_at(h, y)
    assert all(map(same, before, computed(h, [6, 5])))
    assert "for g.s0.x" in h.lowered()


def test_the_outermost_loop_of_a_function_that_has_none_is_refused() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    g[x] = x
    f[x] = g[x]
    h[x] = f[x]
    g.compute_at(f, hl.Var.outermost())
    with pytest.raises(ScheduleError, match="g is computed at f, __outermost, but f has no such loop"):
        h.realize([4])


def test_every_use_of_an_unscheduled_reduction_has_bounds_of_its_own() -> None:
    f, g, h, t = hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.Func("t")
    r = hl.RDom([(0, 3)])
    g[x] = x * x + 1
    h[x] = 0
    h[x] += g[x + r]
    f[()] = h[2] + g[1]
    f[()] += h[5] * h[7]
    t[x] = f[()] * x
    before = expected(t, [3])
    g.compute_at(t, x)
    f.compute_at(t, x)
    assert all(map(same, before, computed(t, [3])))
