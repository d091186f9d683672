"""Threads that run parallel loops: native, started when a loop first needs them, asleep between loops.

`launch(worker, closure, threads, flags)` has up to `threads` threads call `worker(closure)`, which takes ranges of
iterations until none is left, and returns when all of them have returned. The caller is one of them, and begins at
once. A loop is offered to the others until the caller finds nothing left to take: it is then withdrawn, and only those
that have begun are waited for. So no loop waits for a thread that has no processor yet.

Loops of several callers, and loops inside loops, are offered at the same time, the newest first. A thread waits for
others in one place, the end of a loop, and there only for those that have begun that loop; what those wait for in
turn are loops inside it. None waits in a circle.

A thread without work looks for some for a while (`_LOOKS`), then sleeps. Who offers a loop wakes two at most, and so
does each that takes it, where more are wanted: many are awake after few steps. There are as many threads as the widest
loop so far could use. They are no threads of Python: no signal handler interrupts them, and the end of the process
takes them along, as nothing is left in a bad state between loops.

`wake` has a thread look for a loop before it comes. It does so once: not again before a loop has come.

To wake a thread takes who wakes it 10 to 30 µs. Of loops launched with `flags` other than 0, as those of generated code
are, it is kept how much work all threads had in the last run. Nobody is woken for one that has little, but where such
loops follow each other: a thread that was woken for one looks for the next. A loop that comes alone is taken for the
first of a row where the last loop was in one. Where nobody comes who is woken, as others have the processors, it is
tried less and less often, in one loop of 32 at last.

Where other processes have all processors, a thread may be woken on the one that the caller has. It would only keep the
caller from running, so it gives way once before it takes a loop, and never looks there: the system moves it to another
processor as soon as one is free.

A signal that Python handles, as that of Ctrl-C, waits while native code runs in the main thread. So generated code
calls `poll` after each range of iterations. It reads a clock, and 50 ms after loops began, in the main thread alone,
takes Python's lock and has signals handled. Where a handler raises, that is kept, no more ranges are taken, and the
pipeline is left after the loop. Ranges are run in parts where loops take so long. Before that no call pays more than to
read a coarse clock.

Who may touch what. All that is shared (the variables from `@newest` on, the fields of a loop that is offered) is
written with `@mutex` held, and read with it but in three places:

* Who looks for work reads `@newest` without it, atomically and in no order (`monotonic`). What it finds is a reason to
  take the mutex and read again, and no more.
* A caller that waits reads `running` of its own loop without it (`acquire`). When that is 0 it returns, and the loop
  is gone with its stack. The 0 was written (`release`) by the last thread inside, which touches the loop no more: it
  has read before whether the caller sleeps, and a caller that sleeps needs the mutex to wake.
* What is kept of times (`@took`, `@pipeline`, `@ended`, `@row`, `@missed`, `@began`, `@polled`) is read and written
  without it, atomically and in no order. It decides whether a thread is woken, or Python asked, and no more.

What any thread wrote in a loop happens before it takes the mutex to leave, so before the last one leaves, so before
that 0. What was written before `launch` happens before the loop is offered, with the mutex held.

A caller sleeps on a condition of its own loop, on which nobody else waits. All idle threads sleep on one: were a
wake-up lost there, a loop would be run by fewer, and end all the same.

The child of a fork has none of the threads, and a mutex that one of them may hold: `begin` makes all anew. A fork from
inside a loop leaves the child a loop that never ends.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from rfactor.native.engine import compile_module, host

_LOOKS = 2000
"""How often a thread looks for work, or a caller for the end of its loop, before it sleeps: 20 to 90 µs."""
_NEAR_NS = 50_000
"""Loops follow each other where one is offered so soon after another has ended: a thread still looks then."""
_LITTLE_NS = 100_000
"""Work for which no thread is woken where loops come apart: one begins 30 to 90 µs after it is woken, by when half of
it is done."""
_POLL_NS = 50_000_000
"""How long loops run before Python is asked whether a signal came, and from then on between two questions."""
_COARSE = 6
"""Linux's `CLOCK_MONOTONIC_COARSE`: a few milliseconds late, and read in a fifth of the time."""
_ASKED = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch", "PyErr_Restore")
"""Functions of Python's that `poll` calls."""
_SLOT_BITS = 8
"""2^8 loops and pipelines are known at a time. Two may share a place: a thread is woken in vain then, or is not."""
_PAUSES = {
    "x86_64": "llvm.x86.sse2.pause()",
    "aarch64": "llvm.aarch64.isb(i32 15)",
    "arm64": "llvm.aarch64.isb(i32 15)",
}
"""What a processor is told to do between two looks."""

