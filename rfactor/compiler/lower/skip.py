"""Functions that are computed only in runs that read them, and in iterations that do.

    realize g: produce g: …; if p > 3: f(x) = g(x) else: f(x) = x
        ->   realize g: if p > 3: produce g: …; if p > 3: f(x) = g(x) else: f(x) = x

Conditions are those around loops and updates, on what is known where the function is stored: before anything runs, or
in an iteration of the loops around. A `select` reads both of its arms: a stage whose arms read different functions has
loops of their own for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.answers import answered, assumed_of
from rfactor.compiler.lower.uses import called, uses
from rfactor.compiler.schedule.directives import Schedule, Specialization, StageSchedule
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, names, walk
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Provide, Realize, Stmt
from rfactor.ir.simplify import simplify
from rfactor.ir.statements import parts, with_body, with_parts
from rfactor.ir.types import BOOL

_NEVER, _ALWAYS = Const(BOOL, False), Const(BOOL, True)


_MOST_LOOPS = 8
"""How many nests of loops a stage may become."""


def specialized_by_arms(algorithm: Algorithm, schedule: Schedule) -> Schedule:
    """The schedule in which stages are specialized by what their `select`s ask, where it is known before anything runs
    and the arms read different functions. `algorithm` has none that is inlined.

    Stages that are specialized by the user, or share loops, stay, as do all where windows may slide or are traced.
    """
    stages = [stage for own in schedule.functions.values() for stage in own.stages]
    apart = any(own.compute != own.store for own in schedule.functions.values())
    if schedule.traces or apart or any(stage.companion is not None for stage in stages):
        return schedule
    known = _known(algorithm)
    functions = dict(schedule.functions)
    for function in algorithm.functions:
        own = functions[function.name]
        made = tuple(
            stage if stage.specializations or stage.scan is not None or stage.failure is not None
            else _by_arms(function, index, stage, known, _MOST_LOOPS)[0]
            for index, stage in enumerate(own.stages)
        )  # fmt: skip
        if made != own.stages:
            functions[function.name] = replace(own, stages=made)
    return replace(schedule, functions=functions)


def _by_arms(
    function: Function, index: int, stage: StageSchedule, known: frozenset[str], most: int
) -> tuple[StageSchedule, int]:
    """The stage with such specializations, of up to `most` nests of loops, and how many it has."""
    found: list[Specialization] = []
    count = 1
    while count < most and (condition := _asked(function, index, known)) is not None:
        inside, inner = _by_arms(assumed_of(function, index, condition, _ALWAYS), index, stage, known, most - count)
        found.append(Specialization(condition, inside))
        function = assumed_of(function, index, condition, _NEVER)
        count += inner
    return replace(stage, specializations=tuple(found)) if found else stage, count


def _asked(function: Function, index: int, known: frozenset[str]) -> Expr | None:
    """The condition of a `select` of the stage that is known, and whose arms read different functions."""
    for value in function.stages[index].values:
        for node in walk(value):
            if isinstance(node, Op) and node.op == "select" and not isinstance(node.args[0], Const):
                condition, first, second = node.args
                plain = all(isinstance(part, Const | Var | Op | Call) for part in walk(node))  # nothing is told
                asked = next(_terms(condition, known), None)
                if plain and asked is not None and _read(first, function) != _read(second, function):
                    return asked
    return None


def _read(expr: Expr, function: Function) -> set[str]:
    """The other functions that are read."""
    called = (node.name for node in walk(expr) if isinstance(node, Call) and node.kind == "func")
    return {name for name in called if name != function.name}


def skip(stmt: Stmt, algorithm: Algorithm, schedule: Schedule) -> Stmt:
    """The nest before storage is flattened, with functions computed where they are read.

    What is traced is told of as it was.
    """
    return stmt if schedule.traces else _skip(stmt, _known(algorithm), frozenset())


def only_needed(stmt: Stmt, needed: Mapping[str, Expr]) -> Stmt:
    """`stmt` where functions are computed only where they are `needed`, by bounds: elsewhere they have no storage."""
    wrapped: set[str] = set()

    def visit(part: Stmt) -> Stmt:
        if isinstance(part, Block | Realize):
            return with_parts(part, visit)
        if not isinstance(part, Produce) or part.name not in needed:
            return part
        wrapped.add(part.name)
        return If(needed[part.name], part)

    result = visit(stmt)
    missing = sorted(set(needed) - wrapped)
    assert not missing, f"{', '.join(missing)} is not computed outside of all loops"
    return result


def _asks(stmt: Stmt, known: frozenset[str]) -> bool:
    """Whether there is a condition on what is known."""
    return (isinstance(stmt, If) and _is_known(stmt.condition, known)) or any(
        _asks(part, known) for part in parts(stmt)
    )


def _known(algorithm: Algorithm) -> frozenset[str]:
    """The variables that no statement defines."""
    shapes = [(image.name, image.dimensions) for image in algorithm.images]
    shapes += [(name, len(algorithm.function(name).variables)) for name in algorithm.outputs]
    boxes = {f"{name}.{end}.{d}" for name, count in shapes for d in range(count) for end in ("min", "extent", "stride")}
    return frozenset(boxes | {parameter.name for parameter in algorithm.parameters})


def _skip(stmt: Stmt, known: frozenset[str], moving: frozenset[str]) -> Stmt:
    """`stmt` where the variables `known` and `moving` are known, the latter in an iteration of a loop around."""
    if isinstance(stmt, Realize):
        body = _skip(stmt.body, known, moving)  # those that read it may be skipped themselves
        body = _apart(body, stmt.name, known, moving)
        if not _asks(body, known | moving):
            return with_body(stmt, body)
        needed = simplify(_needed(body, stmt.name, known | moving))
        found = needed in (_ALWAYS, _NEVER)
        return with_body(stmt, body if found else _only_if(body, stmt.name, needed, known | moving))
    here, inside = known, moving
    if isinstance(stmt, For) and stmt.kind != "vectorized":
        inside |= {stmt.name}
    elif isinstance(stmt, Let) and _is_known(stmt.value, known | moving):
        here |= {stmt.name} if _is_known(stmt.value, known) else frozenset()
        inside |= {stmt.name} if names(stmt.value) & moving else frozenset()
    return with_parts(stmt, lambda part: _skip(part, here, inside))


def _apart(stmt: Stmt, name: str, known: frozenset[str], moving: frozenset[str], most: int = _MOST_LOOPS) -> Stmt:
    """`stmt` with loops of their own for each answer to what a `select` asks of an iteration around, where one
    arm reads the function `name` and the other does not."""
    if isinstance(stmt, Produce) and stmt.name == name:
        return stmt
    if isinstance(stmt, If) and stmt.otherwise is not None:
        then = _apart(stmt.then, name, known, moving, most - _cases(stmt.otherwise))
        return replace(stmt, then=then, otherwise=_apart(stmt.otherwise, name, known, moving, most - _cases(then)))
    if isinstance(stmt, Block | If | Let | Produce | Realize):
        return with_parts(stmt, lambda part: _apart(part, name, known, moving, most))
    condition = _of_arms(stmt, name, known, moving) if 2 * _cases(stmt) <= most else None
    if condition is None:
        return stmt
    cases = If(condition, *(_where(stmt, condition, value) for value in (_ALWAYS, _NEVER)))
    return _apart(cases, name, known, moving, most)


def _cases(stmt: Stmt) -> int:
    """How many nests of loops there are of a stage, of which one runs."""
    if isinstance(stmt, If) and stmt.otherwise is not None:
        return _cases(stmt.then) + _cases(stmt.otherwise)
    return max(map(_cases, parts(stmt)), default=1)


def _of_arms(stmt: Stmt, name: str, known: frozenset[str], moving: frozenset[str]) -> Expr | None:
    """The condition of such a `select` in the loops of a stage."""
    for value in stmt.values if isinstance(stmt, Provide) else ():
        for node in walk(value):
            if isinstance(node, Op) and node.op == "select" and not isinstance(node.args[0], Const):
                condition, *arms = node.args
                asked = (term for term in _terms(condition, known | moving) if names(term) & moving)
                term = next(asked, None)
                if term is None or len({called(arm, name) for arm in arms}) < 2:
                    continue
                if all(isinstance(part, Const | Var | Op | Call) for part in walk(node)):  # nothing is told
                    return term
    found = (_of_arms(part, name, _outside(stmt, known), _outside(stmt, moving)) for part in parts(stmt))
    return next((condition for condition in found if condition is not None), None)


def _where(stmt: Stmt, condition: Expr, value: Const) -> Stmt:
    """The loops of a stage where `condition` is known to be true or false."""
    if isinstance(stmt, Provide):
        return replace(stmt, values=tuple(answered(one, condition, value) for one in stmt.values))
    return with_parts(stmt, lambda part: _where(part, condition, value))


def _needed(stmt: Stmt, name: str, known: frozenset[str]) -> Expr:
    """A condition on what is known under which `stmt` may read the function `name`, but to compute itself."""
    if isinstance(stmt, Produce) and stmt.name == name:
        return _NEVER if _alone(stmt) else _ALWAYS  # in shared loops others are computed there too
    if isinstance(stmt, If):
        then = _needed(stmt.then, name, known)
        otherwise = _NEVER if stmt.otherwise is None else _needed(stmt.otherwise, name, known)
        if not _is_known(stmt.condition, known):
            return _ALWAYS if called(stmt.condition, name) or then != _NEVER or otherwise != _NEVER else _NEVER
        first = apply("and", stmt.condition, then)
        return simplify(apply("or", first, apply("and", Op(BOOL, "not", (stmt.condition,)), otherwise)))
    if isinstance(stmt, Block | For | Let | Produce | Realize):
        result: Expr = _NEVER
        for part in parts(stmt):
            result = simplify(apply("or", result, _needed(part, name, _outside(stmt, known))))
        return result
    return _ALWAYS if uses(stmt, name) else _NEVER


def _is_known(condition: Expr, known: frozenset[str]) -> bool:
    return names(condition) <= known and not affine.reads(condition)


def _terms(condition: Expr, known: frozenset[str]) -> Iterator[Expr]:
    """The largest terms of a condition, in `and`, `or` and `not` of which it is made, that are known."""
    if _is_known(condition, known):
        if not isinstance(condition, Const):
            yield condition
    elif isinstance(condition, Op) and condition.op in ("and", "&", "or", "|", "not"):
        for term in condition.args:
            if term.type.is_bool:
                yield from _terms(term, known)


def _outside(stmt: Stmt, known: frozenset[str]) -> frozenset[str]:
    """What is known of the variables around a statement, inside it."""
    return known - {stmt.name} if isinstance(stmt, For | Let) else known


def _alone(produce: Produce) -> bool:
    """Whether nothing is computed there but for the function itself."""
    inside: set[str] = set()
    written: set[str] = set()
    waiting: list[Stmt] = [produce.body]
    while waiting:
        stmt = waiting.pop()
        waiting += parts(stmt)
        if isinstance(stmt, Realize):
            inside.add(stmt.name)
        elif isinstance(stmt, Provide):
            written.add(stmt.name)
    return written <= inside | {produce.name}


def _only_if(stmt: Stmt, name: str, condition: Expr, known: frozenset[str]) -> Stmt:
    """`stmt` where the function `name` is computed where `condition` holds, or another one on what is known."""
    if isinstance(stmt, Produce) and stmt.name == name:
        return If(condition, stmt) if _alone(stmt) else stmt
    if isinstance(stmt, If) and isinstance(stmt.then, Produce) and stmt.then.name == name:
        return stmt if stmt.condition == condition else If(condition, stmt)
    if isinstance(stmt, If) and _is_known(stmt.condition, known):
        return stmt
    return with_parts(stmt, lambda part: _only_if(part, name, condition, known))
