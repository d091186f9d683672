"""Cases of an update that are computed in a way of their own become updates of their own.

    f() = f() + b(r.x, r.y) for r.y in [0, h) for r.x in [0, w)
        specialize(p > 3).rfactor(r.y, u)  ->
    f() = f() + intm(r.y) for r.y in [0, h) where p > 3
    f() = f() + b(r.x, r.y) for r.y in [0, h) for r.x in [0, w) where not (p > 3)

Of these, one runs: the first condition that holds decides. Nothing but what the conditions say tells the passes that
follow which one that is, so that an intermediate is computed in those runs alone whose updates read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.lower.answers import FALSE, TRUE, assumed
from rfactor.compiler.schedule.directives import StageSchedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, Requirement
from rfactor.ir.expr import Expr, apply, conjunction


@dataclass(frozen=True, slots=True)
class Apart:
    """A function whose cases are updates, and its schedule."""

    function: Function
    schedules: tuple[StageSchedule, ...]
    places: tuple[int | None, ...]
    """Which stage each stage has become: of several, that of the runs that no case is of; None where there are none."""
    required: tuple[Requirement, ...] = ()
    """That no `specialize_fail` is reached."""


def in_case(definition: Definition, schedule: StageSchedule, place: int) -> Definition:
    """What is computed in a case of a stage, where it is known which conditions hold."""
    case = schedule.specializations[place]
    if case.definition is not None:
        return case.definition
    for other in schedule.specializations[:place]:
        definition = assumed(definition, other.condition, FALSE)
    return assumed(definition, case.condition, TRUE)


def at_path(definition: Definition, schedule: StageSchedule, path: tuple[int, ...]) -> Definition:
    """What is computed in a case within a case, and so on."""
    for place in path:
        definition = in_case(definition, schedule, place)
        schedule = schedule.specializations[place].schedule
    return definition


def loops_at(schedule: StageSchedule, path: tuple[int, ...]) -> StageSchedule:
    """The loops of a case within a case, and so on."""
    for place in path:
        schedule = schedule.specializations[place].schedule
    return schedule


def cases_apart(function: Function, schedules: tuple[StageSchedule, ...]) -> Apart:
    """`function` with an update for each case of those updates of which one is factored, or is a scan."""
    if not any(map(_differs, schedules)):
        return Apart(function, schedules, tuple(range(len(schedules))))
    stages: list[tuple[Definition, StageSchedule]] = []
    places: list[int | None] = []
    required: list[Requirement] = []
    for number, (definition, schedule) in enumerate(zip(function.stages, schedules, strict=True)):
        differs = _differs(schedule)
        found = list(_cases(definition, schedule, (), required)) if differs else [(definition, schedule)]
        stages += ((replace(one, update=number - 1), loops) for one, loops in found)
        places.append(None if schedule.failure is not None and differs else len(stages) - 1)
    pure, *updates = (definition for definition, _ in stages)
    made = replace(function, pure=pure, updates=tuple(updates))
    return Apart(made, tuple(schedule for _, schedule in stages), tuple(places), tuple(required))


def _differs(schedule: StageSchedule) -> bool:
    """Whether a case of a stage is more than loops of its own."""
    return bool(schedule.specializations) and (
        schedule.scan is not None
        or any(
            one.definition is not None or one.schedule.scan is not None or _differs(one.schedule)
            for one in schedule.specializations
        )
    )


def _cases(
    definition: Definition, schedule: StageSchedule, asked: tuple[Expr, ...], required: list[Requirement]
) -> Iterator[tuple[Definition, StageSchedule]]:
    """The cases of a stage that runs where `asked` holds, in their order; `required` gets what must hold on entry."""
    rest = definition
    for place, one in enumerate(schedule.specializations):
        yield from _cases(in_case(definition, schedule, place), one.schedule, (*asked, one.condition), required)
        asked = (*asked, apply("not", one.condition))
        rest = assumed(rest, one.condition, FALSE)
    if schedule.failure is not None:
        told = f"A schedule specialized with specialize_fail() was chosen: {schedule.failure}"
        message = told.replace("{", "{{").replace("}", "}}")
        required.append(Requirement(apply("not", conjunction(*asked)), message))
        return
    domain = rest.domain or ReductionDomain(())
    rest = replace(rest, domain=replace(domain, predicate=conjunction(*asked, domain.predicate)))
    yield rest, replace(schedule, specializations=())


def companions(
    schedules: Mapping[str, tuple[StageSchedule, ...]], places: Mapping[str, tuple[int | None, ...]]
) -> dict[str, tuple[StageSchedule, ...]]:
    """The schedules where stages share loops with what has become of others."""

    def moved(name: str, stage: StageSchedule, own: int | None) -> StageSchedule:
        pair = stage.companion
        if pair is None:
            return stage
        there = places.get(pair.function, ())
        place = there[pair.stage] if pair.stage < len(there) else pair.stage
        told = f"compute_with of {name} and {pair.function}"
        if own is None:
            raise ScheduleError(
                f"{told}: it is of a case of {name} too, which is factored or scanned, or beside one that is, and has "
                "no loops to share: give compute_with after specialize, for the runs that no case is of"
            )
        if place is None:
            raise ScheduleError(
                f"{told}: the update of {pair.function} has a case that is factored or scanned, and specialize_fail "
                "says that there are no other runs, whose loops could be shared: leave compute_with out"
            )
        return replace(stage, companion=replace(pair, stage=place))

    result: dict[str, tuple[StageSchedule, ...]] = {}
    for name, stages in schedules.items():
        kept = set(places[name])
        result[name] = tuple(moved(name, stage, k if k in kept else None) for k, stage in enumerate(stages))
    return result
