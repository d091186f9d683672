"""How many threads run parallel loops, and what generated code is told of them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from rfactor.compiler.runtime import pool

NAME = "POSIX threads"
ALONE = "one thread"


class Cell(ctypes.Structure):
    """What generated code is told about threads: its address is an argument of every pipeline."""

    _fields_ = [("launch", ctypes.c_void_p), ("threads", ctypes.c_int64), ("poll", ctypes.c_void_p)]


_CELL = Cell(None, 0, None)


def cell() -> int:
    """The address of the cell that generated code launches through. Starts no thread."""
    if not _CELL.threads:
        count_threads()
    return ctypes.addressof(_CELL)


def waker(address: int) -> Callable[[], None] | None:
    """What wakes a thread for a parallel loop that comes soon in the pipeline at `address`; None where loops run on the
    caller alone."""
    cell()
    made = pool.pool() if _CELL.threads > 1 else None
    return None if made is None else partial(made.wake_for, address)


def waker_address() -> int:
    """Where the function lies that wakes a thread for the pipeline at an address; 0 where loops run on the caller
    alone."""
    made = pool.pool() if _CELL.threads > 1 else None
    return 0 if made is None else ctypes.cast(made.wake_for, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def loops_run() -> int:
    """How many parallel loops were offered to threads so far, of all pipelines."""
    made = pool.pool() if _CELL.threads > 1 else None
    return 0 if made is None else made.loops()


def raise_interrupt() -> NoReturn:
    """Raise what a handler of signals raised while a loop ran."""
    made = pool.pool()
    if made is not None and made.raise_found is not None:
        made.raise_found()
    raise KeyboardInterrupt


def runtime_name() -> str:
    """What runs parallel loops in this process: `POSIX threads`, or `one thread` where there is no more."""
    cell()
    return NAME if _CELL.threads > 1 else ALONE


def count_threads() -> int:
    """Have loops run on `thread_count()` threads from now on, and return that."""
    count = thread_count()
    made = pool.pool() if count > 1 else None
    if made is None:
        count = 1
    else:
        _CELL.launch, _CELL.poll = made.launch, made.poll
    _CELL.threads = count
    return count


def thread_count() -> int:
    """How many threads run a parallel loop: `RFACTOR_NUM_THREADS`, Halide's `HL_NUM_THREADS`, `OMP_NUM_THREADS`, or
    the usable processors."""
    for variable in ("RFACTOR_NUM_THREADS", "HL_NUM_THREADS", "OMP_NUM_THREADS"):
        # OpenMP allows a list, one number a level of nesting; the outermost counts.
        first = os.environ.get(variable, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return int(first)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
