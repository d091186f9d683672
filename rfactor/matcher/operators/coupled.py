"""Components that add, or join, what the state and the datum make together: `x0 | m, x1 or (x0 & m) != 0`.

Where the other components take the datum as it is, their right operand can stand for it: with the last example
x1 or y1 or (x0 & y0) != 0. Sums of products of all pairs, inversions of masks, repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, names, substitute
from rfactor.ir.graph import restrict
from rfactor.ir.update import Update
from rfactor.matcher.terms import chain
from rfactor.prover.claim import Claim, Discharged

_UNITS: dict[str, int | bool] = {"+": 0, "^": 0, "|": 0, "or": False, "and": True, "!=": False}


def claims(update: Update, solve: Callable[[Update], Discharged | None]) -> Iterator[Claim]:
    """The claim for an update in which one component is joined to by a term of the others and their data."""
    count = len(update.types)
    for at in range(count) if count > 1 else ():
        own = update.accumulators[at]
        rest = tuple(i for i in range(count) if i != at)
        if any(own.name in names(update.components[i]) for i in rest):
            continue
        joined = _joined(update.components[at], own)
        if joined is None:
            continue
        op, term = joined
        found = solve(restrict(update, rest))
        claim = None if found is None else found.claim
        if claim is None or claim.operator is None or claim.identity is None or claim.data is None:
            continue
        # What stands for a datum of the term: the right operand of a component that takes it as it is.
        operands = {
            f"{letter}{new}": Var(update.types[old], f"{letter}{old}")
            for letter in "xy"
            for new, old in enumerate(rest)
        }
        standing: dict[str, Expr] = {}
        for new, datum in enumerate(claim.data):
            if isinstance(datum, Var):
                standing.setdefault(datum.name, operands[f"y{new}"])
        data = names(term) - {f"x{i}" for i in rest} - update.constants
        if not data or not data <= standing.keys():
            continue
        unit = const(own.type, _UNITS[op])
        both = substitute(term, standing)
        operator = dict(zip(rest, (substitute(e, operands) for e in claim.operator), strict=True))
        identity = dict(zip(rest, claim.identity, strict=True))
        given = dict(zip(rest, claim.data, strict=True))
        operator[at] = apply(op, apply(op, own, Var(own.type, f"y{at}")), both)
        identity[at], given[at] = unit, unit
        yield Claim(
            update,
            operator=tuple(operator[i] for i in range(count)),
            identity=tuple(identity[i] for i in range(count)),
            data=tuple(given[i] for i in range(count)),
            assumes=claim.assumes,
        )


def _joined(component: Expr, own: Var) -> tuple[str, Expr] | None:
    """The operation by which the state is joined once, and what joins it."""
    if not isinstance(component, Op) or component.op not in _UNITS:
        return None
    op = component.op
    parts = _parts(op, component)
    others = [part for part in parts if part != own]
    if len(others) != len(parts) - 1 or any(own.name in names(part) for part in others):
        return None
    term = others[0]
    for part in others[1:]:
        term = apply(op, term, part)
    return None if isinstance(term, Const) else (op, term)


def _parts(op: str, expr: Expr) -> list[Expr]:
    if op == "!=":
        return [expr.children[0], expr.children[1]]
    return chain(op, expr)


__all__ = ["claims"]
