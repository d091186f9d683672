"""Do laws that were proved of finite values hold where data put infinities into components?

They do where both sides are limits of themselves: minima, maxima, sums of infinities of one sign, and choices whose
conditions compare components as they are. With all infinities replaced by one large number the conditions are decided
as before, and the equal sides tend to what they are at infinity. Elsewhere each way of placing the infinities is a
claim of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from rfactor.ir.expr import Const, Expr, Op, Var, names, substitute_all, variables, walk
from rfactor.prover.infinity import Undefined, has_infinity, is_infinite, may_be_infinite, without_infinities

_PLACINGS = 64
"""Most ways of placing infinities that are claims of their own."""
Signs = Mapping[int, frozenset[float]]
"""For each component that may be infinite, ±inf."""


@lru_cache(maxsize=256)  # claims with one operator differ in their identities
def infinite_components(data: tuple[Expr, ...], operator: tuple[Expr, ...]) -> Signs:
    """Components that data or the operator may make infinite, and the signs; all, where the operator has no value."""
    floats = [i for i, part in zip(range(len(operator)), operator, strict=True) if part.type.is_float]
    anything: Signs = dict.fromkeys(floats, frozenset((math.inf, -math.inf)))
    found: dict[int, frozenset[float]] = {}
    try:
        for i in floats:
            _note(found, i, without_infinities(data[i]))
        while found:
            before = dict(found)
            placed = placings(operator, before, "xy")
            if placed is None:
                return _of_one_sign(found, operator) or anything
            for values in placed:
                for i, part in zip(floats, substitute_all([operator[i] for i in floats], values), strict=True):
                    _note(found, i, without_infinities(part))
            if found == before:
                break
    except Undefined:
        return anything
    return found


def _of_one_sign(found: Signs, operator: Sequence[Expr]) -> Signs | None:
    """The components that infinities of one sign reach by minima, maxima and sums: there they stay of that sign."""
    ends = frozenset[float]().union(*found.values(), _literal_ends(operator))
    reached = set(found)
    while True:
        infinite = frozenset(f"{letter}{i}" for letter in "xy" for i in reached)
        held = [i for i in range(len(operator)) if has_infinity(operator[i]) or names(operator[i]) & infinite]
        if len(ends) != 1 or not all(_extends(operator[i], infinite, True) for i in held):
            return None
        if reached.issuperset(i for i in held if operator[i].type.is_float):
            return dict.fromkeys(sorted(reached), ends)
        reached.update(i for i in held if operator[i].type.is_float)


def _note(found: dict[int, frozenset[float]], component: int, value: Expr) -> None:
    """Note the infinities that a value may be."""
    if is_infinite(value) and isinstance(value, Const):
        found[component] = found.get(component, frozenset()) | {float(value.value)}
    elif may_be_infinite(value):
        for branch in value.children[1:]:
            _note(found, component, branch)


def extends(sides: Sequence[Expr], signs: Signs, letters: str) -> bool:
    """Whether an equation between finite operands called by the letters, and conditions on them, hold at infinity.

    Infinite literals of the same one sign are values at infinity already.
    """
    infinite = frozenset(f"{letter}{i}" for letter in letters for i in signs)
    found = frozenset[float]().union(*signs.values(), _literal_ends(sides))
    return (len(found) == 1 or not any(map(has_infinity, sides))) and all(
        _extends(side, infinite, len(found) == 1) for side in sides
    )


def _literal_ends(sides: Sequence[Expr]) -> frozenset[float]:
    """The infinities that stand in expressions as literals."""
    held = (node for side in sides if has_infinity(side) for node in walk(side))
    return frozenset(float(node.value) for node in held if isinstance(node, Const) and is_infinite(node))


def _extends(expr: Expr, infinite: frozenset[str], one_sign: bool) -> bool:
    if names(expr).isdisjoint(infinite) or isinstance(expr, Var):
        return True
    if not isinstance(expr, Op):
        return False
    if expr.type.is_bool:
        return _decided(expr, infinite)
    if expr.op == "-":
        subtracted = expr.args[1]
        free = names(subtracted).isdisjoint(infinite) and not has_infinity(subtracted)
        return free and _extends(expr.args[0], infinite, one_sign)
    parts = expr.args[1:] if expr.op == "select" else expr.args
    if expr.op == "select" and not _decided(expr.args[0], infinite):
        return False
    if expr.op == "+" and not one_sign and all(not names(part).isdisjoint(infinite) for part in parts):
        return False
    return expr.op in ("min", "max", "+", "select") and all(_extends(part, infinite, one_sign) for part in parts)


def _decided(condition: Expr, infinite: frozenset[str]) -> bool:
    """Whether a condition is decided at infinity as it is at large numbers."""
    if names(condition).isdisjoint(infinite) or isinstance(condition, Var):
        return True
    if not isinstance(condition, Op) or has_infinity(condition):
        return False
    if all(arg.type.is_bool for arg in condition.args):
        return all(_decided(arg, infinite) for arg in condition.args)
    return condition.op in ("<", "<=", ">", ">=", "==", "!=") and all(_plain(arg, infinite) for arg in condition.args)


def _plain(expr: Expr, infinite: frozenset[str]) -> bool:
    """Whether a number is a component as it is, or free of those that may be infinite."""
    if names(expr).isdisjoint(infinite) or isinstance(expr, Var):
        return True
    if not isinstance(expr, Op) or expr.op not in ("min", "max", "select"):
        return False
    parts = expr.args[1:] if expr.op == "select" else expr.args
    return all(_plain(part, infinite) for part in parts) and (expr.op != "select" or _decided(expr.args[0], infinite))


def placings(exprs: Sequence[Expr], signs: Signs, letters: str) -> Iterator[dict[str, Expr]] | None:
    """Values for the operands in every way in which some are infinite; None if there are too many."""
    used = {v.name: v for e in exprs for v in variables(e)}
    own = [used[name] for letter in letters for i in signs if (name := f"{letter}{i}") in used]
    ends = [sorted(signs[int(v.name[1:])]) for v in own]
    choices = [[None, *(Const(v.type, end) for end in held)] for v, held in zip(own, ends, strict=True)]
    if math.prod(map(len, choices)) > _PLACINGS:
        return None
    return (
        {v.name: value for v, value in zip(own, pick, strict=True) if value is not None}
        for pick in itertools.islice(itertools.product(*choices), 1, None)
    )
