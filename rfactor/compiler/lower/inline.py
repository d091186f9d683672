"""Inlining: calls of pure functions replaced by their values.

g(x) = a(x) + 1; f(x) = g(x) * g(x + 1)   ->   f(x) = (a(x) + 1) * (a(x + 1) + 1)
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.lower.refused import inlined
from rfactor.compiler.schedule.directives import Schedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition, Function, ReductionDomain
from rfactor.ir.expr import Call, Expr, substitute, transform


def inline(algorithm: Algorithm, schedule: Schedule) -> Algorithm:
    """The algorithm without the functions that are inlined. Raises `ScheduleError`: see `refused.inlined`."""
    gone = inlined(algorithm, schedule)
    values: dict[str, Function] = {}
    kept: list[Function] = []
    for function in algorithm.functions:
        function = _inlined_into(function, values)
        if function.name in gone:
            values[function.name] = function
        else:
            kept.append(function)
    return replace(algorithm, functions=tuple(kept))


def _inlined_into(function: Function, values: dict[str, Function]) -> Function:
    if not values:
        return function

    def value(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind == "func" and node.name in values:
            callee = values[node.name]
            if callee.pure.where is not None:
                raise ScheduleError(
                    f"{callee.name} is inlined, and undefined in part, so that {function.name} would be too: "
                    f"compute_root() or compute_at() gives it storage, which is 0 there"
                )
            arguments = dict(zip(callee.variables, node.args, strict=True))
            return substitute(callee.pure.values[node.index], arguments)
        return None

    def new(expr: Expr) -> Expr:
        return transform(expr, value)

    def stage(definition: Definition) -> Definition:
        domain = definition.domain
        if domain is not None:
            domain = ReductionDomain(domain.variables, new(domain.predicate))
        return replace(
            definition,
            arguments=tuple(map(new, definition.arguments)),
            values=tuple(map(new, definition.values)),
            domain=domain,
            where=None if definition.where is None else new(definition.where),
        )

    return replace(function, pure=stage(function.pure), updates=tuple(map(stage, function.updates)))
