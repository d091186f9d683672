"""Stages that `compute_with` puts into the same loops.

    produce g: for g.y in (a, n): g[y] = …         produce f: for f.y in (min(a, b), …):
    produce f: for f.y in (b, m): f[y] = …    ->                let g.y = f.y
                                                                if a <= f.y < a + n: g[y] = …
                                                                if b <= f.y < b + m: f[y] = …

None of the functions needs another, all are computed in the same place, and nothing between them needs an earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.nest import called, parts, uses
from rfactor.compiler.schedule.directives import Companion, Schedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition
from rfactor.ir.expr import Expr, Var, apply, conjunction, names, substitute
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Realize, Stmt, block
from rfactor.ir.types import I32

_Stage = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Stage `stage` of `function` in the loops of another's, out from `companion.variable`."""

    function: str
    stage: int
    companion: Companion

    @property
    def ends(self) -> tuple[_Stage, _Stage]:
        return (self.function, self.stage), (self.companion.function, self.companion.stage)

    def __str__(self) -> str:
        other = f"{_stage(self.companion.function, self.companion.stage)}, {self.companion.variable}"
        return f"{_stage(self.function, self.stage)}: compute_with({other})"


def _stage(function: str, stage: int) -> str:
    return f"{function}.update({stage - 1})" if stage else function


@dataclass(frozen=True, slots=True)
class _Group:
    """Functions that share loops, one with another, and the pairs of stages that say so."""

    functions: tuple[str, ...]
    pairs: tuple[_Pair, ...]

    def pair(self, *functions: str) -> _Pair:
        """The first pair that is of all the functions; if none is, of the first."""
        ends = [(pair, {pair.function, pair.companion.function}) for pair in self.pairs]
        direct = [pair for pair, both in ends if both >= set(functions)]
        return (direct or [pair for pair, both in ends if functions[0] in both])[0]


def together(
    body: Stmt, algorithm: Algorithm, schedule: Schedule, definitions: Iterable[tuple[str, Expr]] = ()
) -> Stmt:
    """The bounded nest with such stages in one nest of loops. Raises `ScheduleError` where they cannot be.

    `definitions` are those that the nest stands in.
    """
    for group in _groups(algorithm, schedule):
        _independent(group, algorithm)
        told = [*definitions, *_definitions(body)]
        often = Counter(name for name, _ in told)
        defined = {name: value for name, value in told if often[name] == 1}
        body, found = _joined(body, group, defined)
        if not found:
            places = {name: schedule.functions[name].compute for name in group.functions}
            apart = [p for p in group.pairs if places[p.function] != places[p.companion.function]] or group.pairs
            raise _apart(apart[0])
    return body


def _apart(pair: _Pair) -> ScheduleError:
    return ScheduleError(
        f"{pair}: they are not computed in the same place: give both the same compute_root() or compute_at()"
    )


def produced_together(algorithm: Algorithm, schedule: Schedule) -> list[tuple[str, ...]]:
    """The functions that share loops, in the algorithm's order: all are produced where the last of them is."""
    return [group.functions for group in _groups(algorithm, schedule)]


def _groups(algorithm: Algorithm, schedule: Schedule) -> list[_Group]:
    """The functions that pairs of stages connect, and those pairs, in the algorithm's order."""
    groups: list[_Group] = []
    order = [function.name for function in algorithm.functions]
    for name in order:
        stages = schedule.functions[name].stages
        companions = [(k, stage.companion) for k, stage in zip(range(len(stages)), stages, strict=True)]
        for pair in (_Pair(name, k, companion) for k, companion in companions if companion is not None):
            if pair.companion.function not in order:
                other = f"{pair.companion.function}.s{pair.companion.stage}"
                raise ScheduleError(
                    f"Invalid compute_with: {other} is scheduled inline, or not used: give it compute_root() or "
                    f"compute_at() ({pair})"
                )
            ends = {name, pair.companion.function}
            met = [group for group in groups if ends & set(group.functions)]
            groups = [group for group in groups if group not in met]
            functions = ends.union(*(group.functions for group in met))
            pairs = (*(one for group in met for one in group.pairs), pair)
            groups.append(_Group(tuple(sorted(functions, key=order.index)), pairs))
    return groups


