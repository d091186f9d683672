"""Which of LLVM's passes a nest gets: those that find something in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import passes_for
from rfactor.compiler.pipeline import executable, lowered
from rfactor.native.engine import host

SOURCE = np.arange(64 * 32, dtype=np.uint8).reshape(32, 64)


def copied() -> Any:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.Buffer(SOURCE)[x, y] + hl.u8(1)
    return f.parallel(y)


def filled() -> Any:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.u8(7)
    return f.parallel(y)


def cleared() -> Any:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.u8(0)
    return f.parallel(y)


def counted() -> Any:
    f, i, y, r = hl.Func("f"), hl.Var("i"), hl.Var("y"), hl.RDom([(0, 64)])
    f[i, y] = hl.u32(0)
    f[hl.i32(hl.Buffer(SOURCE)[r.x, y]), y] += hl.u32(1)
    f.update(0).parallel(y)
    return f


def rows_summed() -> Any:
    f, y, r = hl.Func("f"), hl.Var("y"), hl.RDom([(0, 64)])
    f[y] = hl.i32(0)
    f[y] += hl.i32(hl.Buffer(SOURCE)[r.x, y])
    f.update(0).parallel(y)
    return f


def columns_summed() -> Any:
    f, x, r = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 32)])
    f[x] = hl.i32(0)
    f[x] += hl.i32(hl.ImageParam(hl.UInt(8), 2, "rows")[x, r.x])
    f.update(0).parallel(x)
    return f


def in_lanes() -> Any:
    return copied().vectorize(hl.Var("x"), 16)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (copied, True),
        (filled, True),
        (cleared, False),
        (counted, False),
        (rows_summed, True),
        (columns_summed, False),
        (in_lanes, False),
    ],
)
def test_llvms_vectorizers_run_where_they_may_find_something(program: Callable[[], Any], found: bool) -> None:
    target = passes_for(lowered([program()]))
    assert (target.loop_vectorizer, target.slp_vectorizer) == (found, found)
    assert target.level == (3 if found else 1)
    assert not target.loop_unroller


def test_without_a_schedule_all_passes_run() -> None:
    f, i = hl.Func("f"), hl.Var("i")
    f[i] = hl.u8(0)
    target = passes_for(lowered([f]))
    assert (target.level, target.loop_vectorizer, target.loop_unroller) == (3, True, True)


def test_who_asks_for_no_passes_gets_none() -> None:
    assert passes_for(lowered([in_lanes()]), replace(host(), level=0)).level == 0


def test_each_function_is_simplified_by_itself() -> None:
    code = executable(cleared()).code
    assert code.target.level == 1
    assert "llvm.memset" not in code.text
    assert "llvm.memset" in code.llvm_ir()
