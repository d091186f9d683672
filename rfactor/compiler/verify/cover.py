"""The loops of a stage visit every point of its box and its domain.

Which iteration visits a point is told by the schedule: a split takes quotient and remainder, a fusion a product and a
sum. That is a suggestion, and what is proved is about the nest: its loops have that iteration, its conditions hold
there, and it writes where the stage does.

for xo in (0, (n + 7) // 8): for xi in (0, 8): if xo*8 + xi < n: f(xo*8 + xi) = …     x -> xo = x // 8, xi = x % 8
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rfactor.compiler.schedule.directives import OUTERMOST, Split, StageSchedule
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.compiler.verify.meanings import Meanings
from rfactor.compiler.verify.reading import Reading
from rfactor.compiler.verify.spec import Around, Exists, Place, Scope, Spec, Step, ranged
from rfactor.compiler.verify.terms import all_of, any_of, compare, integer, minus, negation, plus, times
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Expr, Op, Var
from rfactor.ir.loopnest import For, If, Let, Provide
from rfactor.ir.several import points
from rfactor.ir.types import I64

_ZERO = integer(0)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place where a stage writes."""

    provide: Provide
    path: tuple[Around, ...]
    """What is around it where the function is produced, outermost first."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that a stage may have: its range, and the iteration that is told."""

    low: Expr
    extent: Expr
    at: Expr


def covering(
    function: Function, stage: int, schedule: StageSchedule, leaves: Sequence[Leaf], scope: Scope, meanings: Meanings
) -> Iterator[Spec]:
    """The obligations of one stage. `scope` is where the function is produced, its holes filled."""
    definition = function.stages[stage]
    prefix = f"{function.name}.s{stage}"
    place = Place("covered", function.name, prefix, "", "", scope.loops)
    env = dict(scope.env)
    loops: dict[str, _Loop] = {}
    running = list(scope.running)
    for name in pure_variables(function, definition):
        at = meanings.fresh(name)
        low, extent = env[f"{prefix}.{name}.min"], env[f"{prefix}.{name}.extent"]
        loops[name] = _Loop(low, extent, at)
        env[name] = at
    for variable in reversed(() if definition.domain is None else definition.domain.variables):
        reading = Reading(meanings, env)
        at = meanings.fresh(variable.name)
        loops[variable.name] = _Loop(reading.of(variable.min), reading.of(variable.extent), at)
        env[variable.name] = at
    point = {name: loop.at for name, loop in loops.items()}
    for loop in loops.values():
        assert isinstance(loop.at, Var)
        meanings.facts[loop.at.name] = ranged(loop.at, loop.low, loop.extent)
        running += ranged(loop.at, loop.low, loop.extent)
    here = Reading(meanings, env)
    visited = (None if definition.domain is None else definition.domain.predicate, definition.where)
    base = Spec(place, (*scope.given, *(here.of(one) for one in visited if one is not None)), tuple(running), ())
    if not leaves:
        yield replace(base, problem="nothing writes it")
        return
    where: list[Expr] = []
    schedules = [*_alternatives(schedule)]
    for number, leaf in enumerate(leaves):
        outer, inner = _conditions(leaf, meanings)
        where.append(all_of(outer))
        own = [one.stmt.name for one in leaf.path if isinstance(one.stmt, For)]
        chosen = schedules[number] if len(schedules) == len(leaves) else schedule
        iterations, lemmas = _told(chosen, loops)
        told = {f"{prefix}.{name}": at for name, at in iterations.items()}
        steps, end = _steps(leaf, told, scope, meanings, inner)
        written = points(leaf.provide.arguments, leaf.provide.values)
        asked = points(definition.arguments, definition.values)
        for (one, _), (other, _) in zip(written, asked, strict=True):
            same = (compare("==", end.of(a), here.of(b)) for a, b in zip(one, other, strict=True))
            steps.append(("its place", all_of(same)))
        exists = _exists(leaf, point, prefix, chosen, loops, scope, meanings)
        for what, goal in steps:
            yield replace(
                base,
                place=replace(place, access=what, loops=(*scope.loops, *own)),
                given=(*base.given, *outer, *lemmas),
                steps=(Step(goal),),
                otherwise=exists,
            )
    yield replace(base, place=replace(place, access="where no condition of a specialization holds"),
                  steps=(Step(any_of(where)),))  # fmt: skip


