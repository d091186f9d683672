"""A fork, or the end of the interpreter, while other threads work inside libraries outside Python (Z3, SQLite, LLVM).

They have locks of their own: what a child inherits must not be held by a thread that the child does not have. So a fork
waits until no thread is inside them, and none enters while it is made; a child finds them free. And when the
interpreter has ended, what they keep is taken down: a thread that is still inside would crash the process.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

_LONGEST = 60.0
"""Seconds that a fork and the end wait: whoever is inside for longer was lost to an exception."""
_AGAIN = 0.05
"""Seconds after which who is still inside at the end is interrupted again: it may have begun something else."""


class Gate:
    """`with gate:` around code of such a library. Many threads may be inside at once, and one several times."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._ending = False
        self._mine = threading.local()
        self._locks: list[AbstractContextManager[Any]] = []
        self._interrupts: dict[int, Callable[[], None]] = {}

    def __enter__(self) -> None:
        """Raises `SystemExit` in a daemon when the interpreter ends: it has no more to do."""
        with self._changed:
            own = self._own()
            while self._closed and not own:
                self._changed.wait()
            if not own:
                self._end_daemon()
            self._inside += 1
            self._mine.count = own + 1

    def __exit__(self, *error: object) -> None:
        """Raises `SystemExit` where `__enter__` would: what was interrupted has no answer."""
        with self._changed:
            self._inside -= 1
            self._mine.count -= 1
            self._changed.notify_all()
            if not self._own():
                self._end_daemon()

    def add(self, lock: AbstractContextManager[Any]) -> None:
        """Hold this lock too while a fork is made; it may be entered again by the thread that holds it."""
        self._locks.append(lock)

    @contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Around what a thread does inside for long, and ends soon when another thread calls `interrupt`."""
        me = threading.get_ident()
        with self._changed:
            self._interrupts[me] = interrupt
        try:
            yield
        finally:
            with self._changed:
                self._interrupts.pop(me, None)

    def end(self) -> None:
        """Have daemons leave before the libraries are taken down, and none enter."""
        last = time.monotonic() + _LONGEST
        with self._changed:
            self._ending = True
            while self._inside > self._own() and time.monotonic() < last:
                for interrupt in self._interrupts.values():
                    interrupt()
                self._changed.wait(_AGAIN)

    def _end_daemon(self) -> None:
        if self._ending and threading.current_thread().daemon:
            raise SystemExit

    def _own(self) -> int:
        return int(getattr(self._mine, "count", 0))

    def before_fork(self) -> None:
        """Wait for the others, and stay closed."""
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._closed, _LONGEST)
        self._closed = True
        self._changed.wait_for(lambda: self._inside <= self._own(), _LONGEST)
        # After the others have left: one of them may need a lock in order to leave.
        for lock in self._locks:
            lock.__enter__()

    def after_fork(self) -> None:
        """Open again, in the parent."""
        for lock in reversed(self._locks):
            lock.__exit__(None, None, None)
        self._closed = False
        self._changed.notify_all()
        self._changed.release()

    def after_fork_in_child(self) -> None:
        """Open again, with nobody left who waits."""
        for lock in reversed(self._locks):
            lock.__exit__(None, None, None)
        self._closed = False
        self._inside = self._own()
        self._interrupts.clear()
        self._changed.release()
        self._changed = threading.Condition()


GATE = Gate()
atexit.register(GATE.end)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=GATE.before_fork, after_in_parent=GATE.after_fork, after_in_child=GATE.after_fork_in_child
    )
