"""Stages of one function that run in turns, in loops that they share: where that is their order at every point.

    for yo: for yi: f(yo*4 + yi) = …               for yo: for yi: f(yo*4 + yi) = …
    for yo: for yi: f(yo*4 + yi) += …      ->              for yi: f(yo*4 + yi) += …

An iteration is of coordinates of its own where its loop is made of pure variables: those of the function that a stage
reads and writes are its own alone. It is of the same ones in each stage where all have made the loop alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.stage_loops import hole
from rfactor.compiler.schedule.directives import OUTERMOST, Fuse, Split, StageSchedule, TailStrategy
from rfactor.compiler.schedule.loops import apart
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Expr, names, substitute


def coordinates(
    function: Function, stage: int, schedule: StageSchedule, loop: str, defined: Mapping[str, Expr]
) -> Hashable | None:
    """Which coordinates each iteration of a loop is of: the same value for two stages only if they are the same.

    None where other iterations may be of the same coordinates. `defined` is what is known of the ends of boxes.
    """
    if loop == OUTERMOST:
        return ()  # all of them, in one iteration
    definition = function.stages[stage]
    domain = () if definition.domain is None else definition.domain.variables
    relations, keys = apart(schedule, (*function.variables, *(variable.name for variable in domain)))
    if loop not in keys:
        return None
    needed, made = {keys[loop]}, list[Split | Fuse]()
    for relation in reversed(relations):
        if isinstance(relation, Split) and needed & {relation.outer, relation.inner}:
            needed = needed - {relation.outer, relation.inner} | {relation.old}
            made.append(replace(relation, tail=TailStrategy.Auto))
        elif isinstance(relation, Fuse) and relation.fused in needed:
            needed = needed - {relation.fused} | {relation.inner, relation.outer}
            made.append(relation)
    if not needed <= set(pure_variables(function, definition)):
        return None
    exact = all(isinstance(relation, Split) and isinstance(relation.factor, int) for relation in made)
    ends = ("min",) if exact else ("min", "extent")
    box = [hole(f"{function.name}.s{stage}", variable, end) for variable in sorted(needed) for end in ends]
    return keys[loop], tuple(made), tuple(known(end, defined) for end in box) if made else ()


def known(expr: Expr, defined: Mapping[str, Expr]) -> Expr:
    """`expr` in terms of what is given to the pipeline, as far as that goes: so that equal bounds are seen to be."""
    while names(expr) & defined.keys():
        expr = affine.tidy(substitute(expr, defined))
    return expr


def left(schedule: StageSchedule, taken: bool) -> StageSchedule:
    """The schedule of a case of a stage: of that of the first specialization, or of what is left without it."""
    first, *others = schedule.specializations
    return first.schedule if taken else replace(schedule, specializations=tuple(others))


def decided(schedule: StageSchedule) -> StageSchedule | None:
    """The schedule of loops that stand in no further case; None where several are meant."""
    if not schedule.specializations:
        return schedule
    if schedule.failure is not None and len(schedule.specializations) == 1:
        return decided(schedule.specializations[0].schedule)
    return None
