"""Lines that compiled code prints in this process: to `sys.stdout`, and what that raises to who runs the code."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_writing = threading.RLock()


def _written(line: bytes) -> int:
    """Write a line in one piece: other threads print too."""
    with _writing:
        sys.stdout.write(line.decode(errors="replace") + "\n")
    return 0


# The interpreter cannot end while another thread is in the middle of a line: it waits, and no further line is begun.
atexit.register(lambda: _writing.acquire())


def _after_fork() -> None:
    global _writing
    _writing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


PUTS_HERE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(_written)
"""`puts` of this process."""

_running: list[None] = []
_lost: list[BaseException] = []
_previous: Any = None


@contextmanager
def raising() -> Iterator[None]:
    """Around code that prints: raise at its end what was raised in between, Ctrl-C too.

    Python gives what leaves a function that C called to `sys.unraisablehook` alone. Of calls that run at the same time
    the one that ends first raises it: they print to one place.
    """
    global _previous
    _running.append(None)
    if sys.unraisablehook is not _hook:
        _previous, sys.unraisablehook = sys.unraisablehook, _hook
    try:
        yield
    finally:
        _running.pop()
        if not _running and sys.unraisablehook is _hook:
            sys.unraisablehook = _previous
    if _lost:
        error = _lost[0]
        _lost.clear()
        raise error


def _hook(unraisable: sys.UnraisableHookArgs) -> None:
    trace = unraisable.exc_traceback
    while trace is not None and trace.tb_frame.f_code is not _written.__code__:
        trace = trace.tb_next
    if trace is None or unraisable.exc_value is None:
        _previous(unraisable)
    elif not _lost:
        _lost.append(unraisable.exc_value)
