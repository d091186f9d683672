"""Stages that `compute_with` puts into the same loops.

    produce g: for g.y in (a, n): g[y] = …         produce f: for f.y in (min(a, b), …):
    produce f: for f.y in (b, m): f[y] = …    ->                let g.y = f.y
                                                                if a <= f.y < a + n: g[y] = …
                                                                if b <= f.y < b + m: f[y] = …

Neither function needs the other, both are computed in the same place, and nothing between them needs the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.nest import called, parts, uses
from rfactor.compiler.schedule.directives import Companion, Schedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition
from rfactor.ir.expr import Expr, Var, apply, conjunction, names, substitute
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Realize, Stmt, block
from rfactor.ir.types import I32


@dataclass(frozen=True, slots=True)
class _Pair:
    """Stage `stage` of `function` in the loops of another's, out from `companion.variable`."""

    function: str
    stage: int
    companion: Companion

    def __str__(self) -> str:
        other = f"{_stage(self.companion.function, self.companion.stage)}, {self.companion.variable}"
        return f"{_stage(self.function, self.stage)}: compute_with({other})"


def _stage(function: str, stage: int) -> str:
    return f"{function}.update({stage - 1})" if stage else function


def together(
    body: Stmt, algorithm: Algorithm, schedule: Schedule, definitions: Iterable[tuple[str, Expr]] = ()
) -> Stmt:
    """The bounded nest with such stages in one nest of loops. Raises `ScheduleError` where they cannot be.

    `definitions` are those that the nest stands in.
    """
    seen: set[str] = set()
    for function in algorithm.functions:
        own = schedule.functions[function.name]
        pairs = [
            _Pair(function.name, number, stage.companion)
            for number, stage in zip(range(len(own.stages)), own.stages, strict=True)
            if stage.companion is not None
        ]
        if not pairs:
            continue
        others = {pair.companion.function for pair in pairs}
        for pair in pairs:
            if len(others) > 1 or {function.name, *others} & seen:
                raise ScheduleError(f"{pair}: more than two functions in the same loops are not there yet")
            _independent(pair, algorithm)
        seen |= {function.name, *others}
        told = [*definitions, *_definitions(body)]
        often = Counter(name for name, _ in told)
        defined = {name: value for name, value in told if often[name] == 1}
        body, found = _joined(body, function.name, others.pop(), pairs, defined)
        if not found:
            raise ScheduleError(
                f"{pairs[0]}: they are not computed in the same place: give both the same compute_root() "
                "or compute_at()"
            )
    return body


