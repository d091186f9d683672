"""The schedule of what has not been scheduled."""

from __future__ import annotations

from rfactor.compiler.schedule.directives import INLINED, ROOT, Dimension, FunctionSchedule, StageSchedule
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.ir.algorithm import Definition, Function


def default_stage(function: Function, stage: Definition) -> StageSchedule:
    """Serial loops: reduction variables innermost, in the domain's order, pure variables around them."""
    domain = () if stage.domain is None else stage.domain.variables
    reductions = tuple(Dimension(variable.name, reduction=True) for variable in domain)
    return StageSchedule((*reductions, *(Dimension(name) for name in pure_variables(function, stage))))


def default_schedule(function: Function) -> FunctionSchedule:
    """Default loops; inlined where the function is pure, computed at the root where it has updates."""
    level = ROOT if function.updates else INLINED
    return FunctionSchedule(tuple(default_stage(function, stage) for stage in function.stages), level, level)
