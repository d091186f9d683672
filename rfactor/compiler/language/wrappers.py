"""Wrappers and clones: other functions with the values of one, called in its place by some or all of its consumers.

g[x] = f[x]; w = f.in_(g)         ->   w[x] = f[x]; g[x] = w[x]
g[x] = f[x]; c = f.clone_in(g)    ->   c has the definitions of f; g[x] = c[x]

They take the place of `f` when the pipeline is compiled, so that definitions that follow see them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rfactor.compiler.language.keywords import also_named
from rfactor.compiler.language.names import Named
from rfactor.compiler.language.public import public
from rfactor.compiler.language.variables import Var
from rfactor.compiler.schedule.directives import Specialization, StageSchedule
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.expr import Call, Expr, transform

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func

Wrappers = Mapping[str, "Func"]
"""Who is called instead, by the consumer's name; under no name by all the others."""


@public
class Wrapped:
    """A function or an image that others may be called in place of."""

    wrappers: Wrappers

    def name(self) -> str:
        """Its name."""
        raise NotImplementedError

    def dimensions(self) -> int:
        """The number of dimensions."""
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    def _stem(self) -> str:
        """What the names of its wrappers begin with."""
        return self.name()

    @also_named(fs="f")
    def in_(self, f: Func | Sequence[Func] | None = None) -> Func:
        """A function with the same values that `f`, one or several, call instead; without any, that all do.

        It is `w[_] = f[_]`, to be scheduled by itself. Asked for again, it is the same one, called by those for which
        it was made. Raises `ScheduleError`.
        """
        from rfactor.compiler.language.func import Func

        names = ("",) if f is None else consumer_names(self, f, "in")
        known = known_wrapper(self, names)
        if known is not None:
            return known
        made = Func(f"{self._stem()}{_ending(self, f, 'in')}")
        variables = self.variables()
        made[tuple(variables)] = self[tuple(variables)]
        made.use()
        self.wrappers = {**self.wrappers, **dict.fromkeys(names, made)}
        return made

    def variables(self) -> list[Var]:
        """Its pure variables."""
        return [Var(f"_{d}") for d in range(self.dimensions())]


def known_wrapper(wrapped: Wrapped, names: tuple[str, ...]) -> Func | None:
    """The wrapper or clone that the first of `names` calls already; None where it calls none, nor does any other.

    Others of `names` that call none do not call it either, as in Halide. Raises `ScheduleError` where they call
    another, or where one that is not among them calls it.
    """
    wrappers = wrapped.wrappers
    found = wrappers.get(names[0])
    other = [name for name in names if name in wrappers and wrappers[name] is not found]
    if other and found is None:
        raise ScheduleError(
            f"Cannot define the wrapper since {other[0]} already has a wrapper ({wrappers[other[0]].name()}) while "
            f"{names[0]} doesn't: name {other[0]} first, or {names[0]} alone"
        )
    if other:
        raise ScheduleError(
            f"{other[0]} should have shared the same wrapper as {names[0]}: they call {wrappers[other[0]].name()} and "
            f"{found.name() if found else wrapped.name()} instead of {wrapped.name()}"
        )
    shared = [name for name, wrapper in wrappers.items() if wrapper is found and name not in names]
    if found is not None and shared:
        raise ScheduleError(
            f"Redefinition of shared wrapper [{wrapped.name()} -> {found.name()}] in {', '.join(names)} is illegal "
            f"since {', '.join(shared)} shares the same wrapper but is not part of the redefinition"
        )
    return found


def consumer_names(wrapped: Wrapped, consumers: Any, kind: str) -> tuple[str, ...]:
    """The names of `in_(g)` or `in_([g, h])`. Raises `ScheduleError` for none, one twice, and a function in itself."""
    from rfactor.compiler.language.func import Func

    names = tuple(consumer.name() for consumer in ((consumers,) if isinstance(consumers, Func) else consumers))
    if not names:
        way = f"{wrapped.name()}.in_() is for all" if kind == "in" else "name those that are to call it"
        raise ScheduleError(f"Could not create a {kind} wrapper for an empty list of Funcs: {way}")
    if wrapped.name() in names:
        raise ScheduleError(f"{wrapped.name()} in itself: name functions that call it")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ScheduleError(f'Wrapper redefinition in function "{twice[0]}" is not allowed: name it once')
    return names


def clone(func: Func, consumers: Func | Sequence[Func]) -> Func:
    """A function with the definitions and the directives that `func` has now, which `consumers` call instead."""
    from rfactor.compiler.language.func import Func as Shell

    names = consumer_names(func, consumers, "clone")
    known = known_wrapper(func, names)
    if known is not None:
        return known
    free = Named(f"{func.name()}{_ending(func, consumers, 'clone')}", "f")
    name = free.name()
    del free
    function = func.function
    copied = replace(calling(function, {function.name: name}), name=name)
    made = Shell.of(copied, func.references, None, func.ranges)
    made.scheduled_as(func)
    for state, own in zip(func.stages, made.stages, strict=True):
        own.schedule, own.touched = _directed(state.schedule, {function.name: name}), state.touched
    if func.used:
        made.use()
    func.wrappers = {**func.wrappers, **dict.fromkeys(names, made)}
    return made