def _independent(pair: _Pair, algorithm: Algorithm) -> None:
    """Refuse where one of the functions needs the other."""
    names = pair.function, pair.companion.function
    if names[1] not in {function.name for function in algorithm.functions}:
        raise ScheduleError(f"{pair}: {names[1]} is inlined or not used: give it compute_root() or compute_at()")
    for name, other in (names, names[::-1]):
        if other in _needs(name, algorithm):
            raise ScheduleError(
                f"{pair}: {name} needs {other}, so that their loops cannot run together; compute_at() computes "
                f"{other} inside a loop of {name}"
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


def _joined(stmt: Stmt, one: str, other: str, pairs: list[_Pair], defined: Mapping[str, Expr]) -> tuple[Stmt, bool]:
    """The statement with both produced together, where they are produced one after the other."""
    if isinstance(stmt, Block):
        for place, part in zip(range(len(stmt.statements)), stmt.statements, strict=True):
            if isinstance(part, Produce) and part.name in (one, other):
                later = other if part.name == one else one
                rest, found = _moved(block(*stmt.statements[place + 1 :]), part, later, pairs, defined)
                return block(*stmt.statements[:place], rest), found
    found = False

    def visit(part: Stmt) -> Stmt:
        nonlocal found
        done, here = _joined(part, one, other, pairs, defined)
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


def _moved(
    stmt: Stmt, first: Produce, later: str, pairs: list[_Pair], defined: Mapping[str, Expr]
) -> tuple[Stmt, bool]:
    """`stmt`, which comes after `first`, with `first` moved to where `later` is produced."""
    if isinstance(stmt, Produce) and stmt.name == later:
        return _merged(first, stmt, pairs, defined), True
    if isinstance(stmt, Let | Realize):
        body, found = _moved(stmt.body, first, later, pairs, defined)
        return replace(stmt, body=body), found
    if isinstance(stmt, Block):
        for place, part in zip(range(len(stmt.statements)), stmt.statements, strict=True):
            done, found = _moved(part, first, later, pairs, defined)
            if found:
                return block(*stmt.statements[:place], done, *stmt.statements[place + 1 :]), True
            if uses(part, first.name):
                raise ScheduleError(f"{pairs[0]}: what is computed between the two needs {first.name}")
    return stmt, False


def _merged(first: Produce, second: Produce, pairs: list[_Pair], defined: Mapping[str, Expr]) -> Produce:
    """Both produced in one place: the stages of each in their order, pairs of them in the same loops."""
    stages = {p.name: p.body.statements if isinstance(p.body, Block) else (p.body,) for p in (first, second)}
    result: list[Stmt] = []
    done = dict.fromkeys(stages, 0)
    for pair in pairs:
        numbers = {pair.function: pair.stage, pair.companion.function: pair.companion.stage}
        for name, number in numbers.items():
            if number < done[name]:
                raise ScheduleError(f"{pair}: an earlier stage of {pair.function} runs with this or a later one")
            result += stages[name][done[name] : number]
            done[name] = number + 1
        variable = pair.companion.variable
        loops = [_Loops(f"{p.name}.s{numbers[p.name]}", stages[p.name][numbers[p.name]]) for p in (first, second)]
        kinds = [one.until(variable, pair) for one in loops]
        if kinds[0] != kinds[1]:
            shown = " and ".join(", ".join(f"{kind} {name}" for name, kind in own) for own in kinds)
            raise ScheduleError(f"{pair}: the loops out from {variable} must be the same, but they are {shown}")
        result.append(_fused(loops[0], loops[1], len(kinds[0]), defined))
    for name in stages:
        result += stages[name][done[name] :]
    return Produce(second.name, block(*result))


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


def _fused(
    a: _Loops,
    b: _Loops,
    depth: int,
    defined: Mapping[str, Expr],
    when_a: tuple[Expr, ...] = (),
    when_b: tuple[Expr, ...] = (),
) -> Stmt:
    """The outermost `depth` loops of both as one nest. `when_a` and `when_b` say where each of them runs."""
    if depth == 0:
        return block(_where(when_a, a.body), _where(when_b, b.body))
    (outside_a, own), (outside_b, loop) = a.around(), b.around()
    assert own is not None
    assert loop is not None
    outside = (*outside_a, *outside_b)
    own = replace(own, min=_known(own.min, defined), extent=_known(own.extent, defined))
    loop = replace(loop, min=_known(loop.min, defined), extent=_known(loop.extent, defined))
    low = own.min if own.min == loop.min else affine.minimum(own.min, loop.min)
    ends = affine.add(own.min, own.extent), affine.add(loop.min, loop.extent)
    end = ends[0] if ends[0] == ends[1] else affine.maximum(*ends)
    here = Var(I32, loop.name)
    when_a += tuple(one.condition for one in outside_a if isinstance(one, If)) + _inside(here, own, low, end)
    when_b += tuple(one.condition for one in outside_b if isinstance(one, If)) + _inside(here, loop, low, end)
    inner = _fused(_Loops(a.prefix, own.body), _Loops(b.prefix, loop.body), depth - 1, defined, when_a, when_b)
    result: Stmt = For(loop.name, low, affine.subtract(end, low), loop.kind, Let(own.name, here, inner))
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
