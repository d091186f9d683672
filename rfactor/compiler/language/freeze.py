"""From shells to data: the algorithm and the schedule of everything that an output needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.variables import Param
from rfactor.compiler.schedule.directives import FunctionSchedule, Schedule
from rfactor.errors import AlgorithmError
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Var


@dataclass(frozen=True, slots=True)
class Frozen:
    """A whole pipeline as data, and where its run-time values come from."""

    algorithm: Algorithm
    schedule: Schedule
    images: tuple[Buffer | ImageParam, ...]
    """In the order of the algorithm's images."""
    parameters: tuple[Param, ...]
    """In the order of the algorithm's parameters."""
    functions: tuple[Func, ...] = ()
    """In the order of the algorithm's functions."""


def parts(functions: Iterable[Func]) -> list[object]:
    """All that the directives and definitions of functions can change: the same objects, the same pipeline."""
    found: list[object] = []
    for func in functions:
        found += (func.level, func.store_level, func.bounds, func.storage)
        for state in func.stages:
            found.append(state.definition)
            found.append(state.schedule)
    return found


def freeze(*outputs: Func) -> Frozen:
    """The pipeline of `outputs` as it is now, producers before consumers."""
    done: dict[str, Func] = {}
    images: dict[str, Buffer | ImageParam] = {}
    parameters: dict[str, Param] = {}
    open_: set[str] = set()

    def visit(func: Func) -> None:
        if func.name() in done:
            return
        if func.name() in open_:
            raise AlgorithmError(f"{func.name()} needs itself by way of another function")
        open_.add(func.name())
        func.require()
        for name, used in func.references.items():
            if isinstance(used, Func):
                visit(used)
            elif isinstance(used, Buffer | ImageParam):
                images.setdefault(name, used)
            elif isinstance(used, Param):
                parameters.setdefault(name, used)
        done[func.name()] = func

    for output in outputs:
        visit(output)
    algorithm = Algorithm(
        tuple(func.function for func in done.values()),
        tuple(output.name() for output in outputs),
        tuple(image.image() for image in images.values()),
        tuple(Var(p.type().ir, p.name()) for p in parameters.values()),
    )
    schedules = {
        name: FunctionSchedule(
            tuple(state.schedule for state in func.stages),
            func.level,
            func.store_level or func.level,
            func.bounds,
            func.storage,
        )
        for name, func in done.items()
    }
    given = tuple(images.values()), tuple(parameters.values())
    return Frozen(algorithm, Schedule(schedules), *given, tuple(done.values()))
