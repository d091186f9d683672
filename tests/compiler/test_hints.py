"""Directives that never change values, loops that are renamed, and races that are allowed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, ScheduleError, TypeMismatch

x, y, z, xo, xi = hl.vars("x y z xo xi")


def pipeline() -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * 3 + y
    f[x, y] += 1
    g[x, y] = f[x, y] + f[x + 1, y]
    g.split(x, xo, xi, 8)
    f.compute_at(g, xo)
    return f, g


HINTS: list[Callable[[Any, Any], Any]] = [
    lambda f, g: f.store_in(hl.MemoryType.Stack),
    lambda f, g: f.store_in(hl.MemoryType.Register).bound_storage(x, 22),
    lambda f, g: f.memoize(),
    lambda f, g: f.memoize(hl.EvictionKey(3)).add_trace_tag("f"),
    lambda f, g: f.partition(x, hl.Partition.Never).always_partition([x, y]).never_partition(x, y),
    lambda f, g: f.update().partition(y, hl.Partition.Never).unscheduled(),
    lambda f, g: g.prefetch(f, xi, xo, 2, hl.PrefetchBoundStrategy.NonFaulting),
]


@pytest.mark.parametrize("hint", HINTS)
def test_hints_change_nothing(hint: Callable[[Any, Any], Any]) -> None:
    f, g = pipeline()
    hint(f, g)
    a, b = np.mgrid[:3, :21]
    assert np.array_equal(np.array(g.realize([21, 3])), 6 * b + 2 * a + 5)


def always(api: Any, schedule: Callable[[Any, Any, Any], Any], value: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """The values of a function whose loops are to be partitioned."""
    i, j, f = api.Var("i"), api.Var("j"), api.Func("f")
    f[i, j] = value(api, i, j)
    schedule(api, f, i)
    return np.array(f.realize([13, 3])).tolist()


def bordered(api: Any, i: Any, j: Any) -> Any:
    return api.BoundaryConditions.repeat_edge(api.Buffer(np.arange(8, dtype=np.int32)))[i - 2] + j


def a_tail(api: Any, f: Any, i: Any) -> None:
    f.split(i, api.Var("o"), api.Var("n"), 4, api.TailStrategy.GuardWithIf)
    f.partition(api.Var("o"), api.Partition.Always)


PARTITIONED = {
    "borders": (lambda api, f, i: f.always_partition([i]), bordered),
    "a tail": (a_tail, None),
    "vectors": (lambda api, f, i: f.vectorize(i, 8).partition(i, api.Partition.Always), None),
    "no more": (lambda api, f, i: f.always_partition_all().never_partition_all(), None),
    "no other": (lambda api, f, i: f.always_partition_all().never_partition([api.Var("j")]), bordered),
}
UNGUARDED = {
    "a loop": (lambda api, f, i: f.partition(i, api.Partition.Always), "i"),
    "in parallel": (lambda api, f, i: f.parallel(i).always_partition([i]), "i"),
    "all": (lambda api, f, i: f.always_partition_all(), "[ij]"),
    "of a case": (lambda api, f, i: f.specialize(f.output_buffer().width() > 20).always_partition([i]), "i"),
}


def tail(strategy: str, loop: str, reduction: bool = False) -> Callable[[Any, Any, Any], None]:
    """A split of the pure loop over `i`, or of one over a reduction variable; one of its loops is to be partitioned."""

    def schedule(api: Any, f: Any, i: Any) -> None:
        o, n = (api.RVar("o"), api.RVar("n")) if reduction else (api.Var("o"), api.Var("n"))
        stage, old = f, i
        if reduction:
            r = api.RDom([(0, 10)], "r")
            f[i, api.Var("j")] += r.x
            stage, old = f.update(), r.x
        stage.split(old, o, n, 4, getattr(api.TailStrategy, strategy))
        stage.partition({"o": o, "n": n, "j": api.Var("j")}[loop], api.Partition.Always)

    return schedule


_GUARDED = ["GuardWithIf", "Predicate", "PredicateStores", "RoundUpAndBlend", "ShiftInwardsAndBlend"]
_TAILS: dict[tuple[Any, ...], bool] = {
    **{(name, "o"): True for name in _GUARDED},
    **{(name, "o"): False for name in ("Auto", "ShiftInwards", "RoundUp")},
    ("GuardWithIf", "n"): False,
    ("GuardWithIf", "j"): False,
    ("Auto", "o", True): True,
    ("Auto", "n", True): False,
}
"""Whether a loop is partitioned."""


@pytest.mark.parametrize("given", _TAILS, ids=str)
def test_tails_are_partitioned_where_they_are_guarded(given: tuple[Any, ...]) -> None:
    for api in (hl, pytest.importorskip("halide")):
        with nullcontext() if _TAILS[given] else pytest.raises(api.HalideError, match="no loop partitioning"):
            always(api, tail(*given), lambda api, i, j: i * 3 + j)


def held(api: Any) -> Any:
    return api.Buffer(np.arange(64, dtype=np.int32))


_CHOICES: dict[str, tuple[Callable[[Any, Any, Any], Any], bool]] = {
    "by the loop": (lambda api, i, j: api.select(i < 3, api.likely(j), 5), True),
    "by another": (lambda api, i, j: api.select(j < 3, api.likely(i), 5), False),
    "of a remainder": (lambda api, i, j: i % 3 + api.abs(i - 2), False),
    "by a half": (lambda api, i, j: api.select(i // 2 > 3, api.likely(j), 5), True),
    "by a shift": (lambda api, i, j: api.select((i >> 1) > 3, api.likely(j), 5), True),
    "by bits": (lambda api, i, j: api.select((i & 2) == 0, api.likely(j), 5), False),
    "by a remainder": (lambda api, i, j: api.select(i % 2 == 0, api.likely(j), 5), False),
    "by a square": (lambda api, i, j: api.select(i * i > 30, api.likely(j), 5), False),
    "by a product": (lambda api, i, j: api.select(i * j > 3, api.likely(i), 5), False),
    "by a float": (lambda api, i, j: api.select(api.f32(i) > 2.5, api.likely(j), 5), False),
    "by another type": (lambda api, i, j: api.select(api.i16(i) > 3, api.likely(j), 5), False),
    "by a distance": (lambda api, i, j: api.select(api.abs(i - 4) < 3, api.likely(j), 5), False),
    "by data": (lambda api, i, j: api.select(held(api)[i] > 3, api.likely(j), 5), False),
    "of data": (lambda api, i, j: api.clamp(api.likely(held(api)[i]), 2, 9), False),
}


@pytest.mark.parametrize("name", _CHOICES)
def test_choices_are_taken_out_of_the_loop_that_decides_them(name: str) -> None:
    value, taken = _CHOICES[name]
    for api in (hl, pytest.importorskip("halide")):
        with nullcontext() if taken else pytest.raises(api.HalideError, match="no loop partitioning"):
            always(api, lambda api, f, i: f.partition(i, api.Partition.Always), value)


@pytest.mark.parametrize("name", PARTITIONED)
def test_loops_with_guards_or_clamps_may_have_to_be_partitioned(name: str) -> None:
    schedule, value = PARTITIONED[name]
    plain = value or (lambda api, i, j: i * 3 + j)
    assert always(hl, schedule, plain) == always(pytest.importorskip("halide"), schedule, plain)


@pytest.mark.parametrize("name", UNGUARDED)
def test_a_loop_without_guards_or_clamps_is_not_partitioned(name: str) -> None:
    schedule, loop = UNGUARDED[name]
    halide, told = pytest.importorskip("halide"), "Partition Policy is set to Always for f"
    for api in (hl, halide):
        with pytest.raises(api.HalideError, match=told) as error:
            always(api, schedule, lambda api, i, j: i * 3 + j)
    assert "no loop partitioning was performed" in str(error.value)
    with pytest.raises(ScheduleError, match=rf"{told}(\$\d+)?\.s0\.{loop}, but"):
        always(hl, schedule, lambda api, i, j: i * 3 + j)


@pytest.mark.parametrize(
    ("hint", "error", "message"),
    [
        (lambda f: f.store_in(hl.MemoryType.GPUShared), NotImplementedError, "memory of devices"),
        (lambda f: f.store_in("stack"), TypeMismatch, "takes a MemoryType"),
        (lambda f: f.bound_storage(z, 3), ScheduleError, r"bound_storage\(z\): f has no such pure variable"),
        (lambda f: f.partition(z, hl.Partition.Never), ScheduleError, r"f: partition\(z\): the stage has no such loop"),
        (lambda f: f.partition(x, True), TypeMismatch, "partition takes a Partition, not True"),
        (lambda f: f.never_partition([z]), ScheduleError, r"f: partition\(z\): the stage has no such loop"),
        (lambda f: f.rename(z, y), ScheduleError, r"f: rename: split\(z\): the stage has no such loop"),
        (lambda f: f.rename(x, y), ScheduleError, "the name y is taken"),
    ],
)
def test_hints_are_checked(hint: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    f, _ = pipeline()
    with pytest.raises(error, match=message):
        hint(f)


def test_storage_of_an_image_is_where_it_is() -> None:
    image = hl.ImageParam(hl.Int(32), 1)
    assert image.store_in(hl.MemoryType.Heap) is image
    with pytest.raises(NotImplementedError, match="memory of devices"):
        image.store_in(hl.MemoryType.GPUTexture)


def test_renamed_loops_are_scheduled_and_factored_by_their_new_names() -> None:
    f, r, q, u = hl.Func("f"), hl.RDom([(0, 10), (0, 7)], "r"), hl.RVar("q"), hl.Var("u")
    f[x] = x
    f[x] += r.x * r.y + x
    f.rename(x, z).vectorize(z, 4)
    f.update().rename(r.y, q)
    f.update().rfactor(q, u).compute_root().update().parallel(u)
    assert np.array(f.realize([9])).tolist() == [45 * 21 + 71 * i for i in range(9)]
    with pytest.raises(ScheduleError, match=r"f: vectorize: split\(x\): the stage has no such loop; it has z,"):
        f.vectorize(x, 4)


@pytest.mark.parametrize("run", ["parallel", "vectorize"])
def test_where_races_are_allowed_the_loop_keeps_its_order(run: str) -> None:
    place = hl.Buffer(np.array([3, 1, 3, 0, 1, 3, 3, 1], np.int32))
    f, r = hl.Func("f"), hl.RDom([(0, 8)], "r")
    f[x] = -1
    f[hl.clamp(place[r.x], 0, 3)] = r.x * 10
    stage = f.update()
    with pytest.raises(ScheduleError, match="update the same points"):
        getattr(stage, run)(r.x, 4)
    getattr(stage.allow_race_conditions(), run)(r.x, 4)
    assert np.array(f.realize([4])).tolist() == [30, 70, -1, 60]


def test_a_buffer_is_named_until_expressions_hold_its_name() -> None:
    b = hl.Buffer(hl.Int(32), [4], "before")
    b.set_name("after")
    assert b.name() == "after"
    f = hl.Func("f")
    f[x] = b[x] + 1
    with pytest.raises(AlgorithmError, match="refer to it by that name"):
        b.set_name("later")
    assert np.array(f.realize([4])).tolist() == [1] * 4


def test_an_undefined_expression_leaves_out() -> None:
    nothing = hl.Expr()
    assert not nothing.defined()
    assert hl.Expr(3).defined()
    with pytest.raises(AlgorithmError, match="no expression yet"):
        nothing + 1
    image, f = hl.ImageParam(hl.UInt(8), 1), hl.Func("f")
    f[x] = image[x]
    image.set(np.arange(8, dtype=np.uint8)[::2])
    image.dim(0).set_stride(1)
    with pytest.raises(ValueError, match="stride 2 in dimension 0, where 1 was promised"):
        f.realize([4])
    image.dim(0).set_stride(nothing)
    assert np.array(f.realize([4])).tolist() == [0, 2, 4, 6]


def test_a_dimension_with_undefined_bounds_has_no_boundary() -> None:
    image = hl.Buffer(np.arange(6, dtype=np.int32).reshape(2, 3))
    padded = hl.BoundaryConditions.constant_exterior(image, 9, [(hl.Expr(), hl.Expr()), (0, 2)])
    out = hl.Buffer(hl.Int(32), [3, 4])
    out.set_min([0, -1])
    padded.realize(out)
    assert np.array(out).tolist() == [[9] * 3, [0, 1, 2], [3, 4, 5], [9] * 3]
    with pytest.raises(ValueError, match="it holds 0 to 2"):
        padded.realize([4, 2])


def test_a_bounds_query_has_a_box_and_no_memory() -> None:
    query = hl.Buffer.make_bounds_query(hl.Float(32), [1 << 20, 1 << 20])
    query.set_min([2, 5])
    image, f = hl.ImageParam(hl.Float(32), 2), hl.Func("f")
    f[x, y] = image[x - 1, 3] + image[x + 2, 3]
    f.infer_input_bounds(query)
    box = [(image.get().dim(d).min(), image.get().dim(d).extent()) for d in range(2)]
    assert box == [(1, (1 << 20) + 3), (3, 1)]
    f.realize(query)  # asks again, and computes nothing
    assert [(query.dim(d).min(), query.dim(d).extent()) for d in range(2)] == [(2, 1 << 20), (5, 1 << 20)]


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("hl.select(x > 0, hl.u8(1), 2)", "uint8"),
        ("hl.select(x > 0, 2, hl.u8(1))", "uint8"),
        ("hl.select(x > 0, hl.i8(1), 2)", "int32"),
        ("hl.select(x > 0, 2, hl.i8(1))", "int8"),
        ("hl.select(x > 0, hl.f32(1), 2)", "float32"),
    ],
)
def test_of_two_constants_a_signed_one_takes_the_type_of_the_other(text: str, type_: str) -> None:
    assert str(eval(text, {"hl": hl, "x": x}).type()) == type_
    halide = pytest.importorskip("halide")
    assert str(eval(text, {"hl": halide, "x": halide.Var("x")}).type()) == type_
