"""What is dropped is given back: memory stays flat over many compilations, checks and runs.

`python -m benchmarks.leaks --compilations 10000` measures the same for as long as is asked.
"""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import rfactor as hl
from benchmarks.leaks import buffered, objects
from benchmarks.stress import resident
from rfactor.compiler.pipeline import _compiled
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import I32
from rfactor.native.engine import compile_module
from rfactor.prover.limits import Limits
from rfactor.prover.smt import solve

x = hl.Var("x")
ADD = """
define i32 @add(i32 %a) {{
  %b = add i32 %a, {}
  %c = mul i32 %b, {}
  ret i32 %c
}}
"""

pytestmark = pytest.mark.skipif(not resident(), reason="this system does not say how much memory is used")


def growth(work, before: int, times: int) -> float:
    """MB that `times` calls add, after `before` calls that fill what is kept."""
    for number in range(before):
        work(number)
    start = used()
    for number in range(before, before + times):
        work(number)
    return used() - start


def used() -> float:
    """MB in memory once all that is free is given back: the allocator may keep 20 MB after a query."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)
    return resident()


def test_code_that_is_dropped_gives_its_memory_back() -> None:
    """Without the disposal of its passes one compilation leaves 30 kB; with its engine alive, 700 kB."""
    assert growth(lambda k: compile_module(ADD.format(k, k + 7), ["add"]), 30, 120) < 2.5


def test_code_of_pipelines_is_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiled, "most", 4)

    def work(k: int) -> None:
        f = hl.Func()
        f[x] = x + k
        f.realize([2])

    assert growth(work, 15, 15) < 6
    assert len(_compiled) == 4


def test_a_function_that_is_scheduled_again_keeps_its_last_code_alone() -> None:
    f, g = hl.Func(), hl.Func()
    f[x] = x * 4321
    g[x] = f[x]
    g.realize([4])
    code = weakref.ref(next(iter(g.prepared.executables.values())).code)
    _compiled.clear()
    gc.collect()
    assert code() is not None
    f.compute_root()
    g.realize([4])
    _compiled.clear()
    gc.collect()
    assert code() is None


def test_checks_of_different_updates_are_forgotten() -> None:
    assert growth(lambda k: hl.check(f"max(x, {k}*a)"), 60, 100) < 4


def test_queries_of_the_solver_leave_nothing() -> None:
    def work(k: int) -> None:
        hard = parse_expr(f"x*x + {k} == y*y and x < y", types={"x": I32, "y": I32})
        solve([hard], Meaning.WRAP, Limits(rlimit=20_000))

    assert growth(work, 10, 25) < 2


def test_runs_leave_nothing() -> None:
    f, out = hl.Func(), np.zeros(4, np.int32)
    f[x] = x * 2
    assert growth(lambda _: f.realize(out), 1000, 10_000) < 1
    assert growth(lambda _: f.realize([4]), 1000, 3_000) < 1


@pytest.mark.parametrize(("work", "times"), [(buffered, 40), (lambda k: f_of(k).function, 40)])
def test_once_all_is_forgotten_nothing_is_left(work, times: int) -> None:
    for number in range(times):
        work(number)
    before = objects()
    for number in range(times, 2 * times):
        work(number)
    assert objects() - before < times


def f_of(k: int) -> hl.Func:
    f = hl.Func()
    f[x] = x * k
    return f
