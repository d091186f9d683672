"""The schedules of the stages that `rfactor` makes, made of that of the stage which it factored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rfactor.compiler.schedule import loops
from rfactor.compiler.schedule.directives import Split, StageSchedule
from rfactor.compiler.schedule.purity import pure_loops
from rfactor.ir.algorithm import Definition, Function

_ORDERED = ("serial", "unrolled")
"""Kinds of loops whose iterations run in order."""


def carried(
    after: StageSchedule,
    before: StageSchedule,
    function: Function,
    stage: Definition,
    became: Mapping[str, str] | None = None,
) -> StageSchedule:
    """`after`, the default schedule of a stage that `rfactor` made, with what was asked of loops that it still has.

    In a new function, factored reduction variables `became` pure ones. How pure loops run is not carried over to it:
    where it is computed is not known yet. Splits and fuses of reduction variables are in the stage's domain by now;
    those of pure variables are kept.
    """
    held = {d.name for d in after.dimensions if d.reduction or became is None}
    for relation in before.relations:
        here = {d.name for d in after.dimensions if not d.reduction}
        olds = {relation.old} if isinstance(relation, Split) else {relation.inner, relation.outer}
        if olds <= here:
            if isinstance(relation, Split):
                after = loops.split(after, relation.old, relation.outer, relation.inner, relation.factor, relation.tail)
            else:
                pair = relation.inner, relation.outer
                after = loops.fuse(after, *pair, relation.fused, frozenset(here), lambda: None)
    asked = {d.name if became is None else became.get(d.name, d.name): d.kind for d in before.dimensions}
    at_once = [name for name, kind in asked.items() if name in held and kind not in _ORDERED]
    pure = pure_loops(function, stage, after) if at_once else frozenset()
    # Loops that are new stay outside; the others keep the order that they were given.
    order = {name: place for place, name in enumerate(asked)}
    nested = sorted(after.dimensions, key=lambda d: order.get(d.name, len(order)))
    for place, loop in enumerate(nested):
        kind = asked.get(loop.name, loop.kind)
        if kind != loop.kind and loop.name in held and (kind in _ORDERED or loop.name in pure):
            nested[place] = replace(loop, kind=kind)
    return StageSchedule(
        tuple(nested),
        after.relations,
        races=before.races,
        atomic=before.atomic,
        rounding=before.rounding,
        companion=before.companion if became is None else None,
    )
