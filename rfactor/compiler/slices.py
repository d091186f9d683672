"""Does every slice see an element? Condition 4 of factoring, for operators whose identity is a left identity only.

A slice is what the intermediate reduces at one point: the iterations of the remaining reduction variables, for one
value of each factored one. It sees an element if the first of those iterations exists and satisfies the predicate.

Predicates are data: their arithmetic may wrap. A sum with coefficients reduced modulo 2^32 equals the sum over the
integers as soon as the latter lies in the type, so bounds are taken over the integers and shown to lie there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rfactor.ir.algorithm import Definition, ReductionVariable
from rfactor.ir.expr import Const, Expr, Op, names, substitute
from rfactor.ir.linear import linear
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32
from rfactor.semantics.interpreter import conjuncts

_Sum = tuple[dict[Expr, int], int]
"""Atoms with their coefficients, and a constant, over the integers."""


def doubt(definition: Definition, factored: Iterable[str]) -> str | None:
    """Why a slice may see no element, or None where it is proved that each sees one.

    `definition` is the update before factoring, `factored` names its reduction variables that leave it.
    """
    domain = definition.domain
    assert domain is not None
    gone = frozenset(factored)
    moving = {rv.name for rv in domain.variables}
    for argument in definition.arguments:
        if names(argument) & moving:
            return f"the update writes at {argument}, and points that no element reaches keep the identity"
    first: dict[str, Expr] = {}
    for rv in reversed(domain.variables):
        if rv.name in gone:
            continue
        extent = simplify(substitute(rv.extent, first))
        if not (isinstance(extent, Const) and extent.value >= 1):
            return f"the extent of {rv.name} is {rv.extent}, which may be zero"
        first[rv.name] = substitute(rv.min, first)
    outer = {rv.name: rv for rv in domain.variables if rv.name in gone}
    for condition in conjuncts(domain.predicate):
        if not _holds(simplify(substitute(condition, first)), outer):
            return f"the condition {condition} may exclude all of a slice"
    return None


def _holds(condition: Expr, outer: Mapping[str, ReductionVariable]) -> bool:
    """Whether `condition` is proved for all values of the loop variables `outer`: `sum < value`, `sum <= value`."""
    if isinstance(condition, Const):
        return condition == Const(BOOL, True)
    if not (isinstance(condition, Op) and condition.op in ("<", "<=", ">", ">=") and condition.args[0].type == I32):
        return False
    small, large = condition.args if condition.op in ("<", "<=") else condition.args[::-1]
    most = _most(small, outer)
    if most is None or names(large) & outer.keys():
        return False
    terms, constant = most
    if isinstance(large, Const):
        constant -= int(large.value)
    else:
        terms[large] = terms.get(large, 0) - 1
    return not any(terms.values()) and constant <= (-1 if condition.op in ("<", ">") else 0)


def _most(expr: Expr, outer: Mapping[str, ReductionVariable]) -> _Sum | None:
    """An upper bound of `expr`, which is shown not to be negative; None where no such bound is known."""
    terms, constant = linear(expr)
    if constant < 0 or any(coefficient < 0 for coefficient in terms.values()):
        return None
    bound: dict[Expr, int] = {}
    total = int(constant)
    for atom, times in terms.items():
        rv = next((rv for rv in outer.values() if rv.var == atom), None)
        if rv is None or not isinstance(rv.min, Const) or rv.min.value < 0:
            return None
        last = _last(rv, int(times))
        if last is None:
            return None
        total += int(times) * int(rv.min.value) + last[1]
        for other, coefficient in last[0].items():
            bound[other] = bound.get(other, 0) + coefficient
    return bound, total


def _last(rv: ReductionVariable, times: int) -> _Sum | None:
    """An upper bound of `times * (extent - 1)`."""
    if isinstance(rv.extent, Const):
        return {}, times * (int(rv.extent.value) - 1)
    whole, divisor = rv.extent, 1
    if isinstance(whole, Op) and whole.op == "//" and isinstance(whole.args[1], Const):
        divisor, whole = int(whole.args[1].value), whole.args[0]
    if divisor < 1 or times % divisor:
        return None
    # divisor * (t // divisor) <= t, and t = n + c with c >= 0 is at most the same sum over the integers.
    terms, constant = linear(whole)
    if len(terms) != 1 or constant < 0 or set(terms.values()) != {1}:
        return None
    return {next(iter(terms)): times // divisor}, times // divisor * (int(constant) - divisor)
