"""C with OpenMP (`reductions.c`), compiled with the system's `cc` for this machine."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from rfactor.bench.contender import Absent, Contender
from rfactor.bench.program import Array
from rfactor.bench.table1 import Case

NAMES = ("OpenMP C",)
SOURCE = Path(__file__).with_name("reductions.c")
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")


def version() -> str:
    found = subprocess.run([_compiler(), "--version"], check=False, capture_output=True, text=True).stdout
    return (found.splitlines() or ["a C compiler"])[0]


def contenders(case: Case) -> list[Contender]:
    flat = [array.reshape(-1) for array in case.arrays]
    given = [*(array.ctypes.data_as(ctypes.c_void_p) for array in flat), ctypes.c_int64(flat[0].size)]
    results, answer = _results(case)
    call = getattr(library(), case.function)
    return [Contender(NAMES[0], partial(call, *given, *(r.ctypes.data_as(ctypes.c_void_p) for r in results)), answer)]


def _results(case: Case) -> tuple[list[Array], Callable[[], tuple[Array, ...]]]:
    """What the C function writes into, and how that becomes the components of the answer."""
    if case.function == "argmin":
        least, at = np.zeros((), np.uint8), np.zeros((), np.int64)
        shape = case.arrays[0].shape

        def placed() -> tuple[Array, ...]:
            return (least, *(np.asarray(c, np.int32) for c in np.unravel_index(int(at), shape)[::-1]))

        return [least, at], placed
    if case.function == "kitchen_sink":
        struct = np.zeros(8, np.int32)
        return [struct], lambda: tuple(struct[i] for i in range(8))
    arrays = list(case.program().outputs())
    return arrays, lambda: tuple(arrays)


def _compiler() -> str:
    found = shutil.which("cc")
    if found is None:
        raise Absent("no C compiler `cc` is there: install one, such as gcc or clang with OpenMP")
    return found


@cache
def library() -> Any:
    """The compiled reductions. Raises `Absent` where there is no compiler with OpenMP."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "reductions.so")
        done = subprocess.run([_compiler(), *FLAGS, str(SOURCE), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            raise Absent(f"`cc {' '.join(FLAGS)}` fails: {(done.stderr.splitlines() or ['no message'])[0]}")
        return ctypes.CDLL(str(made))
