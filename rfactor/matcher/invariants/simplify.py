"""An update without what loop invariants decide.

    x >= 0           select(x < 0, e, f)              ->  f
    lo <= hi         select(a < lo, hi, max(hi, a))   ->  max(hi, a)        where a < lo both are hi
    x == 5, x == y   5 in place of x, x in place of y

Each component that changes is proved equal to the one that it was, wherever the invariants hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from rfactor.ir.exactness import simplifies_exactly
from rfactor.ir.expr import (
    Const,
    Expr,
    Op,
    Var,
    apply,
    names,
    rebuild,
    select,
    substitute,
    substitute_all,
    transform,
    walk,
)
from rfactor.ir.simplify import simplify
from rfactor.ir.update import Update
from rfactor.matcher.decisions import Rounded, without_decisions
from rfactor.matcher.invariants.facts import TRUE, Facts, Tuple
from rfactor.matcher.invariants.inductive import check_constant
from rfactor.matcher.invariants.infer import bounded
from rfactor.prover.limits import DEFAULT, Limits

_MOST = 400
"""Nodes that are looked at in one update: those of shared parts count once for each path to them."""


def simplify_under(update: Update, invariants: Tuple, limits: Limits = DEFAULT) -> Update:
    """Simplify an update for states that satisfy the invariants: it is proved to do the same in them.

    The update itself where nothing is gained. Raises `ValueError` for a condition on data.
    """
    check_constant(update, (), invariants)
    if not invariants:
        return update
    try:
        own, meanings = without_decisions(update)
    except Rounded:
        return update
    facts = Facts(own, bounded(limits))
    values = _values(own, invariants)
    left = _Left(facts, frozenset(x.name for x in own.accumulators), values)
    shorter = []
    for component in own.components:
        new = left.visit(substitute(component, values), invariants)
        if new != component and simplifies_exactly((new,), own.meaning):
            new = simplify(new)
        gained = _size(new, left.own) < _size(component, left.own) and facts.same(component, new, invariants)
        shorter.append(new if gained else component)
    if tuple(shorter) == own.components:
        return update
    return replace(update, components=substitute_all([*map(_with_extrema, shorter)], meanings))


def _size(expr: Expr, own: Set[str]) -> tuple[int, int, int]:
    """Count choices, then accumulators, then all nodes: nodes as often as there are paths to them."""
    counted: dict[Expr, tuple[int, int]] = {}
    for node in walk(expr):
        parts = [counted[child] for child in node.children]
        counts = isinstance(node, Op) and node.op in ("select", "and", "or")
        counted[node] = counts + sum(p[0] for p in parts), 1 + sum(p[1] for p in parts)
    choices, nodes = counted[expr]
    return choices, len(names(expr) & own), nodes


def _values(update: Update, invariants: Tuple) -> Mapping[str, Expr]:
    """Give what accumulators are equal to: literals and constants, and accumulators before them."""
    found: dict[str, Expr] = {}
    own = {x.name: i for i, x in enumerate(update.accumulators)}

    def root(expr: Expr) -> Expr:
        while isinstance(expr, Var) and expr.name in found:
            expr = found[expr.name]
        return expr

    for e in invariants:
        if isinstance(e, Var) and e.name in own:
            found[e.name] = TRUE
        elif isinstance(e, Op) and e.op == "not" and isinstance(e.args[0], Var) and e.args[0].name in own:
            found[e.args[0].name] = Const(TRUE.type, False)
        elif isinstance(e, Op) and e.op == "==":
            one, other = map(root, e.args)
            if isinstance(one, Var) and one.name in own and not own.keys() & names(other):
                found[one.name] = other
            elif isinstance(other, Var) and other.name in own and not own.keys() & names(one):
                found[other.name] = one
            elif isinstance(one, Var) and isinstance(other, Var) and one != other:
                early, late = sorted((one, other), key=lambda var: own[var.name])
                found[late.name] = early
    return {name: root(value) for name, value in found.items()}


@dataclass(slots=True)
class _Left:
    """Leaves out what is decided, node by node, under the conditions on the way to it."""

    facts: Facts
    own: frozenset[str]
    values: Mapping[str, Expr]
    count: int = 0
    memo: dict[tuple[Expr, Tuple], Expr] = field(default_factory=dict)

    def visit(self, expr: Expr, given: Tuple) -> Expr:
        """Simplify an expression for values for which all that is given holds."""
        if not isinstance(expr, Op) or not self.own & names(expr):
            return expr
        found = self.memo.get((expr, given))
        if found is None:
            self.count += 1
            tried = self.count <= _MOST and not self.facts.limits.expired
            found = self.memo[expr, given] = self._made(expr, given) if tried else expr
        return found

    def _made(self, expr: Op, given: Tuple) -> Expr:
        if expr.op == "select":
            return self._choice(expr, given)
        if expr.type.is_bool and expr.op in ("and", "or"):
            return self._junction(expr, given)
        if expr.type.is_bool and expr.op not in ("not", "cast"):
            return self._decided(expr, given) or expr
        expr = rebuild_op(expr, tuple(self.visit(arg, given) for arg in expr.args))
        if expr.op in ("min", "max") and not expr.type.is_float:
            return self._extremum(expr, given)
        return expr

    def _decided(self, condition: Expr, given: Tuple) -> Expr | None:
        """Give the truth value of a condition that has but one; None of others."""
        if self.facts.holds(condition, given):
            return TRUE
        return Const(TRUE.type, False) if self.facts.holds(apply("not", condition), given) else None

    def _junction(self, expr: Op, given: Tuple) -> Expr:
        """Leave out a side that the other one decides."""
        one, other = expr.args
        decided = self._decided(expr, given)
        if decided is not None:
            return decided
        for side, rest in ((one, other), (other, one)):
            if self.facts.same(expr, side, given) and _size(side, self.own) <= _size(rest, self.own):
                return self.visit(side, given)
        if self.facts.same(expr, one, given):
            return self.visit(one, given)
        under = (*given, one if expr.op == "and" else apply("not", one))
        return rebuild_op(expr, (self.visit(one, given), self.visit(other, under)))

    def _choice(self, expr: Op, given: Tuple) -> Expr:
        """Take the side that is always chosen, or that is the same where the other one is."""
        condition, true, false = expr.args
        decided = self._decided(condition, given)
        if decided is not None:
            return self.visit(true if decided == TRUE else false, given)
        where, elsewhere = (*given, condition), (*given, apply("not", condition))
        if_true, if_false = self.visit(true, where), self.visit(false, elsewhere)
        for one, other in ((if_true, if_false), (if_true, false)):
            if self.facts.same(one, other, where):
                return other if other is if_false else self.visit(other, given)
        for one, other in ((if_true, if_false), (true, if_false)):
            if self.facts.same(one, other, elsewhere):
                return one if one is if_true else self.visit(one, given)
        return select(self.visit(condition, given), if_true, if_false)

    def _extremum(self, expr: Op, given: Tuple) -> Expr:
        """Take the side that is always the smaller one, or the larger one."""
        one, other = expr.args
        below, above = (one, other) if expr.op == "min" else (other, one)
        if self.facts.holds(apply("<=", one, other), given):
            return below
        return above if self.facts.holds(apply("<=", other, one), given) else expr


def rebuild_op(expr: Op, args: Tuple) -> Op:
    """Give the operation on other operands."""
    new = rebuild(expr, args)
    assert isinstance(new, Op)
    return new


def _with_extrema(expr: Expr) -> Expr:
    """Write choices between the integers that are compared as minima and maxima."""
    return transform(expr, _extremum_of)


def _extremum_of(node: Expr) -> Expr | None:
    if not isinstance(node, Op) or node.op != "select" or not node.type.is_int:
        return None
    condition, true, false = node.args
    if not isinstance(condition, Op) or condition.op not in ("<", "<=", ">", ">="):
        return None
    small, large = condition.args if condition.op in ("<", "<=") else condition.args[::-1]
    if (true, false) == (small, large):
        return apply("min", false, true)
    return apply("max", false, true) if (true, false) == (large, small) else None
