"""What indices move by with an innermost loop of vectors is counted beside its counter."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rfactor.compiler.codegen.module import generate
from rfactor.compiler.codegen.moving import moving
from rfactor.ir.expr import apply, cast
from rfactor.ir.loopnest import Block, Broadcast, If, LoweredPipeline, Ramp, ScalarArgument, Stmt
from rfactor.ir.types import F32, I32, I64, U8, U16, Type
from rfactor.native.engine import host
from tests.codegen.reference import add, check, i32, i64, load, pipeline, ramp, sink, source, store, times, var, wide
from tests.codegen.test_statements import serial


def at(step: int, lanes: int = 8, offset: int = 0) -> Ramp:
    return ramp(add(times(wide("x"), step), i64(offset)), 1, lanes)


def copied(type: Type, step: int, lanes: int = 8) -> Stmt:
    return store("b", at(step, lanes), load(type, "a", at(step, lanes, 1)))


def loops(nest: LoweredPipeline) -> str:
    return generate(nest, host())[0]


@pytest.mark.parametrize(
    ("type", "step", "found"),
    [
        (U8, 8, {}),
        (U8, 16, {16: 16}),
        (U16, 4, {}),
        (U16, 8, {8: 8}),
        (F32, 2, {}),
        (F32, 8, {8: 8}),
        (F32, 3, {3: 3}),
        (F32, -8, {}),
        (F32, 1, {}),
    ],
)
def test_what_an_instruction_scales_is_not_counted(type: Type, step: int, found: dict[int, int]) -> None:
    assert moving("x", copied(type, step)) == found


def test_one_number_serves_its_multiples_that_an_instruction_makes() -> None:
    def of(*steps: tuple[Type, int]) -> dict[int, int]:
        return moving("x", Block(tuple(copied(type, step) for type, step in steps)))

    assert of((F32, 8), (F32, 4)) == {4: 4, 8: 4}
    assert of((U8, 16), (U16, 16)) == {16: 16}
    assert of((U8, 16), (U8, 48)) == {16: 16, 48: 48}
    assert of((F32, 4), (F32, 16)) == {4: 4, 16: 16}
    assert of((F32, 5), (F32, 7), (F32, 9), (F32, 11)) == {}


def test_loops_of_loops_and_of_one_lane_and_of_much_are_left() -> None:
    scalar = store("b", times(wide("x"), 8), load(F32, "a", times(wide("x"), 8)))
    assert moving("x", scalar) == {}
    assert moving("x", serial("y", i32(4), copied(F32, 8))) == {}
    assert moving("x", Block((copied(F32, 8),) * 4)) == {8: 8}
    assert moving("x", Block((copied(F32, 8),) * 5)) == {}
    assert moving("y", copied(F32, 8)) == {}


def test_the_loop_ends_by_what_is_counted() -> None:
    text = loops(pipeline(serial("x", i32(5), copied(F32, 8)), source("a", F32), sink("b", F32)))
    assert re.search(r'%"x.8" = phi  i64 \[0, .*\], \[(%\S+), ', text)
    moved = re.search(r'(%\S+) = add nsw i64 %"x.8", 8\n', text)
    assert moved is not None
    assert f"icmp ne i64 {moved[1]}, 40" in text


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize("given", [True, False])
def test_values_are_those_of_the_counter(first: int, count: int, given: bool) -> None:
    low, length = (var("low"), var("length")) if given else (i32(first), i32(count))
    guarded = If(apply("<", var("x"), i32(7)), store("c", at(8), load(I32, "a", at(4))), None)
    own = store("d", times(wide("x"), 5), add(load(I32, "a", times(wide("x"), 2)), var("x")))
    shared = Broadcast(load(I32, "a", times(wide("x"), 5)), 8)
    body = Block((store("b", at(8), add(load(I32, "a", at(8, 8, 1)), shared)), guarded, own))
    nest = serial("x", length, body, low)
    assert moving("x", body) == {4: 4, 5: 5, 8: 4}
    numbers = [ScalarArgument(name, I32) for name in ("low", "length")] if given else []
    arrays = {"a": np.arange(100, dtype=np.int32), **{name: np.zeros(120, np.int32) for name in "bcd"}}
    values = {"low": first, "length": count} if given else {}
    check(pipeline(nest, *numbers, source("a", I32), *(sink(name, I32) for name in "bcd")), {**values, **arrays})


def test_lanes_in_turn_move_with_the_loop_too() -> None:
    halves = apply("//", ramp(i32(0), 1, 8), Broadcast(i32(2), 8))
    index = add(Broadcast(times(wide("x"), 4), 8), cast(I64.with_lanes(8), halves))
    body = store("b", at(8), load(F32, "a", index))
    assert moving("x", body) == {4: 4, 8: 4}
    nest = pipeline(serial("x", i32(5), body), source("a", F32), sink("b", F32))
    check(nest, {"a": np.arange(24, dtype=np.float32), "b": np.zeros(40, np.float32)})
