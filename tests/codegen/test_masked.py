"""Loads and stores under a mask, with the machine's instructions for it and on one that has none."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline, generate
from rfactor.ir.evaluate import stored_dtype_of
from rfactor.ir.expr import Expr, Op
from rfactor.ir.loopnest import Broadcast, LoweredPipeline, Ramp
from rfactor.ir.types import BF16, BOOL, F16, F32, F64, I32, I64, U8, U16, Type
from rfactor.native.engine import Target, host
from tests.codegen.reference import add, elements, i64, load, pipeline, ramp, sink, source, store
from tests.codegen.test_pages import Guarded


@pytest.fixture(params=[8, 32, 128], ids=["any lanes", "words", "no lanes"])
def masked_bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Of the lanes that the machine is taken to have masks for."""
    monkeypatch.setattr(Target, "masked_bits", request.param)
    return int(request.param)


def copied(type: Type, lanes: int, step: int, loaded: bool) -> LoweredPipeline:
    """`b[i] = a[i]` where `m[i]`, in one vector: what is not loaded is 0, what is not stored stays."""
    start = i64(0 if step == 1 else lanes - 1)
    mask = load(BOOL, "m", ramp(i64(0), 1, lanes))
    there, whole = Ramp(start, i64(step), lanes), ramp(i64(0), 1, lanes)
    body = (
        store("b", whole, load(type, "a", there, mask)) if loaded else store("b", there, load(type, "a", whole), mask)
    )
    return pipeline(body, source("a", type), source("m", BOOL), sink("b", type))


@pytest.mark.parametrize("type", [U8, U16, I64, F16, BF16, F32, BOOL], ids=str)
@pytest.mark.parametrize("lanes", [3, 8, 33])
@pytest.mark.parametrize("step", [1, -1])
@pytest.mark.parametrize("loaded", [True, False], ids=["load", "store"])
def test_lanes_that_are_set_are_moved_and_nothing_else_is_touched(
    masked_bits: int, type: Type, lanes: int, step: int, loaded: bool
) -> None:
    run = compile_pipeline(copied(type, lanes, step, loaded))
    guarded, random = Guarded(), np.random.default_rng(lanes)
    masks = [np.zeros(lanes, bool), np.ones(lanes, bool), np.arange(lanes) < lanes // 2, random.random(lanes) < 0.5]
    for mask in masks:
        whole = np.flatnonzero(mask[::step])  # in the order of memory
        for at_end in (True, False):
            # The array that is masked has what is set at its ends, and no more; the code is told where lane 0 would be.
            first, last = (0, 0) if not len(whole) else (int(whole[0]), int(whole[-1]) + 1)
            part = guarded.array(type, last - first, at_end)
            other = elements(type, np.arange(lanes))
            moved = at_address(part.ctypes.data - first * part.itemsize, lanes, part)
            if loaded:
                b = elements(type, np.full(lanes, 7))
                run({"a": moved, "m": mask, "b": b})
                want = np.zeros(lanes, stored_dtype_of(type))
                lane = np.flatnonzero(mask)
                want[lane] = part[(lane if step == 1 else lanes - 1 - lane) - first]
                np.testing.assert_array_equal(b, want)
            else:
                part[:] = elements(type, 1)
                run({"a": other, "m": mask, "b": moved})
                want = elements(type, np.ones(last - first))
                lane = np.flatnonzero(mask)
                want[(lane if step == 1 else lanes - 1 - lane) - first] = other[lane]
                np.testing.assert_array_equal(part, want)


def test_numbers_of_lanes_may_be_more_than_a_lane_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "masked_bits", 32)
    lanes = 257
    a, b, mask = np.arange(lanes).astype(np.uint8) + 1, np.full(lanes, 7, np.uint8), np.arange(lanes) % 3 != 0
    compile_pipeline(copied(U8, lanes, 1, loaded=True))({"a": a, "m": mask, "b": b})
    np.testing.assert_array_equal(b, np.where(mask, a, 0))


def at_address(address: int, count: int, like: np.ndarray) -> np.ndarray:
    """An array that is said to lie there: what it would hold is not read."""
    octets = (ctypes.c_uint8 * (count * like.itemsize)).from_address(address)
    return np.ctypeslib.as_array(octets).view(like.dtype)


@pytest.mark.parametrize("type", [U8, F16, BF16, I32, F64], ids=str)
def test_lanes_apart_that_are_not_set_are_not_read(masked_bits: int, type: Type) -> None:
    lanes = 16
    index = load(I64, "at", ramp(i64(0), 1, lanes))
    body = store("b", ramp(i64(0), 1, lanes), load(type, "a", index, load(BOOL, "m", ramp(i64(0), 1, lanes))))
    run = compile_pipeline(pipeline(body, source("a", type), source("at", I64), source("m", BOOL), sink("b", type)))
    random, a = np.random.default_rng(3), Guarded().array(type, 20, True)
    for chance in (0.0, 0.5, 1.0):
        mask = random.random(lanes) < chance
        at = np.where(mask, random.integers(0, 20, lanes), 1 << 44)
        b = elements(type, np.ones(lanes))
        run({"a": a, "at": at, "m": mask, "b": b})
        np.testing.assert_array_equal(b, np.where(mask, a[np.where(mask, at, 0)], np.zeros(1, a.dtype)))


def test_lanes_are_not_written_out_where_the_machine_has_no_mask(masked_bits: int) -> None:
    """Many places, one function; a mask that is known needs none."""
    lanes = 32
    known: Expr = Op(BOOL.with_lanes(lanes), "<", (ramp(i64(0), 1, lanes), Broadcast(i64(11), lanes)))
    asked: Expr = load(BOOL, "m", ramp(i64(0), 1, lanes))

    def text(mask: Expr) -> str:
        at = [ramp(i64(8 * k), 1, lanes) for k in range(5)]
        value = add(*(load(U8, "a", one, mask) for one in at))
        body = store("b", ramp(i64(0), 1, lanes), value, mask)
        return generate(pipeline(body, source("a", U8), source("m", BOOL), sink("b", U8)), host())[0]

    for mask, written in ((known, True), (asked, masked_bits == 8)):
        found = text(mask)
        assert ("llvm.masked.load.v32i8" in found and "llvm.masked.store.v32i8" in found) is written
        assert (found.count('define internal <32 x i8> @"masked.load.v32i8"') == 1) is not written
        assert (found.count('define internal void @"masked.store.v32i8"') == 1) is not written
