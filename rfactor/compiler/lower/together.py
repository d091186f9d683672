"""Stages that `compute_with` puts into the same loops.

    produce g: for g.y in (a, n): g[y] = …         produce f: for f.y in (min(a, b), …):
    produce f: for f.y in (b, m): f[y] = …    ->                let g.y = f.y
                                                                if a <= f.y < a + n: g[y] = …
                                                                if b <= f.y < b + m: f[y] = …

None of the functions needs another, and all are computed in the same place (`sharing.neighbours`).
Stages of one function share a loop too, in turns (`turns`). Loops inside what a stage computes for itself are its own;
a specialized stage shares loops in each of its cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.nest import once
from rfactor.compiler.lower.sharing import Group, Pair, Stage, groups
from rfactor.compiler.lower.turns import coordinates, decided, known, left
from rfactor.compiler.lower.uses import called, uses
from rfactor.compiler.schedule.directives import OUTERMOST, Schedule, StageSchedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Expr, Var, apply, conjunction
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Realize, Stmt, block
from rfactor.ir.statements import parts, with_parts
from rfactor.ir.types import I32


def together(
    body: Stmt, algorithm: Algorithm, schedule: Schedule, definitions: Iterable[tuple[str, Expr]] = ()
) -> Stmt:
    """The bounded nest with such stages in one nest of loops. Raises `ScheduleError` where they cannot be.

    `definitions` are those that the nest stands in.
    """
    for group in groups(algorithm, schedule):
        _independent(group, algorithm)
        told = [*definitions, *_definitions(body)]
        often = Counter(name for name, _ in told)
        defined = {name: value for name, value in told if often[name] == 1}
        body, found = _joined(body, _Around(group, algorithm, schedule, defined))
        if not found:
            places = {name: schedule.functions[name].compute for name in group.functions}
            apart = [p for p in group.pairs if places[p.function] != places[p.companion.function]] or group.pairs
            raise _apart(apart[0])
    return body


def _apart(pair: Pair) -> ScheduleError:
    return ScheduleError(
        f"{pair}: they are not computed in the same place: give both the same compute_root() or compute_at()"
    )


def produced_together(algorithm: Algorithm, schedule: Schedule) -> list[tuple[str, ...]]:
    """The functions that share loops, in the algorithm's order: all are produced where the last of them is."""
    return [group.functions for group in groups(algorithm, schedule)]


def _independent(group: Group, algorithm: Algorithm) -> None:
    """Refuse where one of the functions needs another."""
    for name in group.functions:
        for other in sorted(_needs(name, algorithm) & set(group.functions)):
            raise ScheduleError(
                f"{group.pair(name, other)}: {name} needs {other}, so that their loops cannot run together; "
                f"compute_at() computes {other} inside a loop of {name}"
            )