def _independent(group: _Group, algorithm: Algorithm) -> None:
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
            read = any(called(expr, other.name) for stage in function.stages for expr in _expressions(stage))
            if read and other.name not in found | {name}:
                found.add(other.name)
                waiting.append(other.name)
    return found


def _expressions(stage: Definition) -> Iterator[Expr]:
    yield from (*stage.arguments, *stage.values)
    if stage.domain is not None:
        yield stage.domain.predicate


def _joined(stmt: Stmt, group: _Group, defined: Mapping[str, Expr]) -> tuple[Stmt, bool]:
    """The statement with the group produced together, where its functions are produced one after the other."""
    if set(group.functions) <= set(_produced(stmt)):
        return _moved(stmt, [], group, defined), True
    found = False

    def visit(part: Stmt) -> Stmt:
        nonlocal found
        done, here = _joined(part, group, defined)
        found = found or here
        return done

    if isinstance(stmt, Block):
        return block(*map(visit, stmt.statements)), found
    if isinstance(stmt, If):
        then, otherwise = visit(stmt.then), None if stmt.otherwise is None else visit(stmt.otherwise)
        return If(stmt.condition, then, otherwise), found
    if isinstance(stmt, For | Let | Produce | Realize):
        return replace(stmt, body=visit(stmt.body)), found
    return stmt, False


def _produced(stmt: Stmt) -> Iterator[str]:
    """What is produced one after the other."""
    if isinstance(stmt, Produce):
        yield stmt.name
    elif isinstance(stmt, Block | Let | Realize):
        for part in stmt.statements if isinstance(stmt, Block) else (stmt.body,):
            yield from _produced(part)


def _moved(stmt: Stmt, before: list[Produce], group: _Group, defined: Mapping[str, Expr]) -> Stmt:
    """`stmt` with what is produced of the group moved to where the last of it is, after those that came before.

    `before` grows by what is taken out of `stmt`.
    """
    if isinstance(stmt, Let | Realize):
        taken = len(before)
        stmt = replace(stmt, body=_moved(stmt.body, before, group, defined))
        if taken < len(before) < len(group.functions):
            raise _apart(group.pair(before[-1].name))
        return stmt
    if isinstance(stmt, Block):
        return block(*(_moved(part, before, group, defined) for part in stmt.statements))
    if isinstance(stmt, Produce) and stmt.name in group.functions:
        before.append(stmt)
        return _merged(before, group, defined) if len(before) == len(group.functions) else Block(())
    if len(before) < len(group.functions):
        for one in before:
            if uses(stmt, one.name):
                raise ScheduleError(f"{group.pair(one.name)}: what is computed between the two needs {one.name}")
    return stmt


def _merged(produced: list[Produce], group: _Group, defined: Mapping[str, Expr]) -> Produce:
    """All produced in one place: the stages of each in their order, those that share loops in them."""
    bodies: dict[_Stage, Stmt] = {}
    for one in produced:
        stages = one.body.statements if isinstance(one.body, Block) else (one.body,)
        bodies.update({(one.name, k): stages[k] for k in range(len(stages))})
    order = _in_order(list(bodies), group)
    shared: dict[tuple[_Stage, _Stage], int] = {}
    for pair in group.pairs:
        variable = pair.companion.variable
        kinds = [_Loops(f"{name}.s{k}", bodies[name, k]).until(variable, pair) for name, k in pair.ends]
        if kinds[0] != kinds[1]:
            shown = " and ".join(", ".join(f"{kind} {name}" for name, kind in own) for own in kinds)
            raise ScheduleError(f"{pair}: the loops out from {variable} must be the same, but they are {shown}")
        shared[pair.ends] = len(kinds[0])
    members = {stage: _Member(stage, _Loops(f"{stage[0]}.s{stage[1]}", body)) for stage, body in bodies.items()}
    parts = (_fused([members[stage] for stage in one], shared, 0, defined) for one in order)
    return Produce(produced[-1].name, block(*parts))


