"""What `check` is asked: the update of an expression, an assignment or a Python function, and how it calls its parts.

Inside of the matcher accumulators are `x0`, `x1`, …, and answers speak of them so; a datum that is called `x`, as where
`acc` is the accumulator, has another name until the answer is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rfactor.errors import ParseError, excerpt
from rfactor.ir.expr import Expr, Var, names, substitute, substitute_all, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.syntax import assignment_of
from rfactor.ir.types import I32, Type
from rfactor.ir.unknown import Functions
from rfactor.ir.update import Update
from rfactor.matcher.alike import renamed
from rfactor.matcher.answer import Answer
from rfactor.matcher.invariants.runs import Start

_USUAL = frozenset(
    ["acc", "accu", "accum", "accumulator", "agg", "aggregate", "res", "result", "s", "state", "sum", "total"]
)
"""What people call accumulators."""


@dataclass(frozen=True, slots=True)
class Question:
    """An update as it was asked about."""

    update: Update
    text: str
    """One expression a component, in the user's words."""
    state: tuple[str, ...] = ()
    """The user's names of the accumulators, where they are not `x`, or `x0`, `x1`, …"""
    assigned: bool = False
    """Whether it was an assignment, which says itself what is kept."""

    @property
    def reads_state(self) -> bool:
        """Whether the new value of any accumulator is made of the old one of any."""
        own = {x.name for x in self.update.accumulators}
        return any(not own.isdisjoint(names(component)) for component in self.update.components)


def read_question(
    asked: str | Callable[..., Any],
    default: Type = I32,
    types: Mapping[str, Type] | None = None,
    constants: Collection[str] = (),
    meaning: Meaning = Meaning.WRAP,
    functions: Functions | None = None,
    state: Sequence[str] = (),
) -> Question:
    """The question about an expression, an assignment such as `s += a`, or a Python function. Raises `ParseError`."""
    functions, named, assigned = functions or {}, tuple(state), False
    if isinstance(asked, str):
        text, assignment = asked, assignment_of(asked)
        if assignment is not None:
            target, text = assignment
            assigned = True
            if named and named != target:
                raise ParseError(
                    f"{', '.join(target)} is assigned, but --state names {', '.join(named)}: {excerpt(asked)}"
                )
            named = target
    else:
        from rfactor.matcher.python_function import text_of

        text, named = text_of(asked, named, functions)
    update = parse_update(text, default, types, constants, meaning, functions, named)
    if not isinstance(asked, str):
        from rfactor.matcher.python_function import check_divisions

        check_divisions(update)
    count = len(update.types)
    if named == tuple(f"x{i}" for i in range(count)) or named == ("x",):
        named = ()
    return Question(update, text, named, assigned)


def check_reads_state(question: Question) -> None:
    """Refuse an update that reads none of its accumulators, if it is no assignment to them. Raises `ParseError`."""
    if question.assigned or question.reads_state:
        return
    text, own = question.text.strip(), question.state
    if own:
        raise ParseError(f"{excerpt(text)} reads no accumulator: {', '.join(own)} does not occur in it")
    meant = usual_names(question.update)
    if meant:
        raise ParseError(f"{excerpt(text)} reads no accumulator: name it with --state {meant[0]}")
    keep = f"; what is kept of the last step is written x = {text}" if len(question.update.types) == 1 else ""
    raise ParseError(f"{excerpt(text)} reads no accumulator: call it x, or name it with --state acc{excerpt(keep)}")


def usual_names(update: Update) -> tuple[str, ...]:
    """The data that are called as people call accumulators."""
    return tuple(var.name for var in update.data if var.name.lower() in _USUAL)


def mistaken(question: Question) -> str | None:
    """What to note where `x` is the accumulator by its name alone, and a datum is called as an accumulator would be."""
    if question.state or question.assigned or len(question.update.types) > 1:
        return None
    if re.search(r"\bx\b", question.text) is None:
        return None
    others = usual_names(question.update)
    if not others:
        return None
    return f"x is the accumulator, {others[0]} is data of each step; --state {others[0]} says otherwise"


# Data that are called as the accumulator is elsewhere.

_OWN = "its "
"""Before the name of such a datum; no name of a user's has a space."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the matcher is asked."""

    update: Update
    start: Start | None = None
    """Each accumulator's value before the loop, as far as it is known; None where nothing is."""
    assumed: tuple[Expr, ...] = ()
    """Loop invariants, and conditions on constants."""


def without_x(asked: Asked) -> Asked:
    """Give a datum or constant called `x` another name."""
    found = _called(asked.update, "x")
    if found is None:
        return asked
    other = {"x": Var(found.type, f"{_OWN}x")}
    return Asked(
        _renamed(asked.update, other),
        None if asked.start is None else _renamed_start(asked.start, other),
        substitute_all(asked.assumed, other),
    )


def with_x(answer: Answer, update: Update) -> Answer:
    """Tell an answer of the update itself, whose datum is called `x` again. Of several steps the values of that are
    `x.1`, `x.2`: `x1` is a state."""
    found = _called(update, "x")
    if found is None:
        return answer
    own = {f"{_OWN}x": found}
    counterexample, reason, held = answer.counterexample, answer.reason, answer.from_start
    if counterexample is not None:
        counterexample = {_told(name): value for name, value in counterexample.items()}
    if reason is not None:
        reason = reason.removeprefix(_OWN).replace(f"({_OWN}", "(").replace(f" {_OWN}", " ")
    if held is not None:
        held = replace(
            held,
            update=update,
            invariants=substitute_all(held.invariants, own),
            start=None if held.start is None else _renamed_start(held.start, own),
            assumes=substitute_all(held.assumes, own),
        )
    told = renamed(answer, _renamed(answer.update, own), own)
    return replace(told, counterexample=counterexample, reason=reason, from_start=held)


def _called(update: Update, name: str) -> Var | None:
    return next((var for one in update.components for var in variables(one) if var.name == name), None)


def _renamed(update: Update, other: Mapping[str, Var]) -> Update:
    constants = frozenset(other[name].name if name in other else name for name in update.constants)
    return replace(update, components=substitute_all(update.components, other), constants=constants)


def _renamed_start(start: Start, other: Mapping[str, Var]) -> Start:
    return tuple(None if value is None else substitute(value, other) for value in start)


def _told(name: str) -> str:
    """A name of a counterexample without the mark; the number of a step stands after a dot."""
    marked = name.removeprefix(_OWN)
    step = re.fullmatch(r"x('?)(\d+)", marked)
    return marked if marked == name or step is None else f"x{step[1]}.{step[2]}"
