"""Work on deep expressions and long pipelines: on a stack of its own where Python's is not deep enough."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_FRAMES = 200_000
"""How deep calls may go there,"""
_STACK = 1 << 29
"""and the bytes that they may take: memory is used as far as they go."""
_lock = threading.Lock()
_outside: list[int] = []
"""How deep calls may go elsewhere, while work is done there."""


def deep(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, called once more on a deep stack where it raises `RecursionError`; so it changes nothing before."""

    @wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        try:
            return function(*args, **named)
        except RecursionError:
            if threading.current_thread().name == _NAME:
                raise
        return _deeply(lambda: function(*args, **named))

    return called


_NAME = "rfactor-deep"


def _deeply(work: Callable[[], R]) -> R:
    """What `work` returns or raises, one at a time: the depth allowed is that of the whole process."""
    results: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # goes on in the caller's thread
            errors.append(error)

    with _lock:
        frames, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
        try:
            thread = threading.Thread(target=run, name=_NAME)
            _outside.append(frames)
            sys.setrecursionlimit(max(frames, _FRAMES))
            thread.start()
            threading.stack_size(stack)
            thread.join()
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(frames)
            _outside.clear()
    if errors:
        raise errors[0]
    return results[0]


def _after_fork() -> None:
    """A child has none of its parent's threads: nobody is at work on a deep stack."""
    global _lock
    _lock = threading.Lock()
    if _outside:
        sys.setrecursionlimit(_outside.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
