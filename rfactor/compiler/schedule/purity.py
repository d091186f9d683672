"""Which loops of a stage may run in any order, and at once."""

from __future__ import annotations

from rfactor.compiler.schedule.directives import Split, StageSchedule
from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.expr import Call, Expr, Var, names, walk


def pure_variables(function: Function, stage: Definition) -> tuple[str, ...]:
    """The pure variables of the function that occur in a stage, dimension 0 first (definition 4.3)."""
    exprs = [*stage.arguments, *stage.values]
    if stage.domain is not None:
        exprs.append(stage.domain.predicate)
        exprs.extend(bound for variable in stage.domain.variables for bound in (variable.min, variable.extent))
    present = frozenset().union(*map(names, exprs))
    return tuple(name for name in function.variables if name in present)


def race_free(function: Function, stage: Definition) -> frozenset[str]:
    """The reduction variables of a stage whose iterations touch points of their own.

    As a pure variable's by the syntactic separation rule (Reinking et al. 2020, definition 4.2): the variable stands
    alone as an argument on the left, and every access of the function in the stage has it in the same place.
    """
    if stage.domain is None:
        return frozenset()
    accesses = [stage.arguments, *_self_accesses(function, stage)]
    free: set[str] = set()
    for variable in stage.domain.variables:
        places = [d for d in range(len(stage.arguments)) if _is(stage.arguments[d], variable.name)]
        if any(all(_is(arguments[d], variable.name) for arguments in accesses) for d in places):
            free.add(variable.name)
    return frozenset(free)


def _is(expr: Expr, name: str) -> bool:
    return isinstance(expr, Var) and expr.name == name


def _self_accesses(function: Function, stage: Definition) -> list[tuple[Expr, ...]]:
    exprs = [*stage.arguments, *stage.values]
    if stage.domain is not None:
        exprs.append(stage.domain.predicate)
    return [
        node.args
        for expr in exprs
        for node in walk(expr)
        if isinstance(node, Call) and node.kind == "func" and node.name == function.name
    ]


def pure_loops(function: Function, stage: Definition, schedule: StageSchedule) -> frozenset[str]:
    """The loops of a scheduled stage that may run in any order: of pure and of race-free variables, and what splits
    and fuses make of those alone."""
    pure = set(function.variables) | race_free(function, stage)
    for relation in schedule.relations:
        if isinstance(relation, Split):
            made = {relation.outer, relation.inner}
            is_pure = relation.old in pure
            pure.discard(relation.old)
        else:
            made = {relation.fused}
            is_pure = relation.inner in pure and relation.outer in pure
            pure -= {relation.inner, relation.outer}
        pure = pure | made if is_pure else pure - made
    return frozenset(pure)
