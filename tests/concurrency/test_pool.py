"""The threads of parallel loops: who is waited for and who is not, nesting, idleness, forks, threads that fail to come.

Workers are functions of Python here, so that a test decides when they return.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.pipeline import executable
from rfactor.compiler.runtime import pool
from rfactor.compiler.runtime.threads import thread_count

pytestmark = pytest.mark.skipif(pool.pool() is None, reason="no POSIX threads")
Worker = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
LAUNCH = ctypes.CFUNCTYPE(None, Worker, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32)
made: list[pool.Pool] = []
"""Threads sleep in their code: it is never dropped."""


def fresh() -> pool.Pool:
    """A pool without threads."""
    one = pool._made()
    assert one is not None
    made.append(one)
    return one


def launch(own: pool.Pool, work: Callable[[], object], threads: int) -> None:
    LAUNCH(own.launch)(Worker(lambda _: work()), None, threads, 0)


def sleeper(own: pool.Pool) -> Callable[[], int]:
    """How often the one thread of a pool of two has slept."""
    both, threads = threading.Barrier(2), set[int]()

    def meet() -> None:
        both.wait(30)
        threads.add(threading.get_native_id())

    launch(own, meet, 2)
    (other,) = threads - {threading.get_native_id()}

    def slept() -> int:
        time.sleep(0.05)
        status = Path(f"/proc/self/task/{other}/status").read_text()
        return int(status.split("nonvoluntary_ctxt_switches")[0].split("voluntary_ctxt_switches:")[1])

    return slept


def beginning(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("threads", [2, 5, 40])
def test_as_many_threads_run_at_once_as_are_asked_for(threads: int) -> None:
    """Nobody passes before all have come."""
    own, all_here = fresh(), threading.Barrier(threads)
    for _ in range(3):
        launch(own, lambda: all_here.wait(30), threads)
    assert not all_here.broken


def test_a_loop_ends_without_a_thread_that_has_not_begun() -> None:
    """The one thread of the pool is in another loop."""
    own, both, leave = fresh(), threading.Barrier(3), threading.Event()

    def held() -> None:
        both.wait(30)
        leave.wait(30)

    other = beginning(lambda: launch(own, held, 2))
    both.wait(30)
    callers: list[int] = []
    for _ in range(3):
        launch(own, lambda: callers.append(threading.get_ident()), 2)
    assert callers == [threading.get_ident()] * 3
    assert other.is_alive()
    leave.set()
    other.join(30)
    assert not other.is_alive()


def test_loops_are_withdrawn_in_any_order() -> None:
    """The one thread of the pool finds none of three that nobody took, the oldest of which ends first."""
    own, both, leave = fresh(), threading.Barrier(3), threading.Event()
    offered = [threading.Event() for _ in range(3)]
    ends = [threading.Event() for _ in range(3)]
    ran: list[int] = []

    def held() -> None:
        both.wait(30)
        leave.wait(30)

    def one(number: int) -> None:
        ran.append(number)
        offered[number].set()
        ends[number].wait(30)

    first = beginning(lambda: launch(own, held, 2))
    both.wait(30)
    callers = []
    for number in range(3):
        callers.append(beginning(partial(launch, own, partial(one, number), 2)))
        offered[number].wait(30)
    for number in (1, 0, 2):
        ends[number].set()
        callers[number].join(30)
    leave.set()
    first.join(30)
    launch(own, lambda: time.sleep(0.01), 2)
    assert ran == [0, 1, 2]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be held on a processor")
def test_a_thread_on_the_callers_processor_gives_way() -> None:
    """Else it would take what the caller was about to do, and look for more while the caller waits to run."""
    allowed, caller, ran = os.sched_getaffinity(0), threading.get_ident(), [0, 0]
    os.sched_setaffinity(0, {min(allowed)})
    try:
        own = fresh()
        for _ in range(60):
            left = [None] * 10

            def work(left: list[None] = left) -> None:
                with suppress(IndexError):
                    while True:
                        left.pop()
                        ran[threading.get_ident() != caller] += 1
                        busy(10e-6)

            own.wake()
            launch(own, work, 2)
            time.sleep(0.0005)
    finally:
        os.sched_setaffinity(0, allowed)
    assert ran[0] > 5 * ran[1]


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@pytest.mark.parametrize("seconds", [0.0, 0.00002, 0.2])
def test_a_loop_waits_for_those_that_have_begun(seconds: float) -> None:
    """Those that return after the caller, at once or when it sleeps."""
    own, both, ended = fresh(), threading.Barrier(2), list[bool]()

    def work() -> None:
        both.wait(30)
        if threading.get_ident() != caller:
            time.sleep(seconds)
            ended.append(True)

    caller = threading.get_ident()
    for turn in range(1, 4):
        launch(own, work, 2)
        assert len(ended) == turn


def test_loops_inside_loops_and_of_many_callers_end() -> None:
    own, counted = fresh(), [0] * 4

    def caller(number: int) -> None:
        left = [6]
        lock = threading.Lock()

        def take(of: list[int]) -> bool:
            with lock:
                of[0] -= 1
                return of[0] >= 0

        def outer() -> None:
            while take(left):
                inner = [5]

                def body(inner: list[int] = inner) -> None:
                    while take(inner):
                        with lock:
                            counted[number] += 1

                launch(own, body, 3)

        for _ in range(20):
            left[0] = 6
            launch(own, outer, 4)

    callers = [beginning(partial(caller, number)) for number in range(4)]
    for thread in callers:
        thread.join(60)
    assert not any(thread.is_alive() for thread in callers)
    assert counted == [20 * 6 * 5] * 4


def test_idle_threads_take_no_time() -> None:
    own, all_here = fresh(), threading.Barrier(4)
    launch(own, lambda: all_here.wait(30), 4)
    own.wake()
    time.sleep(0.02)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="nobody tells how often a thread sleeps")
def test_a_thread_is_woken_once_for_a_loop_that_does_not_come() -> None:
    own = fresh()
    slept = sleeper(own)
    for _ in range(2):
        before = slept()
        own.wake()
        once = slept()
        assert once > before
        for _ in range(5):
            own.wake()
        assert slept() == once
        launch(own, lambda: busy(0.001), 2)


TOLD = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="nobody tells how often a thread sleeps")


def timed(own: pool.Pool, seconds: float) -> Callable[[], None]:
    """A loop that takes so long, as generated code has them run."""
    worker = Worker(lambda _: busy(seconds))
    return lambda: LAUNCH(own.launch)(worker, None, 2, 1)


@TOLD
def test_a_thread_is_not_woken_for_little_work_now_and_then() -> None:
    own = fresh()
    slept = sleeper(own)
    little, much = timed(own, 0.0), timed(own, 0.0005)
    for loop in (little, much):
        loop()  # nothing is known of it yet
    quiet = 0
    for _ in range(100):
        before = slept()
        time.sleep(0.002)
        little()
        quiet += slept() == before
    assert quiet > 50  # where others have the processor meanwhile it took long, so that somebody is woken the next time
    before = slept()
    for _ in range(5):
        time.sleep(0.002)
        much()
    assert slept() > before


@TOLD
def test_a_thread_is_woken_for_little_work_where_loops_follow_each_other() -> None:
    own = fresh()
    slept = sleeper(own)
    little = timed(own, 0.0)
    little()
    before = slept()
    for _ in range(200):
        little()
    assert slept() > before


@TOLD
def test_a_thread_is_woken_for_the_first_of_a_row_if_the_last_loop_was_in_one() -> None:
    own = fresh()
    slept = sleeper(own)
    text = ctypes.create_string_buffer(b" " * (1 << 19))
    length = ctypes.cast(ctypes.CDLL(None).strlen, Worker)  # some 15 µs that need no interpreter

    def woken(row: int) -> bool:
        for _ in range(row):
            LAUNCH(own.launch)(length, ctypes.addressof(text), 2, 1)
        before = slept()
        LAUNCH(own.launch)(length, ctypes.addressof(text), 2, 1)
        return slept() > before

    assert any(woken(12) for _ in range(300))  # where others have the processors it is tried less often
    woken(0)
    assert sum(woken(0) for _ in range(20)) < 10  # and not for what comes alone after one that came alone


@TOLD
def test_a_thread_is_not_woken_ahead_for_a_pipeline_that_had_little_work() -> None:
    def told_apart() -> bool:
        own = fresh()
        slept = sleeper(own)
        pipelines = {1 << 12: timed(own, 0.0), 1 << 13: timed(own, 0.0005)}
        for address, loop in pipelines.items():
            time.sleep(0.002)  # none follows another
            own.wake_for(address)
            loop()
        woken = []
        for address in (1 << 12, 1 << 13, 1 << 14):
            before = slept()
            own.wake_for(address)
            woken.append(slept() > before)
            timed(own, 0.0005)()
        return woken == [False, True, True]

    assert any(told_apart() for _ in range(5))  # two may share a place, and who comes may wait for the interpreter


def test_a_loop_is_run_by_the_caller_where_no_thread_can_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    declared = "declare i32 @pthread_create(ptr, ptr, ptr, ptr)"
    refused = "define internal i32 @pthread_create(ptr %a, ptr %b, ptr %c, ptr %d) {\n  ret i32 11\n}"
    text = pool._SOURCE.read_text()
    assert declared in text
    changed = tmp_path / "pool.ll"
    changed.write_text(text.replace(declared, refused))
    monkeypatch.setattr(pool, "_SOURCE", changed)
    own, callers = fresh(), []
    for _ in range(3):
        launch(own, lambda: callers.append(threading.get_ident()), 4)
    assert callers == [threading.get_ident()] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_child_of_a_fork_gets_threads_whatever_its_parent_was_doing() -> None:
    """Here a thread of the parent is in a loop, and others sleep."""
    own, leave, both, met = pool.pool(), threading.Event(), threading.Barrier(2), list[int]()
    assert own is not None

    def meet() -> None:
        both.wait(20)
        met.append(threading.get_ident())

    launch(own, meet, 2)
    other = beginning(lambda: launch(own, lambda: leave.wait(30), 2))
    time.sleep(0.05)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        both = threading.Barrier(2)
        met.clear()
        launch(own, meet, 2)
        os._exit(0 if len(met) == 2 else 1)
    _, status = os.waitpid(child, 0)
    leave.set()
    other.join(30)
    assert os.waitstatus_to_exitcode(status) == 0
    launch(own, meet, 2)


def test_only_pipelines_with_parallel_loops_wake_threads() -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    f[x] = x * 3
    g[x] = x * 3
    g.parallel(x)
    assert executable(f).wake is None
    assert (executable(g).wake is None) == (thread_count() == 1)


@pytest.mark.skipif(thread_count() == 1, reason="there is nobody to wake")
def test_runs_without_a_parallel_loop_wake_nobody() -> None:
    image, g, x = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("g"), hl.Var("x")
    g[x] = image[x] * 3
    g.specialize(image.width() > 100).parallel(x)
    for size in (10, 1000):
        image.set(np.arange(size, dtype=np.int32))
        out = np.zeros(size, np.int32)
        for _ in range(3):
            g.realize(out)
        assert out.tolist() == list(range(0, 3 * size, 3))
        assert (g.prepared.last.wake is None) == (size == 10)


def test_a_loop_comes_right_after_the_wake_up_for_it() -> None:
    x, g = hl.Var("x"), hl.Func("g")
    g[x] = x * 5
    g.parallel(x)
    out = np.zeros(1000, np.int32)
    for pause in (0, 0, 0, 0.0001, 0.01):
        out[:] = 0
        time.sleep(pause)
        g.realize(out)
        assert out.tolist() == list(range(0, 5000, 5))
