"""Scans: what `parallel_scan` was given becomes a reduction of blocks, their scan, and blocks that run at once.

    f(r) = f(r - 1) + h(r) for r in [1, n)                               with blocks of 64
        ->
    f.scan1(b) = h(1 + b*64)                                             the full blocks, from their first element
    f.scan1(b) = f.scan1(b) + h(1 + b*64 + j) for j in [1, 64)
    f.scan1(c) = f.scan1(c - 1) + f.scan1(c) for c in [1, (n - 1) // 64)        all blocks up to each
    f(c*64) = f(0) + f.scan1(c - 1) for c in [1, (n - 1) // 64 + 1)             the last point of each full block
    f(1 + c*64 + i) = f(c*64 + i) + h(1 + c*64 + i) for i in [0, 63) for c where c*64 + i < n - 1

The last line runs the update itself, block 0 from the value that was there before. Where the operator commutes, blocks
are reduced in lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from rfactor.compiler.lower import affine
from rfactor.compiler.parallel_scan import along, moved
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import (
    ROOT,
    Bound,
    Dimension,
    FunctionSchedule,
    Fuse,
    Scan,
    Schedule,
    StageSchedule,
)
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Expr, Var, apply, substitute
from rfactor.ir.types import I32

_LANE_BITS = 2048
"""Of the values that a block is reduced in at a time: a few vectors."""


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
                blocks, function, own = _rewritten(function, number, own, scan)
                functions.append(blocks)
                level = own.compute if own.compute.kind == "at" else ROOT
                schedules[blocks.name] = FunctionSchedule(_block_loops(blocks), level, level, _lanes(blocks, scan))
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
    lanes: int
    place: int
    """The dimension along which it steps."""
    definition: Definition

    @property
    def full(self) -> Expr:
        """The number of full blocks."""
        return affine.divide(self.loop.extent, self.scan.block)

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


def _rewritten(
    function: Function, number: int, own: FunctionSchedule, scan: Scan
) -> tuple[Function, Function, FunctionSchedule]:
    """The function of the blocks, and the function and its schedule with update `number` in two."""
    definition, stage = moved(function.stages[number], scan.variable), own.stages[number]
    assert definition.domain is not None
    _untouched(function, number, stage, scan)
    loop = next(rv for rv in definition.domain.variables if rv.name == scan.variable)
    parts = _Parts(scan, loop, _lane_count(scan), along(function, definition, scan.variable), definition)
    blocks = _blocks(function, number, parts)
    ends, inner = _ends(function, blocks, parts), _inner(parts)
    update = number - 1
    changed = replace(function, updates=(*function.updates[:update], ends, inner, *function.updates[number:]))
    within = Dimension(f"{loop.name}.step", reduction=True), Dimension(f"{loop.name}.block", "parallel", True)
    dimensions = tuple(new for d in stage.dimensions for new in (within if d.name == loop.name else (d,)))
    # Blocks write points of their own, and read others: nothing of them is an update of a point, made as one.
    made = default_stage(changed, ends), replace(stage, dimensions=dimensions, scan=None, atomic=False)
    return blocks, changed, replace(own, stages=(*own.stages[:number], *made, *own.stages[number + 1 :]))


def _untouched(function: Function, number: int, stage: StageSchedule, scan: Scan) -> None:
    """The loop is as it was: refuse what was said of it besides."""
    where = f"{function.name}.update({number - 1}): parallel_scan({scan.variable})"
    if stage.specializations or stage.failure is not None:
        raise ScheduleError(f"{where} and specialize on one update: scan without, or specialize another stage")
    for relation in stage.relations:
        used = (relation.inner, relation.outer) if isinstance(relation, Fuse) else (relation.old,)
        if scan.variable in used:
            raise ScheduleError(f"{where} cuts the loop into blocks itself: take its split or fuse away")
    kinds = {d.name: d.kind for d in stage.dimensions}
    if kinds[scan.variable] != "serial":
        raise ScheduleError(f"{where}: the loop is {kinds[scan.variable]} already; a scan runs its blocks at once")


def _others(parts: _Parts) -> tuple[Expr, ...]:
    """The variables in the function's point besides the one that steps."""
    found = (a for d, a in enumerate(parts.definition.arguments) if d != parts.place and isinstance(a, Var))
    return tuple(found)


