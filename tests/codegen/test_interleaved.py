"""Stores that fill memory together are one, and only those."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.interleaved import groups
from rfactor.compiler.codegen.module import generate
from rfactor.ir.evaluate import dtype_of, held
from rfactor.ir.expr import Const, Expr, apply
from rfactor.ir.loopnest import Broadcast, For, LoweredPipeline, Stmt, block
from rfactor.ir.types import BOOL, SCALARS, U8, U16, Type
from rfactor.native.engine import host
from tests.codegen.reference import add, check, i32, i64, load, pipeline, ramp, sink, source, store, times, wide


def into(type: Type, begins: list[int], stride: int, lanes: int, **other: Any) -> LoweredPipeline:
    """`b[ramp(i * stride * lanes + begin, stride)] = a[…]` for each of `begins` in three iterations of i."""
    at = times(wide("i"), stride * lanes)
    stores: list[Stmt] = [
        store(
            other.get("into", ["b"] * len(begins))[number],
            ramp(add(at, i64(begin)), stride, lanes),
            load(type, other.get("of", "a"), ramp(add(times(wide("i"), 3), i64(5 * number)), 1, lanes)),
            other.get("predicate", Const(BOOL, True)),
        )
        for number, begin in zip(range(len(begins)), begins, strict=True)
    ]
    arguments = [source("a", type), sink("b", type), sink("c", type)]
    return pipeline(For("i", i32(0), i32(3), "serial", block(*stores)), *arguments)


def data(type: Type) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    sizes = {"a": 128, "b": 1024, "c": 1024}
    if type.is_float:
        return {name: held(type, rng.normal(size=size)) for name, size in sizes.items()}
    top = 2 if type.is_bool else 256
    return {name: rng.integers(0, top, size).astype(dtype_of(type)) for name, size in sizes.items()}


def scattered(lowered: LoweredPipeline, lanes: int = 8) -> int:
    """How many stores are not dense: under a mask, or lane by lane."""
    text = generate(lowered, host())[0]
    return len(re.findall(r"call .*masked\.scatter", text)) + text.count("= extractelement ") // lanes


@pytest.mark.parametrize("lanes", [2, 5, 8, 32])
@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_stores_that_fill_memory_are_one_dense_store(type: Type, stride: int, lanes: int) -> None:
    lowered = into(type, list(range(7, 7 + stride)), stride, lanes)
    assert scattered(lowered, 1) == 0
    check(lowered, data(type))


def test_their_order_does_not_matter() -> None:
    for begins in permutations(range(4)):
        lowered = into(U16, list(begins), 4, 8)
        assert scattered(lowered) == 0
        check(lowered, data(U16))


@pytest.mark.parametrize(
    ("begins", "stride", "more"),
    [
        ([0, 1], 3, {}),  # an element of three is not stored
        ([0, 1, 3], 3, {}),
        ([0, 1, 1], 3, {}),
        ([0, 1, 2, 3, 4], 5, {}),
        ([0, 1, 2], 3, {"into": ["b", "c", "b"]}),
        ([0, 1, 2], 3, {"of": "b"}),  # what the one stores the next may read
        ([0, 1, 2], 3, {"predicate": apply("<", ramp(wide("i"), 1, 8), Broadcast(i64(5), 8))}),
    ],
)
def test_other_stores_are_what_they_were(begins: list[int], stride: int, more: dict[str, Any]) -> None:
    lowered = into(U8, begins, stride, 8, **more)
    assert scattered(lowered) == len(begins)
    check(lowered, data(U8))


def test_what_comes_between_and_after_stays_in_its_place() -> None:
    def one(begin: int, value: Expr) -> Stmt:
        return store("b", ramp(add(times(wide("i"), 24), i64(begin)), 3, 8), value)

    dense, other = load(U8, "a", ramp(wide("i"), 1, 8)), load(U8, "a", ramp(add(wide("i"), i64(9)), 1, 8))
    between = store("c", wide("i"), load(U8, "b", times(wide("i"), 24)))
    body = [one(0, dense), one(1, other), between, one(2, dense), one(2, other), one(1, dense), one(0, dense), between]
    assert [len(group) for group in groups(body)] == [1, 1, 1, 1, 3, 1]
    lowered = pipeline(For("i", i32(0), i32(3), "serial", block(*body)), source("a", U8), sink("b", U8), sink("c", U8))
    check(lowered, data(U8))
