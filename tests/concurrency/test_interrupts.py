"""Ctrl-C in the middle of a parallel loop: it is left, what the handler raised is raised, and nothing else changes."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.runtime.threads import runtime_name

x, y = hl.Var("x"), hl.Var("y")
SOON = 0.3
ROOM = 5.0
"""Seconds that a busy machine may add."""

pytestmark = pytest.mark.skipif(runtime_name() == "one thread", reason="parallel loops run as serial ones here")


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def steps(count: int) -> hl.Func:
    """So many steps of a recurrence for each point, in parallel, then one more, serially."""
    f, g, r = hl.Func("steps"), hl.Func("last"), hl.RDom([(0, count)])
    f[x] = hl.u32(x)
    f[x] = f[x] * hl.u32(1664525) + hl.u32(r.x)
    g[x] = f[x] + 1
    f.compute_root().parallel(x).update(0).parallel(x)
    return g


LONG = 3_000_000
"""Steps of which 20000 points take minutes."""


def test_a_parallel_loop_is_left_soon() -> None:
    g = steps(LONG)
    few, out = np.zeros(64, np.uint32), np.zeros(20_000, np.uint32)
    short = steps(100)
    short.realize(few)
    before = few.copy()
    for _ in range(2):
        interrupt_after(SOON)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            g.realize(out)
        assert time.monotonic() - start < SOON + ROOM
        short.realize(few)  # of use as before
        assert few.tolist() == before.tolist()


def test_nested_loops_and_their_memory_are_left() -> None:
    f, g, r = hl.Func("inner"), hl.Func("outer"), hl.RDom([(0, LONG)])
    f[x, y] = hl.u32(x + y)
    f[x, y] = f[x, y] * hl.u32(1664525) + hl.u32(r.x)
    g[x, y] = f[x, y] + f[x + 1, y]
    g.parallel(y)
    f.compute_at(g, y).parallel(x).update(0).parallel(x)
    interrupt_after(SOON)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        g.realize(np.zeros((100, 20_000), np.uint32))
    assert time.monotonic() - start < SOON + ROOM


def test_what_another_handler_raises_is_raised() -> None:
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped("by the user")

    signal.signal(signal.SIGINT, stop)
    interrupt_after(SOON)
    with pytest.raises(Stopped, match="by the user"):
        steps(LONG).realize(np.zeros(20_000, np.uint32))


def test_a_handler_that_raises_nothing_is_run_and_the_loop_goes_on() -> None:
    calls: list[float] = []
    signal.signal(signal.SIGINT, lambda *_: calls.append(time.monotonic()))
    g, out, wanted = steps(400_000), np.zeros(1000, np.uint32), np.zeros(1000, np.uint32)
    g.realize(wanted)
    interrupt_after(0.1)
    g.realize(out)
    ended = time.monotonic()
    while not calls:
        time.sleep(0.01)
    assert calls[0] < ended + 1
    assert out.tolist() == wanted.tolist()


def test_loops_of_other_threads_are_not_left() -> None:
    g, out, wanted = steps(400_000), np.zeros(1000, np.uint32), np.zeros(1000, np.uint32)
    g.realize(wanted)
    thread = threading.Thread(target=lambda: g.realize(out))
    long = steps(LONG)
    thread.start()
    interrupt_after(SOON)
    with pytest.raises(KeyboardInterrupt):
        long.realize(np.zeros(20_000, np.uint32))
    thread.join()
    assert out.tolist() == wanted.tolist()


def test_the_child_of_a_fork_is_interrupted_too() -> None:
    steps(100).realize(np.zeros(64, np.uint32))
    child = os.fork()
    if child == 0:
        interrupt_after(SOON)
        try:
            steps(LONG).realize(np.zeros(20_000, np.uint32))
        except KeyboardInterrupt:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
