"""Unsigned sums and differences that stay within their type, however they are written: by what they do to 0 and to MAX.

`x + u8(x < 255)`, `select(x > 0, x - 1, x)`, `max(x, 1) - 1`.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Var, apply, select, substitute
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.terms import run_from
from rfactor.prover import sampling
from rfactor.prover.claim import Claim


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one machine integer >= 0 to which data are added, or from which they are taken."""
    (type_, *more) = update.types
    if more or type_.code != "uint" or update.meaning is not Meaning.WRAP:
        return
    nothing, most = Const(type_, 0), Const(type_, type_.max)
    x, y = Var(type_, "x0"), Var(type_, "y0")
    room = apply("-", most, y)
    both: tuple[tuple[Expr, Const], ...] = (
        (select(apply("<", room, x), most, apply("+", x, y)), nothing),
        (select(apply("<", room, x), apply("-", x, room), nothing), most),
    )
    for operator, unit in both:
        (data,) = run_from(update, (unit,))
        meant = substitute(operator, {"y0": data})
        if sampling.refute(update.components, (meant,), update.meaning, count=300) is None:
            yield Claim(update, operator=(operator,), identity=(unit,), data=(data,))


__all__ = ["claims"]
