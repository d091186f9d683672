"""A fork while other threads work: what its child inherits must not be held by a thread that the child does not have.

Libraries outside Python (Z3, SQLite, LLVM) have locks of their own. A fork waits until no thread is inside them, and
none enters while it is made; a child finds them free.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import AbstractContextManager
from typing import Any

_LONGEST = 60.0
"""Seconds that a fork waits: whoever is inside for longer was lost to an exception."""
_LAST = 2.0
"""Seconds that the end of the interpreter waits for daemons."""


class Gate:
    """`with gate:` around code of such a library. Many threads may be inside at once, and one several times."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._closed = False
        self._ending = False
        self._mine = threading.local()
        self._locks: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> None:
        with self._changed:
            own = self._own()
            while (self._closed or self._shut()) and not own:
                self._changed.wait()
            self._inside += 1
            self._mine.count = own + 1

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._inside -= 1
            self._mine.count -= 1
            self._changed.notify_all()

    def add(self, lock: AbstractContextManager[Any]) -> None:
        """Hold this lock too while a fork is made; it may be entered again by the thread that holds it."""
        self._locks.append(lock)

    def end(self) -> None:
        """Let daemons leave before the libraries are taken down, and none enter."""
        with self._changed:
            self._ending = True
            self._changed.wait_for(lambda: self._inside <= self._own(), _LAST)

    def _shut(self) -> bool:
        return self._ending and threading.current_thread() is not threading.main_thread()

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
        self._changed.release()
        self._changed = threading.Condition()


GATE = Gate()
atexit.register(GATE.end)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=GATE.before_fork, after_in_parent=GATE.after_fork, after_in_child=GATE.after_fork_in_child
    )