def visiting(
    function: Function,
    stage: int,
    schedule: StageSchedule,
    point: Mapping[str, Expr],
    turns: Mapping[str, Expr],
    scope: Scope,
    meanings: Meanings,
) -> Iterator[Step]:
    """That an earlier stage visits `point` in this iteration of the loops `turns`, which it shares with what runs here.

    It visits no point elsewhere, so that this proves what is computed before, and no more: that it does not hold
    refutes nothing.
    """
    prefix = f"{function.name}.s{stage}"
    definition = function.stages[stage]
    loops: dict[str, _Loop] = {}
    for name in pure_variables(function, definition):
        loops[name] = _Loop(scope.env[f"{prefix}.{name}.min"], scope.env[f"{prefix}.{name}.extent"], point[name])
    for variable in () if definition.domain is None else definition.domain.variables:
        loops[variable.name] = _Loop(_ZERO, meanings.fresh("extent"), meanings.fresh(variable.name))
    for one in _alternatives(schedule):
        iterations, lemmas = _told(one, loops)
        for name, at in turns.items():
            told = iterations.get(name, at if name == OUTERMOST else meanings.fresh(name))
            yield Step(compare("==", told, at), tuple(lemmas), decisive=False)


def _alternatives(schedule: StageSchedule) -> Iterator[StageSchedule]:
    """The schedules of a stage as the nest has them: each specialization's, then that of all that is left."""
    for one in schedule.specializations:
        yield from _alternatives(one.schedule)
    if schedule.failure is None or not schedule.specializations:
        yield schedule


def _number(split: Split) -> int:
    """The factor. Raises `NotImplementedError` where it is no number."""
    if not isinstance(split.factor, int):
        raise NotImplementedError(f"verify of a split by {split.factor} is not there: split({split.old}) by a number")
    return split.factor


def _told(schedule: StageSchedule, loops: Mapping[str, _Loop]) -> tuple[dict[str, Expr], list[Expr]]:
    """The iteration of each loop that visits the point; and what is true of the quotients of any integers."""
    known = dict(loops)
    lemmas: list[Expr] = []
    for relation in schedule.relations:
        if isinstance(relation, Split):
            old, factor = known.pop(relation.old), integer(_number(relation))
            distance = minus(old.at, old.low)
            outer = Op(I64, "//", (plus(old.extent, integer(_number(relation) - 1)), factor))
            known[relation.outer] = _Loop(_ZERO, outer, Op(I64, "//", (distance, factor)))
            known[relation.inner] = _Loop(_ZERO, factor, Op(I64, "%", (distance, factor)))
        else:
            inner, outside = known.pop(relation.inner), known.pop(relation.outer)
            size = Op(I64, "max", (inner.extent, _ZERO))
            across, along = minus(outside.at, outside.low), minus(inner.at, inner.low)
            at = plus(times(across, size), along)
            known[relation.fused] = _Loop(_ZERO, times(size, outside.extent), at)
            parts = (
                compare("==", Op(I64, "//", (at, inner.extent)), across),
                compare("==", Op(I64, "%", (at, inner.extent)), along),
            )
            lemmas.append(any_of((negation(all_of(ranged(along, _ZERO, inner.extent))), all_of(parts))))
            last = all_of((*ranged(along, _ZERO, inner.extent), *ranged(across, _ZERO, outside.extent)))
            lemmas.append(any_of((negation(last), all_of(ranged(at, _ZERO, times(size, outside.extent))))))
    return {name: loop.at for name, loop in known.items()}, lemmas


def _conditions(leaf: Leaf, meanings: Meanings) -> tuple[list[Expr], frozenset[int]]:
    """The conditions around that depend on no loop of the stage, which tell specializations apart, and the places of
    all others."""
    own: set[str] = set()
    outer: list[Expr] = []
    inner: set[int] = set()
    for place, one in zip(range(len(leaf.path)), leaf.path, strict=True):
        if one.variable is not None:
            own.add(one.variable.name)
        elif isinstance(one.stmt, If):
            if own & meanings.closure(one.terms)[0]:
                inner.add(place)
            else:
                outer.append(one.terms[0] if one.taken else negation(one.terms[0]))
    return outer, frozenset(inner)


