"""Which stages share a loop, by `compute_with`."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.compiler.schedule.directives import OUTERMOST, Companion, LoopLevel, Schedule, StageSchedule

Stage = tuple[str, int]
"""A function and which stage of it; 0 is the first."""


def sharing(level: LoopLevel, schedule: Schedule) -> frozenset[str]:
    """The stages `f.s0` that have the loops of `level`: those of its function, and those that share one of them.

    What is computed at the loop is computed there for all of these. None for a level that is no loop.
    """
    if level.kind != "at" or level.function not in schedule.functions:
        return frozenset()
    pairs = [ends for ends, loops in _pairs(schedule) if level.variable in loops]
    found = {(level.function, k) for k in range(len(schedule.functions[level.function].stages))}
    size = 0
    while size < len(found):
        size = len(found)
        found.update(stage for ends in pairs if found & set(ends) for stage in ends)
    return frozenset(f"{name}.s{k}" for name, k in found)


def _pairs(schedule: Schedule) -> Iterator[tuple[tuple[Stage, Stage], frozenset[str]]]:
    """Two stages, and the loops that they share."""
    for name, own in schedule.functions.items():
        for k, stage in enumerate(own.stages):
            if stage.companion is not None:
                other = stage.companion
                yield ((name, k), (other.function, other.stage)), _shared(stage, other)


def _shared(stage: StageSchedule, companion: Companion) -> frozenset[str]:
    """The loops from that of `companion` out."""
    loops = [*(d.name for d in stage.dimensions), OUTERMOST]
    return frozenset(loops[loops.index(companion.variable) :] if companion.variable in loops else ())
