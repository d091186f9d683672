"""Every kind of statement and of access gives what the nest means."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline, generate
from rfactor.errors import BufferError
from rfactor.ir.evaluate import held
from rfactor.ir.expr import Const, Expr, apply, cast, intrinsic, select
from rfactor.ir.loopnest import (
    Allocate,
    AnyLane,
    Assert,
    Broadcast,
    For,
    If,
    Let,
    Produce,
    Ramp,
    ScalarArgument,
    Stmt,
    block,
)
from rfactor.ir.types import BOOL, F32, F64, I32, I64, SCALARS, U8, Type
from rfactor.native.engine import host
from tests.codegen.reference import (
    add,
    check,
    i32,
    i64,
    load,
    pipeline,
    ramp,
    sink,
    source,
    store,
    times,
    var,
    wide,
)  # fmt: skip


def values(type: Type, count: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return held(type, rng.normal(size=count) if type.is_float else rng.integers(0, 256, count))


def serial(name: str, extent: Expr, body: Stmt, first: Expr | None = None) -> For:
    return For(name, i32(0) if first is None else first, extent, "serial", body)


def copy(type: Type, index: Expr, target: Expr, extent: int, **predicates: Expr) -> Any:
    """`b[target] = a[index]` for `extent` values of i."""
    value = load(type, "a", index, predicates.get("load"))
    body = store("b", target, value, predicates.get("store", Const(BOOL, True)))
    return pipeline(serial("i", i32(extent), body), source("a", type), sink("b", type))


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_dense_vectors_of_every_type(type: Type) -> None:
    at = ramp(times(wide("i"), 16))
    check(copy(type, at, at, 3), {"a": values(type, 48), "b": values(type, 48, 1)})


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_masked_gathered_and_scattered_vectors_of_every_type(type: Type) -> None:
    at = ramp(times(wide("i"), 16))
    far = ramp(times(wide("i"), 16 * 5), 5)
    mask = apply("<", at, Broadcast(i64(41), 16))
    data = {"a": values(type, 48), "b": values(type, 240, 1)}
    check(copy(type, at, at, 3, load=mask, store=mask), {"a": values(type, 41), "b": values(type, 41, 1)})
    check(copy(type, at, far, 3, load=mask), data)
    check(copy(type, far, at, 3, load=mask, store=mask), {"a": data["b"], "b": data["a"]})
    check(copy(type, far, at, 3), {"a": data["b"], "b": data["a"]})


@pytest.mark.parametrize("type", SCALARS, ids=str)
@pytest.mark.parametrize(("lanes", "masked", "gathered"), [(16, False, False), (128, False, True), (16, True, True)])
@pytest.mark.parametrize("stride", [5, -3, 0])
def test_vectors_of_any_stride_are_loaded_lane_by_lane(
    type: Type, lanes: int, masked: bool, gathered: bool, stride: int
) -> None:
    first = i64(max(0, -stride) * (lanes - 1))
    here = Ramp(add(wide("i"), first), wide("stride"), lanes)
    at = Ramp(times(wide("i"), lanes), i64(1), lanes)
    mask = apply("<", at, Broadcast(i64(2 * lanes - 3), lanes)) if masked else Const(BOOL, True)
    body = store("b", at, load(type, "a", here, mask if masked else None))
    whole = pipeline(serial("i", i32(2), body), source("a", type), ScalarArgument("stride", I32), sink("b", type))
    assert ("gather" in generate(whole, host())[0]) == gathered
    length = abs(stride) * (lanes - 1) + 2
    check(whole, {"a": values(type, length), "b": values(type, 2 * lanes, 1), "stride": stride})


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_what_all_lanes_share_is_loaded_once_where_any_lane_asks(type: Type) -> None:
    at, shared = ramp(times(wide("i"), 16)), Broadcast(wide("i"), 16)
    some = apply("<", at, Broadcast(i64(41), 16))  # in the last iteration none, where there is no element
    lowered = copy(type, shared, at, 4, load=some)
    assert "gather" not in generate(lowered, host())[0]
    check(lowered, {"a": values(type, 3), "b": values(type, 64, 1)})


@pytest.mark.parametrize("stride", [-3, -1, 0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("lanes", [2, 3, 8, 16, 64])
def test_strides_read_and_write_their_own_elements(stride: int, lanes: int) -> None:
    span = abs(stride) * (lanes - 1) + 1
    first = i64(span - 1 if stride < 0 else 0)
    odd, dense = Ramp(first, i64(stride), lanes), ramp(i64(0), 1, lanes)
    check(copy(I32, odd, dense, 1), {"a": values(I32, span), "b": values(I32, lanes, 1)})
    check(copy(U8, dense, odd, 1), {"a": values(U8, lanes), "b": values(U8, span, 1)})
    mask = apply("!=", apply("%", dense, Broadcast(i64(3), lanes)), Broadcast(i64(1), lanes))
    check(copy(I32, odd, odd, 1, load=mask, store=mask), {"a": values(I32, span), "b": values(I32, span, 1)})


def test_a_stride_that_is_known_only_at_run_time() -> None:
    at = Ramp(times(wide("i"), 3), var("s", I64), 8)
    body = serial("i", i32(4), store("b", ramp(times(wide("i"), 8), 1, 8), load(F32, "a", at)))
    lowered = pipeline(body, source("a", F32), ScalarArgument("s", I64), sink("b", F32))
    for stride in (0, 1, 4):
        check(lowered, {"a": values(F32, 40), "s": stride, "b": values(F32, 32)})


def test_one_condition_for_all_lanes_guards_the_whole_access() -> None:
    at = ramp(times(wide("i"), 16))
    inside = apply("<", var("i"), i32(2))
    data = {"a": values(I32, 32), "b": values(I32, 32, 1)}
    check(copy(I32, at, at, 4, load=inside, store=inside), data)
    check(copy(I32, at, at, 4, load=Broadcast(inside, 16), store=inside), data)
    one = times(wide("i"), 1)
    check(copy(I32, one, one, 4, load=inside, store=inside), {"a": values(I32, 2), "b": values(I32, 2, 1)})


def test_a_value_loaded_under_a_condition_is_zero_elsewhere() -> None:
    inside = apply("==", var("i"), i32(1))
    body = serial("i", i32(3), store("b", wide("i"), add(load(I32, "a", i64(0), inside), load(I32, "a", i64(0)))))
    check(pipeline(body, source("a", I32), sink("b", I32)), {"a": np.array([7], np.int32), "b": values(I32, 3)})


def test_lanes_of_one_address_are_stored_in_order() -> None:
    at = apply("//", ramp(i64(0), 1, 16), Broadcast(i64(4), 16))
    check(copy(I32, ramp(i64(0)), at, 1), {"a": values(I32, 16), "b": values(I32, 4)})
    check(copy(U8, ramp(i64(0)), at, 1), {"a": values(U8, 16), "b": values(U8, 4)})


@pytest.mark.parametrize("extent", [-5, 0, 1, 2, 100])
@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("first", [-3, 0, 2**31 - 200])
def test_loops_run_their_extent_and_not_at_all_below_one(extent: int, kind: Any, first: int) -> None:
    index = apply("-", wide("i"), i64(first))
    loop = For("i", var("first"), var("n"), kind, store("b", index, add(load(I32, "b", index), var("i"))))
    lowered = pipeline(loop, ScalarArgument("first", I32), ScalarArgument("n", I32), sink("b", I32))
    check(lowered, {"first": first, "n": extent, "b": values(I32, 100)})


def test_lets_shadow_and_are_restored() -> None:
    inner = Let("t", add(var("t"), i32(10)), store("b", wide("i"), var("t")))
    again = store("b", add(wide("i"), i64(4)), var("t"))
    body = serial("i", i32(4), Let("t", times(var("i"), 2), block(inner, again)))
    check(pipeline(body, sink("b", I32)), {"b": values(I32, 8)})


def test_branches_take_one_side() -> None:
    even = apply("==", apply("%", var("i"), i32(2)), i32(0))
    both = If(even, store("b", wide("i"), i32(1)), store("b", wide("i"), i32(2)))
    one = If(even, store("b", add(wide("i"), i64(8)), i32(3)))
    check(pipeline(serial("i", i32(8), block(both, one)), sink("b", I32)), {"b": values(I32, 16)})


@pytest.mark.parametrize("size", [i32(32), i32(100_000), var("n")], ids=["stack", "large", "heap"])
def test_allocations_live_for_their_body_and_nest(size: Expr) -> None:
    at = ramp(times(wide("i"), 16))
    fill = serial("i", i32(2), store("t", at, times2(load(I32, "a", at))))
    drain = serial("i", i32(2), store("b", at, load(I32, "t", at)))
    shadow = Allocate("t", I32, size, store("t", i64(0), i32(5)))
    body = serial("j", i32(3), Allocate("t", I32, size, Produce("t", block(fill, shadow, drain))))
    lowered = pipeline(body, source("a", I32), ScalarArgument("n", I32), sink("b", I32))
    check(lowered, {"a": values(I32, 32), "n": 32, "b": values(I32, 32, 1)})


def times2(expr: Expr) -> Expr:
    return apply("*", expr, Broadcast(i32(2), expr.type.lanes))


def test_an_allocation_of_no_or_negative_size_is_empty() -> None:
    body = Allocate("t", F64, var("n"), store("b", i64(0), i32(3)))
    lowered = pipeline(body, ScalarArgument("n", I32), sink("b", I32))
    for size in (0, -7):
        check(lowered, {"n": size, "b": values(I32, 1)})


def test_an_allocation_that_cannot_be_had_is_an_error() -> None:
    fill = serial("i", i32(50), store("t", wide("i"), cast(F64, var("i"))))
    body = block(fill, store("b", i64(0), cast(I32, load(F64, "t", wide("n")))))
    lowered = pipeline(Allocate("t", F64, var("size"), body),
                       ScalarArgument("size", I32), ScalarArgument("n", I32), sink("b", I32))  # fmt: skip
    executable, out = compile_pipeline(lowered), np.zeros(1, np.int32)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (15 << 30, hard))
    try:
        with pytest.raises(MemoryError, match="test: no memory"):
            executable({"size": 2**31 - 1, "n": 3, "b": out})
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert out[0] == 0
    executable({"size": 100, "n": 3, "b": out})
    assert out[0] == 3


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_scalar_arguments_of_every_type_reach_the_code(type: Type) -> None:
    lowered = pipeline(store("b", i64(0), var("k", type)), ScalarArgument("k", type), sink("b", type))
    for value in (type.min, type.max, 1) if not type.is_float else (1.5, float("inf"), -0.0):
        check(lowered, {"k": value, "b": values(type, 1)})


def test_a_check_that_fails_stops_the_pipeline_with_its_message() -> None:
    needs = apply("<=", var("n"), var("a.extent.0"))
    first = Assert(needs, "a must have {0} elements, it has {1} ({2}, {3})",
                   (var("n"), var("a.extent.0"), var("x", F32), apply("<", var("n"), i32(0))))  # fmt: skip
    second = Assert(apply(">", var("n"), i32(-10)), "n is {0}", (var("n"),))
    body = block(first, second, store("b", i64(0), i32(1)))
    lowered = pipeline(body, source("a", I32), ScalarArgument("n", I32), ScalarArgument("x", F32), sink("b", I32))
    executable = compile_pipeline(lowered)
    out = np.zeros(1, np.int32)
    with pytest.raises(BufferError, match=r"^a must have 5 elements, it has 4 \(0.5, False\)$"):
        executable({"a": values(I32, 4), "n": 5, "x": 0.5, "b": out})
    with pytest.raises(BufferError, match=r"^n is -10$"):
        executable({"a": values(I32, 4), "n": -10, "x": 0.5, "b": out})
    assert out[0] == 0
    executable({"a": values(I32, 4), "n": 4, "x": 0.5, "b": out})
    assert out[0] == 1


def test_a_check_inside_storage_frees_it_and_one_inside_a_parallel_loop_is_refused() -> None:
    fails = Assert(apply("<", var("n"), i32(0)), "n is {0}", (var("n"),))
    lowered = pipeline(Allocate("t", I32, var("n"), fails), ScalarArgument("n", I32), sink("b", I32))
    with pytest.raises(BufferError, match="n is 9"):
        compile_pipeline(lowered)({"n": 9, "b": values(I32, 1)})
    with pytest.raises(TypeError, match="inside a parallel loop"):
        compile_pipeline(pipeline(For("i", i32(0), i32(9), "parallel", fails), ScalarArgument("n", I32)))


def test_what_lowering_should_have_removed_is_refused() -> None:
    loop = For("i", i32(0), i32(4), "vectorized", store("b", wide("i"), var("i")))
    with pytest.raises(TypeError, match="a vectorized loop is left after lowering"):
        compile_pipeline(pipeline(loop, sink("b", I32)))


def test_vector_arithmetic_and_functions_in_lanes() -> None:
    at = ramp(times(wide("i"), 16))
    x, y = load(F32, "a", at), load(F32, "a", add(at, Broadcast(i64(1), 16)))
    value = select(apply("<", x, y), apply("max", x, y), intrinsic("sqrt", apply("abs", x)))
    body = serial("i", i32(2), store("b", at, add(value, cast(F32, Broadcast(var("i"), 16)))))
    lowered = pipeline(body, source("a", F32), sink("b", F32))
    a, out = values(F32, 33), np.zeros(32, np.float32)
    compile_pipeline(lowered)({"a": a, "b": out})
    left, right = a[:32], a[1:]
    expected = np.where(left < right, np.maximum(left, right), np.sqrt(np.abs(left))) + np.repeat([0, 1], 16)
    np.testing.assert_array_equal(out, expected.astype(np.float32))


def test_products_and_sums_are_not_contracted() -> None:
    """`a * b + c` is rounded twice, as written."""
    at = ramp(i64(0))
    product = apply("*", load(F32, "a", at), load(F32, "a", at))
    lowered = pipeline(store("b", at, apply("-", product, load(F32, "c", at))),
                       source("a", F32), source("c", F32), sink("b", F32))  # fmt: skip
    a = np.full(16, 1 + 2.0**-12, np.float32)
    out = values(F32, 16)
    compile_pipeline(lowered)({"a": a, "c": a * a, "b": out})
    assert not out.any()


def test_dimensions_and_strides_of_arrays_reach_the_code() -> None:
    names = [f"a.{what}.{d}" for d in (0, 1) for what in ("min", "extent", "stride")]
    stores = [
        store("b", i64(k), cast(I64, var(name, I64 if "stride" in name else I32)))
        for k, name in zip(range(6), names, strict=True)
    ]
    executable = compile_pipeline(pipeline(block(*stores), source("a", U8, 2), sink("b", I64)))
    out = np.zeros(6, np.int64)
    executable({"a": np.zeros((10, 20), np.uint8)[::3, 4:9], "b": out})
    assert out.tolist() == [0, 5, 1, 0, 4, 60]


def test_names_may_hold_any_character() -> None:
    odd = 'größe "1" %x\\n'
    body = For(f"i {odd}", i32(0), i32(4), "parallel",
               store(f"b {odd}", cast(I64, var(f"i {odd}")), var(f"k {odd}")))  # fmt: skip
    lowered = pipeline(body, ScalarArgument(f"k {odd}", I32), sink(f"b {odd}", I32))
    check(lowered, {f"k {odd}": 3, f"b {odd}": values(I32, 4)})


@pytest.mark.parametrize("lanes", [2, 3, 16, 64])
def test_any_lane_decides_a_branch(lanes: int) -> None:
    lane = load(I32, "a", ramp(i64(0), 1, lanes))
    some = AnyLane(apply("<", lane, Broadcast(i32(0), lanes)))
    body = block(store("b", i64(0), i32(1)), If(some, store("b", i64(0), i32(2))))
    code = compile_pipeline(pipeline(body, source("a", I32), sink("b", I32)))
    for negative in ([], [0], [lanes - 1], range(lanes)):
        given, out = np.arange(lanes, dtype=np.int32), np.zeros(1, np.int32)
        given[list(negative)] = -1
        code({"a": given, "b": out})
        assert out[0] == (2 if len(negative) else 1)
