"""Halide's warnings of pipelines: directives without effect, updates that may have been forgotten, checks that fail.

They are written to the standard output each time that a pipeline is frozen for code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rfactor.compiler.language.expr import Expr
from rfactor.compiler.language.freeze import Frozen
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.told import tell
from rfactor.compiler.lower import without_effect
from rfactor.compiler.lower.failing import always_failing
from rfactor.compiler.schedule.directives import Alignment, Fuse, Split
from rfactor.compiler.schedule.spelled import spelled_loops
from rfactor.ir.loopnest import LoweredPipeline


def warn(pipeline: Frozen, outputs: Sequence[Func]) -> None:
    """Write what there is to say of the schedules of a pipeline's functions, the outputs among them."""
    shown = {output.name() for output in outputs}
    for func in pipeline.functions:
        inlined = func.level.kind == "inlined" and len(func.stages) == 1 and func.name() not in shown
        for warning in _of_inlined(func) if inlined else _of_updates(func):
            tell(warning)
    for warning in without_effect(pipeline.algorithm, pipeline.schedule):
        tell(warning)


def warned(lowered: LoweredPipeline) -> LoweredPipeline:
    """The pipeline itself, after a warning of each check that would stop it in every run."""
    for failure in always_failing(lowered.body):
        tell(f"This pipeline is guaranteed to fail an assertion at runtime: \n{failure}")
    return lowered


def _of_updates(func: Func) -> Iterator[str]:
    if not any(stage.touched for stage in func.stages):
        return
    for index, stage in enumerate(func.stages[1:]):
        if not stage.touched:
            yield (
                f"Update definition {index} of function {func.name()} has not been scheduled, even though some other "
                "definitions have been. You may have forgotten to schedule it. If this was intentional, call "
                f"{func.name()}.update({index}).unscheduled() to suppress this warning."
            )


def _of_inlined(func: Func) -> Iterator[str]:
    name, schedule = func.name(), func.stages[0].schedule
    for relation, text in spelled_loops(schedule).relations:
        old = text.get("old", "")
        if isinstance(relation, Fuse):
            yield (
                f"It is meaningless to fuse variables {text['inner']} and {text['outer']} because {name} is scheduled "
                "inline."
            )
        elif relation.renames:
            yield (
                f"It is meaningless to rename variable {old} of function {name} to {text['outer']} because {name} is "
                "scheduled inline."
            )
        else:
            yield (
                f"It is meaningless to split variable {old} of function {name} into {text['outer']} * "
                f"{_shown(relation)} + {text['inner']} because {name} is scheduled inline."
            )
    for asked in func.bounds:
        if isinstance(asked, Alignment):
            rest = "(undefined)" if asked.remainder is None else f"({asked.remainder} % {asked.modulus})"
            yield (
                f"It is meaningless to align the bounds of dimension {asked.variable} of function {name} to have "
                f"modulus/remainder [{asked.modulus}, {rest}] because the function is scheduled inline."
            )
        elif asked.min is not None:
            yield (
                f"It is meaningless to bound dimension {asked.variable} of function {name} to be within "
                f"[{Expr(asked.min)}, {Expr(asked.extent)}] because the function is scheduled inline."
            )


def _shown(split: Split) -> str:
    return str(split.factor if isinstance(split.factor, int) else Expr(split.factor))
