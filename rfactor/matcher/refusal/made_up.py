"""Refutation where a last datum makes up for an earlier one: `exp(x) + a`, `tanh(w*x + a)`, `0.5*(x + a/x)`.

Let f(x; a) = w(h(x) + a*k(x)) for a function w that tells its arguments apart. Of two runs (p, a) and (q, a') that end
alike from a start e, a' = A(e) + B(e)*a with A = (h(s) - h(t))/k(t) and B = k(s)/k(t), where s = f(e; p), t = f(e; q).
From another x they end alike for all a only where A and B are as at e. So if A or B has two values among the states
that one datum leads to, every e has such a pair: unless h or k has no finite value at s or at t, or k is 0 there; then
the data 1 and 2 after it end alike from e.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, apply, const, names, select
from rfactor.ir.update import Update
from rfactor.matcher.refusal.instance import Refutation, end_alike, told
from rfactor.matcher.terms import tidy
from rfactor.prover.enclosure import Enclosure, Undecided, enclose, exactly, less, over, size
from rfactor.prover.verdict import Proven

_ONE_TO_ONE = frozenset(("exp", "tanh", "sinh", "asinh", "atan"))
"""Functions of one real that tell all arguments apart."""
_FROM_ZERO = frozenset(("log", "sqrt"))
"""Those that do so of arguments above zero, and have no value below."""
_TURNING = frozenset(("sin", "cos", "tan"))
"""Those that take arguments for one another only where their sum or their difference is a multiple of pi."""
_TURN = 3.0
"""Less than pi."""
_DATA = ((0, 0), (1, 1), (-1, -1), (1, 2), (2, 1))
"""First data, of which two are a pair's: every other one has the first number, the rest the second."""
_STATES = (0, 1, 2, -1, 3, Fraction(1, 2), 5)
_STARTS = (1, 0, 2, -1, 3)
_APART = 1e-6
"""Least difference of two values of A or B, beside their size: literals may be decimals or the floats near them."""
Datum = dict[str, Value]


@dataclass(frozen=True, slots=True)
class _Shape:
    """f(x; d) = w(rest + datum*factor)."""

    datum: Var
    rest: Expr
    factor: Expr
    outer: str
    """The function w: "" where there is none."""


def refute(update: Update, whole: Update, held: Mapping[str, Value]) -> Refutation | None:
    """A proof that no operator on one real exists; `whole` is the update with its constants, which are `held`."""
    if len(update.types) != 1 or not update.types[0].is_float or any(not v.type.is_float for v in update.data):
        return None
    start = time.perf_counter()
    for datum in update.data:
        shape = _shape(update.components[0], datum)
        if shape is None:
            continue
        search = _Search(update, shape)
        for p, q, others in search.pairs():
            if search.has_two_values(p, q, others):
                proof = Proven("order", (time.perf_counter() - start) * 1000)
                found = search.instance(whole, held, p, q, others, proof)
                if found is not None:
                    return found
    return None


def _shape(step: Expr, datum: Var) -> _Shape | None:
    outer = ""
    if isinstance(step, Call) and step.kind == "intrinsic" and step.name in _ONE_TO_ONE | _FROM_ZERO | _TURNING:
        outer, step = step.name, step.args[0]
    read = _affine(step, datum)
    if read is None or read[1] is None:
        return None
    rest, factor = tidy(read[0]), tidy(read[1])
    return None if outer in _FROM_ZERO and not isinstance(factor, Const) else _Shape(datum, rest, factor, outer)


def _affine(expr: Expr, datum: Var) -> tuple[Expr, Expr | None] | None:
    """The parts h and k of h + datum*k, k None for 0; None if `expr` is no such sum."""
    nothing = const(expr.type, 0)
    if datum.name not in names(expr):
        return expr, None
    if expr == datum:
        return nothing, const(expr.type, 1)
    if not isinstance(expr, Op) or not expr.type.is_float:
        return None
    op, args = expr.op, expr.args
    if op == "select":
        parts = [_affine(arm, datum) for arm in args[1:]]
        if datum.name in names(args[0]) or parts[0] is None or parts[1] is None:
            return None
        (one, slope), (other, more) = parts[0], parts[1]
        return select(args[0], one, other), select(args[0], slope or nothing, more or nothing)
    read = [_affine(arg, datum) for arg in args]
    if op == "neg" and read[0] is not None:
        rest, slope = read[0]
        return apply("neg", rest), None if slope is None else apply("neg", slope)
    if op not in ("+", "-", "*", "/") or read[0] is None or read[1] is None:
        return None
    (one, slope), (other, more) = read[0], read[1]
    if op in ("+", "-"):
        return apply(op, one, other), apply(op, slope or nothing, more or nothing)
    if slope is not None and more is None:
        return apply(op, one, other), apply(op, slope, other)
    return (apply("*", one, other), apply("*", one, more)) if op == "*" and slope is None and more else None