def _steps(
    leaf: Leaf, told: Mapping[str, Expr], scope: Scope, meanings: Meanings, inner: frozenset[int]
) -> tuple[list[tuple[str, Expr]], Reading]:
    """What must hold for the iteration to be there, and how expressions are read in it."""
    env = dict(scope.env)
    steps: list[tuple[str, Expr]] = []
    for place, one in zip(range(len(leaf.path)), leaf.path, strict=True):
        stmt, reading = one.stmt, Reading(meanings, dict(env))
        if isinstance(stmt, For):
            low, extent = reading.of(stmt.min), reading.of(stmt.extent)
            at = next((told[name] for name in _names(leaf.path[place:]) if name in told), low)
            steps.append((f"loop {stmt.name}", all_of(ranged(at, low, extent))))
            env[stmt.name] = at
        elif isinstance(stmt, Let):
            env[stmt.name] = reading.of(stmt.value)
        elif isinstance(stmt, If) and place in inner:
            holds = reading.of(stmt.condition)
            steps.append((f"condition {stmt.condition}", holds if one.taken else negation(holds)))
    return steps, Reading(meanings, env)


def _names(path: Sequence[Around]) -> Iterator[str]:
    """What the variable of the first loop of `path` is called in the stages that share it."""
    loop, *inside = (one.stmt for one in path)
    assert isinstance(loop, For)
    yield loop.name
    for stmt in inside:
        if isinstance(stmt, For):
            break
        if isinstance(stmt, Let) and isinstance(stmt.value, Var) and stmt.value.name == loop.name:
            yield stmt.name


def _exists(
    leaf: Leaf,
    points: Mapping[str, Expr],
    prefix: str,
    schedule: StageSchedule,
    loops: Mapping[str, _Loop],
    scope: Scope,
    meanings: Meanings,
) -> Exists:
    """That some iteration visits the point."""
    env = dict(scope.env)
    chosen: list[Var] = []
    conditions: list[Expr] = []
    for one in leaf.path:
        stmt, reading = one.stmt, Reading(meanings, dict(env))
        if isinstance(stmt, For):
            at = meanings.fresh(f"some {stmt.name}")
            chosen.append(at)
            conditions += ranged(at, reading.of(stmt.min), reading.of(stmt.extent))
            env[stmt.name] = at
        elif isinstance(stmt, Let):
            env[stmt.name] = reading.of(stmt.value)
        elif isinstance(stmt, If):
            holds = reading.of(stmt.condition)
            conditions.append(holds if one.taken else negation(holds))
    at_loops = {d.name: env.get(f"{prefix}.{d.name}", _ZERO) for d in schedule.dimensions}
    conditions += [compare("==", value, points[name]) for name, value in _visited(schedule, loops, at_loops).items()]
    return Exists(tuple(chosen), all_of(conditions))


def _visited(schedule: StageSchedule, loops: Mapping[str, _Loop], at: Mapping[str, Expr]) -> dict[str, Expr]:
    """The point that an iteration visits: as `compiler.lower.nest` has it."""
    known = dict(loops)
    made: list[tuple[str, str, str, _Loop, _Loop | None, int]] = []
    for relation in schedule.relations:
        if isinstance(relation, Split):
            old = known.pop(relation.old)
            outer = Op(I64, "//", (plus(old.extent, integer(_number(relation) - 1)), integer(_number(relation))))
            known[relation.outer] = _Loop(_ZERO, outer, _ZERO)
            known[relation.inner] = _Loop(_ZERO, integer(_number(relation)), _ZERO)
            made.append((relation.old, relation.outer, relation.inner, old, None, _number(relation)))
        else:
            inner, outside = known.pop(relation.inner), known.pop(relation.outer)
            size = Op(I64, "max", (inner.extent, _ZERO))
            known[relation.fused] = _Loop(_ZERO, times(size, outside.extent), _ZERO)
            made.append((relation.inner, relation.outer, relation.fused, inner, outside, 0))
    value = dict(at)
    for a, b, c, first, second, factor in reversed(made):
        if second is None:
            value[a] = plus(plus(times(value[b], integer(factor)), value[c]), first.low)
        else:
            value[a] = plus(Op(I64, "%", (value[c], first.extent)), first.low)
            value[b] = plus(Op(I64, "//", (value[c], first.extent)), second.low)
    return {name: value[name] for name in loops}
