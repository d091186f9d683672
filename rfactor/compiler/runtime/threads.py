"""Who runs parallel loops: an OpenMP runtime through its C interface, or threads of our own.

Generated code calls a function of `GOMP_parallel`'s signature through a cell, so that it can be exchanged: the child of
a `fork` must not enter an OpenMP runtime that its parent used (libgomp waits there for threads that do not exist).
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rfactor.compiler.runtime import spawning

_NAMES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
_LOADED = re.compile(r"(/\S*/lib(?:gomp|i?omp5?)\b[^/]*\.so[^/]*)$")
_SPINS = "GOMP_SPINCOUNT"
_BUNDLED = ("*.libs/libgomp*.so*", "torch/lib/lib*omp*.so*")


class Cell(ctypes.Structure):
    """What generated code is told about threads: its address is an argument of every pipeline."""

    _fields_ = [("launch", ctypes.c_void_p), ("threads", ctypes.c_int64)]


class Runtime:
    """The runtime of this process, chosen at the first parallel loop's pipeline."""

    def __init__(self) -> None:
        self.cell = Cell(None, 1)
        self.name = ""
        self.inherited = False
        """Whether this process is the child of a fork: it may not use an OpenMP runtime."""

    def choose(self, openmp: bool = True) -> None:
        """Use an OpenMP runtime if asked for and there is one, else threads of our own.

        Two threads may do so at once: they choose the same.
        """
        found = find_openmp() if openmp and not self.inherited else None
        if found is not None:
            name, launch = found[0], ctypes.cast(found[1], ctypes.c_void_p).value
        else:
            name, launch = spawning.NAME, spawning.launch()
        self.cell.threads = 1
        self.cell.launch = launch
        self.cell.threads = 1 if launch is None else thread_count()
        self.name = name


_RUNTIME = Runtime()


def cell() -> int:
    """The address of the cell that generated code launches through."""
    if not _RUNTIME.name:
        _RUNTIME.choose()
    return ctypes.addressof(_RUNTIME.cell)


def runtime_name() -> str:
    """What runs parallel loops in this process: the path of an OpenMP library, or `POSIX threads`."""
    cell()
    return _RUNTIME.name


def use_openmp(openmp: bool) -> str:
    """Choose between an OpenMP runtime (if there is one, and this is no child of a fork) and threads of our own.

    Returns the name of what is used now.
    """
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
    # Until it is chosen anew, by whoever runs something next, loops run in the thread that meets them.
    _RUNTIME.cell.threads = 1
    _RUNTIME.name, _RUNTIME.inherited = "", True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