class _Search:
    def __init__(self, update: Update, shape: _Shape) -> None:
        self.update, self.shape = update, shape
        self.step, self.x = update.components[0], update.accumulators[0]

    def pairs(self) -> Iterator[tuple[Datum, Datum, Datum]]:
        """First data of the two runs, and the other data of their last."""
        data = self.update.data
        firsts: list[Datum] = [{v.name: numbers[i % 2] for i, v in enumerate(data)} for numbers in _DATA]
        for p, q in itertools.combinations(firsts, 2):
            for number in (1, 2):
                yield p, q, {v.name: number for v in data if v != self.shape.datum}

    def has_two_values(self, p: Datum, q: Datum, others: Datum) -> bool:
        """Whether A or B is known to differ at two states that one datum leads to."""
        found: list[tuple[Enclosure, Enclosure]] = []
        for number in _STATES:
            try:
                made_up = self.made_up(self.at(self.step, exactly(number), self.first(others)), p, q, others)
            except Undecided:
                continue
            if any(self.apart(made_up, other) for other in found):
                return True
            found.append(made_up)
        return False

    def first(self, others: Datum) -> Datum:
        """The datum after which the runs are compared."""
        return others | {self.shape.datum.name: 1}

    def made_up(self, state: Enclosure, p: Datum, q: Datum, others: Datum) -> tuple[Enclosure, Enclosure]:
        """A and B at a state; raises `Undecided` where one of them may have no value, or B be 0."""
        s, t = self.at(self.step, state, p), self.at(self.step, state, q)
        h, k = self.shape.rest, self.shape.factor
        nothing = exactly(0)
        quotient = over(self.at(k, s, others), self.at(k, t, others))
        over(nothing, quotient)
        return over(less(self.at(h, s, others), self.at(h, t, others)), self.at(k, t, others)), quotient

    def apart(self, one: tuple[Enclosure, Enclosure], other: tuple[Enclosure, Enclosure]) -> bool:
        """Whether A or B differs for sure, so that w tells the two ends apart."""
        if self.shape.outer not in _TURNING:
            return _differ(one[0], other[0]) or _differ(one[1], other[1])
        if _differ(size(one[1]), size(other[1])):  # cos takes an argument for its negative
            return True
        factor = self.shape.factor
        if not isinstance(factor, Const):
            return False
        low, high = less(one[0], other[0])
        return _differ(one[0], other[0]) and max(abs(low), abs(high)) * abs(float(factor.value)) < _TURN

    def at(self, expr: Expr, state: Enclosure, data: Datum) -> Enclosure:
        """An enclosure of what an expression is for a state and data."""
        return enclose(expr, {self.x.name: state} | {name: exactly(float(value)) for name, value in data.items()})

    def instance(
        self, whole: Update, held: Mapping[str, Value], p: Datum, q: Datum, others: Datum, proof: Proven
    ) -> Refutation | None:
        """One start with its pair of runs, as values."""
        name, h, k = self.shape.datum.name, self.shape.rest, self.shape.factor
        for e, last in itertools.product(_STARTS, (1, 0, 2)):
            try:
                s, t = (self.value(self.step, e, datum) for datum in (p, q))
                rest, factor = self.value(h, s, others) - self.value(h, t, others), self.value(k, t, others)
                made_up = (rest + last * self.value(k, s, others)) / factor
            except (ZeroDivisionError, ValueError, OverflowError):
                continue
            if not math.isfinite(made_up):
                continue
            runs = ([p, others | {name: last}], [q, others | {name: made_up}])
            if not end_alike(whole, [e], runs, held):
                continue
            for x in _STATES:
                state = self.value(self.step, float(x), self.first(others))
                found = told(whole, [e], [state], runs, held, proof) if math.isfinite(state) else None
                if found is not None:
                    return found
        return None

    def value(self, expr: Expr, state: float, data: Datum) -> float:
        """What an expression is for a state and data, but for rounding."""
        return float(evaluate_scalar(expr, {self.x.name: state} | data, self.update.meaning))


def _differ(one: Enclosure, other: Enclosure) -> bool:
    gap = max(one[0] - other[1], other[0] - one[1])
    return gap > _APART * (1.0 + max(map(abs, (*one, *other))))
