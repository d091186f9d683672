"""Scans: what `parallel_scan` was given becomes a reduction of blocks, their scan, and blocks that run at once.

    f(r) = f(r - 1) + h(r) for r in [1, n)                               with blocks of 64
        ->
    f.scan1(b) = h(1 + b*64)                                             the full blocks, from their first element
    f.scan1(b) = f.scan1(b) + h(1 + b*64 + j) for j in [1, 64)
    f.scan1(c) = f.scan1(c - 1) + f.scan1(c) for c in [1, (n - 1) // 64)        all blocks up to each
    f(c*64) = f(0) + f.scan1(c - 1) for c in [1, (n - 1) // 64 + 1)             the last point of each full block
    f(1 + c*64 + i) = f(c*64 + i) + h(1 + c*64 + i) for i in [0, 63) for c where c*64 + i < n - 1

The last line runs the update itself, block 0 from the value that was there before. Where the operator commutes, blocks
are reduced in lanes. Otherwise, and in place of the last line, tiles are taken together where that is less work
(`scan_tiles`); what fills no tile is left to the update, after the blocks:

    f.scan1(b) = f.scan1(b) + whole(b*8 + j) for j in [1, 8)                    tiles of 8: h(1 + b*64 + j*8), …
    f(1 + t*8 + l) = f(t*8) + run(l, t) for l in [0, 8) for t in [0, (n - 1) // 8)
    f(1 + i) = f(i) + h(1 + i) for i in [(n - 1) // 8 * 8, n - 1)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from math import gcd

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.prefixes import joins
from rfactor.compiler.lower.scan_tiles import Tiling, in_lanes, joined, lanes_of, pays, prefixes, whole
from rfactor.compiler.parallel_scan import along, moved
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import (
    ROOT,
    Bound,
    Dimension,
    FunctionSchedule,
    Fuse,
    LoopLevel,
    Scan,
    Schedule,
    StageSchedule,
)
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Const, Expr, Op, Var, apply, conjunction, substitute
from rfactor.ir.types import BOOL, I32

_LANE_BITS = 2048
"""Of the values that a block is reduced in at a time: a few vectors."""
_WIDE = 4
"""Tiles that are reduced in order together."""


def scans(algorithm: Algorithm, schedule: Schedule) -> tuple[Algorithm, Schedule]:
    """The algorithm and schedule with every such update rewritten."""
    functions: list[Function] = []
    schedules = dict(schedule.functions)
    for function in algorithm.functions:
        own = schedules[function.name]
        for number in reversed(range(1, len(function.stages))):
            scan = own.stages[number].scan
            if scan is not None:
                _alone(function.name, schedule)
                made, function, own = _rewritten(function, number, own, scan)
                functions += (one for one, _ in made)
                schedules |= {one.name: its for one, its in made}
        functions.append(function)
        schedules[function.name] = own
    return replace(algorithm, functions=tuple(functions)), replace(schedule, functions=schedules)


def _alone(name: str, schedule: Schedule) -> None:
    """Refuse a function that shares loops with another: its stages become others."""
    for other, own in schedule.functions.items():
        for companion in (stage.companion for stage in own.stages if stage.companion is not None):
            if name in (other, companion.function):
                raise ScheduleError(f"{name} has a parallel scan, so that compute_with cannot share its loops")


@dataclass(frozen=True, slots=True)
class _Parts:
    """The loop that is cut into blocks, and what stays of the point that it writes."""

    scan: Scan
    loop: ReductionVariable
    name: str
    """Of the function of the blocks."""
    lanes: int
    """In which blocks of an operator that commutes are reduced."""
    tile: int
    """How many neighbours are computed in a vector; 1: one after the other."""
    place: int
    """The dimension along which it steps."""
    definition: Definition
    function: Function

    @property
    def full(self) -> Expr:
        """The number of full blocks."""
        return affine.divide(self.loop.extent, self.scan.block)

    @property
    def wide(self) -> int:
        """How many neighbours are reduced at a time in order; 1 where lanes are, or there are no vectors."""
        return gcd(self.scan.block // 2, _WIDE * self.tile) if self.tile > 1 and self.lanes == 1 else 1

    @property
    def tiles(self) -> Expr:
        """The number of full tiles."""
        return affine.divide(affine.maximum(self.loop.extent, affine.integer(0)), self.tile)

    def at(self, block: Expr, inside: Expr) -> Expr:
        """The coordinate of an iteration of a block."""
        return affine.add(affine.add(affine.scale(block, self.scan.block), inside), self.loop.min)

    def point(self, coordinate: Expr) -> tuple[Expr, ...]:
        """The function's point at a coordinate along the loop."""
        arguments = self.definition.arguments
        return (*arguments[: self.place], coordinate, *arguments[self.place + 1 :])

    def values(self, coordinate: Expr) -> tuple[Expr, ...]:
        """What the update makes there."""
        return tuple(substitute(value, {self.loop.name: coordinate}) for value in self.definition.values)

    def data(self, coordinate: Expr) -> tuple[Expr, ...]:
        """The state of one iteration."""
        return tuple(substitute(value, {self.loop.name: coordinate}) for value in self.scan.data)


