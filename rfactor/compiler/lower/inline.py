"""Inlining: calls of pure functions replaced by their values.

g(x) = a(x) + 1; f(x) = g(x) * g(x + 1)   ->   f(x) = (a(x) + 1) * (a(x + 1) + 1)
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.compiler.schedule.directives import Schedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition, Function, ReductionDomain
from rfactor.ir.expr import Call, Expr, substitute, transform


def inline(algorithm: Algorithm, schedule: Schedule) -> Algorithm:
    """The algorithm without the functions that are pure, no output, and scheduled to be inlined.

    Raises `ScheduleError` for one that is to be stored, but inlined.
    """
    inlined: dict[str, Function] = {}
    kept: list[Function] = []
    for function in algorithm.functions:
        function = _inlined_into(function, inlined)
        own = schedule.functions[function.name]
        level = own.compute
        if level.kind == "inlined" and not function.updates and own.store.kind != "inlined":
            raise ScheduleError(
                f"{function.name} is stored at a loop or the root, but inlined: say where it is computed, by "
                "compute_root() or compute_at()"
            )
        if level.kind == "inlined" and not function.updates and function.name not in algorithm.outputs:
            inlined[function.name] = function
        else:
            kept.append(function)
    return replace(algorithm, functions=tuple(kept))


def _inlined_into(function: Function, inlined: dict[str, Function]) -> Function:
    if not inlined:
        return function

    def value(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind == "func" and node.name in inlined:
            callee = inlined[node.name]
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
        )

    return replace(function, pure=stage(function.pure), updates=tuple(map(stage, function.updates)))
