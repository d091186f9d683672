"""Directives as data: text to be pasted, and calls of the same."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from rfactor.ir.meaning import Meaning


@dataclass(frozen=True, slots=True)
class Word:
    """A Python variable."""

    name: str

    def __str__(self) -> str:
        return self.name

    def value(self, held: MutableMapping[str, Any]) -> Any:
        return held[self.name]


@dataclass(frozen=True, slots=True)
class Iterations:
    """Whether loops have so many iterations together, known when the pipeline starts."""

    loops: tuple[Word, ...]
    least: int
    also: Iterations | None = None
    """Where that has to hold too."""

    def __str__(self) -> str:
        first, *others = self.loops
        divided = "".join(f" // {loop}.extent()" for loop in others)
        own = f"{first}.extent() > {self.least - 1}{divided}"
        return own if self.also is None else f"({own}) & ({self.also})"

    def value(self, held: MutableMapping[str, Any]) -> Any:
        """By divisions: a product might overflow."""
        from rfactor.compiler.language.expr import as_expr

        first, *others = self.loops
        rest = as_expr(self.least - 1)
        for loop in others:
            rest = rest // loop.value(held).extent()
        own = first.value(held).extent() > rest
        return own if self.also is None else own & self.also.value(held)

    def words(self) -> Iterator[Word]:
        """The loops that it speaks of."""
        yield from self.loops
        if self.also is not None:
            yield from self.also.words()


Plain = int | str | Word | Iterations
Argument = Plain | tuple[tuple[Plain, Plain], ...]
"""A number, the name of a loop, a variable, a condition, or pairs of loops."""


@dataclass(frozen=True, slots=True)
class Directive:
    """One call: `made = of.update(0).method(arguments)`."""

    of: Word
    update: int | None
    """None: of the function itself."""
    method: str
    arguments: tuple[Argument, ...]
    reason: str = ""
    """Why it is there; none where it belongs to the one before."""
    made: Word | None = None
    """What the intermediate is called."""
    where: tuple[Iterations, ...] = ()
    """Only for runs in which all of them hold, each a case of the one before."""
    semantics: Meaning | None = None
    """The meaning of integers that is asked for; None where that is not said."""

    def __str__(self) -> str:
        """As Python."""
        stage = f"{self.of}" if self.update is None else f"{self.of}.update({self.update})"
        stage += "".join(f".specialize({condition})" for condition in self.where)
        meant = [] if self.semantics is None else [f'semantics="{self.semantics}"']
        call = f"{stage}.{self.method}({', '.join([*map(_shown, self.arguments), *meant])})"
        return call if self.made is None else f"{self.made} = {call}"

    def words(self) -> Iterator[Word]:
        """The variables that it speaks of as arguments."""
        plain = [one for a in self.arguments for one in (sum(a, ()) if isinstance(a, tuple) else (a,))]
        yield from (one for one in plain if isinstance(one, Word))
        for condition in self.where:
            yield from condition.words()

    def apply(self, held: MutableMapping[str, Any]) -> None:
        """Call it, on and with the variables in `held`. Raises `ScheduleError`."""
        stage = self.of.value(held)
        if self.update is not None:
            stage = stage.update(self.update)
        for condition in self.where:
            stage = stage.specialize(condition.value(held))
        meant = {} if self.semantics is None else {"semantics": str(self.semantics)}
        result = getattr(stage, self.method)(*(_value(argument, held) for argument in self.arguments), **meant)
        if self.made is not None:
            held[self.made.name] = result


def _shown(argument: Argument) -> str:
    if isinstance(argument, tuple):
        return f"[{', '.join(f'({_shown(a)}, {_shown(b)})' for a, b in argument)}]"
    return f'"{argument}"' if isinstance(argument, str) else str(argument)


def _value(argument: Argument, held: MutableMapping[str, Any]) -> Any:
    if isinstance(argument, tuple):
        return [(_value(a, held), _value(b, held)) for a, b in argument]
    return argument.value(held) if isinstance(argument, Word | Iterations) else argument


@dataclass(frozen=True, slots=True)
class AutoSchedule:
    """What `auto_rfactor` chose for one update. As text it is Python that gives the same schedule."""

    function: str
    """What the function is called in the text."""
    update: int
    variables: tuple[tuple[str, int], ...] = ()
    """Reduction variables that the directives speak of: what they are called, and which of `rvars` they are."""
    directives: tuple[Directive, ...] = ()
    why: str = ""
    """Why the update is factored so, or is not."""
    case: str = ""
    """What the case of the update is called in the text, where it is of one: what `specialize` returned."""

    @property
    def factored(self) -> bool:
        """Whether the update was factored."""
        return any(directive.method == "rfactor" for directive in self.directives)

    def __bool__(self) -> bool:
        """Whether there are directives."""
        return bool(self.directives)

    def __str__(self) -> str:
        stage = f"{self.function}.update({self.update})"
        lines = [f"# {f'{self.case} of {stage}' if self.case else stage}: {self.why}"]
        if self.directives:
            lines += [f"{name} = {self.function}.rvars({self.update})[{index}]" for name, index in self.variables]
        lines += [f"{one}{f'  # {one.reason}' if one.reason else ''}" for one in self.directives]
        return "\n".join(lines)


class AutoSchedules(tuple[AutoSchedule, ...]):
    """Those of several updates, in their order."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))
