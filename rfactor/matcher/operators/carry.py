"""Two digits with a carry between them: addition modulo the product of their ranges, whichever way it is written.

Subtraction with a borrow is addition of the negative; a component that counts borrows is the high digit negated.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, select, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.operators.primitives import with_operator
from rfactor.prover.claim import Claim

_COMPARISONS = frozenset(("<", "<=", ">", ">="))


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update of two integers that adds to one and compares for the other."""
    if len(update.types) != 2 or update.meaning is not Meaning.WRAP or not all(t.is_int for t in update.types):
        return
    for low in (0, 1):
        added, counted = update.components[low], update.components[1 - low]
        compares = any(isinstance(node, Op) and node.op in _COMPARISONS for node in walk(counted))
        if not compares or not isinstance(added, Op) or added.op not in ("+", "-"):
            continue
        for sign in ("+", "-"):
            operator = _operator(update.types, low, sign)
            claim = with_operator(update, operator, tuple(Const(t, 0) for t in update.types))
            if claim is not None:
                yield claim


def _operator(types: tuple[Type, ...], low: int, sign: str) -> tuple[Expr, ...]:
    high = 1 - low
    x, y = (tuple(Var(t, f"{letter}{i}") for i, t in zip(range(2), types, strict=True)) for letter in "xy")
    total = apply("+", x[low], y[low])
    unsigned = Type("uint", types[low].bits)
    wrapped = apply("<", cast(unsigned, total), cast(unsigned, x[low]))
    carry = select(wrapped, Const(types[high], 1), Const(types[high], 0))
    parts = {low: total, high: apply(sign, apply("+", x[high], y[high]), carry)}
    return (parts[0], parts[1])