def _blocks(function: Function, number: int, parts: _Parts) -> Function:
    """The function of what blocks reduce to: a point for each block, and each lane where there are lanes."""
    scan, loop = parts.scan, parts.loop
    others = _others(parts)
    lane, block = Var(I32, f"{loop.name}.lane"), Var(I32, f"{loop.name}.block")
    name = f"{function.name}.scan{number - 1}"
    wide = parts.lanes > 1
    own = (*((lane,) if wide else ()), *others, block)
    variables = tuple(v.name for v in own if isinstance(v, Var))
    inside: Expr = lane if wide else affine.integer(0)

    def data(coordinate: Expr) -> tuple[Expr, ...]:
        return tuple(substitute(value, {loop.name: coordinate}) for value in scan.data)

    pure = Definition(own, data(parts.at(block, inside)))
    shell = Function(name, variables, scan.types, pure)
    first = affine.integer(0)

    def value(at: Expr, lane_: Expr) -> tuple[Expr, ...]:
        point = (*((lane_,) if wide else ()), *others, at)
        return tuple(shell.at(point, c) for c in range(len(scan.types)))

    def joined(x: tuple[Expr, ...], y: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return _applied(scan.operator, x, y)

    def over(name_: str, low: int, end: Expr) -> tuple[Expr, ReductionDomain]:
        variable = ReductionVariable(
            f"{loop.name}.{name_}", affine.integer(low), affine.subtract(end, affine.integer(low))
        )
        return variable.var, ReductionDomain((variable,))

    step, steps = over("step", 1, affine.integer(scan.block // parts.lanes))
    along_block = affine.add(affine.scale(step, parts.lanes), inside)
    updates = [Definition(own, joined(value(block, inside), data(parts.at(block, along_block))), steps)]
    start = (*((first,) if wide else ()), *others)
    if wide:
        other, lanes = over("other", 1, affine.integer(parts.lanes))
        updates.append(Definition((*start, block), joined(value(block, first), value(block, other)), lanes))
    end, ends = over("end", 1, parts.full)
    before = affine.subtract(end, affine.integer(1))
    updates.append(Definition((*start, end), joined(value(before, first), value(end, first)), ends))
    return replace(shell, updates=tuple(updates))


def _applied(operator: tuple[Expr, ...], x: tuple[Expr, ...], y: tuple[Expr, ...]) -> tuple[Expr, ...]:
    values = {f"{side}{i}": value for side, of in (("x", x), ("y", y)) for i, value in enumerate(of)}
    return tuple(substitute(expr, values) for expr in operator)


def _ends(function: Function, blocks: Function, parts: _Parts) -> Definition:
    """The update that writes the last point of every full block."""
    one = affine.integer(1)
    block = ReductionVariable(f"{parts.loop.name}.end", one, parts.full)
    wide = (affine.integer(0),) if parts.lanes > 1 else ()
    reduced = (*wide, *_others(parts), affine.subtract(block.var, one))
    old = parts.point(affine.subtract(parts.loop.min, one))
    x = tuple(function.at(old, c) for c in range(len(function.types)))
    y = tuple(blocks.at(reduced, c) for c in range(len(blocks.types)))
    assert parts.definition.domain is not None
    rest = tuple(rv for rv in parts.definition.domain.variables if rv.name != parts.loop.name)
    last = parts.at(block.var, affine.integer(-1))
    return Definition(parts.point(last), _applied(parts.scan.apply, x, y), ReductionDomain((block, *rest)))


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


def _lanes(blocks: Function, scan: Scan) -> tuple[Bound, ...]:
    """All lanes are computed, whether there are blocks or not, so that they are vectors of a known size."""
    lanes = _lane_count(scan)
    return (Bound(blocks.variables[0], affine.integer(0), affine.integer(lanes)),) if lanes > 1 else ()


def _lane_count(scan: Scan) -> int:
    return gcd(scan.block, _LANE_BITS // max(t.bits for t in scan.types)) if scan.commutes else 1


def _block_loops(blocks: Function) -> tuple[StageSchedule, ...]:
    """Blocks run at once, their lanes as vectors; the scan over blocks is serial."""
    found: list[StageSchedule] = []
    for number, stage in zip(range(len(blocks.stages)), blocks.stages, strict=True):
        dimensions = default_stage(blocks, stage).dimensions
        if number < 2:
            lanes = [replace(d, kind="vectorized") for d in dimensions if d.name.endswith(".lane")]
            rest = [d for d in dimensions if not d.name.endswith(".lane")]
            dimensions = (*lanes, *(replace(d, kind="parallel") if d is rest[-1] else d for d in rest))
        found.append(StageSchedule(tuple(dimensions)))
    return tuple(found)
