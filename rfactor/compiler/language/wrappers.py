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
from rfactor.compiler.schedule.directives import StageSchedule
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

        It is `w[_] = f[_]`, to be scheduled by itself. Asked for again, it is the same one. Raises `ScheduleError`.
        """
        from rfactor.compiler.language.func import Func

        names = ("",) if f is None else consumer_names(self, f)
        known = self._known(names)
        if known is not None:
            return known
        made = Func(f"{self._stem()}{_ending(names)}")
        variables = self.variables()
        made[tuple(variables)] = self[tuple(variables)]
        made.use()
        self.wrappers = {**self.wrappers, **dict.fromkeys(names, made)}
        return made

    def variables(self) -> list[Var]:
        """Its pure variables."""
        return [Var(f"_{d}") for d in range(self.dimensions())]

    def _known(self, names: tuple[str, ...]) -> Func | None:
        found = [self.wrappers.get(name) for name in names]
        if any(one is not found[0] for one in found):
            given = ", ".join(f"{n}: {w.name()}" for n, w in zip(names, found, strict=True) if w is not None)
            raise ScheduleError(f"in_ of {self.name()}: some of the consumers have a wrapper of their own ({given})")
        others = [name for name, w in self.wrappers.items() if w is found[0] and name not in names]
        if found[0] is not None and others:
            raise ScheduleError(
                f"Redefinition of shared wrapper [{self.name()} -> {found[0].name()}] in {', '.join(names)} is illegal "
                f"since {', '.join(others)} shares the same wrapper but is not part of the redefinition"
            )
        return found[0]


def consumer_names(wrapped: Wrapped, consumers: Any) -> tuple[str, ...]:
    """The names of `in_(g)` or `in_([g, h])`. Raises `ScheduleError` for none, and for a function in itself."""
    from rfactor.compiler.language.func import Func

    names = tuple(consumer.name() for consumer in ((consumers,) if isinstance(consumers, Func) else consumers))
    if not names:
        raise ScheduleError(
            f"Could not create a in wrapper for an empty list of Funcs: {wrapped.name()}.in_() is for all"
        )
    if wrapped.name() in names:
        raise ScheduleError(f"{wrapped.name()} in itself: name functions that call it")
    return names


def clone(func: Func, names: tuple[str, ...]) -> Func:
    """A function of its own with the definitions that `func` has now, which `names` call instead."""
    from rfactor.compiler.language.func import Func as Shell

    known = func._known(names)
    if known is not None:
        return known
    free = Named(f"{func.name()}_clone_in_{names[0]}", "f")
    name = free.name()
    del free
    function = func.function
    copied = replace(calling(function, {function.name: name}), name=name)
    made = Shell.of(copied, func.references, None, func.ranges)
    if not func.has_update_definition():
        made.compute_inline()
    if func.used:
        made.use()
    func.wrappers = {**func.wrappers, **dict.fromkeys(names, made)}
    return made


def check_wrapped(functions: Mapping[str, Func]) -> None:
    """Raise `ScheduleError` where one of `functions` is wrapped in another, which does not call it."""
    wrapped = [*functions.values(), *(used for func in functions.values() for used in func.references.values())]
    ways = {id(wrapper) for one in wrapped if isinstance(one, Wrapped) for wrapper in one.wrappers.values()}
    for name, func in functions.items():
        for consumer, wrapper in func.wrappers.items():
            caller = functions.get(consumer)
            if caller is None or id(caller) in ways or id(func) in ways or name in caller.references:
                continue
            callees = ", ".join(one for one, used in caller.references.items() if isinstance(used, Wrapped)) or "none"
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
        wrapper = _called_instead(func, used)
        if wrapper is not None:
            renamed[name] = wrapper
    if not renamed:
        return function, schedules, func.references
    references = {name: used for name, used in func.references.items() if name not in renamed}
    references |= {wrapper.name(): wrapper for wrapper in renamed.values()}
    names = {name: wrapper.name() for name, wrapper in renamed.items()}
    return calling(function, names), tuple(_scanning(schedule, names) for schedule in schedules), references


def _called_instead(func: Func, used: object) -> Func | None:
    """What `func` calls in place of `used`: its wrapper, the wrapper of that one, and so on; None where it has none.

    A wrapper for all is not for the other wrappers of the same function.
    """
    found: Func | None = None
    while isinstance(used, Wrapped):
        for_all = None if func in used.wrappers.values() else used.wrappers.get("")
        wrapper = used.wrappers.get(func.name(), for_all)
        found, used = wrapper or found, wrapper
    return found


def _renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """`expr` with calls of functions and images under other names, as calls of functions."""

    def renamed(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind != "intrinsic" and node.name in names:
            return Call(node.type, names[node.name], node.args, "func", node.index)
        return None

    return transform(expr, renamed)


def _scanning(schedule: StageSchedule, names: Mapping[str, str]) -> StageSchedule:
    """A stage's directives with such calls: those of a scan, which keeps the data of its iterations."""
    scan = schedule.scan
    if scan is None:
        return schedule
    data, operator, apply = (
        tuple(_renamed(expr, names) for expr in exprs) for exprs in (scan.data, scan.operator, scan.apply)
    )
    return replace(schedule, scan=replace(scan, data=data, operator=operator, apply=apply))


def calling(function: Function, names: Mapping[str, str]) -> Function:
    """`function` with such calls."""

    def definition(stage: Definition) -> Definition:
        domain = stage.domain
        if domain is not None:
            domain = replace(domain, predicate=_renamed(domain.predicate, names))
        arguments = tuple(_renamed(argument, names) for argument in stage.arguments)
        values = tuple(_renamed(value, names) for value in stage.values)
        where = None if stage.where is None else _renamed(stage.where, names)
        return replace(stage, arguments=arguments, values=values, domain=domain, where=where)

    return replace(function, pure=definition(function.pure), updates=tuple(map(definition, function.updates)))


def _ending(names: Sequence[str]) -> str:
    if len(names) > 1:
        return "_wrapper"
    return f"_in_{names[0]}" if names[0] else "_global_wrapper"
