"""The loops of one stage, their bounds holes: its splits and fuses written out."""

from __future__ import annotations

from dataclasses import dataclass

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import conjuncts
from rfactor.compiler.schedule.directives import Split, StageSchedule
from rfactor.compiler.schedule.loops import apart, countable
from rfactor.compiler.schedule.purity import pure_loops, pure_variables
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Call, Expr, Op, Var, apply, cast, names, substitute, walk
from rfactor.ir.loopnest import Atomic, For, If, Provide, Stmt
from rfactor.ir.types import I32, I64

_LONGEST = 1 << 20
"""Iterations of an inner loop whose number is an expression, at most: no sum of coordinates overflows."""


def hole(*parts: object) -> Var:
    """The variable that stands for a bound until it is filled: `f.s0.x.min`, `f.extent.1`."""
    return Var(I32, ".".join(map(str, parts)))


@dataclass(slots=True)
class _Loop:
    """Bounds of a loop that a stage may have, over the stage's own variables."""

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
    relations, keys = apart(schedule, (*function.variables, *(variable.name for variable in domain)))
    for relation, said in zip(relations, schedule.relations, strict=True):
        if isinstance(relation, Split) and isinstance(relation.factor, Expr):
            old = loops.pop(relation.old)
            size: Expr = affine.maximum(affine.minimum(relation.factor, affine.integer(_LONGEST)), affine.integer(1))
            # What is true in any case is part of the value: nothing else bounds a product of two unknown numbers.
            reached: Expr = apply("*", cast(I64, Var(I32, relation.outer)), cast(I64, size))
            reached = cast(I32, apply("min", reached, cast(I64, affine.maximum(old.extent, zero))))
            distance = affine.add(reached, Var(I32, relation.inner))
            last = affine.subtract(affine.add(old.min, old.extent), affine.integer(1))
            value = affine.minimum(affine.add(distance, old.min), last)
            defined.append((relation.old, value, apply("<", distance, old.extent)))
            rounded = affine.add(old.extent, affine.subtract(size, affine.integer(1)))
            loops[relation.outer] = _Loop(zero, apply("//", rounded, size))
            loops[relation.inner] = _Loop(zero, size)
        elif isinstance(relation, Split):
            assert isinstance(relation.factor, int)
            assert isinstance(said, Split)
            old = loops.pop(relation.old)
            scaled = affine.scale(Var(I32, relation.outer), relation.factor)
            value = affine.add(affine.add(scaled, Var(I32, relation.inner)), old.min)
            known = affine.constant_value(old.extent)
            divides = known is not None and known % relation.factor == 0
            if known is not None:
                countable(f"split({said.old})", -(-known // relation.factor) * relation.factor - 1)
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
                countable(f"fuse({said.inner}, {said.outer})", max(counts[0], 0) * counts[1])
            loops[relation.fused] = _Loop(zero, affine.multiply(affine.maximum(inner.extent, zero), outer.extent))
            ranges[quotient], ranges[remainder] = outer.extent, inner.extent
    environment: dict[str, Expr] = {key: Var(I32, f"{prefix}.{name}") for name, key in keys.items()}
    for name, value, _ in reversed(defined):
        environment[name] = affine.tidy(substitute(value, environment))
    conditions = [substitute(guard, environment) for _, _, guard in defined if guard is not None]
    for term, extent in ranges.items():
        last = affine.subtract(substitute(extent, environment), affine.integer(1))
        whole = affine.tidy(substitute(term, environment))
        _, other = facts.get(whole, (None, last))  # of another specialization
        facts[whole] = (affine.integer(0), affine.maximum(last, other))
    for asked in (None if stage.domain is None else stage.domain.predicate, stage.where):
        if asked is not None:
            conditions.extend(substitute(term, environment) for term in conjuncts(asked))
    provide: Stmt = Provide(
        function.name,
        tuple(substitute(a, environment) for a in stage.arguments),
        tuple(substitute(v, environment) for v in stage.values),
        stage.keeps,
    )
    if schedule.atomic:
        pure = pure_loops(function, stage, schedule)
        shared = {d.kind for d in schedule.dimensions if d.name not in pure}
        if shared & {"parallel", "vectorized"}:
            provide = Atomic(provide, "parallel" in shared)
    ordered = [
        For(
            f"{prefix}.{d.name}",
            affine.tidy(substitute(loops[keys[d.name]].min, environment)),
            affine.tidy(substitute(loops[keys[d.name]].extent, environment)),
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