_UNKNOWN = "define internal i32 @sched_getcpu() { ret i32 -1 }"
"""Where a system does not say which processor a thread has."""

_SOURCE = Path(__file__).with_name("pool.ll")
"""The code, a template: `${name}` is filled in."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The threads of this process."""

    launch: int
    """The address of `launch(worker, closure, threads, flags)`."""
    wake: Callable[[], None]
    """Wakes a thread, where all sleep, so that it looks for a loop that comes soon. Not again before one has come: what
    is called for pipelines that run no loop after all wakes nobody."""
    wake_for: Callable[[int], None]
    """As `wake`, for the pipeline that begins at an address, unless it is known to have little work in its loops."""
    begin: Callable[[], None]
    """Called in the child of a fork."""
    loops: Callable[[], int]
    """How many loops were offered to threads so far."""
    poll: int | None
    """The address of `poll(since)`: in the main thread it has Python handle the signals that came, now and then, and is
    1 where a handler raised, 2 where the worker has taken long. None where Python has no such functions."""
    raise_found: Callable[[], None] | None
    """Raises what that was."""
    set_main: Callable[[int], None]
    """Told which thread handles signals: its number among POSIX threads."""


def pool() -> Pool | None:
    """The pool of this process; None where the system has no POSIX threads."""
    if not _kept:
        _kept.setdefault("pool", _made())  # of two threads at once, that of one
    return _kept["pool"]


_kept: dict[str, Pool | None] = {}
"""What was made: never another, as loops run in it."""


def _made() -> Pool | None:
    machine = replace(host(), level=0)  # for a few dozen instructions a loop passes do not pay
    pause = _PAUSES.get(machine.triple.split("-")[0])
    text = Template(_SOURCE.read_text(encoding="utf-8")).substitute(
        looks=_LOOKS,
        near=_NEAR_NS,
        little=_LITTLE_NS,
        slots=1 << _SLOT_BITS,
        unplaced=64 - _SLOT_BITS,
        clock=time.CLOCK_MONOTONIC,
        processor="declare i32 @sched_getcpu()" if _are_there(["sched_getcpu"]) else _UNKNOWN,
        pause=f"call void @{pause}" if pause else "",
        poll_ns=_POLL_NS,
        coarse=_COARSE if sys.platform == "linux" else time.CLOCK_MONOTONIC,
        **_python(),
        declared=f"declare void @{pause.replace('i32 15', 'i32')}" if pause else "",
    )
    if not _are_there(re.findall(r"declare i(?:32|64) @(pthread_\w+|sched_yield|clock_gettime)", text)):
        return None
    exported = ["begin", "launch", "loops", "poll", "raise_found", "set_main", "wake", "wake_for"]
    code = compile_module(text, exported, machine).keep()
    begin = ctypes.CFUNCTYPE(None)(code.addresses["begin"])
    begin()
    # It holds the interpreter: to let it go for these microseconds could cost the thread its turn.
    wake = ctypes.PYFUNCTYPE(None)(code.addresses["wake"])
    wake_for = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(code.addresses["wake_for"])
    set_main = ctypes.PYFUNCTYPE(None, ctypes.c_uint64)(code.addresses["set_main"])
    set_main(threading.main_thread().ident or 0)
    asks = "0" not in _python().values()
    return Pool(
        code.addresses["launch"],
        wake,
        wake_for,
        begin,
        ctypes.PYFUNCTYPE(ctypes.c_int64)(code.addresses["loops"]),
        code.addresses["poll"] if asks else None,
        ctypes.PYFUNCTYPE(None)(code.addresses["raise_found"]) if asks else None,
        set_main,
    )


def _python() -> dict[str, str]:
    """Where the functions of `_ASKED` lie; 0 for what is not there."""
    python = getattr(ctypes, "pythonapi", None)
    found = {name: getattr(python, name, None) for name in _ASKED}
    return {
        name: "0" if function is None else str(ctypes.cast(function, ctypes.c_void_p).value)
        for name, function in found.items()
    }


def _are_there(names: list[str]) -> bool:
    """Whether the C library has functions of these names."""
    try:
        library = ctypes.CDLL(None)
        return all(hasattr(library, name) for name in names)
    except (TypeError, OSError):
        return False


def _after_fork_in_child() -> None:
    for made in _kept.values():
        if made is not None:
            made.begin()
            made.set_main(threading.get_ident())  # who forks is the main thread of the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
