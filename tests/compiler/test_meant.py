"""What a program for Halide's bindings means, and what means nothing and is refused as Halide refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError, ScheduleError, TargetError, TypeMismatch

x, y, xo, xi = hl.Var("x"), hl.Var("y"), hl.Var("xo"), hl.Var("xi")


def test_a_function_starts_at_an_index_that_is_no_i32() -> None:
    a = hl.Buffer(np.arange(100).reshape(10, 10).astype(np.uint8) % 7)
    r = hl.RDom(a)
    h = hl.Func("h")
    h[a[r.x, r.y]] += 1
    assert np.asarray(h.realize([7])).tolist() == [15, 15, 14, 14, 14, 14, 14]
    g = hl.Func("g")
    started = g[hl.u8(x)] + 1
    with pytest.raises(AlgorithmError, match="at a different location"):
        g[hl.i8(x)] = started


def _split_by(parameter: int, extent: int) -> list[int]:
    f, g, n = hl.Func("f"), hl.Func("g"), hl.Param(hl.Int(32), "n")
    f[x] = x
    g[x] = f[x] + f[x + 2]
    g.split(x, xo, xi, n)
    f.compute_at(g, xo).bound_extent(x, extent)
    n.set(parameter)
    return [int(v) for v in np.asarray(g.realize([20]))]


@pytest.mark.parametrize(("parameter", "extent"), [(1, 3), (6, 8), (100, 22)])
def test_a_bound_holds_what_an_iteration_of_a_loop_split_by_a_parameter_needs(parameter: int, extent: int) -> None:
    assert _split_by(parameter, extent) == [2 * i + 2 for i in range(20)]
    with pytest.raises(BufferError, match=rf"from 0 to {extent - 2}\) .* required region \(from 0 to {extent - 1}\)"):
        _split_by(parameter, extent - 1)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_magnitude_is_at_most_that_of_the_least_number(bits: int) -> None:
    table, data = hl.ImageParam(hl.Int(32), 1, "table"), hl.ImageParam(hl.Int(bits), 1, "data")
    for value, most in ((data[x], 1 << (bits - 1)), (hl.clamp(data[x], -100, 7), 100), (hl.clamp(data[x], 3, 7), 7)):
        f = hl.Func()
        f[x] = table[hl.i32(hl.abs(value))]
        table.reset()
        data.reset()
        f.infer_input_bounds([4])
        assert table.get().dim(0).max() == most
        assert table.get().dim(0).min() == (3 if most == 7 else 0)


def test_a_signed_constant_is_interpolated_in_the_type_of_the_other() -> None:
    types = [
        str(hl.lerp(a, b, 0.5).type())
        for a, b in ((0, hl.u32(9)), (hl.u32(9), 0), (1, 2.5), (hl.i16(1), 2.5), (3, hl.f64(x)), (1, 2))
    ]
    assert types == ["uint32", "uint32", "float32", "float32", "float64", "int32"]
    f = hl.Func()
    f[x] = hl.lerp(0, hl.u32(10), 0.5)
    assert np.asarray(f.realize([1])).tolist() == [5]
    for a, b, weight in ((hl.u16(0), hl.u8(1), 0.5), (hl.u8(0), hl.u16(1), 0.5), (1.5, hl.f64(3), 0.5)):
        with pytest.raises(TypeMismatch, match="numbers of one type"):
            hl.lerp(a, b, weight)
    for weight in (1.5, -0.5):
        with pytest.raises(TypeMismatch, match=r"not in the range \[0.0, 1.0\]"):
            hl.lerp(hl.u8(x), hl.u8(x), weight)
    assert str(hl.lerp(hl.f32(x), 2.0, 1.5).type()) == "float32"


def _outputs(over: Callable[[Any], Any], height: int = 4) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x, y] = f[x] + y
    pipeline = hl.Pipeline(g)
    pipeline.add_requirement(over(g.output_buffer()), "told", g.output_buffer().height())
    pipeline.realize([3, height])


def test_a_requirement_is_of_the_boxes_of_outputs_too() -> None:
    for over in (lambda o: o.dim(0).stride() == 1, lambda o: o.height() % 4 == 0, lambda o: o.dim(1).min() == 0):
        _outputs(over)
    with pytest.raises(BufferError, match="told 5"):
        _outputs(lambda o: o.height() % 4 == 0, 5)
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x]
    with pytest.raises(AlgorithmError, match="made of parameters and the boxes of images and outputs"):
        hl.Pipeline(g).add_requirement(f.output_buffer().width() > 3)


def _undefined_level() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x]
    level = hl.LoopLevel()
    f.compute_at(level)
    level.set(hl.LoopLevel.inlined())
    assert np.asarray(g.realize([2])).tolist() == [0, 1]
    f.compute_at(hl.LoopLevel())
    g.realize([2])


def _memoized() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y]
    f.compute_at(g, y).memoize()
    g.realize([2, 2])
    f.store_root()
    g.realize([2, 2])


def _two_keys() -> None:
    f = hl.Func("f")
    f[x] = x
    f.memoize().memoize(hl.EvictionKey(3)).memoize(hl.EvictionKey(4))


def _shared_wrapper() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x] = x
    g[x] = f[x]
    h[x] = f[x]
    assert f.in_([g, h]).name() == f.in_([h, g]).name()
    f.in_(g)


def _wrapped_where_it_is_not_called() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x] = x
    g[x] = 5
    h[x] = f[x] + g[x]
    f.in_(h).compute_root()
    assert np.asarray(h.realize([2])).tolist() == [5, 6]
    f.in_(g).compute_root()
    h.realize([2])


def _second_of_a_tuple() -> None:
    f = hl.Func("f")
    f[x] = (x, x)
    first, second = f.output_buffers()
    first.dim(0).set_min(0)
    second.dim(0).set_stride(1)
    second.dim(0).set_min(0)


def _growing() -> None:
    a, f, g, r = hl.ImageParam(hl.Int(32), 2), hl.Func("f"), hl.Func("g"), hl.RDom([(0, 10)])
    f[x, y] = a[x, y]
    f[r.x, y] = f[r.x, y - 1] + f[r.x, y + 1]
    g[x, y] = f[x, y]
    g.infer_input_bounds([10, 10])


def _update_of_another_type() -> None:
    f = hl.Func("f")
    f[x] = hl.f32(0)
    f[x] = 1
    f[x] = hl.u8(0)


@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        (_undefined_level, ScheduleError, "no undefined LoopLevels"),
        (_memoized, ScheduleError, "f cannot be memoized because it has compute and storage scheduled at different"),
        (_two_keys, ScheduleError, "Can't redefine memoize eviction key of f"),
        (_shared_wrapper, ScheduleError, r"shared wrapper \[f -> f_wrapper.*\] in g is illegal since h shares"),
        (_wrapped_where_it_is_not_called, ScheduleError, 'Cannot wrap "f" in "g" because "g" does not call "f"'),
        (_second_of_a_tuple, ScheduleError, "Can't constrain the min of an output buffer beyond the first of f"),
        (_growing, AlgorithmError, "f, update 0: the pure variable y is used"),
        (_update_of_another_type, TypeMismatch, "component 0 of f is f32, the update gives u8"),
        (lambda: hl.Target().natural_vector_size(hl.Int(32)), TargetError, "a Target with Unknown values"),
    ],
)
def test_what_means_nothing_is_refused(program: Callable[[], Any], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        program()


@pytest.mark.parametrize("factor", [6, 8])
def test_a_guarded_loop_reads_no_more_of_a_quotient_than_its_last_iteration(factor: int) -> None:
    table = hl.ImageParam(hl.Int(32), 1, "table")
    for index, least, most in (
        (x // 2, 0, 48),
        ((x + 1) // 2, 0, 49),
        (100 - x // 2, 52, 100),
        (x // 2 + x // 4, 0, 72),
        (x // 2 - x // 6, -16, 48),
        (2 * x - x // 2, -48, 194),
    ):
        f = hl.Func()
        f[x] = table[index]
        f.split(x, xo, xi, factor, hl.TailStrategy.GuardWithIf).vectorize(xi)
        table.reset()
        f.infer_input_bounds([98])
        box = table.get().dim(0)
        assert (max(box.min(), least), min(box.max(), most)) == (box.min(), box.max())
        values = np.arange(box.max() - box.min() + 1, dtype=np.int32) * 7
        held = hl.Buffer(values)
        held.set_min([box.min()])
        table.set(held)
        g = hl.Func()
        g[x] = index
        at = np.asarray(g.realize([98]))
        assert at.min() >= box.min()
        assert at.max() <= box.max()
        assert (np.asarray(f.realize([98])) == values[at - box.min()]).all()
