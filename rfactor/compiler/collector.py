"""Python's collector of cycles, left out while a pipeline is compiled.

What compiling makes is there until it is done. The collector would look through it again and again, and take what it
has seen some times for what stays: then it looks through all that the process holds, a tenth of a second each time.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
"""How many are at work,"""
_was_on = False
"""and whether the first of them found the collector on."""
_forks = 0
"""How many forks have led to this process."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Around work of up to some seconds. The collector is on again, if it was, once all threads have left."""
    global _inside, _was_on
    with _lock:
        if _inside == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
        forks = _forks
    try:
        yield
    finally:
        with _lock:
            if forks == _forks:
                _inside -= 1
                if _inside == 0 and _was_on:
                    gc.enable()


def _after_fork() -> None:
    """A child has none of its parent's other threads; the one that it has is not counted, wherever it was."""
    global _lock, _inside, _forks
    _lock = threading.Lock()
    _forks += 1
    if _inside and _was_on:
        gc.enable()
    _inside = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
