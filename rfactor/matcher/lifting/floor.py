"""Liftings of sums that are divided and rounded down: `x // 10`, `(x + a) // 10`, `c - x // 4`.

Rounding down once is enough: (x // m + b) // n = (x + b*m) // (m*n). A run is x -> (x + add) // size, or of -x, where
sizes multiply and nothing overflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, apply, const, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands, pruned
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift


@dataclass(frozen=True, slots=True)
class _Step:
    """x -> (x + add) // size, or (-x + add) // size."""

    negated: Expr
    add: Expr
    size: Expr


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one unbounded integer that literals divide."""
    (type_, *more) = update.types
    if more or not type_.is_int or update.meaning is not Meaning.MATH:
        return
    used = {node.op for node in walk(update.components[0]) if isinstance(node, Op)}
    if not used & {"//", ">>"} or (used & {"-", "neg"} and not type_.is_signed):
        return
    step = _Reader(update, type_).read(update.components[0])
    if step is not None and step.size != const(type_, 1):
        lift = _lifting(step, type_)
        (size,) = operands("y", (type_,), len(lift.types) - 1)
        yield Claim(update, lift=lift, invariant=(apply("<", nought(type_), size),))


def _lifting(step: _Step, type_: Type) -> Lift:
    """State: whether the number is negated, what is added, what all is divided by."""
    types = (BOOL, type_, type_)
    (negated, add, size), (negates, more, times) = operands("x", types), operands("y", types)
    (x,) = operands("x", (type_,))
    one = const(type_, 1)
    turned = choose(negates, apply("-", apply("-", size, one), add), add)
    operator = (apply("!=", negated, negates), apply("+", turned, apply("*", more, size)), apply("*", size, times))
    value = choose(negates, apply("-", more, x), apply("+", x, more))
    data = (tidy(step.negated), tidy(step.add), tidy(step.size))
    return pruned(Lift(types, data, operator, (FALSE, nought(type_), one), (apply("//", value, times),)))


class _Reader:
    def __init__(self, update: Update, type_: Type) -> None:
        (self.x,), self.type = update.accumulators, type_
        self.free = free_of(accumulator_names(update))

    def read(self, expr: Expr) -> _Step | None:
        if expr == self.x:
            return _Step(FALSE, nought(self.type), const(self.type, 1))
        if not isinstance(expr, Op):
            return None
        if expr.op == "neg":
            return _turned(self.read(expr.args[0]))
        if expr.op == "select" and self.free(expr.args[0]):
            return self.choice(*expr.args)
        if expr.op in ("//", ">>"):
            return self.divided(self.read(expr.args[0]), expr.op, expr.args[1])
        if expr.op not in ("+", "-"):
            return None
        first, second = expr.args
        if self.free(second):
            return _plus(self.read(first), expr.op, second)
        step = self.read(second) if self.free(first) else None
        return _plus(_turned(step) if expr.op == "-" else step, "+", first)

    def divided(self, step: _Step | None, op: str, divisor: Expr) -> _Step | None:
        if step is None or not isinstance(divisor, Const) or not divisor.value or (op == ">>" and divisor.value < 0):
            return None
        number = 1 << int(divisor.value) if op == ">>" else int(divisor.value)
        if not self.type.min < number <= self.type.max:
            return None
        divided = _Step(step.negated, step.add, tidy(apply("*", step.size, const(self.type, abs(number)))))
        return divided if number > 0 else _turned(divided)

    def choice(self, condition: Expr, true: Expr, false: Expr) -> _Step | None:
        """Steps that data choose between."""
        first, second = self.read(true), self.read(false)
        if first is None or second is None:
            return None
        return _Step(
            choose(condition, first.negated, second.negated),
            choose(condition, first.add, second.add),
            choose(condition, first.size, second.size),
        )


def _turned(step: _Step | None) -> _Step | None:
    """The negative: -(u // m) = (m - 1 - u) // m."""
    if step is None:
        return None
    above = apply("-", step.size, const(step.size.type, 1))
    return _Step(choose(step.negated, FALSE, TRUE), tidy(apply("-", above, step.add)), step.size)


def _plus(step: _Step | None, op: str, value: Expr) -> _Step | None:
    if step is None:
        return None
    return _Step(step.negated, apply(op, step.add, apply("*", value, step.size)), step.size)


__all__ = ["claims"]
