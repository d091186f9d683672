"""What a pipeline reads of its inputs, inferred for an output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError

x, y = hl.Var("x"), hl.Var("y")


def boxes(*images: hl.ImageParam) -> list[list[tuple[int, int]]]:
    return [[(i.get().min(d), i.get().extent(d)) for d in range(i.dimensions())] for i in images]


def test_each_image_becomes_just_what_is_read() -> None:
    a, b, n = hl.ImageParam(hl.UInt(8), 2, "a"), hl.ImageParam(hl.Float(32), 1, "b"), hl.Param(hl.Int(32), "n", 3)
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = hl.i32(a[x - 1, y]) + hl.i32(a[x + 2, y * 2])
    f[x, y] = g[x, y] + g[x, y + n] + hl.i32(b[y])
    g.compute_root()
    f.infer_input_bounds([10, 20])
    assert boxes(a, b) == [[(-1, 13), (0, 45)], [(0, 20)]]
    a.reset()
    out = hl.Buffer(hl.Int(32), [4, 5])
    out.set_min(100, -7)
    hl.Pipeline(f).infer_input_bounds(out)
    assert boxes(a, b) == [[(99, 7), (-14, 15)], [(0, 20)]]
    with pytest.raises(BufferError, match="b is read from -7 to -3"):
        f.realize(out)
    b.reset()
    f.infer_input_bounds([out])
    f.realize(out)
    assert not np.asarray(out).any()


def test_what_cannot_be_inferred_is_said() -> None:
    a, f, n = hl.ImageParam(hl.UInt(8), 1, "a"), hl.Func("f"), hl.Param(hl.Int(32), "n")
    f[x] = a[x * (a.width() + 1)] + hl.u8(n)
    with pytest.raises(BufferError, match="parameter n has no value"):
        f.infer_input_bounds([3])
    n.set(1)
    with pytest.raises(AlgorithmError, match="the box of a changes with every pass"):
        f.infer_input_bounds([3])
    with pytest.raises(BufferError, match="takes 1 sizes"):
        f.infer_input_bounds([3, 4])


def test_an_input_too_large_to_be_had_is_named() -> None:
    a, f = hl.ImageParam(hl.Float(32), 2, "a"), hl.Func("f")
    f[x, y] = a[x * 1000000, y * 1000000]
    with pytest.raises(MemoryError, match=r"^a of sizes \[999000001, 999000001\]: "):
        f.infer_input_bounds([1000, 1000])


def clamped(api: Any) -> tuple[Any, list[Any]]:
    image, f = api.ImageParam(api.UInt(8), 1), api.Func()
    f[api.Var("x")] = image[api.min(api.Var("x"), image.width() - 1)]
    return f, [image]


def interleaved(api: Any) -> tuple[Any, list[Any]]:
    image, f, c = api.ImageParam(api.UInt(8), 2), api.Func(), api.Var("c")
    image.dim(1).set_bounds(-1, 3).set_stride(1)
    image.dim(0).set_stride(3)
    f[api.Var("x"), c] = image[api.Var("x") + 1, c - 1]
    return f, [image]


def one_from_another(api: Any) -> tuple[Any, list[Any]]:
    first, second, f = api.ImageParam(api.UInt(8), 1), api.ImageParam(api.UInt(8), 1), api.Func()
    second.dim(0).set_min(first.dim(0).min() - 2).set_extent(first.dim(0).extent() + 4)
    f[api.Var("x"), api.Var("y")] = first[api.Var("x") + 3] + second[api.Var("x") + 4]
    return f, [first, second]


def specialized_by_stride(api: Any) -> tuple[Any, list[Any]]:
    image, f, x = api.ImageParam(api.UInt(8), 1), api.Func(), api.Var("x")
    image.dim(0).set_stride(api.Expr())
    f[x] = image[x]
    f.specialize((image.dim(0).stride() == 1) & (image.width() >= 8)).vectorize(x, 8)
    return f, [image]


def chosen_by_stride(api: Any) -> tuple[Any, list[Any]]:
    first, second, f = api.ImageParam(api.UInt(8), 1), api.ImageParam(api.UInt(8), 1), api.Func()
    first.dim(0).set_stride(api.Expr())
    second.dim(0).set_stride(2)
    f[api.Var("x")] = first[api.Var("x")] + second[api.Var("x")]
    for step in (1, 2):
        f.specialize(first.dim(0).stride() + second.dim(0).stride() == step + 2)
    f.specialize_fail("other strides")
    return f, [first, second]


@pytest.mark.parametrize("make", [clamped, interleaved, one_from_another, specialized_by_stride, chosen_by_stride])
@pytest.mark.parametrize("size", [1, 3])
def test_boxes_that_depend_on_promises_are_those_of_halide(make: Any, size: int) -> None:
    halide = pytest.importorskip("halide")
    told = []
    for api in (hl, halide):
        f, images = make(api)
        f.infer_input_bounds([size, 3][: f.dimensions()])
        dims = [[image.get().dim(d) for d in range(image.dimensions())] for image in images]
        told.append([[(d.min(), d.extent(), d.stride()) for d in each] for each in dims])
    assert told[0] == told[1]


@pytest.mark.parametrize("lanes", [0, 4, 8])
@pytest.mark.parametrize(("limit", "step", "start"), [(22, 1, 7), (21, 1, 9), (20, 1, 7), (22, 1, 23)])
def test_a_query_becomes_what_is_promised_of_the_output(lanes: int, limit: int, step: int, start: int) -> None:
    halide = pytest.importorskip("halide")
    told = []
    for api in (hl, halide):
        v, f, image = api.Var("v"), api.Func(), api.ImageParam(api.Int(32), 1)
        f[v] = image[v]
        f[v] += 3
        if lanes:
            f.update().vectorize(v, lanes)
        extent = f.output_buffer().dim(0).extent()
        f.output_buffer().dim(0).set_bounds(0, api.select(extent < limit, extent + step, extent))
        query = api.Buffer.make_bounds_query(api.Int(32), [start])
        query.set_min([2])
        f.infer_input_bounds(query)
        told.append([(b.dim(0).min(), b.dim(0).extent(), b.dim(0).stride()) for b in (query, image.get())])
    assert told[0] == told[1]


def test_a_promise_that_leaves_out_what_is_needed_is_refused() -> None:
    a, f = hl.ImageParam(hl.UInt(8), 1, "a"), hl.Func("f")
    a.dim(0).set_extent(3)
    f[x] = a[x]
    with pytest.raises(BufferError, match=r"constraints on a .* smaller in dimension 0. Required size: 0 to 4. Constr"):
        f.infer_input_bounds([5])
    f.infer_input_bounds([3])
    assert boxes(a) == [[(0, 3)]]


def test_callables_answer_queries_and_compute_nothing() -> None:
    a, n, f = hl.ImageParam(hl.UInt(8), 2, "a"), hl.Param(hl.Int(32), "n"), hl.Func("f")
    f[x, y] = a[x + n, y]
    f.output_buffer().dim(0).set_extent(8)
    call = f.compile_to_callable([a, n])
    source, out = hl.Buffer.make_bounds_query(hl.UInt(8), [1, 1]), hl.Buffer.make_bounds_query(hl.UInt(8), [6, 2])
    call(source, 3, out)
    assert [(b.dim(0).min(), b.dim(0).extent(), b.dim(1).stride()) for b in (source, out)] == [(3, 8, 8), (0, 8, 8)]
    whole = np.full((2, 8), 7, np.uint8)
    call(source, n=-1, f=whole)
    assert source.dim(0).min() == -1
    assert (whole == 7).all()
    call(np.arange(32, dtype=np.uint8).reshape(2, 16), 2, whole)
    assert whole.tolist() == [list(range(2, 10)), list(range(18, 26))]


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((0, 1, 2), {}, "Expected at most 2 positional arguments, but saw 3"),
        ((0,), {}, "Expected exactly 2 positional arguments, but saw 1"),
        ((), {"a": 0, "b": 1}, "Unknown argument 'b' specified via keyword"),
        ((), {"f": 1}, "Argument a was not specified by either positional or keyword argument"),
        ((0,), {"a": 0, "f": 1}, "Argument a specified multiple times"),
        (("text", 1), {}, "is not an instance of"),
    ],
)
def test_arguments_that_do_not_fit_are_told_as_halide_does(given: Any, named: Any, message: str) -> None:
    a, f = hl.ImageParam(hl.UInt(8), 1, "a"), hl.Func("f")
    f[x] = a[x]
    arrays = [np.zeros(3, np.uint8)] * 3
    given = [arrays[one] if isinstance(one, int) else one for one in given]
    with pytest.raises(hl.HalideError, match=message):
        f.compile_to_callable([a])(*given, **{name: arrays[one] for name, one in named.items()})
