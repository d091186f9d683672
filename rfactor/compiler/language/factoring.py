"""`rfactor` of an update, or of one case of a specialized one: what becomes of its definition and its loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rfactor.compiler.cases import at_path, in_case
from rfactor.compiler.language.func import Func, replaced
from rfactor.compiler.language.given import variable_name
from rfactor.compiler.language.names import Named
from rfactor.compiler.rfactor import factor
from rfactor.compiler.schedule.carried import carried
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import Specialization, StageSchedule
from rfactor.compiler.split_domain import split_domain
from rfactor.errors import ScheduleError, TypeMismatch
from rfactor.ir.algorithm import Definition
from rfactor.ir.meaning import Meaning
from rfactor.matcher.recognize import recognize

if TYPE_CHECKING:
    from rfactor.compiler.language.stage import Stage


def factored(stage: Stage, preserved: Any, v: Any, semantics: str) -> Func:
    """See `Stage.rfactor`."""
    func, where = stage._owner(), stage._where()
    given: Sequence[Any] = [(preserved, v)]
    if v is None:
        given = [*preserved] if isinstance(preserved, Iterable) else [preserved]
    if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in given):
        raise TypeMismatch(
            f"{where}: rfactor takes pairs, of a reduction variable and the pure variable that it becomes, "
            f"as in [(r.y, u)], not {given!r}"
        )
    names = tuple((variable_name(r), variable_name(u)) for r, u in given)
    update, state, before = stage._index() - 1, stage._state(), stage._schedule()
    if update < 0:
        raise ScheduleError(f"{where} is a pure definition, which reduces nothing: rfactor is of an update")
    if before.scan is not None:
        raise ScheduleError(f"{where} is a parallel scan: it writes every prefix, which rfactor would lose")
    asked = at_path(state.definition, state.schedule, stage._path())
    own = split_domain(asked, before.relations, tuple(d.name for d in before.dimensions))
    taken = Named(f"{func.name()}_intm", "f")
    name = taken.name()
    made = factor(
        replaced(func.function, update, own),
        update,
        names,
        name,
        recognize=recognize,
        semantics=Meaning(semantics),
        ranges=func.ranges,
    )
    del taken
    if made.answer.lift is None and made.answer.identity_kind != "two-sided":
        _check_defined(func, where)
    intermediate = Func.of(made.intermediate, func.references, made.answer, made.ranges)
    slices = intermediate.stages[1]
    slices.schedule = carried(slices.schedule, before, made.intermediate, slices.definition, dict(names))
    merge = made.merged.updates[update]
    loops = carried(default_stage(made.merged, merge), before, made.merged, merge)
    loops = replace(loops, specializations=_as_they_were(asked, before), failure=before.failure)
    stage._become(loops, merge)
    for one in intermediate.stages[1:]:
        one.touched = True
    func.references[name] = intermediate
    return intermediate


def _as_they_were(definition: Definition, schedule: StageSchedule) -> tuple[Specialization, ...]:
    """The cases of a stage whose own definition becomes another: theirs stay."""
    cases = schedule.specializations
    return tuple(replace(one, definition=in_case(definition, schedule, k)) for k, one in enumerate(cases))


def _check_defined(func: Func, where: str) -> None:
    """Raise `ScheduleError` where what the function reads is undefined in part: elements would be left out of the
    intermediate, once that is inlined, and where all are, what it starts from would be merged."""
    waiting, seen = list(func.references.values()), {func.name()}
    while waiting:
        read = waiting.pop()
        if not isinstance(read, Func) or read.name() in seen:
            continue
        seen.add(read.name())
        waiting += read.references.values()
        function = read.function
        if not function.updates and any(map(function.pure.may_keep, range(len(function.types)))):
            raise ScheduleError(
                f"{where}: {read.name()}, which it reads, is undefined in part: a slice may have no "
                f"defined element, and the operator has no identity on both sides; define {read.name()} everywhere"
            )
