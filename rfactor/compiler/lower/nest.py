"""Algorithm and schedule to a loop nest with holes for bounds.

Every function that is not inlined becomes `realize f(…): produce f: <stages>` around what consumes it, at the root or
inside the loop of its compute level; every stage becomes its scheduled loops around `Provide`. A stage's pure loops
run over the holes `f.s0.x.min`, `f.s0.x.extent`, storage over `f.min.0`, `f.extent.0`: bounds inference fills them.
After *Formal Semantics for the Halide Language*, section 6 and figure 12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rfactor.compiler.lower import affine
from rfactor.compiler.schedule.directives import FunctionSchedule, Schedule, Split, StageSchedule
from rfactor.compiler.schedule.loops import countable
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Call, Expr, Op, Var, apply, names, substitute, walk
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Provide, Realize, Stmt, block
from rfactor.ir.types import I32


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest with holes, and what is known of the terms that fusing leaves in it."""

    body: Stmt
    facts: Mapping[Expr, tuple[Expr, Expr]] = field(default_factory=dict)
    """Terms, such as `fused // extent`, with their least and greatest value."""


def hole(*parts: object) -> Var:
    """The variable that stands for a bound until it is filled: `f.s0.x.min`, `f.extent.1`."""
    return Var(I32, ".".join(map(str, parts)))


def build(algorithm: Algorithm, schedule: Schedule) -> Nest:
    """The whole nest. Raises `ScheduleError` where a function is not computed around all its uses."""
    facts: dict[Expr, tuple[Expr, Expr]] = {}
    nest: Stmt = Block(())
    for function in reversed(algorithm.functions):
        own = schedule.functions[function.name]
        produce = Produce(
            function.name,
            block(*(stage_nest(function, k, own.stages[k], facts) for k in range(len(function.stages)))),
        )
        if function.name in algorithm.outputs:
            nest = block(produce, nest)
        elif own.compute.kind == "at":
            nest = _inject(nest, function, own, produce)
        else:
            nest = _realize(function, block(produce, nest))
    return Nest(nest, facts)


def _realize(function: Function, body: Stmt) -> Realize:
    dimensions = range(len(function.variables))
    bounds = tuple((hole(function.name, "min", d), hole(function.name, "extent", d)) for d in dimensions)
    return Realize(function.name, function.types, bounds, body)


def _inject(nest: Stmt, function: Function, schedule: FunctionSchedule, produce: Produce) -> Stmt:
    """`for v: body -> for v: realize g: produce g; body` for every loop of the compute level whose body uses `g`."""
    level = schedule.compute
    suffix = f".{level.variable}"
    stages = f"{level.function}.s"

    seen: list[str] = []

    def is_level(name: str) -> bool:
        return name.startswith(stages) and name.endswith(suffix) and name[len(stages) : -len(suffix)].isdigit()

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            seen.append(stmt.name)
            if not is_level(stmt.name):
                return For(stmt.name, stmt.min, stmt.extent, stmt.kind, visit(stmt.body))
            if not uses(stmt.body, function.name):
                return stmt
            return For(stmt.name, stmt.min, stmt.extent, stmt.kind, _realize(function, block(produce, stmt.body)))
        if isinstance(stmt, Block):
            return Block(tuple(map(visit, stmt.statements)))
        if isinstance(stmt, If):
            return If(stmt.condition, visit(stmt.then), None if stmt.otherwise is None else visit(stmt.otherwise))
        if isinstance(stmt, Produce):
            return Produce(stmt.name, visit(stmt.body))
        if isinstance(stmt, Realize):
            return Realize(stmt.name, stmt.types, stmt.bounds, visit(stmt.body))
        return stmt

    result = visit(nest)
    if not any(map(is_level, seen)):
        loops = sorted({name.split(".", 2)[2] for name in seen if name.startswith(stages)})
        raise ScheduleError(
            f"{function.name} is computed at {level.function}, {level.variable}, but {level.function} has no such "
            f"loop; it has {', '.join(loops) or 'none'}"
        )
    if _uses_outside(result, function.name):
        raise ScheduleError(
            f"{function.name} is computed at {level.function}, {level.variable}, but is also used outside that loop: "
            f"compute it at a loop around all its uses, or compute_root()"
        )
    return result


def expressions(stmt: Stmt) -> Iterator[Expr]:
    """Every expression of a statement and of the statements in it."""
    if isinstance(stmt, Block):
        for part in stmt.statements:
            yield from expressions(part)
    elif isinstance(stmt, For):
        yield from (stmt.min, stmt.extent)
        yield from expressions(stmt.body)
    elif isinstance(stmt, If):
        yield stmt.condition
        yield from expressions(stmt.then)
        if stmt.otherwise is not None:
            yield from expressions(stmt.otherwise)
    elif isinstance(stmt, Provide):
        yield from stmt.arguments
        yield from stmt.values
    elif isinstance(stmt, Produce | Realize | Let):
        yield from expressions(stmt.body)


def called(expr: Expr, name: str) -> bool:
    """Whether the function `name` is called in `expr`."""
    return any(isinstance(node, Call) and node.kind == "func" and node.name == name for node in walk(expr))


def uses(stmt: Stmt, name: str) -> bool:
    """Whether the function `name` is called anywhere in `stmt`."""
    return any(called(expr, name) for expr in expressions(stmt))


