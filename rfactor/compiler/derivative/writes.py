"""When the points that an update reads are written: `f[n - r] = f[n - r + 1]*c[r]` reads what was written before."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from rfactor.compiler.language.variables import Var
from rfactor.compiler.lower import affine
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import Definition


class Written(Enum):
    """When a point that an iteration reads is written."""

    EARLIER = auto()
    """By an iteration before, if at all."""
    NOT_YET = auto()
    """By a later one, or by none: it holds what it held before the update."""


def once(stage: Definition, variables: Sequence[Var]) -> bool:
    """Whether no two iterations of a stage write the same point."""
    return _domain(stage) <= {name for name, _ in _steps(stage, variables).values()}


def written(stage: Definition, read: Sequence[ir.Expr], variables: Sequence[Var]) -> Written | None:
    """When a point is written by the iterations that have the pure variables of the one that reads it; None if that is
    not known. Every iteration writes a point of its own."""
    pure, steps = {v.name() for v in variables}, _steps(stage, variables)
    differ = [j for j, (a, b) in enumerate(zip(stage.arguments, read, strict=True)) if a != b]
    if any(pure & (ir.names(stage.arguments[j]) | ir.names(read[j])) for j in differ) or _calls(*read):
        return None
    away = {j: affine.constant_value(affine.subtract(stage.arguments[j], read[j])) for j in differ}
    fixed = [j for j in differ if not ir.names(stage.arguments[j]) & _domain(stage) and not _calls(stage.arguments[j])]
    if any(away[j] for j in fixed):
        return Written.NOT_YET
    if len(differ) != 1 or differ[0] not in steps:
        return None
    less, (_, step) = away[differ[0]], steps[differ[0]]
    if not less:
        return None
    return Written.EARLIER if less % step == 0 and less // step > 0 else Written.NOT_YET


def _steps(stage: Definition, variables: Sequence[Var]) -> dict[int, tuple[str, int]]:
    """The coordinates of the point that is written that move with one variable of the domain and nothing else of the
    loops, by how much."""
    found = {}
    for j, argument in enumerate(stage.arguments):
        moving = ir.names(argument) & (_domain(stage) | {v.name() for v in variables})
        terms, _ = affine.affine(argument)
        factors = [factor for term, factor in terms if ir.names(term) & moving]
        if len(moving) == 1 and len(factors) == 1 and not _calls(argument):
            (name,) = moving
            if name in _domain(stage) and (ir.Var(argument.type, name), factors[0]) in terms:
                found[j] = name, factors[0]
    return found


def _domain(stage: Definition) -> set[str]:
    return set() if stage.domain is None else {v.name for v in stage.domain.variables}


def _calls(*exprs: ir.Expr) -> bool:
    """Whether functions or images are read in any of them."""
    return any(isinstance(node, ir.Call) for expr in exprs for node in ir.walk(expr))
