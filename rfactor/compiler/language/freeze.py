"""From shells to data: the algorithm and the schedule of everything that an output needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from rfactor.compiler.cases import cases_apart, companions
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.reading import Reading
from rfactor.compiler.language.target_queries import TargetQuery
from rfactor.compiler.language.variables import Param
from rfactor.compiler.language.wrappers import check_wrapped, rewired
from rfactor.compiler.schedule.boxes import check_boxes
from rfactor.compiler.schedule.directives import FunctionSchedule, Schedule, StageSchedule
from rfactor.errors import AlgorithmError
from rfactor.ir.algorithm import Algorithm, Function, Requirement


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
    queries: tuple[TargetQuery, ...] = ()
    """What it was told of this machine."""
    readings: tuple[Reading, ...] = ()
    """In the order of the algorithm's readings."""


def parts(functions: Iterable[Func]) -> list[object]:
    """All that the directives and definitions of functions can change: the same objects, the same pipeline."""
    found: list[object] = []
    for func in functions:
        found += (func.level, func.store_level, func.bounds, func.storage, func.memoized, func.trace, func.debug_file)
        for state in func.stages:
            found.append(state.definition)
            found.append(state.schedule)
        for used in func.references.values():
            if isinstance(used, ImageParam):
                found += (used.promises, used.alignment, used.wrappers, used.trace)
            elif isinstance(used, Param):
                found.append(used.promises)
            elif isinstance(used, Func):
                found.append(used.wrappers)
        found += (held for output in func.output_images for held in (output.promises, output.alignment))
    return found


class Outputs(tuple[Func, ...]):
    """Functions that are computed together, and what is required for that, by a key, with what it refers to."""

    required: Mapping[str, object]

    def __new__(cls, outputs: Iterable[Func], required: Mapping[str, object]) -> Self:
        made = super().__new__(cls, outputs)
        made.required = required
        return made


def freeze(*outputs: Func) -> Frozen:
    """The pipeline of `outputs` as it is now, producers before consumers."""
    return _taken(outputs)


def frozen(outputs: Sequence[Func]) -> Frozen:
    """As `freeze`, with what is required of a pipeline as a whole: see `Outputs`. The functions get no more updates."""
    for output in outputs:
        output.use()
    return _taken(outputs)


def _holds(image: Buffer | ImageParam | Param, buffer: Buffer | ImageParam | Param) -> bool:
    """Whether an image was given this array."""
    return isinstance(image, ImageParam) and image.is_set() and image.given() is buffer


def _taken(outputs: Sequence[Func]) -> Frozen:
    done: dict[str, Func] = {}
    functions: dict[str, Function] = {}
    directives: dict[str, tuple[StageSchedule, ...]] = {}
    places: dict[str, tuple[int | None, ...]] = {}
    images: dict[str, Buffer | ImageParam] = {}
    parameters: dict[str, Param] = {}
    open_: set[str] = set()
    asked: dict[Requirement, None] = {}
    queries: dict[str, TargetQuery] = {}
    readings: dict[str, Reading] = {}
    called: dict[str, Buffer | ImageParam | Param] = {}

    def given(name: str, used: object) -> None:
        if isinstance(used, Buffer | ImageParam | Param) and used.wanted is not None:
            first = called.setdefault(used.wanted, used)
            if first is not used and not _holds(first, used) and not _holds(used, first):
                raise AlgorithmError(
                    f"All Params and embedded Buffers must have unique names, but the name '{used.wanted}' was seen "
                    "multiple times. Call them otherwise, or leave out the name"
                )
        if isinstance(used, Requirement):
            asked[used] = None
        elif isinstance(used, TargetQuery):
            queries[name] = used
        elif isinstance(used, Reading) and name not in readings:
            for other, needed in used.references.items():
                given(other, needed)
            readings[name] = used
        elif isinstance(used, Buffer):
            images.setdefault(name, used)
        elif isinstance(used, ImageParam | Param) and name not in images and name not in parameters:
            if isinstance(used, ImageParam):
                images[name] = used
            else:
                parameters[name] = used
            asked.update(dict.fromkeys(used.requirements()))
            for other, needed in used.references().items():
                given(other, needed)

    def visit(func: Func) -> None:
        if func.name() in done:
            return
        if func.name() in open_:
            raise AlgorithmError(f"{func.name()} needs itself by way of another function")
        open_.add(func.name())
        func.require()
        cases = cases_apart(func.function, tuple(stage.schedule for stage in func.stages))
        functions[func.name()], directives[func.name()], references = rewired(func, cases.function, cases.schedules)
        places[func.name()] = cases.places
        asked.update(dict.fromkeys(cases.required))
        for name, used in references.items():
            if isinstance(used, Func):
                visit(used)
            else:
                given(name, used)
        done[func.name()] = func

    for output in outputs:
        visit(output)
        for image in output.output_images:
            asked.update(dict.fromkeys(image.requirements()))
            for name, needed in image.references().items():
                given(name, needed)
    check_wrapped(outputs)
    if isinstance(outputs, Outputs):
        for name, used in outputs.required.items():
            given(name, used)
    directives = companions(directives, places)
    known = {*images, *(output.name() for output in outputs)}
    for name, func in done.items():
        check_boxes(name, _scheduled(func, tuple(stage.schedule for stage in func.stages)), known)
    algorithm = Algorithm(
        tuple(functions[name] for name in done),
        tuple(output.name() for output in outputs),
        tuple(image.image() for image in images.values()),
        tuple(p.variable for p in parameters.values()),
        tuple(asked),
        tuple(one.reading for one in readings.values()),
    )
    schedules = {name: _scheduled(func, directives[name]) for name, func in done.items()}
    traced = {name: func.trace for name, func in done.items()}
    traced |= {name: image.trace for name, image in images.items() if isinstance(image, ImageParam)}
    traces = {name: trace for name, trace in traced.items() if not trace.silent}
    return Frozen(
        algorithm,
        Schedule(schedules, traces),
        tuple(images.values()),
        tuple(parameters.values()),
        tuple(done.values()),
        tuple(queries.values()),
        tuple(readings.values()),
    )


def _scheduled(func: Func, stages: tuple[StageSchedule, ...]) -> FunctionSchedule:
    """What is said of a function, with that of its stages."""
    return FunctionSchedule(
        stages, func.level, func.store_level or func.level, func.bounds, func.storage, func.memoized
    )
