"""Tail strategies that do not go together: with the splits before them, or with loops that run in parallel.

Here each of them would give the serial values (see `TailStrategy`). They are refused as in Halide, where they would
not: a schedule that is taken here is taken there.
"""

from __future__ import annotations

from rfactor.compiler.schedule.directives import Split, StageSchedule, TailStrategy
from rfactor.errors import ScheduleError

_BLENDED = frozenset({TailStrategy.ShiftInwardsAndBlend, TailStrategy.RoundUpAndBlend})
_PREDICATED = frozenset({TailStrategy.PredicateLoads, TailStrategy.PredicateStores})


def check_tail(stage: StageSchedule, old: str, tail: TailStrategy, update: bool) -> None:
    """Raise `ScheduleError` where `old` comes from splits after which it may not be split, or not with this tail.

    The inner loop of a split with `PredicateLoads` or `PredicateStores` is split no further; a loop that stems from the
    inner one of any split takes no `PredicateLoads`, and in an update no `RoundUp`.
    """
    if old in _predicated(stage):
        raise ScheduleError(
            "Cannot split a loop variable resulting from a split using PredicateLoads or PredicateStores: make "
            f"{old} by another tail"
        )
    if old not in _inner(stage):
        return
    if tail is TailStrategy.PredicateLoads:
        raise ScheduleError(
            f"Can't use TailStrategy::PredicateLoads for splitting {old}. PredicateLoads may not be used to split a "
            "Var stemming from the inner Var of a prior split. Use TailStrategy.GuardWithIf"
        )
    if tail is TailStrategy.RoundUp and update:
        raise ScheduleError(
            f"Can't use TailStrategy::RoundUp for splitting {old} in an update definition. It may redundantly "
            "recompute some values, which could change the meaning of the algorithm. Use TailStrategy.GuardWithIf"
        )


def check_parallel(stage: StageSchedule) -> None:
    """Raise `ScheduleError` where a parallel loop and a split that blends come from one variable and races count."""
    origins = dict[str, frozenset[str]]()
    blended = list[tuple[Split, frozenset[str]]]()
    for one in stage.relations:
        olds = (one.old,) if isinstance(one, Split) else (one.inner, one.outer)
        news = (one.outer, one.inner) if isinstance(one, Split) else (one.fused,)
        origin = frozenset[str]().union(*(origins.pop(name, {name}) for name in olds))
        origins.update(dict.fromkeys(news, origin))
        if isinstance(one, Split) and one.tail in _BLENDED:
            blended.append((one, origin))
    at_once = [origins.get(d.name, frozenset((d.name,))) for d in stage.dimensions if d.kind == "parallel"]
    for one, origin in () if stage.races else blended:
        if any(origin & other for other in at_once):
            raise ScheduleError(
                f"Tail strategy {one.tail.name} may not be used to split {one.old} because other vars stemming from "
                "the same original Var or RVar are marked as parallel. This could cause a race condition. Use "
                "TailStrategy.GuardWithIf"
            )


def _inner(stage: StageSchedule) -> set[str]:
    """The loops that stem from the inner loop of a split."""
    found = set[str]()
    for one in stage.relations:
        olds = {one.old} if isinstance(one, Split) else {one.inner, one.outer}
        stems = bool(olds & found)
        found -= olds
        if isinstance(one, Split):
            found |= {one.outer} if stems else set()
            found |= set() if one.renames else {one.inner}
        elif stems:
            found.add(one.fused)
    return found


def _predicated(stage: StageSchedule) -> set[str]:
    """The inner loops of splits with `PredicateLoads` or `PredicateStores`, by the names that they have now."""
    found = set[str]()
    for one in stage.relations:
        renamed = isinstance(one, Split) and one.old in found
        found -= {one.old} if isinstance(one, Split) else {one.inner, one.outer}
        if isinstance(one, Split):
            found |= {one.outer} if renamed else set()
            found |= {one.inner} if one.tail in _PREDICATED else set()
    return found
