"""Liftings of sums of steps in a direction that is a sum: coefficients of cosine, sine or exponential are kept."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.update import Update
from rfactor.matcher.action import pruned
from rfactor.matcher.directed import directed
from rfactor.prover.claim import Claim, Lift


def claims(update: Update) -> Iterator[Claim]:
    """Claims for a direction that is added to and sums of steps along it."""
    for found in directed(update):
        type_ = update.types[0]
        zero = const(type_, 0)
        data: list[Expr] = [found.added]
        operator: list[Expr] = [apply("+", Var(type_, "x0"), Var(type_, "y0"))]
        applied = {found.at: apply("+", update.accumulators[found.at], Var(type_, "y0"))}
        before = Var(type_, "x0")
        for i, (w, *uv) in found.parts.items():
            start = len(data)
            x, y = ([Var(type_, f"{v}{start + n}") for n in range(len(uv) + 1)] for v in "xy")
            data += [*uv, w]
            operator.append(apply("+", x[0], found.along(before, *y[:-1])))
            if found.turns:
                operator.append(apply("+", x[1], found.along(before, y[1], apply("neg", y[0]))))
            operator.append(apply("+", x[-1], y[-1]))
            step = apply("+", found.along(update.accumulators[found.at], *y[:-1]), y[-1])
            applied[i] = apply("+", update.accumulators[i], step)
        lift = Lift(
            tuple(type_ for _ in data),
            tuple(data),
            tuple(operator),
            tuple(zero for _ in data),
            tuple(applied[i] for i in range(len(update.types))),
        )
        yield Claim(update, lift=pruned(lift))
