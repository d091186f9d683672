"""Native work that Ctrl-C ends: another thread does it while the main thread, where signals are handled, waits.

One thread serves all such work: to start one each time would cost as much as many a query takes.
"""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_AGAIN = 0.05
"""Seconds after which work that goes on is interrupted again: it may have begun something else."""


class _Work:
    """What is to be done, and what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work: Callable[[], Any] | None = work
        self.ended = threading.Lock()
        self.ended.acquire()
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False

    def do(self) -> None:
        """Do it, and hold nothing of it when it has ended: what it is made of goes where it came from."""
        work, self.work = self.work, None
        assert work is not None
        try:
            self.result = work()
        except BaseException as error:
            self.error = error
        del work
        self.is_done = True
        self.ended.release()


_asked: list[SimpleQueue[_Work]] = []
"""What the thread takes its work from; empty while there is no thread."""


def interruptibly(work: Callable[[], Any], interrupt: Callable[[], None]) -> Any:
    """Do `work`, which ends soon after `interrupt` is called, and give what it gives, or raise what it raises.

    What a handler of signals raises meanwhile interrupts it, and is raised when it has ended. Threads other than the
    main one do it themselves: no signal is handled there.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    if not _asked:
        _asked.append(SimpleQueue())
        _thread.start_new_thread(_serve, (_asked[0],))
    own = _Work(work)
    try:
        _asked[0].put(own)
        own.ended.acquire()
    except BaseException:
        while not own.is_done:
            interrupt()
            own.ended.acquire(timeout=_AGAIN)
        raise
    error, own.error = own.error, None
    if error is not None:
        try:
            raise error
        finally:
            del error  # or it would hold this frame, which holds it, and the frames of the work
    return own.result


def _serve(asked: SimpleQueue[_Work]) -> None:
    while True:
        asked.get().do()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_asked.clear)  # the child of a fork has no such thread
