"""What a loop does not change is computed before it, and nothing else is."""

from __future__ import annotations

import re

import numpy as np

from rfactor.compiler.codegen.module import generate
from rfactor.ir.expr import apply, cast
from rfactor.ir.loopnest import Let, LoweredPipeline, ScalarArgument, block
from rfactor.ir.types import I32, I64
from rfactor.native.engine import host
from tests.codegen.reference import add, check, i32, i64, load, pipeline, sink, source, store, times, var, wide
from tests.codegen.test_statements import serial


def rows(stride: int, offset: int) -> LoweredPipeline:
    """b[x + y*stride + offset] = a[x + y*stride + offset] for 3 rows of 4."""
    at = add(wide("x"), times(wide("y"), stride), i64(offset))
    body = store("b", at, load(I32, "a", at))
    return pipeline(serial("y", i32(3), serial("x", i32(4), body)), source("a", I32), sink("b", I32))


def blocks(nest: LoweredPipeline) -> dict[str, str]:
    """The instructions of each labelled block."""
    parts = re.split(r'(?m)^"?([\w.]+)"?:$', generate(nest, host())[0])
    return dict(zip(parts[1::2], parts[2::2], strict=False))


def test_parts_of_an_address_are_computed_before_the_loops_that_do_not_change_them() -> None:
    nest = rows(12, 5)
    made = blocks(nest)
    assert re.search(r"mul i64 %.*, 12\n", made["x.before"])
    assert "mul" not in made["x.loop"]
    assert "freeze" not in made["x.loop"]
    check(nest, {"a": np.arange(48, dtype=np.int32), "b": np.zeros(48, np.int32)})


def test_what_an_inner_definition_changes_is_computed_where_it_is_known() -> None:
    # The inner `t` hides the outer one; products of either belong to different places.
    product = apply("*", var("t"), var("s"))
    inner = Let("t", add(var("x"), i32(1)), store("b", add(wide("x"), times(wide("y"), 4)), product))
    outer = block(store("c", wide("y"), product), serial("x", i32(4), inner), store("d", wide("y"), product))
    nest = Let("s", i32(7), serial("y", i32(3), Let("t", add(var("y"), i32(10)), outer)))
    sinks = [sink(name, I32) for name in "bcd"]
    check(pipeline(nest, *sinks), {name: np.zeros(12, np.int32) for name in "bcd"})


def test_a_name_that_is_bound_again_at_another_depth_means_the_new_one() -> None:
    twice = times(var("v"), 3)
    first = serial("v", i32(4), store("b", wide("v"), twice))
    second = serial("y", i32(2), serial("v", i32(4), store("c", add(wide("v"), times(wide("y"), 4)), twice)))
    third = Let("v", i32(9), serial("y", i32(2), serial("x", i32(2), store("d", add(wide("x"), wide("y")), twice))))
    nest = block(first, second, third, first)
    check(pipeline(nest, *[sink(n, I32) for n in "bcd"]), {n: np.zeros(12, np.int32) for n in "bcd"})


def test_what_is_loaded_is_loaded_in_every_iteration() -> None:
    count = store("b", wide("y"), add(load(I32, "b", wide("y")), load(I32, "a", wide("x"))))
    nest = serial("y", i32(3), serial("x", i32(4), count))
    data = {"a": np.arange(1, 5, dtype=np.int32), "b": np.zeros(3, np.int32)}
    check(pipeline(nest, source("a", I32), sink("b", I32)), data)


def test_an_index_that_is_loaded_is_loaded_in_every_iteration() -> None:
    there = load(I32, "c", i64(0))
    body = block(store("c", i64(0), add(there, i32(1))), store("b", times(cast(I64, there), 2), var("x")))
    check(
        pipeline(serial("x", i32(4), body), sink("b", I32), sink("c", I32)), {n: np.zeros(12, np.int32) for n in "bc"}
    )


def test_a_value_that_was_loaded_outside_is_loaded_again_inside() -> None:
    more = add(load(I32, "c", i64(0)), i32(1))
    inner = serial("x", i32(4), block(store("c", i64(0), more), store("b", add(wide("x"), times(wide("y"), 4)), more)))
    nest = serial("y", i32(3), block(store("d", wide("y"), more), inner))
    check(pipeline(nest, *[sink(name, I32) for name in "bcd"]), {name: np.zeros(12, np.int32) for name in "bcd"})


def test_an_argument_that_a_loop_hides_is_not_what_it_was() -> None:
    twice = times(var("n"), 3)
    inner = serial("n", i32(4), serial("y", i32(2), store("b", add(wide("n"), wide("y")), twice)))
    nest = serial("x", i32(2), block(store("c", wide("x"), twice), inner))
    check(
        pipeline(nest, ScalarArgument("n", I32), sink("b", I32), sink("c", I32)),
        {"n": 5, "b": np.zeros(8, np.int32), "c": np.zeros(8, np.int32)},
    )
