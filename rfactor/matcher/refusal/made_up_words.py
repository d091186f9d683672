"""Refutation of integers where a last datum makes up for an earlier one: hashes such as `x*33 ^ a`, `(x ^ a)*p + c`.

Let f(x; a) = w(g(x; a)) where w is one-to-one and g takes all values, each for one a, whatever the state x is. Then of
two runs (p, a) and (q, a') that end alike from a start e, a' is a function of a and of e. If at some a it has two
values among the states that one datum leads to, every e has a pair that ends alike from it, and not from one of them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Const, Expr, Op, Value, Var, const, names, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.refusal.infinite_starts import infinite_starts
from rfactor.matcher.refusal.instance import Refutation, told
from rfactor.matcher.terms import tidy
from rfactor.prover import defined
from rfactor.prover.verdict import Proven

_FIRST = ((0, 1), (1, 2), (0, 7))
"""First data of the two runs."""
_LAST = (0, 1, 6)
_BEFORE = (0, 1, 2, 3, 5, 8, 100, 255, 1000, 12345, 123456789)
"""States from which one datum leads to those that are looked at, and starts of the instance."""
_ROTATED = ("|", "^", "+")
Datum = dict[str, Value]


@dataclass(frozen=True, slots=True)
class _Turn:
    """An operation on the way to the datum, which is one-to-one in the operand that the datum is in."""

    op: str
    """`rotate`, `<<` and `>>` (of the operand itself, mixed in by exclusive or), or an operation."""
    side: int
    other: Expr
    """The other operand, or by how much is shifted."""
    type: Type

    def undone(self, value: int, other: int) -> int:
        """The operand, given the value and the other operand."""
        bits = self.type.bits
        if self.op == "neg":
            return -value
        if self.op == "~":
            return ~value
        if self.op in ("+", "-"):
            return value - other if self.op == "+" else value + other if self.side == 0 else other - value
        if self.op == "^":
            return value ^ other
        if self.op == "*":
            return value * pow(other, -1, 1 << bits)
        if self.op == "rotate":
            return (value >> other) | (value << (bits - other))
        operand = value
        for _ in range(bits // other + 1):
            operand = value ^ (operand >> other if self.op == ">>" else self.type.wrap(operand << other))
        return operand


def refute(update: Update, whole: Update, held: Mapping[str, Value]) -> Refutation | None:
    """A proof that no operator on one integer exists; `whole` is the update with its constants, which are `held`."""
    (type_, *more) = update.types
    if more or not type_.is_int or defined.conditions(update.components, everywhere=True):
        return None
    if update.meaning is Meaning.MATH and type_.code == "uint" and _may_be_negative(update.components[0]):
        return None
    start = time.perf_counter()
    for datum in update.data:
        for number in (1, 0) if datum.type.is_int else ():
            others = {v.name: const(v.type, number) for v in update.data if v != datum}
            inner = _within(tidy(substitute(update.components[0], others)), datum, update)
            way = _way(inner, datum, update)
            if way is None:
                continue
            search = _Search(update, datum, inner, way, {name: part.value for name, part in others.items()})
            found = search.refutation()
            if found is None:
                continue
            if update.meaning is Meaning.MATH and infinite_starts(update, search.first()).any_open():
                return None
            return search.instance(whole, held, *found, Proven("order", (time.perf_counter() - start) * 1000))
    return None


def _may_be_negative(expr: Expr) -> bool:
    return any(isinstance(node, Op) and node.op in ("-", "neg", "~") for node in walk(expr))


def _within(expr: Expr, datum: Var, update: Update) -> Expr:
    """The expression without the operations around it that are one-to-one whatever the state is."""
    while isinstance(expr, Op):
        inside = [arg for arg in expr.args if datum.name in names(arg)]
        others = [arg for arg in expr.args if datum.name not in names(arg)]
        if len(inside) != 1 or not all(isinstance(arg, Const) for arg in others):
            return expr
        fine = expr.op in ("+", "-", "^", "neg", "~") or (expr.op == "*" and _tells_apart(others[0], update))
        if not fine or not expr.type.is_int:
            return expr
        expr = inside[0]
    return expr


def _tells_apart(factor: Expr, update: Update) -> bool:
    """Whether products with a literal are equal for equal numbers alone."""
    assert isinstance(factor, Const)
    return bool(int(factor.value) % 2 if update.meaning is Meaning.WRAP else factor.value)


def _way(expr: Expr, datum: Var, update: Update) -> tuple[_Turn, ...] | None:
    """The operations from an expression to a datum, if it takes all values, each for one value of the datum."""
    turns: list[_Turn] = []
    wraps = update.meaning is Meaning.WRAP
    while expr != datum:
        if not isinstance(expr, Op) or not expr.type.is_int or expr.type.bits != datum.type.bits:
            return None
        inside = [i for i, arg in enumerate(expr.args) if datum.name in names(arg)]
        turn: _Turn | None = None
        if len(inside) == 2:
            turn, expr = _shifted(expr) if wraps else (None, expr)
        elif len(inside) == 1:
            side = inside[0]
            other = expr.args[1 - side] if len(expr.args) == 2 else expr
            signed = expr.type.is_signed
            if (
                expr.op == "^"
                or (expr.op in ("+", "-", "neg", "~") and (wraps or signed))
                or (expr.op == "*" and wraps and isinstance(other, Const) and _tells_apart(other, update))
            ):
                turn, expr = _Turn(expr.op, side, other, expr.type), expr.args[side]
            elif expr.op == "cast" and expr.args[0].type.is_int and wraps:
                expr = expr.args[0]
                continue
        if turn is None:
            return None
        turns.append(turn)
    return tuple(turns)


def _shifted(expr: Op) -> tuple[_Turn | None, Expr]:
    """A word that is rotated, or mixed with itself shifted, and the word."""
    if expr.type.code != "uint" or len(expr.args) != 2:
        return None, expr
    one, other = (_shift(arg) for arg in expr.args)
    if expr.op in _ROTATED and one is not None and other is not None:
        left, right = (one, other) if one.op == "<<" else (other, one)
        rotated = left.op != right.op and left.args[0] == right.args[0] and _by(left) + _by(right) == expr.type.bits
        if rotated:
            return _Turn("rotate", 0, left.args[1], expr.type), left.args[0]
    for word, mixed in ((expr.args[0], other), (expr.args[1], one)):
        if expr.op == "^" and mixed is not None and mixed.args[0] == word:
            return _Turn(mixed.op, 0, mixed.args[1], expr.type), word
    return None, expr


def _shift(expr: Expr) -> Op | None:
    """The expression, if it is a shift by a literal."""
    if not isinstance(expr, Op) or expr.op not in ("<<", ">>") or not isinstance(expr.args[1], Const):
        return None
    return expr if 0 < _by(expr) < expr.type.bits else None


def _by(shift: Op) -> int:
    (_, number) = shift.args
    assert isinstance(number, Const)
    return int(number.value)


class _Search:
    def __init__(self, update: Update, datum: Var, inner: Expr, way: tuple[_Turn, ...], others: Datum) -> None:
        self.update, self.datum, self.inner, self.way, self.others = update, datum, inner, way, others

    def refutation(self) -> tuple[int, int, int, int, int] | None:
        """First data p and q, a last datum, and two states that one datum leads to for which others make up for it."""
        states = list(dict.fromkeys(self.step(x, 1) for x in self.before()))
        for (p, q), last in itertools.product(_FIRST, _LAST):
            made_up = [self.made_up(x, p, q, last) for x in states]
            for x, value in zip(states, made_up, strict=True):
                if value != made_up[0]:
                    return p, q, last, states[0], x
        return None

    def first(self) -> tuple[tuple[str, Expr], ...]:
        """The datum after which runs are compared."""
        types = {v.name: v.type for v in self.update.data}
        return tuple((name, const(types[name], value)) for name, value in self.given(1).items())

    def before(self) -> list[int]:
        (type_,) = self.update.types
        return [n for n in _BEFORE if n <= type_.max]

    def given(self, number: int) -> Datum:
        return self.others | {self.datum.name: number}

    def step(self, x: int, number: int) -> int:
        return self.at(self.update.components[0], x, number)

    def at(self, expr: Expr, x: int, number: int) -> int:
        return int(evaluate_scalar(expr, {"x0": x} | self.given(number), self.update.meaning))

    def made_up(self, x: int, p: int, q: int, last: int) -> int:
        """The last datum after q that leads where `last` leads to after p."""
        value, state = self.at(self.inner, self.step(x, p), last), self.step(x, q)
        wraps = self.update.meaning is Meaning.WRAP
        for turn in self.way:
            value = turn.type.wrap(value) if wraps else value
            value = turn.undone(value, 0 if turn.op in ("neg", "~") else self.at(turn.other, state, 0))
        return self.datum.type.wrap(value) if wraps else value

    def instance(
        self, whole: Update, held: Mapping[str, Value], p: int, q: int, last: int, one: int, other: int, proof: Proven
    ) -> Refutation | None:
        """One start with its pair of runs, as values."""
        for e, x in itertools.product(self.before(), (one, other)):
            made_up = self.made_up(e, p, q, last)
            found = told(
                whole,
                [e],
                [x],
                ([self.given(n) for n in (p, last)], [self.given(n) for n in (q, made_up)]),
                held,
                proof,
            )
            if found is not None:
                return found
        return None
