"""Does another order of the steps round floats in another way?"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.expr import Expr, Op, Var, names, walk
from rfactor.loops.update import is_stateful

_ARITHMETIC = frozenset({"+", "-", "*", "/", "neg", "abs"})


def rounds(update: Sequence[Expr], joined: Sequence[Expr], applied: Sequence[Expr]) -> bool:
    """False where each float of the state is *chosen* (an element, by comparisons) or *made once*: one operation on
    chosen elements and data, of which the least or the greatest is kept.

    Rounding is monotone: the greatest of rounded values is the rounded greatest value. So an identity of reals between
    such expressions is one of rounded floats.
    """
    chosen = {k for k in range(len(update)) if update[k].type.is_float}
    while True:
        left = {k for k in chosen if all(_is_chosen(e[k], chosen) for e in (update, joined))}
        if left == chosen:
            break
        chosen = left
    for exprs in (update, joined, applied):
        for e in exprs:
            if e.type.is_float:
                if not (_is_chosen(e, chosen) or _is_extremum(e, chosen)):
                    return True
            elif any(n.type.is_float and isinstance(n, Op) and n.op in _ARITHMETIC and is_stateful(n) for n in walk(e)):
                return True
    return False


def _state(e: Var) -> int | None:
    return int(e.name[1:]) if e.name[0] in "xy" and e.name[1:].isdigit() else None


def _is_chosen(e: Expr, chosen: set[int]) -> bool:
    """Is the value one of chosen elements or data, as it is?"""
    if not is_stateful(e) and not any(n[0] == "y" and n[1:].isdigit() for n in names(e)):
        return True
    if isinstance(e, Var):
        return _state(e) in chosen
    if isinstance(e, Op) and e.op == "select":
        return _compares_chosen(e.args[0], chosen) and all(_is_chosen(a, chosen) for a in e.args[1:])
    return isinstance(e, Op) and e.op in ("min", "max") and all(_is_chosen(a, chosen) for a in e.args)


def _compares_chosen(condition: Expr, chosen: set[int]) -> bool:
    """Does a condition look at no float that was computed from the state?"""
    for n in walk(condition):
        if not n.type.is_float:
            continue
        if isinstance(n, Var) and _state(n) is not None and _state(n) not in chosen:
            return False
        stateful = is_stateful(n) or any(m[0] == "y" and m[1:].isdigit() for m in names(n))
        if isinstance(n, Op) and n.op in _ARITHMETIC and stateful:
            return False
    return True


def _is_extremum(e: Expr, chosen: set[int]) -> bool:
    """Is the value the least or greatest of values that are made of chosen ones by one operation?"""
    if isinstance(e, Var) or not isinstance(e, Op):
        return True
    if e.op in ("min", "max"):
        return all(_is_extremum(a, chosen) for a in e.args)
    if e.op == "select":
        condition, a, b = e.args
        if isinstance(condition, Op) and condition.op in ("<", "<=", ">", ">=") and set(condition.args) == {a, b}:
            return all(_is_extremum(x, chosen) for x in (a, b))
        return _compares_chosen(condition, chosen) and all(_is_extremum(x, chosen) for x in (a, b))
    if e.op in _ARITHMETIC:
        return all(_is_chosen(a, chosen) for a in e.args)
    return not is_stateful(e)
