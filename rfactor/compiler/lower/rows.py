"""How storage lies in memory: as asked for, and rows that vectors write begin where a vector would.

f(x, y) in vectors of 8 along x, over 10 by 3 points   ->   rows of 16: those of 10 would cut vectors, and lines of
                                                            the cache with them
"""

from __future__ import annotations

from rfactor.compiler.schedule.directives import FunctionSchedule, Split, StageSchedule
from rfactor.ir.algorithm import Function
from rfactor.ir.loopnest import Layout


def layout(function: Function, schedule: FunctionSchedule) -> Layout:
    """The layout of a function of that schedule, nothing folded."""
    storage, dimensions = schedule.storage, len(function.variables)
    order = tuple(map(function.variables.index, storage.order or function.variables))
    padding = dict(storage.padding)
    if dimensions > 1:
        first = function.variables[order[0]]
        padding.setdefault(first, _lanes(schedule.stages[0], first))
    return Layout(order, tuple(padding.get(name, 1) for name in function.variables), (None,) * dimensions)


def _lanes(stage: StageSchedule, variable: str) -> int:
    """How many neighbours along `variable` one vector writes; 1 where they are not known to be neighbours."""
    vectors = {dimension.name for dimension in stage.dimensions if dimension.kind == "vectorized"}
    pieces = {variable}
    for relation in stage.relations:
        if isinstance(relation, Split) and relation.old in pieces:
            if relation.inner in vectors and isinstance(relation.factor, int):
                return relation.factor
            pieces.add(relation.inner)
    return 1
