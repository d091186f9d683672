"""Halide: the same programs under the schedules of its own benchmark, under ours, and without a schedule.

Its table of operators has only the argmin and argmax in which the last of equal elements wins, so these are written
that way for it; and under vector lanes it gives any of the equal elements.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version as installed
from typing import Any

from rfactor.bench.contender import Absent, Contender
from rfactor.bench.program import Program
from rfactor.bench.table1 import Case

NAMES = ("Halide", "Halide alike", "Halide serial")


def version() -> str:
    try:
        import halide  # noqa: F401
    except ImportError as error:
        raise Absent("Halide is not installed: pip install 'rfactor-compiler[bench]'") from error
    return f"Halide {installed('halide')}"


def program(case: Case) -> Program:
    """The program of a case in Halide. Raises `Absent`."""
    version()
    import halide

    return case.program(halide, last=True)


def contenders(case: Case) -> list[Contender]:
    own = program(case)
    import halide

    made = []
    for name, schedule in zip(NAMES, (own.published, own.schedule, None), strict=True):
        function, domain = own.algorithm()
        if schedule is not None:
            schedule(function, domain)
        function.compile_jit()
        arrays = own.outputs()
        buffers: Any = [halide.Buffer(array) for array in arrays]
        run = partial(function.realize, buffers[0] if len(buffers) == 1 else buffers)
        made.append(Contender(name, run, partial(tuple, arrays), any_tie=True))
    return made