def _needs(name: str, algorithm: Algorithm) -> set[str]:
    """The functions that a function is computed from, itself not counted."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        function = algorithm.function(waiting.pop())
        for other in algorithm.functions:
            read = any(called(expr, other.name) for stage in function.stages for expr in stage.expressions)
            if read and other.name not in found | {name}:
                found.add(other.name)
                waiting.append(other.name)
    return found


@dataclass(frozen=True, slots=True)
class _Around:
    """What stages share loops for, and what is defined around them."""

    group: Group
    algorithm: Algorithm
    schedule: Schedule
    defined: Mapping[str, Expr]

    def inside(self, stmt: Stmt) -> _Around:
        """What is around the body of a statement."""
        return replace(self, defined={**self.defined, stmt.name: stmt.value}) if isinstance(stmt, Let) else self


def _joined(stmt: Stmt, around: _Around) -> tuple[Stmt, bool]:
    """The statement with the group produced together, where its functions are produced one after the other."""
    if set(around.group.functions) <= set(_produced(stmt)):
        return _moved(stmt, [], around), True
    found = False

    def visit(part: Stmt) -> Stmt:
        nonlocal found
        done, here = _joined(part, around.inside(stmt))
        found = found or here
        return done

    visited = with_parts(stmt, visit)
    return visited, found


def _produced(stmt: Stmt) -> Iterator[str]:
    """What is produced one after the other."""
    if isinstance(stmt, Produce):
        yield stmt.name
    elif isinstance(stmt, Block | Let | Realize):
        for part in stmt.statements if isinstance(stmt, Block) else (stmt.body,):
            yield from _produced(part)


def _moved(stmt: Stmt, before: list[Produce], around: _Around) -> Stmt:
    """`stmt` with what is produced of the group moved to where the last of it is, after those that came before.

    `before` grows by what is taken out of `stmt`.
    """
    group = around.group
    if isinstance(stmt, Let | Realize):
        taken = len(before)
        stmt = replace(stmt, body=_moved(stmt.body, before, around.inside(stmt)))
        if taken < len(before) < len(group.functions):
            raise _apart(group.pair(before[-1].name))
        return stmt
    if isinstance(stmt, Block):
        return block(*(_moved(part, before, around) for part in stmt.statements))
    if isinstance(stmt, Produce) and stmt.name in group.functions:
        before.append(stmt)
        return _merged(before, around) if len(before) == len(group.functions) else Block(())
    if len(before) < len(group.functions):
        for one in before:
            if uses(stmt, one.name):
                raise ScheduleError(f"{group.pair(one.name)}: what is computed between the two needs {one.name}")
    return stmt


def _merged(produced: list[Produce], around: _Around) -> Produce:
    """All produced in one place: the stages of each in their order, those that share loops in them."""
    group = around.group
    made: dict[Stage, tuple[Stmt, StageSchedule]] = {}
    for one in produced:
        stages = one.body.statements if isinstance(one.body, Block) else (one.body,)
        schedules = around.schedule.functions[one.name].stages
        made |= {(one.name, k): (stages[k], schedules[k]) for k in range(len(stages))}
    shared = {pair.ends: 1 for pair in group.pairs}
    order = _in_order(_components(list(made), shared, 0), group)
    return Produce(produced[-1].name, block(*(_one_by_one(one, made, around) for one in order)))


def _one_by_one(
    stages: tuple[Stage, ...],
    made: Mapping[Stage, tuple[Stmt, StageSchedule]],
    around: _Around,
    asked: Mapping[Expr, bool] = MappingProxyType({}),
) -> Stmt:
    """Stages that share loops: where one is specialized, apart for each of its cases. `asked` are the conditions
    that are known."""
    members = {stage: _Loops(f"{stage[0]}.s{stage[1]}", made[stage][0]) for stage in stages}
    for stage, loops in members.items():
        case = loops.inside()
        if len(stages) > 1 and isinstance(case, If):
            condition, answer = case.condition, asked.get(case.condition)
            cases = []
            for part, taken in zip(parts(case), (True, False), strict=True):
                if answer in (None, taken):
                    one = loops.holding(part), left(made[stage][1], taken)
                    cases.append(_one_by_one(stages, {**made, stage: one}, around, {**asked, condition: taken}))
            return cases[0] if answer is not None else If(condition, *cases)
    pairs = [pair for pair in around.group.pairs if set(pair.ends) <= set(stages)]
    if any(loops.outermost() for loops in members.values()) or any(p.companion.variable == OUTERMOST for p in pairs):
        members = {stage: loops.once() for stage, loops in members.items()}
    shared: dict[tuple[Stage, Stage], int] = {}
    for pair in pairs:
        variable = pair.companion.variable
        first, second = (members[end] for end in pair.ends)
        kinds = [loops.until(variable, pair) for loops in (first, second)]
        if kinds[0] != kinds[1]:
            shown = " and ".join(", ".join(f"{kind} {name}" for name, kind in own) for own in kinds)
            raise ScheduleError(f"{pair}: the loops out from {variable} must be the same, but they are {shown}")
        shared[pair.ends] = min(len(kinds[0]), first.depth(), second.depth())
    fused = [_Member(stage, loops, decided(made[stage][1])) for stage, loops in members.items()]
    return _fused(fused, shared, 0, around)


def _in_order(components: list[tuple[Stage, ...]], group: Group) -> list[tuple[Stage, ...]]:
    """What runs one after the other, such that the stages of each function come in their order."""
    waiting = list(components)
    result: list[tuple[Stage, ...]] = []
    while waiting:
        left = {stage for one in waiting for stage in one}
        early = [[stage for stage in one if _earlier(stage) & left - set(one)] for one in waiting]
        if [] not in early:
            raise _out_of_order(group, early[0][0])
        result.append(waiting.pop(early.index([])))
    return result


def _earlier(stage: Stage) -> set[Stage]:
    return {(stage[0], k) for k in range(stage[1])}


def _out_of_order(group: Group, stage: Stage) -> ScheduleError:
    pair = next((p for p in group.pairs if stage in p.ends), group.pair(stage[0]))
    return ScheduleError(f"{pair}: an earlier stage of {stage[0]} runs with this or a later one")


def _components(stages: list[Stage], shared: Mapping[tuple[Stage, Stage], int], level: int) -> list[tuple[Stage, ...]]:
    """The stages as they share more than `level` loops, in their order."""
    found: list[tuple[Stage, ...]] = []
    for stage in stages:
        near = {b if a == stage else a for (a, b), depth in shared.items() if depth > level and stage in (a, b)}
        met = [one for one in found if near & set(one)]
        joined = (*(s for one in met for s in one), stage)
        place = found.index(met[0]) if met else len(found)
        found = [one for one in found if one not in met]
        found.insert(place, joined)
    return found


@dataclass(frozen=True, slots=True)
class _Loops:
    """A stage: its loops are named by `prefix`."""

    prefix: str
    body: Stmt

    def outside(self) -> list[Let | If]:
        """What is around the outermost loop."""
        found: list[Let | If] = []
        stmt = self.body
        while isinstance(stmt, Let) or (isinstance(stmt, If) and stmt.otherwise is None):
            found.append(stmt)
            stmt = stmt.body if isinstance(stmt, Let) else stmt.then
        return found

    def inside(self) -> Stmt:
        """What that is around."""
        around = self.outside()
        if not around:
            return self.body
        return around[-1].body if isinstance(around[-1], Let) else around[-1].then

    def holding(self, body: Stmt) -> Stmt:
        """What is around, around `body`."""
        for one in reversed(self.outside()):
            body = replace(one, body=body) if isinstance(one, Let) else replace(one, then=body)
        return body

    def around(self) -> tuple[list[Let | If], For | None]:
        """What is around the outermost loop, and that loop."""
        loop = self.inside()
        return self.outside(), loop if isinstance(loop, For) and loop.name.startswith(f"{self.prefix}.") else None

    def outermost(self) -> bool:
        """Whether it has the loop around all others, which runs once."""
        _, loop = self.around()
        return loop is not None and loop.name == f"{self.prefix}.{OUTERMOST}"

    def once(self) -> _Loops:
        """With that loop."""
        if self.outermost():
            return self
        return _Loops(self.prefix, once(f"{self.prefix}.{OUTERMOST}", self.body))

    def depth(self) -> int:
        """How many loops there are before another function is computed."""
        _, loop = self.around()
        return 0 if loop is None else 1 + _Loops(self.prefix, loop.body).depth()

    def until(self, variable: str, pair: Pair) -> list[tuple[str, str]]:
        """The loops with their kinds, from the outermost to that over `variable`."""
        loops = [(name.removeprefix(f"{self.prefix}."), kind) for name, kind in _own(self.body, f"{self.prefix}.")]
        named = [name for name, _ in loops]
        if variable not in named:
            seen = ", ".join(named) or "none"
            raise ScheduleError(f"{pair}: {self.prefix} has no such loop; it has {seen} (outermost first)")
        return loops[: named.index(variable) + 1]


def _own(stmt: Stmt, prefix: str) -> Iterator[tuple[str, str]]:
    """The loops of a stage with their kinds, outermost first."""
    if isinstance(stmt, For) and stmt.name.startswith(prefix):
        yield stmt.name, stmt.kind
    for part in parts(stmt):
        yield from _own(part, prefix)


@dataclass(frozen=True, slots=True)
class _Member:
    """A stage in shared loops: what is left of its own inside them, and where that runs."""

    stage: Stage
    loops: _Loops
    schedule: StageSchedule | None
    """None where it is not known which of several the loops are of."""
    when: tuple[Expr, ...] = ()


def _fused(members: list[_Member], shared: Mapping[tuple[Stage, Stage], int], level: int, around: _Around) -> Stmt:
    """What the stages have inside `level` loops: those that share the next loop in one."""
    of = {member.stage: member for member in members}
    return block(
        *(
            _loop([of[stage] for stage in component], shared, level, around)
            for component in _in_order(_components(list(of), shared, level), around.group)
        )
    )


def _loop(members: list[_Member], shared: Mapping[tuple[Stage, Stage], int], level: int, around: _Around) -> Stmt:
    """The stages in one loop, over all that any of them needs; one alone in its own."""
    if len(members) == 1:
        return _where(members[0].when, members[0].loops.body)
    outside: list[Let | If] = []
    own: list[For] = []
    turns: dict[str, Hashable] = {}
    for member in members:
        before, loop = member.loops.around()
        assert loop is not None
        outside += before
        if any(_one_function(member, other) for other in members):
            of = _coordinates(member, loop, around)
            if of is None or turns.setdefault(member.stage[0], of) != of:
                raise _not_in_turns(around.group, member.stage, loop.name)
        own.append(replace(loop, min=known(loop.min, around.defined), extent=known(loop.extent, around.defined)))
    low = reduce(affine.minimum, dict.fromkeys(loop.min for loop in own))
    end = reduce(affine.maximum, dict.fromkeys(affine.add(loop.min, loop.extent) for loop in own))
    name, here = own[-1].name, Var(I32, own[-1].name)
    inside = []
    for member, loop in zip(members, own, strict=True):
        asked = tuple(one.condition for one in member.loops.outside() if isinstance(one, If))
        rest = _Loops(member.loops.prefix, loop.body)
        inside.append(replace(member, loops=rest, when=member.when + asked + _inside(here, loop, low, end)))
    inner = _fused(inside, shared, level + 1, around)
    for loop in reversed(own[:-1]):
        inner = Let(loop.name, here, inner)
    result: Stmt = For(name, low, affine.subtract(end, low), own[-1].kind, inner)
    for one in reversed(outside):
        if isinstance(one, Let):
            result = Let(one.name, one.value, result)
    return result


def _one_function(a: _Member, b: _Member) -> bool:
    return a.stage[0] == b.stage[0] and a.stage != b.stage


def _coordinates(member: _Member, loop: For, around: _Around) -> Hashable | None:
    """As `turns.coordinates`, of a loop of the stage."""
    name, number = member.stage
    if member.schedule is None:
        return None
    variable = loop.name.removeprefix(f"{name}.s{number}.")
    return coordinates(around.algorithm.function(name), number, member.schedule, variable, around.defined)


def _not_in_turns(group: Group, stage: Stage, loop: str) -> ScheduleError:
    return ScheduleError(
        f"{_out_of_order(group, stage)} in the loop {loop}: they run in turns where it is made of the same pure "
        f"variables of {stage[0]} in the same way, over the same box"
    )


def _definitions(stmt: Stmt) -> Iterator[tuple[str, Expr]]:
    if isinstance(stmt, Let):
        yield stmt.name, stmt.value
    for part in parts(stmt):
        yield from _definitions(part)


def _inside(here: Expr, loop: For, low: Expr, end: Expr) -> tuple[Expr, ...]:
    """Where a loop of the range `[low, end)` is within that of `loop`."""
    last = affine.add(loop.min, loop.extent)
    return tuple(
        condition
        for condition, needed in ((apply(">=", here, loop.min), loop.min != low), (apply("<", here, last), last != end))
        if needed
    )


def _where(conditions: tuple[Expr, ...], body: Stmt) -> Stmt:
    return If(conjunction(*conditions), body) if conditions else body