def check_wrapped(outputs: Sequence[Func]) -> None:
    """Raise `ScheduleError` where something that `outputs` need is wrapped in, or cloned for, what does not call it."""
    from rfactor.compiler.language.func import Func

    needed: dict[str, Wrapped] = {}
    callers: dict[str, Func] = {output.name(): output for output in outputs}
    waiting = list(callers.values())
    while waiting:
        caller = waiting.pop()
        for used in (caller, *caller.references.values()):
            if isinstance(used, Wrapped) and used.name() not in needed:
                needed[used.name()] = used
                others = [one for one in (used, *used.wrappers.values()) if isinstance(one, Func)]
                waiting += (one for one in others if one.name() not in callers)
                callers |= {one.name(): one for one in others}
    for name, wrapped in needed.items():
        for consumer, wrapper in wrapped.wrappers.items():
            called = callers[consumer].references if consumer in callers else None
            if called is None or any(wrapper in _instead(callers[consumer], used) for used in called.values()):
                continue
            callees = ", ".join(one for one, used in called.items() if isinstance(used, Wrapped)) or "none"
            raise ScheduleError(
                f'Cannot wrap "{name}" in "{consumer}" because "{consumer}" does not call "{name}": direct callees of '
                f"{consumer}: {callees}; {wrapper.name()} would not be used"
            )


def rewired(
    func: Func, function: Function, schedules: tuple[StageSchedule, ...]
) -> tuple[Function, tuple[StageSchedule, ...], Mapping[str, Any]]:
    """The definitions of `func`, its directives and what they refer to, with wrappers instead of what they wrap."""
    renamed: dict[str, Func] = {}
    for name, used in func.references.items():
        instead = _instead(func, used)
        if instead:
            renamed[name] = instead[-1]
    if not renamed:
        return function, schedules, func.references
    references = {name: used for name, used in func.references.items() if name not in renamed}
    references |= {wrapper.name(): wrapper for wrapper in renamed.values()}
    names = {name: wrapper.name() for name, wrapper in renamed.items()}
    return calling(function, names), tuple(_directed(schedule, names) for schedule in schedules), references


def _instead(func: Func, used: object) -> list[Func]:
    """What `func` calls in place of `used`, last: its wrapper, the wrapper of that one, and so on.

    A wrapper for all is not for the other wrappers of the same function.
    """
    found: list[Func] = []
    while isinstance(used, Wrapped):
        for_all = None if func in used.wrappers.values() else used.wrappers.get("")
        wrapper = used.wrappers.get(func.name(), for_all)
        if wrapper is not None:
            found.append(wrapper)
        used = wrapper
    return found


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """`expr` with calls of functions and images under other names, as calls of functions."""

    def renamed(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind != "intrinsic" and node.name in names:
            return Call(node.type, names[node.name], node.args, "func", node.index)
        return None

    return transform(expr, renamed)


def _directed(schedule: StageSchedule, names: Mapping[str, str]) -> StageSchedule:
    """A stage's directives with such calls: those of a scan, which keeps the data of its iterations, and those of cases
    that have a definition of their own."""
    scan, cases = schedule.scan, schedule.specializations
    if scan is not None:
        data, operator, apply = (
            tuple(_renamed(expr, names) for expr in exprs) for exprs in (scan.data, scan.operator, scan.apply)
        )
        schedule = replace(schedule, scan=replace(scan, data=data, operator=operator, apply=apply))
    if cases:
        schedule = replace(schedule, specializations=tuple(_case(one, names) for one in cases))
    return schedule


def _case(case: Specialization, names: Mapping[str, str]) -> Specialization:
    definition = None if case.definition is None else _definition(case.definition, names)
    return replace(case, definition=definition, schedule=_directed(case.schedule, names))


def calling(function: Function, names: Mapping[str, str]) -> Function:
    """`function` with such calls."""
    pure, *updates = (_definition(stage, names) for stage in function.stages)
    return replace(function, pure=pure, updates=tuple(updates))


def _definition(stage: Definition, names: Mapping[str, str]) -> Definition:
    domain = stage.domain
    if domain is not None:
        domain = replace(domain, predicate=_renamed(domain.predicate, names))
    arguments = tuple(_renamed(argument, names) for argument in stage.arguments)
    values = tuple(_renamed(value, names) for value in stage.values)
    where = None if stage.where is None else _renamed(stage.where, names)
    return replace(stage, arguments=arguments, values=values, domain=domain, where=where)


def _ending(wrapped: Wrapped, consumers: Func | Sequence[Func] | None, kind: str) -> str:
    """What is added to a function's name for a wrapper or a clone, with how many it has by now."""
    from rfactor.compiler.language.func import Func

    many, stem = ("_wrapper", "in_") if kind == "in" else ("_clone", "clone_in_")
    one = "_global_wrapper" if consumers is None else many
    return f"{f'_{stem}{consumers.name()}' if isinstance(consumers, Func) else one}${len(wrapped.wrappers)}"
