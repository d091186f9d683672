"""Which slices see an element? Condition 4 of factoring, for operators whose identity is a left identity only.

A slice is what the intermediate reduces at one point: the iterations of the remaining reduction variables, for one
value of each factored one. Often the answer is known before the loop runs: always, or exactly where a condition on the
factored variables holds (the tail of a split). Where it is not, the intermediate has to keep a flag.

Predicates are data: their arithmetic may wrap. A sum with coefficients reduced modulo 2^32 equals the sum over the
integers as soon as the latter lies in the type, so bounds are taken over the integers and shown to lie there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rfactor.ir.algorithm import Definition, ReductionVariable
from rfactor.ir.expr import Const, Expr, Op, apply, conjunction, names, substitute
from rfactor.ir.linear import linear
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32
from rfactor.semantics.interpreter import conjuncts

_Loops = Mapping[str, ReductionVariable]


@dataclass(frozen=True, slots=True)
class Bound:
    """`sum(coefficient * atom) + constant` over the integers: no less than an expression that is never negative."""

    terms: Mapping[Expr, int]
    constant: int
    slack: int
    """It is known that `n + slack` does not overflow, for the one atom `n` of `terms`."""


def occupied(definition: Definition, factored: Iterable[str]) -> Expr | None:
    """The condition on the factored variables under which a slice sees an element: `True` where each does.

    `definition` is the update before factoring, `factored` names its reduction variables that leave it. None where the
    condition is not known before the loop runs: points that no element may reach, predicates on data.
    """
    domain = definition.domain
    assert domain is not None
    moving = {rv.name for rv in domain.variables}
    if any(names(argument) & moving for argument in definition.arguments):
        return None
    gone = frozenset(factored)
    outer = {rv.name: rv for rv in domain.variables if rv.name in gone}
    inner = {rv.name: rv for rv in domain.variables if rv.name not in gone}
    conditions: list[Expr] = []
    for rv in inner.values():
        if (names(rv.extent) | names(rv.min)) & inner.keys():
            return None
        conditions.append(apply("<", Const(I32, 0), rv.extent))
    first = {rv.name: rv.min for rv in inner.values()}
    for condition in conjuncts(domain.predicate):
        if names(condition) & inner.keys() and not _first_is_best(condition, inner, outer):
            return None
        conditions.append(substitute(condition, first))
    return conjunction(*(c for c in map(simplify, conditions) if not _holds(c, outer)))


def _sides(condition: Expr) -> tuple[Expr, Expr, bool] | None:
    """A comparison of i32 as (smaller side, larger side, whether strict)."""
    if not (isinstance(condition, Op) and condition.op in ("<", "<=", ">", ">=") and condition.args[0].type == I32):
        return None
    small, large = condition.args if condition.op in ("<", "<=") else condition.args[::-1]
    return small, large, condition.op in ("<", ">")


def _first_is_best(condition: Expr, inner: _Loops, outer: _Loops) -> bool:
    """Whether `condition` fails in every iteration of `inner` if it fails in the first: `sum < value` with a sum that
    grows with every loop variable and does not overflow."""
    sides = _sides(condition)
    if sides is None or names(sides[1]) & (inner.keys() | outer.keys()):
        return False
    return in_range(sides[0], {**inner, **outer})


def in_range(expr: Expr, loops: _Loops) -> bool:
    """Whether `expr` is proved to be a sum of loop variables that is never negative and does not overflow i32."""
    most = _most(expr, loops)
    if most is None:
        return False
    if not most.terms:
        return most.constant <= int(I32.max)
    return set(most.terms.values()) == {1} and most.constant <= most.slack


def _holds(condition: Expr, outer: _Loops) -> bool:
    """Whether `condition` is proved for all values of the loop variables `outer`."""
    if isinstance(condition, Const):
        return condition == Const(BOOL, True)
    sides = _sides(condition)
    if sides is None or names(sides[1]) & outer.keys():
        return False
    small, large, strict = sides
    most = _most(small, outer)
    if most is None:
        return False
    limit = {} if isinstance(large, Const) else {large: 1}
    value = int(large.value) if isinstance(large, Const) else 0
    return dict(most.terms) == limit and most.constant <= value - strict


def _most(expr: Expr, loops: _Loops) -> Bound | None:
    """An upper bound of `expr`, a sum of loop variables that are never negative; None where no such bound is known."""
    coefficients, constant = linear(expr)
    if constant < 0 or any(coefficient < 0 for coefficient in coefficients.values()):
        return None
    terms: dict[Expr, int] = {}
    total, slack = int(constant), 0
    for atom, coefficient in coefficients.items():
        rv = next((rv for rv in loops.values() if rv.var == atom), None)
        if rv is None or not isinstance(rv.min, Const) or rv.min.value < 0:
            return None
        last = _last(rv, int(coefficient))
        if last is None:
            return None
        total += int(coefficient) * int(rv.min.value) + last.constant
        slack = max(slack, last.slack)
        for other, times in last.terms.items():
            terms[other] = terms.get(other, 0) + times
    return Bound(terms, total, slack) if len(terms) <= 1 else None


def _last(rv: ReductionVariable, times: int) -> Bound | None:
    """An upper bound of `times * (extent - 1)`, where the loop runs at all."""
    if isinstance(rv.extent, Const):
        return Bound({}, times * (int(rv.extent.value) - 1), 0)
    whole, divisor = rv.extent, 1
    if isinstance(whole, Op) and whole.op == "//" and isinstance(whole.args[1], Const):
        divisor, whole = int(whole.args[1].value), whole.args[0]
    if divisor < 1 or times % divisor:
        return None
    # divisor * (t // divisor) <= t. If t = n + c overflowed it would be negative, and so the extent: no iteration.
    coefficients, constant = linear(whole)
    if len(coefficients) != 1 or set(coefficients.values()) != {1} or constant < 0:
        return None
    atom = next(iter(coefficients))
    return Bound({atom: times // divisor}, times // divisor * (int(constant) - divisor), int(constant))
