"""The schedules of the stages that `rfactor` makes, made of that of the stage which it factored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rfactor.compiler.schedule import loops
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import Dimension, Split, StageSchedule
from rfactor.compiler.schedule.purity import pure_loops
from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.loopnest import LoopKind

_ORDERED = ("serial", "unrolled")
"""Kinds of loops whose iterations run in order."""


def renamed(schedule: StageSchedule, variables: Mapping[str, str]) -> StageSchedule:
    """`schedule` with the loops of factored reduction variables as serial loops of the pure ones that they become."""
    dimensions = tuple(Dimension(variables[d.name]) if d.name in variables else d for d in schedule.dimensions)
    return replace(schedule, dimensions=dimensions)


def carried(function: Function, stage: Definition, before: StageSchedule, fresh: bool = False) -> StageSchedule:
    """The schedule of a stage that `rfactor` made: what was asked of loops that it still has.

    How pure loops run is not carried over to a `fresh` function: where that is computed is not known yet. Splits and
    fuses of reduction variables are in its domain by now; those of pure variables are kept.
    """
    after = default_stage(function, stage)
    held = {d.name for d in after.dimensions if d.reduction or not fresh}
    for relation in before.relations:
        here = {d.name for d in after.dimensions if not d.reduction}
        olds = {relation.old} if isinstance(relation, Split) else {relation.inner, relation.outer}
        if olds <= here:
            if isinstance(relation, Split):
                after = loops.split(after, relation.old, relation.outer, relation.inner, relation.factor, relation.tail)
            else:
                pair = relation.inner, relation.outer
                after = loops.fuse(after, *pair, relation.fused, frozenset(here), lambda: None)
    kinds = {d.name: d.kind for d in before.dimensions}
    order = {name: place for place, name in enumerate(kinds)}
    asks = any(kind not in _ORDERED for name, kind in kinds.items() if name in held)
    pure = pure_loops(function, stage, after) if asks else frozenset()

    def kind(name: str) -> LoopKind:
        asked = kinds.get(name, "serial")
        if name not in held:
            return "serial"
        return asked if asked in _ORDERED or name in pure else "serial"

    # Loops that are new stay outside; the others keep the order that they were given.
    known = sorted((d for d in after.dimensions if d.name in order), key=lambda d: order[d.name])
    new = [d for d in after.dimensions if d.name not in order]
    return StageSchedule(
        tuple(replace(d, kind=kind(d.name)) for d in (*known, *new)),
        after.relations,
        races=before.races,
        atomic=before.atomic,
        rounding=before.rounding,
        companion=None if fresh else before.companion,
    )
