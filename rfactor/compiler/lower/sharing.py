"""Which stages share a loop, by `compute_with`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.lower.uses import called_functions
from rfactor.compiler.schedule.directives import OUTERMOST, Companion, FunctionSchedule, LoopLevel, Schedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm

Stage = tuple[str, int]
"""A function and which stage of it; 0 is the first."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Stage `stage` of `function` in the loops of another's, out from `companion.variable`."""

    function: str
    stage: int
    companion: Companion

    @property
    def ends(self) -> tuple[Stage, Stage]:
        return (self.function, self.stage), (self.companion.function, self.companion.stage)

    def __str__(self) -> str:
        other = f"{_stage(self.companion.function, self.companion.stage)}, {self.companion.variable}"
        return f"{_stage(self.function, self.stage)}: compute_with({other})"


def _stage(function: str, stage: int) -> str:
    return f"{function}.update({stage - 1})" if stage else function


@dataclass(frozen=True, slots=True)
class Group:
    """Functions that share loops, one with another, and the pairs of stages that say so."""

    functions: tuple[str, ...]
    pairs: tuple[Pair, ...]

    def pair(self, *functions: str) -> Pair:
        """The first pair that is of all the functions; if none is, of the first."""
        ends = [(pair, {pair.function, pair.companion.function}) for pair in self.pairs]
        direct = [pair for pair, both in ends if both >= set(functions)]
        return (direct or [pair for pair, both in ends if functions[0] in both])[0]


def groups(algorithm: Algorithm, schedule: Schedule) -> list[Group]:
    """The functions that pairs of stages connect, and those pairs, in the algorithm's order."""
    found: list[Group] = []
    order = [function.name for function in algorithm.functions]
    ends_of = set[tuple[str, str]]()
    for pair in _pairs({name: schedule.functions[name] for name in order}):
        ends_of.add((pair.function, pair.companion.function))
        if (pair.companion.function, pair.function) in ends_of:
            raise ScheduleError(
                f"Found cyclic dependencies between compute_with of {pair.companion.function} and {pair.function}: "
                f"leave out one of the two ({pair})"
            )
        if pair.companion.function not in order:
            other = f"{pair.companion.function}.s{pair.companion.stage}"
            raise ScheduleError(
                f"Invalid compute_with: {other} is scheduled inline, or not used: give it compute_root() or "
                f"compute_at() ({pair})"
            )
        ends = {name for name, _ in pair.ends}
        met = [group for group in found if ends & set(group.functions)]
        found = [group for group in found if group not in met]
        functions = ends.union(*(group.functions for group in met))
        pairs = (*(one for group in met for one in group.pairs), pair)
        found.append(Group(tuple(sorted(functions, key=order.index)), pairs))
    return found


def neighbours(algorithm: Algorithm, schedule: Schedule) -> Algorithm:
    """The algorithm with functions that share loops side by side; as it is where one that they need comes between.

    What needs the first of them comes after the last then, and all else where it was.
    """
    together = groups(algorithm, schedule)
    if not together:
        return algorithm
    place = {function.name: number for number, function in enumerate(algorithm.functions)}
    joined = {name for group in together for name in group.functions}
    units = [*(group.functions for group in together), *((name,) for name in place if name not in joined)]
    units.sort(key=lambda unit: place[unit[-1]])
    needs = {
        unit: {other for name in unit for other in called_functions(algorithm.function(name))} & set(place) - set(unit)
        for unit in units
    }
    order: list[str] = []
    while units:
        ready = next((unit for unit in units if needs[unit] <= set(order)), None)
        if ready is None:
            return algorithm
        units.remove(ready)
        order.extend(ready)
    return replace(algorithm, functions=tuple(map(algorithm.function, order)))


def sharing(level: LoopLevel, schedule: Schedule) -> frozenset[str]:
    """The stages `f.s0` that have the loops of `level`: those of its function, and those that share one of them.

    What is computed at the loop is computed there for all of these. None for a level that is no loop.
    """
    if level.kind != "at" or level.function not in schedule.functions:
        return frozenset()
    pairs = [pair.ends for pair in _pairs(schedule.functions) if level.variable in _shared(pair, schedule)]
    found = {(level.function, k) for k in range(len(schedule.functions[level.function].stages))}
    size = 0
    while size < len(found):
        size = len(found)
        found.update(stage for ends in pairs if found & set(ends) for stage in ends)
    return frozenset(f"{name}.s{k}" for name, k in found)


def _shared(pair: Pair, schedule: Schedule) -> list[str]:
    """The loops of two stages from that which is named out."""
    stage = schedule.functions[pair.function].stages[pair.stage]
    loops = [*(d.name for d in stage.dimensions), OUTERMOST]
    return loops[loops.index(pair.companion.variable) :] if pair.companion.variable in loops else []


def _pairs(schedules: Mapping[str, FunctionSchedule]) -> Iterator[Pair]:
    for name, own in schedules.items():
        for k, stage in enumerate(own.stages):
            if stage.companion is not None:
                yield Pair(name, k, stage.companion)
