"""Liftings of flags that compare an integer which never changes with data: are all equal to it, was one above it.

    x0 and x1 == a, x1   ->   the least and the greatest `a` of a run; x0 and x1 <= least and x1 >= greatest

Of what steps ask of the integer, a run asks the strongest: `x1 < a` of the least `a`, `x1 >= a` of the greatest.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Op, Var, apply, conjunction, transform
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import TRUE, choose
from rfactor.matcher.lifting.threshold import Reader
from rfactor.prover.claim import Claim, Lift


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one integer that stays, beside flags."""
    numbers = [i for i, type_ in zip(range(len(update.types)), update.types, strict=True) if not type_.is_bool]
    if len(numbers) != 1 or len(numbers) == len(update.types):
        return
    number = numbers[0]
    if not update.types[number].is_int or update.components[number] != update.accumulators[number]:
        return
    types, data, operator, identity = list[Type](), list[Expr](), list[Expr](), list[Expr]()
    applied: list[Expr] = []
    for i in range(len(update.types)):
        if i == number:
            applied.append(update.accumulators[i])
            continue
        reader = Reader(update, number, i, "")
        found = reader.condition(_in_order(update.components[i], update.accumulators[number]))
        if found is None:
            return
        asked, all_ = found
        held: list[Expr] = []
        for relation, bound in asked.thresholds.items():
            place, extreme = len(types), "max" if relation[0] == ">" else "min"
            types.append(update.types[number])
            data.append(choose(asked.where[relation], bound, reader.least_asked(relation)))
            identity.append(reader.least_asked(relation))
            operator.append(apply(extreme, *_both(types[-1], place)))
            held.append(apply(relation, update.accumulators[number], Var(types[-1], f"y{place}")))
        if asked.free:
            place = len(types)
            types.append(BOOL)
            data.append(conjunction(*asked.free))
            identity.append(TRUE)
            operator.append(apply("and", *_both(BOOL, place)))
            held.append(Var(BOOL, f"y{place}"))
        flag, holds = update.accumulators[i], conjunction(*held)
        applied.append(apply("and", flag, holds) if all_ else apply("or", flag, apply("not", holds)))
    yield Claim(update, lift=Lift(tuple(types), tuple(data), tuple(operator), tuple(identity), tuple(applied)))


def _both(type: Type, place: int) -> tuple[Expr, Expr]:
    return Var(type, f"x{place}"), Var(type, f"y{place}")


def _in_order(component: Expr, number: Expr) -> Expr:
    """The component with its equalities with the number as two comparisons each."""

    def ordered(node: Expr) -> Expr | None:
        if not isinstance(node, Op) or node.op not in ("==", "!=") or number not in node.args:
            return None
        ops, joined = ((">=", "<="), "and") if node.op == "==" else ((">", "<"), "or")
        return apply(joined, *(apply(op, *node.args) for op in ops))

    return transform(component, ordered)
