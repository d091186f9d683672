"""Inlining: calls of pure functions replaced by their values.

g(x) = a(x) + 1; f(x) = g(x) * g(x + 1)   ->   f(x) = (a(x) + 1) * (a(x + 1) + 1)

What is calculated with a function that is undefined in part is undefined there too:

g(x) = a(x) where x > 2; f(x) = g(x) + 1   ->   f(x) = a(x) + 1 where x > 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rfactor.compiler.lower.conditions import conjuncts
from rfactor.compiler.lower.refused import inlined
from rfactor.compiler.schedule.directives import Schedule
from rfactor.compiler.undefined import Parted, defined, differing
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Definition, Function
from rfactor.ir.expr import Call, Const, Expr, Op, Var, conjunction, select, substitute, transform, walk, zero
from rfactor.ir.several import joined, points
from rfactor.ir.types import BOOL

FALSE = Const(BOOL, False)
_UNDEFINED = ".undefined"
_NAMES = frozenset((_UNDEFINED,))
"""What stands for a value where there is none, until it is known what that makes undefined."""


def inline(algorithm: Algorithm, schedule: Schedule) -> Algorithm:
    """The algorithm without the functions that are inlined. Raises `ScheduleError`: see `refused.inlined`; and where
    what a function is made of is undefined in part, so that it would be, but cannot."""
    gone = inlined(algorithm, schedule)
    values: dict[str, Function] = {}
    kept: list[Function] = []
    for function in algorithm.functions:
        function = _inlined_into(function, values, function.name in algorithm.outputs)
        if function.name in gone:
            values[function.name] = function
        else:
            kept.append(function)
    return replace(algorithm, functions=tuple(kept))


def _inlined_into(function: Function, values: Mapping[str, Function], output: bool) -> Function:
    if not values:
        return function

    def value(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind == "func" and node.name in values:
            callee = values[node.name]
            arguments = dict(zip(callee.variables, node.args, strict=True))
            return substitute(_value(callee, node.index), arguments)
        return None

    def new(expr: Expr) -> Expr:
        return transform(expr, value)

    def stage(number: int, definition: Definition) -> Definition:
        domain = definition.domain
        if domain is not None:
            domain = replace(domain, predicate=new(domain.predicate))
        result = replace(
            definition,
            arguments=tuple(map(new, definition.arguments)),
            values=tuple(map(new, definition.values)),
            domain=domain,
            where=None if definition.where is None else new(definition.where),
        )
        return _partly(function, number, result, output) if _unknown(result) else result

    updates = (stage(number + 1, update) for number, update in enumerate(function.updates))
    return replace(function, pure=stage(0, function.pure), updates=tuple(updates))


def _value(function: Function, component: int) -> Expr:
    """A component of a pure function, with `_UNDEFINED` where it has no value."""
    pure, value = function.pure, function.pure.values[component]
    if not pure.may_keep(component):
        return value
    nothing = Var(value.type, _UNDEFINED)
    if pure.keeps and pure.keeps[component]:
        return nothing
    assert pure.where is not None
    if isinstance(value, Op) and value.op == "select" and value.args[0] == pure.where:
        value = value.args[1]
    return select(pure.where, value, nothing)


def _unknown(stage: Definition) -> bool:
    """Whether something that a stage is made of is undefined in part."""
    exprs = (*stage.expressions, *(() if stage.where is None else (stage.where,)))
    return any(isinstance(node, Var) and node.name == _UNDEFINED for expr in exprs for node in walk(expr))


def _partly(function: Function, number: int, stage: Definition, output: bool) -> Definition:
    """The stage where all that it is made of is defined; a component that is so nowhere keeps what is there."""
    if number == 0 and function.updates and not output:
        raise ScheduleError(
            f"{function.name} has updates, and would start undefined in part, as what is inlined into it is: "
            f"compute_root() or compute_at() gives that storage, which is 0 there"
        )
    predicate = [] if stage.domain is None else _whole(conjuncts(stage.domain.predicate))
    where = [] if stage.where is None else _whole(conjuncts(stage.where))
    arguments: list[Expr] = []
    for argument in stage.arguments:
        known, holds = defined(argument, _NAMES)
        where += [] if holds is None else [holds]
        where += [] if known is not None else [FALSE]
        arguments.append(zero(argument.type) if known is None else known)

    def value(point: tuple[Expr, ...], component: int, expr: Expr) -> Parted:
        """A component; one that an update leaves as it is counts as undefined."""
        keeps = number > 0 and expr == function.at(point, component)
        return (None, None) if keeps else defined(expr, _NAMES)

    written = [
        (point, [value(point, c, one) for c, one in enumerate(found)])
        for point, found in points(arguments, stage.values)
    ]
    several = len(written) > 1  # each point is left as it is under its own condition
    conditions = [] if several else [holds for known, holds in written[0][1] if known is not None]
    wrong = differing(conditions) if conditions else None
    if wrong is not None:
        raise ScheduleError(
            f"{wrong}\nin {function.name}, of what is inlined into it: compute_root() or compute_at() gives that "
            f"storage, which is 0 there"
        )
    keeps = tuple(all(found[c][0] is None for _, found in written) for c in range(len(stage.values)))
    where += [holds for holds in conditions[:1] if holds is not None]
    asked = conjunction(*where) if where else None

    def there(one: Parted, current: Expr) -> Expr:
        known, holds = one
        if several:
            return current if known is None else known if holds is None else select(holds, known, current)
        if number:
            return current if known is None else known
        nothing = zero(current.type)
        return nothing if known is None else known if asked is None else select(asked, known, nothing)

    made = [
        (point, tuple(there(one, function.at(point, c)) for c, one in enumerate(found))) for point, found in written
    ]
    new_arguments, values = joined(made)
    domain = stage.domain
    if domain is not None:
        domain = replace(domain, predicate=conjunction(*predicate))
    if not number:
        keeps = tuple(a or b for a, b in zip(keeps, stage.keeps or keeps, strict=True))
        return Definition(new_arguments, values, domain, keeps if any(keeps) else (), asked)
    if all(keeps):
        asked = FALSE
    return Definition(new_arguments, values, domain, (), asked)


def _whole(conditions: Sequence[Expr]) -> list[Expr]:
    """Conditions where they are defined, each after what says where that is."""
    result: list[Expr] = []
    for condition in conditions:
        known, where = defined(condition, _NAMES)
        result += [] if where is None else [where]
        result.append(FALSE if known is None else known)
    return result
