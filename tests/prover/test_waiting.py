"""Ctrl-C while native work is done: it is interrupted, and raised when it has ended."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import I64
from rfactor.prover.limits import Limits
from rfactor.prover.smt import GaveUp, Sat, solve
from rfactor.prover.waiting import interruptibly

ROOM = 3.0
"""Seconds that a busy machine may add."""


@pytest.fixture(autouse=True)
def _handled() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_work_gives_what_it_gives_and_raises_what_it_raises() -> None:
    assert interruptibly(lambda: 7, lambda: None) == 7
    with pytest.raises(ZeroDivisionError):
        interruptibly(lambda: 1 // 0, lambda: None)


def test_work_that_is_interrupted_has_ended_before_that_is_raised() -> None:
    stopped, ended = threading.Event(), threading.Event()

    def work() -> None:
        stopped.wait(60)
        ended.set()

    interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        interruptibly(work, stopped.set)
    assert ended.is_set()


def test_what_another_handler_raises_is_raised() -> None:
    class Stopped(BaseException):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    signal.signal(signal.SIGINT, stop)
    stopped = threading.Event()
    interrupt_after(0.1)
    with pytest.raises(Stopped):
        interruptibly(lambda: stopped.wait(60), stopped.set)


def test_a_handler_that_raises_nothing_interrupts_nothing() -> None:
    signal.signal(signal.SIGINT, lambda *_: None)
    interrupted = threading.Event()
    interrupt_after(0.1)
    assert interruptibly(lambda: interrupted.wait(0.3), interrupted.set) is False
    assert not interrupted.is_set()


def test_other_threads_do_their_work_themselves() -> None:
    found: list[threading.Thread] = []
    thread = threading.Thread(
        target=lambda: interruptibly(lambda: found.append(threading.current_thread()), lambda: None)
    )
    thread.start()
    thread.join()
    assert found == [thread]


def test_the_child_of_a_fork_has_a_thread_of_its_own() -> None:
    assert interruptibly(lambda: 1, lambda: None) == 1
    child = os.fork()
    if child == 0:
        os._exit(interruptibly(lambda: 5, lambda: None))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5


def test_a_query_ends_soon_after_an_interrupt() -> None:
    types = {"x": I64, "y": I64}
    hard = [
        parse_expr("x*y == 8765432109876543211 and x > 1 and y > 1", types),
        parse_expr("x*x*x*x*x + y*y*y == x*y*y + 12345671", types),
    ]
    solve([parse_expr("x == 3", types)], Meaning.WRAP, Limits())
    interrupt_after(0.2)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        solve(hard, Meaning.WRAP, Limits(rlimit=10**10, seconds=60.0))
    assert time.monotonic() - start < 0.2 + ROOM
    assert isinstance(solve([parse_expr("x == 3", types)], Meaning.WRAP, Limits()), Sat)  # of use as before


def test_a_query_that_is_not_interrupted_gives_up_at_its_limit() -> None:
    hard = [parse_expr("x*y == 8765432109876543211 and x > 1 and y > 1", {"x": I64, "y": I64})]
    assert isinstance(solve(hard, Meaning.WRAP, Limits(rlimit=1000)), GaveUp)
