"""What is dropped is given back: memory stays flat over many compilations, checks and runs.

`python -m benchmarks.leaks compile 10000` measures the same for as long as is asked.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import rfactor as hl
from benchmarks.stress import resident
from rfactor.compiler.pipeline import _compiled
from rfactor.native.engine import compile_module

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
    gc.collect()
    start = resident()
    for number in range(before, before + times):
        work(number)
    gc.collect()
    return resident() - start


def test_code_that_is_dropped_gives_its_memory_back() -> None:
    """Without the disposal of its passes one compilation leaves 30 kB; with its engine alive, 700 kB."""
    assert growth(lambda k: compile_module(ADD.format(k, k + 7), ["add"]), 60, 300) < 4


def test_code_of_pipelines_is_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiled, "most", 4)

    def work(k: int) -> None:
        f = hl.Func()
        f[x] = x + k
        f.realize([2])

    assert growth(work, 40, 40) < 8
    assert len(_compiled) == 4


def test_a_function_that_is_scheduled_again_and_again_keeps_its_last_code_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_compiled, "most", 2)
    f, g = hl.Func(), hl.Func()
    f[x] = x
    g[x] = f[x]

    def work(k: int) -> None:
        g.bound(x, 0, k + 4)
        g.realize([k + 4])

    assert growth(work, 20, 30) < 8


def test_checks_of_different_updates_are_forgotten() -> None:
    assert growth(lambda k: hl.check(f"max(x*x - {k}*y, a)", timeout=5.0), 30, 60) < 10


def test_runs_leave_nothing() -> None:
    f, out = hl.Func(), np.zeros(4, np.int32)
    f[x] = x * 2
    assert growth(lambda _: f.realize(out), 1000, 20_000) < 1
    assert growth(lambda _: f.realize([4]), 1000, 5_000) < 1
