"""Which loops of a stage may run in any order, and at once."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from rfactor.compiler.schedule.directives import Split, StageSchedule
from rfactor.compiler.schedule.ranges import Range, constant_ranges, unclamped
from rfactor.ir.algorithm import Definition, Function, ReductionVariable
from rfactor.ir.expr import Call, Const, Expr, Op, Var, names, walk
from rfactor.ir.linear import Sum, linear
from rfactor.ir.types import I32


def pure_variables(function: Function, stage: Definition) -> tuple[str, ...]:
    """The pure variables of the function that occur in a stage, dimension 0 first (definition 4.3)."""
    missing = set(function.variables)
    bounds = () if stage.domain is None else [e for rv in stage.domain.variables for e in (rv.min, rv.extent)]
    for expr in (*stage.expressions, *bounds):
        if not missing:
            break
        missing -= names(expr)
    return tuple([name for name in function.variables if name not in missing])


def race_free(function: Function, stage: Definition, fixed: frozenset[str] = frozenset()) -> frozenset[str]:
    """The reduction variables of a stage whose iterations touch points of their own, where those that are `fixed` have
    one value.

    Two iterations that differ in such a variable never touch one point that either writes: every access of the function
    is apart from the point that is written, in some dimension (`_apart`); or the variable has one value. Pure variables
    are so by the syntactic separation rule (Reinking et al. 2020, definition 4.2). Iterations that differ in a variable
    known to be so are apart already, so that it may be taken as fixed for the next.
    """
    if stage.domain is None:
        return frozenset()
    ranges = constant_ranges(stage.domain.variables)

    def point(arguments: tuple[Expr, ...]) -> tuple[Sum, ...]:
        return tuple(linear(unclamped(argument, ranges)) for argument in arguments)

    written = point(stage.arguments)
    accesses = list(map(point, (stage.arguments, *_self_accesses(function, stage))))
    moving = {variable.name: variable for variable in stage.domain.variables if variable.name not in fixed}

    def is_free(variable: ReductionVariable) -> bool:
        return _runs_once(variable) or all(
            any(
                _apart(mine, its, variable, frozenset(moving), function.name)
                or _beyond(mine, its, moving, ranges)
                or _in_turn(mine, its, frozenset(moving), function.name, ranges)
                for mine, its in zip(written, other, strict=True)
            )
            for other in accesses
        )

    while found := next(filter(is_free, moving.values()), None):
        del moving[found.name]
    return frozenset(variable.name for variable in stage.domain.variables if variable.name not in moving)


def _runs_once(variable: ReductionVariable) -> bool:
    return isinstance(variable.extent, Const) and variable.extent.value <= 1


def _apart(mine: Sum, its: Sum, variable: ReductionVariable, moving: frozenset[str], owner: str) -> bool:
    """Whether two coordinates, in two iterations that differ in `variable`, are never the same.

    What is `moving` may differ between the two iterations, and so may values of the function `owner`; all else is the
    same in both. Coordinates leave i32 in no pipeline that runs, so that they are sums over the integers: they differ
    where their difference is no multiple of what moves, as 2r + 1 and 2r; or, as r and r + 9, where it is of `variable`
    alone, none of whose two values are that far apart.
    """
    (terms, constant), (other, its_constant) = mine, its
    steps: list[int] = []
    for term in {**terms, **other}:
        pair = int(terms.get(term, 0)), int(other.get(term, 0))
        steps += pair if _moves(term, moving, owner) else (pair[0] - pair[1],)
    offset = int(constant - its_constant)
    period = gcd(*steps)
    if offset % period if period else offset:
        return True
    own = Var(I32, variable.name)
    factor = int(terms.get(own, 0))
    if not factor or factor != other.get(own) or sum(map(bool, steps)) != 2:
        return False
    if not offset:
        return True
    return isinstance(variable.extent, Const) and abs(offset) >= abs(factor) * int(variable.extent.value)


def _beyond(mine: Sum, its: Sum, moving: Mapping[str, ReductionVariable], ranges: Mapping[str, Range]) -> bool:
    """Whether one coordinate is greater than the other whatever the two iterations are: 0 is none of 1 to 10.

    Variables that are `moving` may differ between them, each within its range; all others are the same in both.
    """
    low = high = int(mine[1] - its[1])
    for term in {**mine[0], **its[0]}:
        factors = [int(mine[0].get(term, 0)), -int(its[0].get(term, 0))]
        if not isinstance(term, Var):
            return False
        if term.name not in moving:
            factors = [sum(factors)]
        if any(factors):
            if term.name not in ranges:
                return False
            ends = [[factor * end for end in ranges[term.name]] for factor in factors]
            low, high = low + sum(map(min, ends)), high + sum(map(max, ends))
    return low > 0 or high < 0


def _in_turn(mine: Sum, its: Sum, moving: frozenset[str], owner: str, ranges: Mapping[str, Range]) -> bool:
    """Whether two coordinates are remainders of what is a known number apart, and no multiple of the divisor: those of
    t and t + 1 by 2. Nothing in them may differ between the two iterations, and what is divided does not wrap, or wraps
    by a multiple of the divisor."""
    (terms, constant), (other, its_constant) = mine, its
    if constant != its_constant or any(list(one.values()) != [1] for one in (terms, other)):
        return False
    (first,), (second,) = terms, other
    if not all(isinstance(one, Op) and one.op == "%" and one.type == I32 for one in (first, second)):
        return False
    assert isinstance(first, Op)
    assert isinstance(second, Op)
    divisor = first.args[1]
    if divisor != second.args[1] or not isinstance(divisor, Const) or int(divisor.value) < 1:
        return False
    if any(_moves(one, moving, owner) for one in (first, second)):
        return False
    whole, its_whole = linear(first.args[0]), linear(second.args[0])
    exact = (1 << I32.bits) % int(divisor.value) == 0 or (_held(whole, ranges) and _held(its_whole, ranges))
    return exact and whole[0] == its_whole[0] and int(whole[1] - its_whole[1]) % int(divisor.value) != 0


def _held(sum_: Sum, ranges: Mapping[str, Range]) -> bool:
    """Whether i32 holds a sum of variables whose ranges are known, and all that is added up on the way to it."""
    terms, constant = sum_
    most = abs(int(constant))
    for term, factor in terms.items():
        if not (isinstance(term, Var) and term.name in ranges):
            return False
        most += max(abs(int(factor) * end) for end in ranges[term.name])
    return most <= int(I32.max)


def _moves(term: Expr, moving: frozenset[str], owner: str) -> bool:
    return bool(names(term) & moving) or any(isinstance(node, Call) and node.name == owner for node in walk(term))


def _self_accesses(function: Function, stage: Definition) -> list[tuple[Expr, ...]]:
    return [
        node.args
        for expr in stage.expressions
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
