"""Strided vectors of one iteration are loaded together; a vector alone touches nothing beyond its elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.compiler.codegen.spans import Span, spans
from rfactor.ir.evaluate import dtype_of, stored_dtype_of
from rfactor.ir.expr import Const, Expr, apply
from rfactor.ir.loopnest import Block, Broadcast, For, If, LaneReduction, Let, Ramp, ScalarArgument, Stmt
from rfactor.ir.types import BF16, BOOL, F16, F32, F64, I32, I64, U8, U16, U64, Type
from tests.codegen.reference import add, i32, i64, load, pipeline, ramp, sink, source, store, times, var, wide
from tests.codegen.test_pages import Guarded

LANES = 8


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


def at(offset: int, stride: int = 3, base: Expr | None = None) -> Ramp:
    start = times(wide("i"), stride * LANES) if base is None else base
    return ramp(add(start, i64(offset)), stride, LANES)


def stored(number: int, index: Expr, type: Type = U8, predicate: Expr | None = None) -> Stmt:
    """The vector at `index` in the array `b…`."""
    return store(f"b{number}", ramp(times(wide("i"), LANES), 1, LANES), load(type, "a", index, predicate))


def apart(offsets: list[int], stride: int, type: Type) -> Any:
    """Code that stores each of the vectors that begin at `offsets` to an array of its own, for two iterations."""
    stores = [stored(number, at(offset, stride), type) for number, offset in enumerate(offsets)]
    outputs = [sink(f"b{number}", type) for number in range(len(offsets))]
    body = Block(tuple(stores)) if len(stores) > 1 else stores[0]
    return compile_pipeline(pipeline(For("i", i32(0), i32(2), "serial", body), source("a", type), *outputs))


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize(
    ("stride", "offsets"),
    [
        (2, [0, 1]),
        (2, [1]),
        (3, [2, 0, 1]),
        (3, [0, 2]),
        (3, [1, 2]),
        (4, [0, 1, 2, 3]),
        (4, [3, 1]),
        (2, [0, 1, 2, 5]),
    ],
)
@pytest.mark.parametrize("type", [BOOL, U8, U16, I32, F16, BF16, F32, F64], ids=str)
def test_vectors_between_each_other_are_as_they_are_alone(
    guarded: Guarded, type: Type, stride: int, offsets: list[int], at_end: bool
) -> None:
    low = min(offsets)
    count = max(offsets) - low + (2 * LANES - 1) * stride + 1
    a = guarded.array(type, count, at_end)
    outputs = {f"b{number}": np.zeros(2 * LANES, stored_dtype_of(type)) for number in range(len(offsets))}
    apart([offset - low for offset in offsets], stride, type)({"a": a, **outputs})
    for offset, output in zip(offsets, outputs.values(), strict=True):
        np.testing.assert_array_equal(output, a[offset - low :: stride][: 2 * LANES])


def test_one_span_of_memory_holds_all() -> None:
    assert apart([0, 1, 2], 3, U8).code.text.count("load <24 x i8>") == 3
    assert apart([0, 1], 2, U8).code.text.count("load <8 x i16>") == 2
    assert apart([0], 3, U8).code.text.count("load <24 x i8>") == 0
    assert apart([0], 2, U8).code.text.count("load <8 x i16>") == 0


def test_spans_end_with_the_last_vector() -> None:
    one, two, far = at(0), at(2), at(3)
    found = spans(Block((stored(0, one), stored(1, two), stored(2, far))))
    assert found == {load(U8, "a", one): Span(0, 24), load(U8, "a", two): Span(2, 24)}


def test_of_what_may_not_be_loaded_nothing_is_known() -> None:
    """Under a mask, a branch or an inner loop, of another array, at places that data say or another name says."""
    first, second = stored(0, at(0)), stored(1, at(1))
    assert len(spans(Block((first, second)))) == 2
    some = apply("<", Broadcast(var("n"), LANES), Broadcast(i32(3), LANES))
    read = load(I64, "places", i64(0))
    others: list[Stmt] = [
        stored(1, at(1), U8, some),
        stored(1, at(1), U16),
        stored(1, at(1, 2)),
        store("b1", ramp(i64(0), 1, LANES), load(U8, "other", at(1))),
        store("b1", ramp(i64(0), 1, LANES), load(U8, "a", at(1)), Const(BOOL, False)),
        Let("i", i32(5), second),
    ]
    for other in others:
        assert not spans(Block((first, other)))
    assert not spans(Block((first, If(apply("<", var("n"), i32(3)), second))))
    assert not spans(Block((first, For("j", i32(0), var("n"), "serial", second))))
    assert not spans(Block((stored(0, at(0, base=read)), stored(1, at(1, base=read)))))
    m = Let("m", i32(5), Block((stored(0, at(0, base=wide("m"))), stored(1, at(1, base=wide("m"))))))
    assert len(spans(m)) == 2
    again = Let("m", i32(6), stored(1, at(1, base=wide("m"))))
    assert not spans(Let("m", i32(5), Block((stored(0, at(0, base=wide("m"))), again))))
    # What is written alike under both has partners in one place alone.
    assert not spans(
        Block((m, Let("m", i32(6), Block((stored(0, at(0, base=wide("m"))), stored(1, at(1, base=wide("m"))))))))
    )


def test_what_is_stored_in_between_is_seen() -> None:
    """The second vector is loaded after an element between those of the first was stored."""
    body = Block((stored(0, at(0), U8), store("a", i64(4), Const(U8, 99)), stored(1, at(1), U8)))
    lowered = pipeline(For("i", i32(0), i32(1), "serial", body), sink("a", U8), sink("b0", U8), sink("b1", U8))
    a, b0, b1 = np.arange(24, dtype=np.uint8), np.zeros(LANES, np.uint8), np.zeros(LANES, np.uint8)
    compile_pipeline(lowered)({"a": a, "b0": b0, "b1": b1})
    assert b0.tolist() == list(range(0, 24, 3))
    assert b1.tolist() == [1, 99, *range(7, 24, 3)]


@pytest.mark.parametrize("stride", [3, -2, 0, 1])
@pytest.mark.parametrize("type", [BOOL, U8, F16, BF16, F32, U64], ids=str)
def test_lanes_a_stride_apart_are_stored_in_order(guarded: Guarded, type: Type, stride: int) -> None:
    lanes = ramp(i64(0), 1, LANES)
    index = Ramp(var("first", I64), var("stride", I64), LANES)
    scalars = [ScalarArgument(name, I64) for name in ("first", "stride")]
    code = compile_pipeline(
        pipeline(store("b", index, load(type, "a", lanes)), source("a", type), *scalars, sink("b", type))
    )
    assert "scatter" not in code.code.text
    count = abs(stride) * (LANES - 1) + 1
    a, b = guarded.array(type, LANES, True), guarded.array(type, count, True)
    b[:] = 0
    first = count - 1 if stride < 0 else 0
    expected = b.copy()
    for lane in range(LANES):
        expected[first + lane * stride] = a[lane]
    code({"a": a, "b": b, "first": first, "stride": stride})
    np.testing.assert_array_equal(b, expected)


def test_lanes_under_a_mask_are_scattered() -> None:
    lanes = ramp(i64(0), 1, LANES)
    inside = apply("<", lanes, Broadcast(var("n", I64), LANES))
    index = Ramp(i64(0), var("stride", I64), LANES)
    scalars = [ScalarArgument(name, I64) for name in ("n", "stride")]
    stored_ = store("b", index, load(F32, "a", lanes, inside), inside)
    code = compile_pipeline(pipeline(stored_, source("a", F32), *scalars, sink("b", F32)))
    assert "scatter" in code.code.text


@pytest.mark.parametrize("type", [U8, U16, I32, U64], ids=str)
def test_a_sum_of_lanes_is_one_instruction_of_llvm_where_it_wraps(type: Type) -> None:
    for lanes in (3, 16):
        total = LaneReduction("+", load(type, "a", ramp(i64(0), 1, lanes)))
        code = compile_pipeline(pipeline(store("b", i64(0), total), source("a", type), sink("b", type)))
        assert "llvm.vector.reduce.add" in code.code.text
        a = np.full(lanes, type.max, dtype_of(type))
        a[0], b = 1, np.zeros(1, dtype_of(type))
        code({"a": a, "b": b})
        assert int(b[0]) == type.wrap(1 + (lanes - 1) * int(type.max))


@pytest.mark.parametrize(("type", "op"), [(F32, "+"), (I32, "max"), (I32, "*")])
def test_other_joins_of_lanes_are_joined_by_halves(type: Type, op: str) -> None:
    total = LaneReduction(op, load(type, "a", ramp(i64(0), 1, 16)))
    assert (
        "vector.reduce"
        not in compile_pipeline(pipeline(store("b", i64(0), total), source("a", type), sink("b", type))).code.text
    )
