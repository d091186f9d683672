"""Loops whose iterations may meet, and that were asked to run at once: they do where loops around keep them apart.

    for t:                                                    for t:
      for y:    (asked to be parallel)                          parallel for y:
        for x:  (asked to be vectorized)               ->         vectorized for x:
          f[x, y, t + 1] = f[x - 1, y, t] + f[x, y + 1, t]          f[x, y, t + 1] = …

In one iteration of the loops around, reduction variables that are made of those alone have one value. A loop runs as it
was asked where every reduction variable that it is a part of is then free of races (`schedule/purity`), whatever the
loops inside do: two of its iterations differ in one of those variables, so that neither writes what the other touches.
All other loops keep their order, as does a vectorized one whose extent is no small constant.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.schedule.directives import Dimension, Schedule, Split, StageSchedule
from rfactor.compiler.schedule.loops import apart
from rfactor.compiler.schedule.purity import race_free
from rfactor.ir.algorithm import Algorithm, Definition, Function
from rfactor.ir.expr import Const

_MOST_LANES = 1 << 12


def raced(algorithm: Algorithm, schedule: Schedule) -> Schedule:
    """`schedule`, where such loops run as they were asked to."""
    changed = {}
    for function in algorithm.functions:
        own = schedule.functions.get(function.name)
        if own is None:
            continue
        stages = tuple(_settled(function, one, each) for one, each in zip(function.stages, own.stages, strict=False))
        if stages != own.stages[: len(stages)]:
            changed[function.name] = replace(own, stages=(*stages, *own.stages[len(stages) :]))
    return replace(schedule, functions={**schedule.functions, **changed}) if changed else schedule


def _settled(function: Function, stage: Definition, schedule: StageSchedule) -> StageSchedule:
    """The same of one stage, and of its specializations."""
    special = tuple(replace(one, schedule=_settled(function, stage, one.schedule)) for one in schedule.specializations)
    if special != schedule.specializations:
        schedule = replace(schedule, specializations=special)
    if schedule.atomic or stage.domain is None or all(d.at_once is None for d in schedule.dimensions):
        return schedule
    own = tuple(variable.name for variable in stage.domain.variables)
    relations, keys = apart(schedule, (*function.variables, *own))
    made: dict[str, set[str]] = {name: {name} for name in (*function.variables, *own)}
    """By loop, that there is or was: the variables of the stage that it is a part of."""
    extents = {variable.name: variable.extent for variable in stage.domain.variables}
    lanes = {name: int(extent.value) for name, extent in extents.items() if isinstance(extent, Const)}
    for relation in relations:
        if isinstance(relation, Split):
            made[relation.outer] = made[relation.inner] = made[relation.old]
            if isinstance(relation.factor, int):
                lanes[relation.inner] = relation.factor
        else:
            made[relation.fused] = made[relation.inner] | made[relation.outer]

    def runs(place: int, dimension: Dimension) -> bool:
        key = keys[dimension.name]
        if dimension.at_once == "vectorized" and not 0 < lanes.get(key, 0) <= _MOST_LANES:
            return False
        inside = set[str]().union(*(made[keys[one.name]] for one in schedule.dimensions[: place + 1]))
        return made[key] & set(own) <= race_free(function, stage, frozenset(own) - inside)

    dimensions = tuple(
        replace(one, kind=one.at_once, at_once=None) if one.at_once is not None and runs(place, one) else one
        for place, one in zip(range(len(schedule.dimensions)), schedule.dimensions, strict=True)
    )
    return replace(schedule, dimensions=dimensions)
