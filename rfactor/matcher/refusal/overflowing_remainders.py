"""Refutation of products and sums modulo a literal that overflow before the remainder: `x * a % 1000000007` in 64 bits.

Let a be the least datum with which the largest remainder overflows, and a' = a % m. From every other remainder, and so
from every start that a first datum u leads to another, the runs (u, a) and (u, a') end alike. From a state that u leads
to the largest remainder they do not, for m divides no power of two. Two first data suffice for all starts: what one
leads to the largest remainder the other does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from rfactor.ir.expr import Const, Op, Value, Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.refusal.instance import Refutation, told
from rfactor.prover.verdict import Proven


def refute(update: Update, whole: Update, held: Mapping[str, Value]) -> Refutation | None:
    """A proof that no operator on one integer exists; `whole` is the update with its constants, which are `held`."""
    read = _read(update)
    if read is None:
        return None
    start = time.perf_counter()
    type_, op, datum, m = read
    end = int(type_.max) + 1
    last = -(-end // (m - 1)) if op == "*" else end - (m - 1)
    if (1 << type_.bits) % m == 0 or not m <= last < end or not _overflow_is_rare(op, m, end):
        return None
    plain = int(op == "*")
    proof = Proven("normal_form", (time.perf_counter() - start) * 1000)
    for other, x in _firsts(op, m):
        if _leads_elsewhere(type_, op, m, other):
            runs = ([{datum.name: n} for n in (plain, last)], [{datum.name: n} for n in (plain, last % m)])
            shown = told(whole, [0], [m - 1], runs, held, proof)
            after_other = ([{datum.name: n} for n in (other, last)], [{datum.name: n} for n in (other, last % m)])
            return None if told(whole, [0], [x], after_other, held, proof) is None else shown
    return None


def _read(update: Update) -> tuple[Type, str, Var, int] | None:
    """The type, `+` or `*`, the datum and m of `(x op a) % m`."""
    (type_, *more), step = update.types, update.components[0]
    if more or not type_.is_int or update.meaning is not Meaning.WRAP or not isinstance(step, Op) or step.op != "%":
        return None
    inner, literal = step.args
    if not isinstance(literal, Const) or not isinstance(inner, Op) or inner.op not in ("+", "*"):
        return None
    data = [arg for arg in inner.args if isinstance(arg, Var) and arg in update.data]
    if len(data) != 1 or update.accumulators[0] not in inner.args or int(literal.value) < 3:
        return None
    return type_, inner.op, data[0], int(literal.value)


def _overflow_is_rare(op: str, m: int, end: int) -> bool:
    """Whether the least datum with which m - 1 overflows is none with which m - 2 does, and below m none overflows."""
    return (m - 1) * (m - 1) < end if op == "*" else 2 * m < end


def _firsts(op: str, m: int) -> Iterator[tuple[int, int]]:
    """First data, and for each a remainder that it leads to m - 1."""
    if op == "+":
        yield 1, m - 2
        return
    for other in range(2, 8):
        products = (k * m - 1 for k in range(1, other + 1))
        yield from ((other, product // other) for product in products if product % other == 0)


def _leads_elsewhere(type_: Type, op: str, m: int, other: int) -> bool:
    """Whether a first datum leads no number that is -1 modulo m to m - 1, overflow or not."""
    turns = range(-other, other + 1)
    ends = (((-other if op == "*" else -1 + other) - turn * (1 << type_.bits)) % m for turn in turns)
    return all(value != m - 1 for value in ends)
