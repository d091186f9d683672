"""Recurrences along one dimension as parallel scans: what `parallel_scan` needs to know of an update.

    f(r) = f(r - 1) + h(r) for r in [1, n)

is an update `x := f(x; d)` of one running value, written down at every step. With an associative operator behind it
(`f(x; d) = op(x, g(d))`, or a richer state that acts on x), blocks of the loop can be reduced apart, each from its
first element; the results of the blocks, scanned, say where each block starts; then all blocks run at once, each by the
update itself. No identity is needed: every block that is reduced is full.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rfactor.compiler.extraction import recognized, self_calls
from rfactor.compiler.schedule.directives import Scan
from rfactor.errors import FactorError, ScheduleError
from rfactor.ir.algorithm import Definition, Function, ReductionDomain
from rfactor.ir.expr import Call, Const, Expr, Op, Var, names, substitute, transform
from rfactor.ir.meaning import Meaning
from rfactor.ir.printer import show_tuple
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer


def scan_of(
    function: Function, definition: Definition, rvar: str, block: int, recognize: Callable[[Update], Answer]
) -> Scan:
    """The scan that the loop over `rvar` is. Raises `ScheduleError` where it is none, or was not proved to be one."""
    definition = moved(definition, rvar)
    place = along(function, definition, rvar)
    running = _running_value(function, definition, rvar, place)
    components = tuple(range(len(function.types)))
    try:
        extracted, answer = recognized(*running, components, Meaning.WRAP, recognize)
    except FactorError as error:
        raise ScheduleError(f"parallel_scan({rvar}): {error}") from error
    written = f"{show_tuple(extracted.update.components)} (x for {function.name} one step before)"
    if answer.verdict not in ("associative", "lifted") or answer.assumes:
        said = "is not associative" if answer.verdict == "not_associative" else "was not proved to be associative"
        reason = f": {answer.reason}" if answer.reason else ""
        only = f", only if {show_tuple(answer.assumes)}" if answer.assumes else ""
        other = "write it with an associative operator"
        if answer.rounded is not None:
            other = f"compute x{answer.rounded[0]} in another update"
        raise ScheduleError(
            f"parallel_scan({rvar}): the recurrence {written} {said}{only}{reason}. Keep its loop serial, or {other}"
        )
    if answer.lift is not None and answer.verdict == "lifted":
        lift = answer.lift
        types, data, operator, apply = lift.types, lift.data, lift.operator, lift.apply
    elif answer.operator is not None and answer.data is not None:
        types, data, operator, apply = function.types, answer.data, answer.operator, answer.operator
    else:
        raise ScheduleError(
            f"parallel_scan({rvar}): the operator behind the recurrence {written} takes no single element, from which "
            "a block could start"
        )

    def meant(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(substitute(expr, extracted.meanings) for expr in exprs)

    return Scan(rvar, block, types, meant(data), meant(operator), meant(apply), bool(answer.commutative))


def moved(definition: Definition, rvar: str) -> Definition:
    """The same update over the points that it writes: for `f(r + c)` with a constant c, the loop over r + c."""
    domain = definition.domain or ReductionDomain(())
    loop = Var(I32, rvar)
    distances = (simplify(Op(I32, "-", (argument, loop))) for argument in definition.arguments)
    found = [distance for distance in distances if isinstance(distance, Const)]
    if not found or all(rv.name != rvar for rv in domain.variables):
        return definition
    distance = found[0]
    here = {rvar: simplify(Op(I32, "-", (loop, distance)))}

    def new(expr: Expr) -> Expr:
        return simplify(substitute(expr, here))

    variables = tuple(
        replace(rv, min=simplify(Op(I32, "+", (rv.min, distance)))) if rv.name == rvar else rv
        for rv in domain.variables
    )
    values = tuple(substitute(value, here) for value in definition.values)
    return replace(
        definition,
        arguments=tuple(map(new, definition.arguments)),
        values=values,
        domain=replace(domain, variables=variables),
    )


def along(function: Function, definition: Definition, rvar: str) -> int:
    """The dimension along which `definition` steps with `rvar`. Raises `ScheduleError` for another form of update."""
    domain = definition.domain or ReductionDomain(())
    what = f"parallel_scan({rvar})"
    loops = {rv.name: rv for rv in domain.variables}
    if rvar not in loops:
        held = ", ".join(rv.name for rv in reversed(domain.variables)) or "none"
        raise ScheduleError(f"{what}: the update has no such reduction variable; it has {held} (outermost first)")
    if domain.predicate != Const(BOOL, True):
        raise ScheduleError(
            f"{what}: the domain has a predicate (where), so that steps may be left out; "
            "choose the value with select() in place of where()"
        )
    point = f"{function.name}({', '.join(map(str, definition.arguments))})"
    alone = {a.name: d for d, a in enumerate(definition.arguments) if isinstance(a, Var) and a.name in loops}
    for d, argument in enumerate(definition.arguments):
        if alone.get(getattr(argument, "name", "")) != d and names(argument) & loops.keys():
            raise ScheduleError(
                f"{what}: {point} is written, where {argument} is no reduction variable alone (nor {rvar} and a "
                f"constant): the recurrence must step through {function.name} by {rvar} itself"
            )
    for name in loops:
        if name not in alone:
            raise ScheduleError(
                f"{what}: {name} does not stand alone as an argument of {point}, so that its iterations write the "
                "same points one after the other"
            )
    for rv in loops.values():
        varies = (names(rv.min) | names(rv.extent)) & ({*function.variables} | loops.keys())
        if varies:
            raise ScheduleError(f"{what}: the bounds of {rv.name} depend on {', '.join(sorted(varies))}")
    return alone[rvar]


def _running_value(function: Function, definition: Definition, rvar: str, place: int) -> tuple[Function, Definition]:
    """The function and update of the running value alone: `f(y) = F(f(y), d)` for `f(r, y) = F(f(r - 1, y), d)`."""
    assert definition.domain is not None
    before = tuple(
        simplify(Op(I32, "-", (argument, Const(I32, 1)))) if d == place else simplify(argument)
        for d, argument in enumerate(definition.arguments)
    )
    for value in definition.values:
        for call in self_calls(function.name, value):
            if tuple(map(simplify, call.args)) != before:
                point = f"{function.name}({', '.join(map(str, before))})"
                raise ScheduleError(
                    f"parallel_scan({rvar}): the update reads {call}; of {function.name} it may read only the point "
                    f"one step before the one that it writes, {point}"
                )

    def without(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind == "func" and node.name == function.name:
            return Call(node.type, node.name, _dropped(node.args, place), "func", node.index)
        return None

    domain = ReductionDomain(tuple(rv for rv in definition.domain.variables if rv.name == rvar))
    values = tuple(transform(value, without) for value in definition.values)
    running = Definition(_dropped(definition.arguments, place), values, domain)
    variables = function.variables[:place] + function.variables[place + 1 :]
    pure = Definition(tuple(Var(I32, name) for name in variables), tuple(Const(t, 0) for t in function.types))
    return Function(function.name, variables, function.types, pure), running


def _dropped(arguments: tuple[Expr, ...], place: int) -> tuple[Expr, ...]:
    return arguments[:place] + arguments[place + 1 :]
