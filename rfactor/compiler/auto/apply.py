"""Chooses directives for an update and gives them, all or none."""

from __future__ import annotations

import re
from dataclasses import replace
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from rfactor.compiler.auto.directive import AutoSchedule, AutoSchedules, Word
from rfactor.compiler.auto.facts import facts
from rfactor.compiler.auto.machine import Machine, this_machine
from rfactor.compiler.auto.plan import choose
from rfactor.compiler.auto.write import INTERMEDIATES
from rfactor.compiler.cases import at_path, loops_at
from rfactor.compiler.language.func import replaced
from rfactor.compiler.language.stage import Stage
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import Bound
from rfactor.errors import ScheduleError
from rfactor.ir.expr import Const
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.matcher.recognize import recognize

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func

CASE = "case"
"""What a case is called in the text."""


def auto_rfactor(
    func: Func,
    number: int,
    machine: Machine | None = None,
    path: tuple[int, ...] = (),
    semantics: Meaning = Meaning.WRAP,
) -> AutoSchedule:
    """Schedule update `number` of `func` for `machine`, this one if none is given; or the case of it at `path`.

    With `semantics` of unbounded integers those are a promise of the caller's, as in `rfactor`, where machine
    arithmetic has no operator.

    Raises `FactorError` where no associative operator is found and proved behind the update, `ScheduleError` where the
    update has directives already; nothing is changed then.
    """
    machine = machine or this_machine()
    state = func.stages[number + 1]
    definition, schedule = at_path(state.definition, state.schedule, path), loops_at(state.schedule, path)
    function = replaced(func.function, number, definition)
    if schedule != default_stage(function, definition):
        where = f"{func.name()}.update({number})"
        raise ScheduleError(
            f"auto_rfactor of {f'a case of {where}' if path else where} chooses all of its loops, and some directives "
            "were given already: leave them out, or paste what it prints for the update without them and edit that"
        )
    known = facts(function, number, func.references, recognize, machine, _expected(func), semantics)
    called = _called(func.name())
    first: ScheduleError | None = None
    for vectors in (True, False):
        chosen = choose(called, number, known, machine, vectors=vectors)
        if path:
            chosen = _of_case(chosen)
        try:
            _give(func, number, chosen, path)
        except ScheduleError as error:
            first = first or error
            continue
        return chosen if first is None else replace(chosen, why=f"{chosen.why} ({first})")
    assert first is not None
    raise first


def _of_case(chosen: AutoSchedule) -> AutoSchedule:
    """What was chosen for an update, for a case of it, that is called `CASE` in the text."""
    directives = tuple(
        replace(one, of=Word(CASE), update=None) if one.of.name == chosen.function and one.update is not None else one
        for one in chosen.directives
    )
    return replace(chosen, directives=directives, case=CASE)


def _expected(func: Func) -> dict[str, int]:
    """How many points it is said to be computed over, by its variables: by `bound`, or else by `set_estimate`."""
    bounds = {bound.variable: simplify(bound.extent) for bound in func.bounds if isinstance(bound, Bound)}
    return {
        **func.estimates,
        **{name: int(extent.value) for name, extent in bounds.items() if isinstance(extent, Const)},
    }


def _called(name: str) -> str:
    """What a function is called in Python: its name, unless that means something else there."""
    own = name.isidentifier() and not iskeyword(name) and name not in (*INTERMEDIATES, CASE)
    return name if own and not re.fullmatch(r"r([xyzw]|d?\d+)", name) else "f"


def auto_rfactor_all(func: Func, machine: Machine | None = None, semantics: Meaning = Meaning.WRAP) -> AutoSchedules:
    """As `auto_rfactor`, of every update of `func`; nothing is changed where one raises."""
    before = [(state, state.definition, state.schedule) for state in func.stages]
    references = dict(func.references)
    try:
        return AutoSchedules(
            auto_rfactor(func, number, machine, semantics=semantics) for number in range(func.num_update_definitions())
        )
    except ScheduleError:
        for state, definition, schedule in before:
            state.definition, state.schedule = definition, schedule
        func.references = references
        raise


def _give(func: Func, number: int, chosen: AutoSchedule, path: tuple[int, ...]) -> None:
    """Give all directives to an update, or to the case of it at `path`, or none."""
    state = func.stages[number + 1]
    before, references = (state.definition, state.schedule), dict(func.references)
    loops = func.rvars(number)
    held: dict[str, Any] = {
        chosen.function: func,
        CASE: Stage(func, number + 1, path),
        **{name: loops[place] for name, place in chosen.variables},
    }
    try:
        for directive in chosen.directives:
            directive.apply(held)
    except ScheduleError:
        state.definition, state.schedule = before
        func.references = references
        raise
