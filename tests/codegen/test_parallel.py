"""Parallel loops: every iteration once, on any runtime, nested, in threads, after a fork."""

from __future__ import annotations

import io
import multiprocessing
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import Executable, compile_pipeline
from rfactor.compiler.runtime.threads import ALONE, count_threads, runtime_name, thread_count, waker
from rfactor.ir.expr import apply
from rfactor.ir.loopnest import Allocate, Broadcast, For, Let, ScalarArgument, block
from rfactor.ir.types import F32, I32
from tests.codegen.reference import add, check, i32, i64, load, pipeline, ramp, sink, source, store, times, var, wide


@pytest.fixture(params=[1, 2, 7], ids="threads={}".format)
def runtime(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RFACTOR_NUM_THREADS", str(request.param))
        count_threads()
        yield runtime_name()
    count_threads()


def increment(rows: int, columns: int) -> Executable:
    """`b[i][j] += i` with both loops parallel."""
    at = add(times(wide("i"), columns), wide("j"))
    inner = For("j", i32(0), i32(columns), "parallel", store("b", at, add(load(I32, "b", at), var("i"))))
    return compile_pipeline(pipeline(For("i", i32(0), i32(rows), "parallel", inner), sink("b", I32)))


@pytest.mark.parametrize("count", [1, 2, 3, 31, 32, 33, 5000])
def test_every_iteration_runs_once(runtime: str, count: int) -> None:
    body = For("i", i32(-2), i32(count), "parallel",
               store("b", add(wide("i"), i64(2)), add(load(I32, "b", add(wide("i"), i64(2))), i32(1))))  # fmt: skip
    out = np.zeros(count, np.int32)
    executable = compile_pipeline(pipeline(body, sink("b", I32)))
    for turn in range(1, 4):
        executable({"b": out})
        assert (out == turn).all()


def test_loops_nest(runtime: str) -> None:
    executable, out = increment(40, 50), np.zeros(2000, np.int32)
    for _ in range(3):
        executable({"b": out})
    np.testing.assert_array_equal(out, 3 * np.repeat(np.arange(40), 50))


def test_bodies_see_variables_vectors_and_storage_from_outside(runtime: str) -> None:
    at = ramp(times(wide("i"), 16))
    lanes = Broadcast(var("k"), 16)
    inner = Allocate("u", I32, i32(16), block(
        store("u", ramp(i64(0)), apply("+", load(I32, "t", at), var("v", I32.with_lanes(16)))),
        store("b", at, load(I32, "u", ramp(i64(0)))),
    ))  # fmt: skip
    loop = For("i", i32(0), var("n"), "parallel", inner)
    fill = For("i", i32(0), var("n"), "parallel", store("t", at, load(I32, "a", at)))
    body = Allocate("t", I32, times(var("n"), 16), block(fill, Let("k", i32(7), Let("v", lanes, loop))))
    lowered = pipeline(body, source("a", I32), ScalarArgument("n", I32), sink("b", I32))
    a = np.arange(16 * 40, dtype=np.int32)
    check(lowered, {"a": a, "n": 40, "b": np.zeros_like(a)})


def test_callers_in_several_threads(runtime: str) -> None:
    executable = increment(20, 20)
    outs = [np.zeros(400, np.int32) for _ in range(4)]

    def work(out: Any) -> None:
        for _ in range(10):
            executable({"b": out})

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in outs:
        np.testing.assert_array_equal(out, 10 * np.repeat(np.arange(20), 20))


def test_the_order_of_floating_sums_is_that_of_the_nest(runtime: str) -> None:
    """Partial sums of fixed ranges: the same bits whoever computes them."""
    at = add(times(wide("i"), 1000), wide("j"))
    total = apply("+", load(F32, "b", wide("i")), load(F32, "a", at))
    part = For("j", i32(0), i32(1000), "serial", store("b", wide("i"), total))
    lowered = pipeline(For("i", i32(0), i32(64), "parallel", part), source("a", F32), sink("b", F32))
    executable, a = compile_pipeline(lowered), np.random.default_rng(0).normal(size=64_000).astype(np.float32)
    results = set()
    for _ in range(10):
        out = np.zeros(64, np.float32)
        executable({"a": a, "b": out})
        results.add(out.tobytes())
    assert results == {np.add.accumulate(a.reshape(64, 1000), axis=1)[:, -1].tobytes()}


def _child(queue: Any) -> None:
    executable, out = increment(30, 30), np.zeros(900, np.int32)
    executable({"b": out})
    queue.put(int(out.sum()))


def test_the_child_of_a_fork_has_threads_of_its_own(runtime: str) -> None:
    executable, out = increment(30, 30), np.zeros(900, np.int32)
    executable({"b": out})
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    try:
        total = queue.get(timeout=30)
    finally:
        child.terminate()
        child.join()
    assert total == out.sum()
    # The parent goes on with its own.
    executable({"b": out})


def test_code_compiled_before_a_fork_runs_in_the_child(runtime: str) -> None:
    executable, out = increment(30, 30), np.zeros(900, np.int32)
    executable({"b": out})
    child = os.fork()
    if child == 0:
        executable({"b": out})
        os._exit(0 if out.sum() == 2 * 30 * sum(range(30)) else 1)
    for _ in range(300):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        threading.Event().wait(0.1)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize(
    ("variables", "count"),
    [({"RFACTOR_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3), ({"OMP_NUM_THREADS": "5,2"}, 5),
     ({"HL_NUM_THREADS": "4", "OMP_NUM_THREADS": "5"}, 4),
     ({"RFACTOR_NUM_THREADS": "0"}, None), ({"RFACTOR_NUM_THREADS": "many"}, None)],
)  # fmt: skip
def test_the_number_of_threads_is_what_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], count: int | None
) -> None:
    for name in ("RFACTOR_NUM_THREADS", "HL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    usable = thread_count()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert thread_count() == (usable if count is None else count)


def test_one_thread_needs_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("RFACTOR_NUM_THREADS", "1")
        assert count_threads() == 1
        assert (runtime_name(), waker(0)) == (ALONE, None)
    assert (count_threads() == 1) == (waker(0) is None)


@pytest.mark.parametrize(("threads", "first"), [("1", (0,)), ("2", (60, 62))])
def test_threads_take_the_last_iterations_first(
    monkeypatch: pytest.MonkeyPatch, threads: str, first: tuple[int, ...]
) -> None:
    """Of ranges of two, one of those that two threads take first is printed first; one alone goes upwards."""
    x, f, printed = hl.Var("x"), hl.Func("printed"), io.StringIO()
    f[x] = x
    f.trace_stores().parallel(x)
    with monkeypatch.context() as patch:
        patch.setenv("RFACTOR_NUM_THREADS", threads)
        count_threads()
        patch.setattr(sys, "stdout", printed)
        f.realize(np.zeros(64, np.int32))
    count_threads()
    at = [int(number) for number in re.findall(r"\((\d+)\)", printed.getvalue())]
    assert sorted(at) == list(range(64))
    assert at[0] in first
    assert at == sorted(at) or threads != "1"


def test_importing_rfactor_loads_no_llvm() -> None:
    code = "import sys, rfactor; sys.exit('llvmlite' in sys.modules or 'z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