def _rewritten(
    function: Function, number: int, own: FunctionSchedule, scan: Scan
) -> tuple[list[tuple[Function, FunctionSchedule]], Function, FunctionSchedule]:
    """The functions of the blocks, scheduled, and the function and its schedule with update `number` in several."""
    definition, stage = function.stages[number], own.stages[number]
    assert definition.domain is not None
    where = definition.domain.predicate  # of the case that it is: a recurrence has none of its own
    definition = moved(
        replace(definition, domain=replace(definition.domain, predicate=Const(BOOL, True))), scan.variable
    )
    assert definition.domain is not None
    _untouched(function, number, stage, scan)
    loop = next(rv for rv in definition.domain.variables if rv.name == scan.variable)
    place = along(function, definition, scan.variable)
    name, tile = f"{function.name}.scan{number - 1}", _tile_size(definition, stage, scan, place)
    parts = _Parts(scan, loop, name, _lane_count(scan), tile, place, definition, function)
    made: list[tuple[Function, FunctionSchedule]] = []
    if parts.wide > 1:
        level = LoopLevel("at", name, f"{loop.name}.step")
        for step, one in zip(count(), whole(_tiling(parts, f"{name}.whole"), parts.wide), strict=False):
            made.append((one, in_lanes(one, parts.wide >> step, level)))
    blocks = _blocks(parts)
    level = own.compute if own.compute.kind == "at" else ROOT
    made.append((blocks, FunctionSchedule(_block_loops(blocks, parts), level, level, _lanes(blocks, parts))))
    within = [Dimension(f"{loop.name}.step", reduction=True), Dimension(f"{loop.name}.block", "parallel", True)]
    updates = [_ends(blocks, parts)]
    if tile > 1:
        level = LoopLevel("at", function.name, f"{loop.name}.step")
        runs = prefixes(_tiling(parts, f"{name}.run"), tile)
        made += ((one, in_lanes(one, tile, level)) for one in runs)
        within.insert(0, Dimension(f"{loop.name}.lane", "vectorized", True))
        updates += (_tiles(parts, runs[-1]), _rest(parts))
    else:
        updates.append(_inner(parts))
    users = number - 1 if definition.update is None else definition.update
    updates = [_only(one, where, users) for one in updates]
    update = number - 1
    changed = replace(function, updates=(*function.updates[:update], *updates, *function.updates[number:]))
    dimensions = tuple(new for d in stage.dimensions for new in (within if d.name == loop.name else (d,)))
    # Blocks write points of their own, and read others: nothing of them is an update of a point, made as one.
    stages = [default_stage(changed, one) for one in updates]
    stages[1] = replace(stage, dimensions=dimensions, scan=None, atomic=False)
    return made, changed, replace(own, stages=(*own.stages[:number], *stages, *own.stages[number + 1 :]))


def _only(definition: Definition, condition: Expr, update: int) -> Definition:
    """A part of an update of the user's, where `condition` holds."""
    assert definition.domain is not None
    predicate = conjunction(condition, definition.domain.predicate)
    return replace(definition, domain=replace(definition.domain, predicate=predicate), update=update)


def _untouched(function: Function, number: int, stage: StageSchedule, scan: Scan) -> None:
    """The loop is as it was: refuse what was said of it besides."""
    where = f"{function.told(number)}: parallel_scan({scan.variable})"
    for relation in stage.relations:
        used = (relation.inner, relation.outer) if isinstance(relation, Fuse) else (relation.old,)
        if scan.variable in used:
            raise ScheduleError(f"{where} cuts the loop into blocks itself: take its split or fuse away")
    kinds = {d.name: d.kind for d in stage.dimensions}
    if kinds[scan.variable] != "serial":
        raise ScheduleError(f"{where}: the loop is {kinds[scan.variable]} already; a scan runs its blocks at once")


