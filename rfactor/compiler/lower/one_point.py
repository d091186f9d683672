"""Functions with updates that are needed at one point by each point of what uses them, as inline reductions are.

    f[x, y] = hl.minimum(a[x + r.x, y + r.y])
    f.parallel(y).vectorize(x, 16)

Where nothing is said of such a function it is computed in the loops that use it, as in Halide, if those are to run in
threads or lanes, the same points as at the root; or if the points that are needed lie apart, as those of
`f[x, y] = g[2*x, 2*y]`. Functions whose points need others of their own, as those of
histograms and prefix sums do, are left at the root: they would be computed whole at every point.

Where such a function must be computed in the loops that use it, as what it reads is, it is computed in lanes where
each lane needs one point (itself, or what is computed in the lane does), and around the vectorized loop where lanes
share what they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.uses import expressions
from rfactor.compiler.schedule.directives import PLAIN, FunctionSchedule, Schedule, StageSchedule
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.ir.algorithm import Algorithm, Definition, Function
from rfactor.ir.expr import Call, Expr, Var, names, walk
from rfactor.ir.loopnest import For, Produce, Stmt
from rfactor.ir.statements import parts
from rfactor.semantics.validity import pure_dimensions


def of_one_point(function: Function, algorithm: Algorithm, schedule: Schedule) -> bool:
    """Whether nothing is said of `function`, and one stage reads it at a point of each iteration's own, where its loops
    are in threads or lanes or the points lie apart."""
    if any(_said_elsewhere(function.name, own) for own in schedule.functions.values()) or not _point_by_point(function):
        return False
    readers = [
        (reader, stage, schedule.functions[reader.name].stages[k])
        for reader in algorithm.functions
        if reader.name != function.name
        for k, stage in zip(range(len(reader.stages)), reader.stages, strict=True)
        if any(True for _ in _calls(stage, function.name))
    ]
    if len(readers) != 1 or not _plain(schedule.functions[function.name]):
        return False
    ((reader, stage, loops),) = readers
    if stage.domain is not None:
        return False
    steps = _steps(reader, stage, function.name)
    if max(steps, default=1) > 1:
        return True  # the root would compute what lies between
    return _at_once(loops) and (bool(steps) or _at_its_point(reader, stage, function.name))


def lanes_apart(function: Function, own: FunctionSchedule) -> Callable[[For], bool]:
    """Whether each lane of a vectorized loop needs one point of `function`, its own, and can compute it by itself."""
    if not (_point_by_point(function) and _plain(own)):
        return lambda loop: False
    return lambda loop: _one_point_a_lane(loop.body, function.name, frozenset((loop.name,)))


def _one_point_a_lane(stmt: Stmt, name: str, told: frozenset[str], produced: bool = False) -> bool:
    """Whether each statement in `stmt` that calls the function `name` calls it at one point, told by the loops `told`.

    These are the lane's, and around what is `produced` in it, of the lane's own, the loops there.
    """
    if isinstance(stmt, Produce):
        return all(_one_point_a_lane(part, name, frozenset(), True) for part in parts(stmt))
    if isinstance(stmt, For) and produced:
        told |= {stmt.name}
    if parts(stmt):
        return all(_one_point_a_lane(part, name, told, produced) for part in parts(stmt))
    points = {call.args for expr in expressions(stmt) for call in _calls_in(expr, name)}
    return len(points) < 2 and all(
        bool(told) and told <= frozenset().union(*map(names, point)) and not any(map(affine.reads, point))
        for point in points
    )


def _said_elsewhere(name: str, own: FunctionSchedule) -> bool:
    """Whether loops are shared, or what `own` schedules is in the loops of the function `name`."""
    return name in (own.compute.function, own.store.function) or any(stage.companion for stage in own.stages)


def _point_by_point(function: Function) -> bool:
    """Whether each point of `function` is computed without its other points: every stage writes its own variables'."""
    return all(len(pure_dimensions(function, stage)) == len(function.variables) for stage in function.stages)


def _calls(stage: Definition, name: str) -> Iterator[Call]:
    for expr in stage.expressions:
        yield from _calls_in(expr, name)


def _calls_in(expr: Expr, name: str) -> Iterator[Call]:
    for node in walk(expr):
        if isinstance(node, Call) and node.kind == "func" and node.name == name:
            yield node


def _plain(own: FunctionSchedule) -> bool:
    """Whether loops and storage are as they are without directives."""
    loops = all(
        not (stage.relations or stage.specializations or stage.failure or stage.atomic or stage.scan)
        and all(dimension.kind == "serial" for dimension in stage.dimensions)
        for stage in own.stages
    )
    return loops and not own.bounds and own.storage == PLAIN and not own.memoized


def _at_once(loops: StageSchedule) -> bool:
    """Whether some iterations are asked to run at once."""
    return any(dimension.kind in ("parallel", "vectorized") for dimension in loops.dimensions) or any(
        _at_once(one.schedule) for one in loops.specializations
    )


def _at_its_point(reader: Function, stage: Definition, name: str) -> bool:
    """Whether the function `name` is read at the variables of all loops of `stage`, each once."""
    variables = sorted(pure_variables(reader, stage))
    return all(
        all(isinstance(argument, Var) for argument in call.args)
        and sorted(argument.name for argument in call.args if isinstance(argument, Var)) == variables
        for call in _calls(stage, name)
    )


def _steps(reader: Function, stage: Definition, name: str) -> frozenset[int]:
    """By what the coordinates of the one point move at which `stage` reads the function `name`, where each is of one
    variable of its loops, and each of these in one: no two iterations need the same point. None otherwise."""
    points = {call.args for call in _calls(stage, name)}
    variables = frozenset(pure_variables(reader, stage))
    steps: dict[str, int] = {}
    for argument in next(iter(points)) if len(points) == 1 else ():
        moving = [(term, step) for term, step in affine.affine(argument)[0] if names(term) & variables]
        if len(moving) != 1 or affine.reads(argument):
            return frozenset()
        ((term, step),) = moving
        if not isinstance(term, Var) or term.name in steps:
            return frozenset()
        steps[term.name] = abs(step)
    return frozenset(steps.values()) if steps.keys() == variables else frozenset()
