"""Many threads at once: names, memories, tables, solver, compiler, and loops that outlive who dropped them."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from benchmarks.stress import stress
from rfactor.compiler.language.names import Named
from rfactor.compiler.runtime import pool
from rfactor.errors import BufferError
from rfactor.ir.parser import parse_expr
from rfactor.ir.simplify import _real_memo, simplify_real
from rfactor.ir.types import F32
from rfactor.kept import Kept
from rfactor.table.store import open_table

x = hl.Var("x")


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any], threads: int = 6) -> list[Any]:
    """What `work` of each number returns, all of them begun together. Raises what the first to fail raises."""
    barrier, results, failed = threading.Barrier(threads), [None] * threads, []

    def run(number: int) -> None:
        try:
            barrier.wait(30)
            results[number] = work(number)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not any(worker.is_alive() for worker in workers), "a thread hangs"
    if failed:
        raise failed[0]
    return results


def test_everything_at_once() -> None:
    assert {"shared", "own", "checked"} <= set(stress(2, 5, seed=1))


def test_no_two_threads_get_one_name() -> None:
    found = at_once(lambda _: [Named(None, "name_of_a_test") for _ in range(150)])
    given = [one.name() for many in found for one in many]
    assert len(set(given)) == len(given)
    del found
    gc.collect()
    assert Named(None, "name_of_a_test").name() == "name_of_a_test0"


def test_a_memory_is_bounded_whoever_fills_it() -> None:
    kept: Kept[int, int] = Kept(7)

    def work(number: int) -> None:
        for i in range(3000):
            kept.keep(1000 * number + i % 50, i)
            kept.get(1000 * number + (i * 7) % 50)

    at_once(work)
    kept.keep(-1, -1)
    assert len(kept) <= 7
    assert -1 in kept


def test_a_memory_forgets_what_was_used_longest_ago() -> None:
    kept: Kept[int, str] = Kept(2)
    kept.keep(1, "one")
    kept.keep(2, "two")
    assert kept.get(1) == "one"
    kept.keep(3, "three")
    assert (kept.get(1), kept.get(2), kept.get(3)) == ("one", None, "three")


def test_threads_simplify_with_one_memory() -> None:
    _real_memo[0] = {}

    def work(number: int) -> None:
        for i in range(150):
            value = parse_expr(f"x*{number}.0 + y + {i}.0 + 0.0", types={"x": F32, "y": F32})
            assert simplify_real(value) == simplify_real(value)

    at_once(work)


def test_a_table_is_read_by_threads_that_did_not_open_it() -> None:
    table = open_table()
    types = (hl.Int(32).ir,)
    counts = at_once(lambda _: (len(table.rows(types)), table.meta["digest"], len(table.spellings)))
    assert len(set(counts)) == 1
    assert counts[0][0] > 10


def test_threads_check_at_once() -> None:
    def work(number: int) -> list[str]:
        return [hl.check(f"max(x*{i} + a, b) + {number}", timeout=60.0).verdict for i in (1, 2)] + [
            hl.check(f"min(x + a, {1000 * number + 7})", timeout=60.0).verdict
        ]

    found = at_once(work, threads=4)
    assert {tuple(verdicts) for verdicts in found} == {tuple(work(9))}
    assert "unknown" not in found[0]


def test_one_pipeline_is_compiled_and_run_by_all() -> None:
    f, a = hl.Func("f"), hl.Buffer(np.arange(1000, dtype=np.int32))
    f[x] = a[x] * 12345 + 6
    f.parallel(x)
    found = at_once(lambda _: [np.asarray(f.realize([1000])).sum() for _ in range(5)])
    assert {int(total) for many in found for total in many} == {int((np.arange(1000) * 12345 + 6).sum())}


def test_two_threads_run_while_one_alone_would_hold_the_interpreter() -> None:
    """A compiled loop lets Python run: this thread counts while another is in the loop."""
    f, r = hl.Func("f"), hl.RDom([(0, 100_000_000)])
    f[()] = hl.u32(1)
    f[()] = f[()] * hl.u32(1664525) + hl.u32(1013904223) + hl.cast(hl.UInt(32), r.x)
    f.compile_jit()
    inside, done, count = threading.Event(), threading.Event(), 0

    def run() -> None:
        inside.set()
        f.realize()
        done.set()

    threading.Thread(target=run, daemon=True).start()
    inside.wait(30)
    while not done.is_set():
        count += 1
    assert count > 1000


def test_code_and_arrays_live_until_the_loop_that_uses_them_is_done() -> None:
    lines: list[str] = []
    entered, go_on = threading.Event(), threading.Event()

    class Waiting(io.StringIO):
        def write(self, text: str) -> int:
            lines.append(text)
            entered.set()
            assert go_on.wait(30)
            return len(text)

    data = np.arange(8, dtype=np.int32) + 50
    gone = weakref.ref(data)
    image = hl.Buffer(data)
    f = hl.Func("dropped")
    f[x] = image[x]
    f.trace_stores()
    f.compile_jit()
    out = np.zeros(8, np.int32)
    held = [f]
    before, sys.stdout = sys.stdout, Waiting()
    try:
        worker = threading.Thread(target=lambda: held.pop().realize(out), daemon=True)
        worker.start()
        assert entered.wait(30)
        del f, image, data
        from rfactor.compiler import pipeline

        pipeline._compiled.clear()
        gc.collect()
        assert gone() is not None
        go_on.set()
        worker.join(30)
    finally:
        sys.stdout = before
    assert out.tolist() == list(range(50, 58))
    gc.collect()
    assert gone() is None


class Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError("no space left")


@pytest.mark.parametrize("parallel", [False, True])
def test_what_the_output_raises_is_raised_at_the_end(parallel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f = hl.Func("printed")
    f[x] = x * 3
    f.trace_stores()
    if parallel:
        f.parallel(x)
    out, hook = np.zeros(5, np.int32), sys.unraisablehook
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Full())
        with pytest.raises(OSError, match="no space left"):
            f.realize(out)
    assert out.tolist() == [0, 3, 6, 9, 12]
    assert sys.unraisablehook is hook
    f.realize(out)


def test_an_interrupt_while_a_loop_prints_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    f = hl.Func("interrupted")
    f[x] = x
    f.trace_stores()
    out = np.zeros(20, np.int32)

    class Interrupting(io.StringIO):
        def write(self, text: str) -> int:
            if "(3)" in text:
                os.kill(os.getpid(), signal.SIGINT)
            return len(text)

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Interrupting())
        with pytest.raises(KeyboardInterrupt):
            f.realize(out)
    assert out.tolist() == list(range(20))


def test_a_pipeline_is_run_while_another_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `realize` inside what Python does for a compiled loop."""
    inner, outer = hl.Func("inner"), hl.Func("outer")
    inner[x] = x + 1
    inner.parallel(x)
    outer[x] = x * 2
    outer.trace_stores().parallel(x)
    sums: list[int] = []

    class Running(io.StringIO):
        def write(self, text: str) -> int:
            sums.append(int(np.asarray(inner.realize([10])).sum()))
            return len(text)

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Running())
        outer.realize([6])
    assert set(sums) == {55}
    assert len(sums) >= 6


def test_no_thread_runs_loops_in_code_that_another_made_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code goes with the object that holds it."""
    monkeypatch.setattr(pool, "_kept", {})
    made, met, make = list[weakref.ref[pool.Pool]](), threading.Barrier(3), pool._made

    def meeting() -> pool.Pool | None:
        one = make()
        assert one is not None
        made.append(weakref.ref(one))
        met.wait(60)
        return one

    monkeypatch.setattr(pool, "_made", meeting)
    found = {id(one) for one in at_once(lambda _: pool.pool(), threads=3)}
    gc.collect()
    (kept,) = (one for ref in made if (one := ref()) is not None)
    assert len(made) == 3
    assert found == {id(kept)}


def test_a_failed_check_in_one_thread_is_not_told_to_another() -> None:
    a, f = hl.Buffer(np.arange(5, dtype=np.int32)), hl.Func("f")
    f[x] = a[x]

    def work(number: int) -> None:
        for _ in range(20):
            if number % 2:
                with pytest.raises(BufferError):
                    f.realize([9])
            else:
                assert np.asarray(f.realize([5])).tolist() == [0, 1, 2, 3, 4]

    at_once(work)
