"""Liftings of sums of reals that every step rounds: `floor(x + a)`, `ceil(x - a)`, `floor((x + a)*100.0)/100.0`.

After the first step the sum is a whole number of units, and what is added to it is rounded by itself:
floor(floor(x + a) + b) = floor(x + a + floor(b)). A run is x -> floor(x + c), if it has a step.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Call, Const, Expr, Op, apply, intrinsic, names, substitute
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_UNDONE = {"/": "*", "*": "/"}


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one real that is rounded to whole multiples of a literal."""
    (type_, *more), step = update.types, update.components[0]
    if more or not type_.is_float:
        return
    op, unit = "", None
    if isinstance(step, Op) and step.op in _UNDONE and isinstance(step.args[1], Const) and step.args[1].value:
        op, unit, step = step.op, step.args[1], step.args[0]
    (x,) = update.accumulators
    if not isinstance(step, Call) or step.name not in ("floor", "ceil") or x.name not in names(step):
        return
    name = step.name

    def rounded(value: Expr) -> Expr:
        if unit is None:
            return intrinsic(name, value)
        return apply(op, intrinsic(name, apply(_UNDONE[op], value, unit)), unit)

    added = substitute(step.args[0], {x.name: nought(type_)})
    added = tidy(added if unit is None else apply(op, added, unit))
    types = (BOOL, type_)
    (some, one), (more_, other) = operands("x", types), operands("y", types)
    joined = choose(more_, choose(some, apply("+", one, rounded(other)), other), one)
    lift = Lift(
        types,
        (TRUE, added),
        (apply("or", some, more_), joined),
        (FALSE, nought(type_)),
        (choose(more_, rounded(apply("+", x, other)), x),),
    )
    yield Claim(update, lift=lift, invariant=(apply("or", more_, apply("==", other, nought(type_))),))