def _in_order(stages: list[_Stage], group: _Group) -> list[tuple[_Stage, ...]]:
    """The stages that share loops, such that those of each function come in their order."""
    waiting = _components(stages, {pair.ends: 1 for pair in group.pairs}, 0)
    done = dict.fromkeys(group.functions, 0)
    result: list[tuple[_Stage, ...]] = []
    while waiting:
        ready = [one for one in waiting if all(k == done[name] for name, k in one)]
        if not ready:
            pair, name = next((p, name) for p in group.pairs for name, k in p.ends if k != done[name])
            raise ScheduleError(f"{pair}: an earlier stage of {name} runs with this or a later one")
        waiting.remove(ready[0])
        result.append(ready[0])
        for name, _ in ready[0]:
            done[name] += 1
    return result


def _components(
    stages: list[_Stage], shared: Mapping[tuple[_Stage, _Stage], int], level: int
) -> list[tuple[_Stage, ...]]:
    """The stages as they share more than `level` loops, in their order."""
    found: list[tuple[_Stage, ...]] = []
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

    def around(self) -> tuple[list[Let | If], For | None]:
        """What is around the outermost loop, and that loop."""
        loop = self.inside()
        return self.outside(), loop if isinstance(loop, For) and loop.name.startswith(f"{self.prefix}.") else None

    def until(self, variable: str, pair: _Pair) -> list[tuple[str, str]]:
        """The loops with their kinds, from the outermost to that over `variable`."""
        found: list[tuple[str, str]] = []
        here = self
        while not found or found[-1][0] != variable:
            _, loop = here.around()
            if loop is None:
                if found and isinstance(here.inside(), Realize | Block):
                    raise ScheduleError(
                        f"{pair}: another function is computed inside {found[-1][0]} of {self.prefix}: compute it at "
                        f"{variable} or inside"
                    )
                seen = ", ".join(name for name, _ in found) or "none that are not specialized"
                raise ScheduleError(f"{pair}: {self.prefix} has no such loop; it has {seen} (outermost first)")
            found.append((loop.name.removeprefix(f"{self.prefix}."), loop.kind))
            here = _Loops(self.prefix, loop.body)
        return found


@dataclass(frozen=True, slots=True)
class _Member:
    """A stage in shared loops: what is left of its own inside them, and where that runs."""

    stage: _Stage
    loops: _Loops
    when: tuple[Expr, ...] = ()


def _fused(
    members: list[_Member], shared: Mapping[tuple[_Stage, _Stage], int], level: int, defined: Mapping[str, Expr]
) -> Stmt:
    """What the stages have inside `level` loops: those that share the next loop in one."""
    of = {member.stage: member for member in members}
    return block(
        *(
            _loop([of[stage] for stage in component], shared, level, defined)
            for component in _components(list(of), shared, level)
        )
    )


def _loop(
    members: list[_Member], shared: Mapping[tuple[_Stage, _Stage], int], level: int, defined: Mapping[str, Expr]
) -> Stmt:
    """The stages in one loop, over all that any of them needs; one alone in its own."""
    if len(members) == 1:
        return _where(members[0].when, members[0].loops.body)
    outside: list[Let | If] = []
    own: list[For] = []
    for member in members:
        around, loop = member.loops.around()
        assert loop is not None
        outside += around
        own.append(replace(loop, min=_known(loop.min, defined), extent=_known(loop.extent, defined)))
    low = reduce(affine.minimum, dict.fromkeys(loop.min for loop in own))
    end = reduce(affine.maximum, dict.fromkeys(affine.add(loop.min, loop.extent) for loop in own))
    name, here = own[-1].name, Var(I32, own[-1].name)
    inside = []
    for member, loop in zip(members, own, strict=True):
        asked = tuple(one.condition for one in member.loops.outside() if isinstance(one, If))
        rest = _Loops(member.loops.prefix, loop.body)
        inside.append(_Member(member.stage, rest, member.when + asked + _inside(here, loop, low, end)))
    inner = _fused(inside, shared, level + 1, defined)
    for loop in reversed(own[:-1]):
        inner = Let(loop.name, here, inner)
    result: Stmt = For(name, low, affine.subtract(end, low), own[-1].kind, inner)
    for one in reversed(outside):
        if isinstance(one, Let):
            result = Let(one.name, one.value, result)
    return result


def _known(expr: Expr, defined: Mapping[str, Expr]) -> Expr:
    """`expr` in terms of what is given to the pipeline, as far as that goes: so that equal bounds are seen to be."""
    while names(expr) & defined.keys():
        expr = affine.tidy(substitute(expr, defined))
    return expr


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
