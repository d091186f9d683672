"""Who runs parallel loops: an OpenMP runtime through its C interface, or Python threads.

Generated code calls a function of `GOMP_parallel`'s signature through a cell, so that it can be exchanged: the child of
a `fork` must not enter an OpenMP runtime that its parent used (libgomp waits there for threads that do not exist).
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

LAUNCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
"""`launch(worker, closure, threads, flags)`: `GOMP_parallel`."""
WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_NAMES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
_LOADED = re.compile(r"(/\S*/lib(?:gomp|i?omp5?)\b[^/]*\.so[^/]*)$")
_SPINS = "GOMP_SPINCOUNT"
_BUNDLED = ("*.libs/libgomp*.so*", "torch/lib/lib*omp*.so*")


class Cell(ctypes.Structure):
    """What generated code is told about threads: its address is an argument of every pipeline."""

    _fields_ = [("launch", ctypes.c_void_p), ("threads", ctypes.c_int64)]


class ThreadPool:
    """Python threads behind the signature of `GOMP_parallel`: slower to start, at home in any process."""

    name = "Python threads"

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._inside = threading.local()
        self.launch = LAUNCH(self._launch)

    def _launch(self, worker: int, closure: int, threads: int, flags: int) -> None:
        """Run the worker here and on `threads - 1` others, or here alone where this thread is a worker already."""
        run = WORKER(worker)
        if getattr(self._inside, "worker", False):
            run(closure)
            return

        def work() -> None:
            self._inside.worker = True
            try:
                run(closure)
            finally:
                self._inside.worker = False

        others = self._start(work, threads - 1)
        work()
        for other in others:
            # One that has not begun would find no iteration left.
            if not other.cancel():
                other.result()

    def _start(self, work: Any, count: int) -> list[Future[None]]:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(max(count, 1), "rfactor")
            executor = self._executor
        try:
            return [executor.submit(work) for _ in range(count)]
        except RuntimeError:
            # No thread can be had, as while the interpreter shuts down: the caller does the work alone.
            return []


class Runtime:
    """The runtime of this process, chosen at the first parallel loop's pipeline."""

    def __init__(self) -> None:
        self.cell = Cell()
        self.pool = ThreadPool()
        self.name = ""
        self._keep: Any = None

    def choose(self, openmp: bool = True) -> None:
        """Use an OpenMP runtime if asked for and there is one, else Python threads."""
        found = find_openmp() if openmp else None
        if found is None:
            self.name, self._keep = self.pool.name, self.pool.launch
        else:
            self.name, self._keep = found
        self.cell.threads = thread_count()
        self.cell.launch = ctypes.cast(self._keep, ctypes.c_void_p).value


_RUNTIME = Runtime()
_CHOICE = threading.Lock()


def cell() -> int:
    """The address of the cell that generated code launches through."""
    if not _RUNTIME.name:
        with _CHOICE:
            if not _RUNTIME.name:
                _RUNTIME.choose()
    return ctypes.addressof(_RUNTIME.cell)


def runtime_name() -> str:
    """What runs parallel loops in this process: the path of an OpenMP library, or `Python threads`."""
    cell()
    return _RUNTIME.name


def use_openmp(openmp: bool) -> str:
    """Choose between an OpenMP runtime (if there is one) and Python threads; returns the name of what is used now."""
    _RUNTIME.choose(openmp)
    return _RUNTIME.name


def thread_count() -> int:
    """How many threads run a parallel loop: `RFACTOR_NUM_THREADS`, `OMP_NUM_THREADS`, or the usable processors."""
    for variable in ("RFACTOR_NUM_THREADS", "OMP_NUM_THREADS"):
        # OpenMP allows a list, one number a level of nesting; the outermost counts.
        first = os.environ.get(variable, "").split(",")[0].strip()
        if first.isdigit() and int(first) > 0:
            return int(first)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@cache
def find_openmp() -> tuple[str, Any] | None:
    """The path and `GOMP_parallel` of an OpenMP runtime in the process, on the system, or in an installed wheel."""
    for path in (*_loaded(), *_NAMES, *_wheels()):
        try:
            with _waiting_briefly():
                library = ctypes.CDLL(path)
            return path, library.GOMP_parallel
        except (OSError, AttributeError):
            # Not there, or no runtime with that entry: look on.
            continue
    return None


@contextmanager
def _waiting_briefly() -> Iterator[None]:
    """Has a libgomp that is loaded here put idle threads to sleep after some microseconds, unless the user says how.

    Its default spins for milliseconds. On processors that others use too, a thread that has spun its share away is not
    run when there is work: regions of 0.2 ms took 8 ms and more.
    """
    if any(name in os.environ for name in ("OMP_WAIT_POLICY", _SPINS)):
        yield
        return
    os.environ[_SPINS] = "1000"
    try:
        yield
    finally:
        del os.environ[_SPINS]


def _loaded() -> Iterator[str]:
    """OpenMP runtimes that this process has loaded, so that it does not get a second one."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        found = (_LOADED.search(line) for line in maps.read_text().splitlines())
        yield from dict.fromkeys(match[1] for match in found if match)


def _wheels() -> Iterator[str]:
    """OpenMP runtimes that installed packages carry (scikit-learn, torch, intel-openmp)."""
    yield from map(str, Path(sys.prefix, "lib").glob("libiomp5.so*"))
    for folder in sys.path:
        if folder.endswith("-packages"):
            for pattern in _BUNDLED:
                yield from map(str, Path(folder).glob(pattern))


def _after_fork_in_child() -> None:
    _RUNTIME.pool = ThreadPool()
    _RUNTIME.choose(openmp=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