def _uses_outside(stmt: Stmt, name: str) -> bool:
    """Whether `name` is called where no `produce name` comes before it."""
    if isinstance(stmt, Block):
        if any(isinstance(part, Produce) and part.name == name for part in stmt.statements):
            return False
        return any(_uses_outside(part, name) for part in stmt.statements)
    if isinstance(stmt, For):
        return called(stmt.min, name) or called(stmt.extent, name) or _uses_outside(stmt.body, name)
    if isinstance(stmt, If):
        parts = (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise)
        return called(stmt.condition, name) or any(_uses_outside(part, name) for part in parts)
    if isinstance(stmt, Produce | Realize):
        return _uses_outside(stmt.body, name)
    return uses(stmt, name)


@dataclass(slots=True)
class _Loop:
    """Bounds of a loop that a stage may have, over the loops' own names."""

    min: Expr
    extent: Expr


def stage_nest(function: Function, index: int, schedule: StageSchedule, facts: dict[Expr, tuple[Expr, Expr]]) -> Stmt:
    """The loops of one stage. `facts` is extended with the ranges of the terms that fused loops give rise to."""
    stage = function.stages[index]
    prefix = f"{function.name}.s{index}"
    loops: dict[str, _Loop] = {
        name: _Loop(hole(prefix, name, "min"), hole(prefix, name, "extent")) for name in pure_variables(function, stage)
    }
    domain = () if stage.domain is None else stage.domain.variables
    ranges: dict[Expr, Expr] = {}
    for variable in domain:
        loops[variable.name] = _Loop(variable.min, variable.extent)
    zero = affine.integer(0)
    defined: list[tuple[str, Expr, Expr | None]] = []
    for relation in schedule.relations:
        if isinstance(relation, Split):
            old = loops.pop(relation.old)
            scaled = affine.scale(Var(I32, relation.outer), relation.factor)
            value = affine.add(affine.add(scaled, Var(I32, relation.inner)), old.min)
            known = affine.constant_value(old.extent)
            divides = known is not None and known % relation.factor == 0
            if known is not None:
                countable(f"split({relation.old})", -(-known // relation.factor) * relation.factor - 1)
            guard: Expr | None = (
                None if divides else apply("<", Var(I32, relation.old), affine.add(old.min, old.extent))
            )
            defined.append((relation.old, value, guard))
            loops[relation.outer] = _Loop(zero, affine.divide_up(affine.tidy(old.extent), relation.factor))
            loops[relation.inner] = _Loop(zero, affine.integer(relation.factor))
        else:
            inner, outer = loops.pop(relation.inner), loops.pop(relation.outer)
            fused = Var(I32, relation.fused)
            quotient, remainder = _quotient(fused, inner.extent), _remainder(fused, inner.extent)
            defined.append((relation.outer, affine.add(quotient, outer.min), None))
            defined.append((relation.inner, affine.add(remainder, inner.min), None))
            counts = affine.constant_value(inner.extent), affine.constant_value(outer.extent)
            if counts[0] is not None and counts[1] is not None:
                countable(f"fuse({relation.inner}, {relation.outer})", max(counts[0], 0) * counts[1])
            loops[relation.fused] = _Loop(zero, affine.multiply(affine.maximum(inner.extent, zero), outer.extent))
            ranges[quotient], ranges[remainder] = outer.extent, inner.extent
    environment: dict[str, Expr] = {d.name: Var(I32, f"{prefix}.{d.name}") for d in schedule.dimensions}
    conditions: list[Expr] = []
    for name, value, guard in reversed(defined):
        environment[name] = affine.tidy(substitute(value, environment))
        if guard is not None:
            conditions.insert(0, substitute(guard, environment))
    for term, extent in ranges.items():
        last = affine.subtract(substitute(extent, environment), affine.integer(1))
        facts[affine.tidy(substitute(term, environment))] = (affine.integer(0), last)
    if stage.domain is not None:
        conditions.extend(substitute(term, environment) for term in conjuncts(stage.domain.predicate))
    provide = Provide(
        function.name,
        tuple(affine.tidy(substitute(a, environment)) for a in stage.arguments),
        tuple(substitute(v, environment) for v in stage.values),
    )
    ordered = [
        For(
            f"{prefix}.{d.name}",
            affine.tidy(substitute(loops[d.name].min, environment)),
            affine.tidy(substitute(loops[d.name].extent, environment)),
            d.kind,
            provide,
        )
        for d in schedule.dimensions
    ]
    return _nested(ordered, conditions, provide)


def _quotient(fused: Expr, extent: Expr) -> Expr:
    return Op(I32, "//", (fused, extent))


def _remainder(fused: Expr, extent: Expr) -> Expr:
    return Op(I32, "%", (fused, extent))


def conjuncts(condition: Expr) -> list[Expr]:
    """The terms of a conjunction, left to right; none for `True`."""
    if isinstance(condition, Op) and (condition.op == "and" or (condition.op == "&" and condition.type.is_bool)):
        return conjuncts(condition.args[0]) + conjuncts(condition.args[1])
    return [] if getattr(condition, "value", None) is True else [condition]


def _nested(loops: list[For], conditions: list[Expr], body: Stmt) -> Stmt:
    """`body` in `loops` (innermost first). A condition goes as far out as its variables allow; one that reads data
    stays innermost, after those before it, so that nothing is loaded for a point that they exclude."""
    own = {loop.name for loop in loops}
    waiting = [(names(c) & own, any(isinstance(node, Call) for node in walk(c)), c) for c in conditions]
    for _, _, condition in reversed([w for w in waiting if w[1]]):
        body = If(condition, body)
    waiting = [w for w in waiting if not w[1]]
    for loop in loops:
        for _, _, condition in reversed([w for w in waiting if loop.name in w[0]]):
            body = If(condition, body)
        waiting = [w for w in waiting if loop.name not in w[0]]
        body = For(loop.name, loop.min, loop.extent, loop.kind, body)
    for _, _, condition in reversed(waiting):
        body = If(condition, body)
    return body
