"""Code touches no byte beyond its arrays: they end, and begin, where the next page may not be touched."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.ir.evaluate import stored_dtype_of
from rfactor.ir.expr import apply
from rfactor.ir.loopnest import Broadcast, Ramp, ScalarArgument
from rfactor.ir.types import BF16, BOOL, F16, F32, F64, I32, I64, U8, U16, Type
from tests.codegen.reference import elements, i64, load, pipeline, ramp, sink, source, store, var

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None)


class Guarded:
    """Arrays in pages of their own, between two that cannot be touched."""

    def __init__(self) -> None:
        self.maps: list[mmap.mmap] = []

    def array(self, type: Type, count: int, at_end: bool) -> Any:
        """`count` values of `type` that end at the end of a page, or begin at its beginning."""
        dtype = stored_dtype_of(type)
        assert count * dtype.itemsize <= PAGE
        pages = mmap.mmap(-1, 3 * PAGE)
        self.maps.append(pages)
        start = PAGE + (PAGE - count * dtype.itemsize if at_end else 0)
        array = np.frombuffer(pages, dtype, count, start)
        array[:] = elements(type, np.arange(count) % 2 if type.is_bool else np.arange(count))
        base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        for page in (0, 2):
            assert _libc.mprotect(ctypes.c_void_p(base + page * PAGE), PAGE, 0) == 0
        return array


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


def test_the_guard_holds() -> None:
    """A byte beyond the end is an error, or the other tests would show nothing."""
    code = (
        "from tests.codegen.test_pages import Guarded, PAGE\n"
        "from rfactor.ir.types import U8\n"
        "import ctypes\n"
        "array = Guarded().array(U8, 10, True)\n"
        "ctypes.string_at(array.ctypes.data + 10, 1)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode < 0


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("type", [BOOL, U8, U16, F16, BF16, I32, F32, F64], ids=str)
def test_masked_lanes_are_not_touched(guarded: Guarded, type: Type, at_end: bool) -> None:
    """Of 64 lanes at a ramp of stride 1, -1 or 3, only the first `count` lie in the arrays.

    The count is told at run time: LLVM leaves out lanes that a constant mask does, also of loads without a mask.
    """
    inside = apply("<", ramp(i64(0), 1, 64), Broadcast(var("count", I64), 64))
    scalars = [ScalarArgument(name, I64) for name in ("count", "first")]
    for stride in (1, -1, 3):
        at = Ramp(var("first", I64), i64(stride), 64)
        copied = store("b", at, load(type, "a", at, inside), inside)
        run = compile_pipeline(pipeline(copied, source("a", type), *scalars, sink("b", type)))
        for count in (1, 3, 16, 37):
            step = abs(stride)
            last = (count - 1) * step
            a, b = (guarded.array(type, last + 1, at_end) for _ in range(2))
            expected = np.arange(last + 1)
            b[:] = 0
            run({"a": a, "count": count, "first": last if stride < 0 else 0, "b": b})
            want = elements(type, (expected % 2 if type.is_bool else expected)[::step])
            np.testing.assert_array_equal(b[::step], want)


@pytest.mark.parametrize("stride", [-1, 2, 3, 4, 7])
@pytest.mark.parametrize("type", [U8, I32, F16, BF16], ids=str)
def test_strided_loads_end_with_their_last_element(guarded: Guarded, type: Type, stride: int) -> None:
    span = abs(stride) * 31 + 1
    at = Ramp(i64(span - 1 if stride < 0 else 0), i64(stride), 32)
    for at_end in (True, False):
        a, b = guarded.array(type, span, at_end), np.zeros(32, stored_dtype_of(type))
        lowered = pipeline(store("b", ramp(i64(0), 1, 32), load(type, "a", at)), source("a", type), sink("b", type))
        compile_pipeline(lowered)({"a": a, "b": b})
        np.testing.assert_array_equal(b, a[::stride])


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("type", [BOOL, U8, F32], ids=str)
def test_an_element_that_lanes_share_is_read_where_one_of_them_loads(
    guarded: Guarded, type: Type, at_end: bool
) -> None:
    lane = ramp(i64(0), 1, 16)
    inside = apply("<", lane, Broadcast(var("count", I64), 16))
    shared = load(type, "a", Broadcast(var("at", I64), 16), inside)
    scalars = [ScalarArgument(name, I64) for name in ("count", "at")]
    run = compile_pipeline(pipeline(store("b", lane, shared, inside), source("a", type), *scalars, sink("b", type)))
    a = guarded.array(type, 2, at_end)
    for count, at in ((0, 2 if at_end else -1), (1, 1), (16, 1)):
        b = np.zeros(16, stored_dtype_of(type))
        run({"a": a, "count": count, "at": at, "b": b})
        np.testing.assert_array_equal(b, a[1] * (np.arange(16) < count))