def _others(parts: _Parts) -> tuple[Var, ...]:
    """The variables in the function's point besides the one that steps."""
    found = (a for d, a in enumerate(parts.definition.arguments) if d != parts.place and isinstance(a, Var))
    return tuple(found)


def _tiling(parts: _Parts, name: str) -> Tiling:
    """The data of the scan in tiles."""

    def data(iteration: Expr) -> tuple[Expr, ...]:
        return parts.data(affine.add(iteration, parts.loop.min))

    return Tiling(name, parts.scan.types, parts.scan.operator, data, tuple(v.name for v in _others(parts)))


def _blocks(parts: _Parts) -> Function:
    """The function of what blocks reduce to: a point for each block, and each lane where there are lanes."""
    scan, loop = parts.scan, parts.loop
    others = _others(parts)
    lane, block = Var(I32, f"{loop.name}.lane"), Var(I32, f"{loop.name}.block")
    laned = parts.lanes > 1
    own = (*((lane,) if laned else ()), *others, block)
    first = affine.integer(0)
    inside: Expr = lane if laned else first

    pure = Definition(own, parts.data(parts.at(block, inside)))
    shell = Function(parts.name, tuple(v.name for v in own), scan.types, pure)

    def value(at: Expr, lane_: Expr) -> tuple[Expr, ...]:
        point = (*((lane_,) if laned else ()), *others, at)
        return tuple(shell.at(point, c) for c in range(len(scan.types)))

    def over(name_: str, low: int, end: Expr) -> tuple[Expr, ReductionDomain]:
        variable = ReductionVariable(
            f"{loop.name}.{name_}", affine.integer(low), affine.subtract(end, affine.integer(low))
        )
        return variable.var, ReductionDomain((variable,))

    def with_more(more: tuple[Expr, ...], domain: ReductionDomain) -> Definition:
        return Definition(own, joined(scan.operator, value(block, inside), more), domain)

    updates: list[Definition] = []
    if parts.wide > 1:
        step, steps = over("first", 1, affine.integer(parts.wide))
        updates.append(with_more(parts.data(parts.at(block, step)), steps))
        step, steps = over("step", 1, affine.integer(scan.block // parts.wide))
        tile = affine.add(affine.scale(block, scan.block // parts.wide), step)
        run = whole(_tiling(parts, f"{parts.name}.whole"), parts.wide)[-1]
        more = tuple(run.at((first, *others, tile), c) for c in range(len(scan.types)))
        updates.append(with_more(more, steps))
    else:
        step, steps = over("step", 1, affine.integer(scan.block // parts.lanes))
        along_block = affine.add(affine.scale(step, parts.lanes), inside)
        updates.append(with_more(parts.data(parts.at(block, along_block)), steps))
    start = (*((first,) if laned else ()), *others)
    if laned:
        other, lanes = over("other", 1, affine.integer(parts.lanes))
        both = joined(scan.operator, value(block, first), value(block, other))
        updates.append(Definition((*start, block), both, lanes))
    end, ends = over("end", 1, parts.full)
    before = affine.subtract(end, affine.integer(1))
    updates.append(Definition((*start, end), joined(scan.operator, value(before, first), value(end, first)), ends))
    return replace(shell, updates=tuple(updates))


def _ends(blocks: Function, parts: _Parts) -> Definition:
    """The update that writes the last point of every full block."""
    one = affine.integer(1)
    block = ReductionVariable(f"{parts.loop.name}.end", one, parts.full)
    wide = (affine.integer(0),) if parts.lanes > 1 else ()
    reduced = (*wide, *_others(parts), affine.subtract(block.var, one))
    old = parts.point(affine.subtract(parts.loop.min, one))
    x = tuple(parts.function.at(old, c) for c in range(len(parts.function.types)))
    y = tuple(blocks.at(reduced, c) for c in range(len(blocks.types)))
    assert parts.definition.domain is not None
    rest = tuple(rv for rv in parts.definition.domain.variables if rv.name != parts.loop.name)
    last = parts.at(block.var, affine.integer(-1))
    return Definition(parts.point(last), joined(parts.scan.apply, x, y), ReductionDomain((block, *rest)))


def _inner(parts: _Parts) -> Definition:
    """The update over all points but those: blocks do not meet."""
    loop, count = parts.loop, parts.scan.block
    step = ReductionVariable(f"{loop.name}.step", affine.integer(0), affine.integer(count - 1))
    block = ReductionVariable(f"{loop.name}.block", affine.integer(0), affine.divide_up(loop.extent, count))
    at = parts.at(block.var, step.var)
    inside = apply("<", affine.subtract(at, loop.min), loop.extent)
    assert parts.definition.domain is not None
    variables = tuple(
        new for rv in parts.definition.domain.variables for new in ((step, block) if rv.name == loop.name else (rv,))
    )
    return Definition(parts.point(at), parts.values(at), ReductionDomain(variables, inside))


def _tiles(parts: _Parts, runs: Function) -> Definition:
    """The update over all points of full tiles but those: the value before a tile, and the runs from there."""
    loop, count, size = parts.loop, parts.scan.block, parts.tile
    lane = ReductionVariable(f"{loop.name}.lane", affine.integer(0), affine.integer(size))
    step = ReductionVariable(f"{loop.name}.step", affine.integer(0), affine.integer(count // size))
    block = ReductionVariable(f"{loop.name}.block", affine.integer(0), affine.divide_up(parts.tiles, count // size))
    tile = affine.add(affine.scale(block.var, count // size), step.var)
    start = affine.add(affine.scale(tile, size), loop.min)
    before = parts.point(affine.subtract(start, affine.integer(1)))
    x = tuple(parts.function.at(before, c) for c in range(len(parts.function.types)))
    y = tuple(runs.at((lane.var, *_others(parts), tile), c) for c in range(len(runs.types)))
    assert parts.definition.domain is not None
    variables = tuple(
        new
        for rv in parts.definition.domain.variables
        for new in ((lane, step, block) if rv.name == loop.name else (rv,))
    )
    within = affine.add(affine.scale(step.var, size), lane.var)
    inside = conjunction(apply("<", tile, parts.tiles), apply("<", within, affine.integer(count - 1)))
    point = parts.point(affine.add(start, lane.var))
    return Definition(point, joined(parts.scan.apply, x, y), ReductionDomain(variables, inside))


def _rest(parts: _Parts) -> Definition:
    """The update over what fills no tile."""
    done = affine.scale(parts.tiles, parts.tile)
    left = affine.subtract(affine.maximum(parts.loop.extent, affine.integer(0)), done)
    rest = ReductionVariable(f"{parts.loop.name}.rest", affine.integer(0), left)
    at = affine.add(affine.add(rest.var, done), parts.loop.min)
    assert parts.definition.domain is not None
    variables = tuple(rest if rv.name == parts.loop.name else rv for rv in parts.definition.domain.variables)
    return Definition(parts.point(at), parts.values(at), ReductionDomain(variables))


def _tile_size(definition: Definition, stage: StageSchedule, scan: Scan, place: int) -> int:
    """How many neighbours are computed in a vector; 1 where they do not lie side by side, other loops are vectors, the
    loop is one that `prefixes` runs in vectors anyway, or it would not pay."""
    lanes = gcd(scan.block, 2 * lanes_of(scan.types)) // 2  # two tiles or more fill a block
    if place or lanes < 2 or any(d.kind == "vectorized" for d in stage.dimensions) or _is_running(scan):
        return 1
    return lanes if pays(lanes, scan.operator, scan.apply, definition.values) else 1


def _is_running(scan: Scan) -> bool:
    """Whether the loop itself is run in vectors."""
    value = scan.operator[0]
    return len(scan.types) == 1 and isinstance(value, Op) and joins(value.op, value.type)


def _lanes(blocks: Function, parts: _Parts) -> tuple[Bound, ...]:
    """All lanes are computed, whether there are blocks or not, so that they are vectors of a known size."""
    return (Bound(blocks.variables[0], affine.integer(0), affine.integer(parts.lanes)),) if parts.lanes > 1 else ()


def _lane_count(scan: Scan) -> int:
    return gcd(scan.block, _LANE_BITS // max(t.bits for t in scan.types)) if scan.commutes else 1


def _block_loops(blocks: Function, parts: _Parts) -> tuple[StageSchedule, ...]:
    """Blocks run at once, their lanes as vectors; the scan over blocks is serial."""
    found: list[StageSchedule] = []
    for number, stage in zip(range(len(blocks.stages)), blocks.stages, strict=True):
        dimensions = default_stage(blocks, stage).dimensions
        if number < (3 if parts.wide > 1 else 2):
            lanes = [replace(d, kind="vectorized") for d in dimensions if d.name.endswith(".lane")]
            rest = [d for d in dimensions if not d.name.endswith(".lane")]
            dimensions = (*lanes, *(replace(d, kind="parallel") if d is rest[-1] else d for d in rest))
        found.append(StageSchedule(tuple(dimensions)))
    return tuple(found)
