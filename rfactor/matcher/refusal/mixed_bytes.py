"""Refutation of hashes that mix bytes into words: `(x ^ u32(b))*16777619`, `x*31 ^ u32(b)`.

Exclusive or with a byte changes the lowest byte alone, and by how much depends on that byte alone; all else is affine.
So with x = 256*h + l a run leads from x to s*h + k, where only k depends on l, and two runs of equal length end alike
from x, or not, whatever h is. Of the values that the lowest bytes take, w1, w2, …, the first may be chosen for each l
by the first datum: one choice of two such rows whose ends agree is a pair of runs for every l.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rfactor.ir.expr import Const, Expr, Op, Value, Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.refusal.instance import Refutation, told
from rfactor.prover import sampling
from rfactor.prover.verdict import Proven

_LOW = 8
"""Most bits of a datum."""
_SOME = 724
"""Most steps of which all sums of two are made where four such sums are looked for."""
Rows = tuple[tuple[int, ...], tuple[int, ...]]
"""Two rows of lowest bits, step by step."""


@dataclass(frozen=True, slots=True)
class _Hash:
    """f(x; b) = factor*((scale*x + shift) ^ b) + more, modulo 2^bits, for b below 2^low."""

    type: Type
    scale: int
    shift: int
    factor: int
    more: int
    low: int
    datum: Var

    def step(self, state: int, b: int) -> int:
        """f of a state, or of what a state is without its h."""
        mixed = (self.scale * state + self.shift) % (1 << self.type.bits) ^ b
        return (self.factor * mixed + self.more) % (1 << self.type.bits)

    def lowest(self, state: int) -> int:
        """What the datum is mixed into."""
        return (self.scale * state + self.shift) % (1 << self.low)


def refute(update: Update, whole: Update, held: Mapping[str, Value]) -> Refutation | None:
    """A proof that no operator on one word exists; `whole` is the update with its constants, which are `held`."""
    (type_, *more) = update.types
    if more or not type_.is_int or update.meaning is not Meaning.WRAP or len(update.data) != 1:
        return None
    start = time.perf_counter()
    found = read(update)
    if found is None:
        return None
    rows = rows_of(found)
    if rows is None:
        return None
    pairs = [runs(found, low, rows) for low in range(1 << found.low)]
    reached = sorted({found.step(low, 0) for low in range(1 << found.low)})
    shown: Refutation | None = None
    for low, (one, other) in enumerate(pairs):
        if _end(found, low, one) != _end(found, low, other):
            return None
        x = next((x for x in reached if _end(found, x, one) != _end(found, x, other)), None)
        if x is None:
            return None
        proof = Proven("exhaustive", (time.perf_counter() - start) * 1000)
        data = ([{found.datum.name: b} for b in one], [{found.datum.name: b} for b in other])
        shown = shown or told(whole, [low], [found.type.wrap(x)], data, held, proof)
    return shown


def rows_of(hash_: _Hash) -> Rows | None:
    """Two rows of lowest bits that lead to one end from every state, if some are found."""
    p, c = hash_.scale * hash_.factor, hash_.scale * hash_.more + hash_.shift
    return _rows(hash_.type.bits, hash_.low, p % (1 << hash_.type.bits), c % (1 << hash_.type.bits))


def _end(hash_: _Hash, state: int, run: tuple[int, ...]) -> int:
    for b in run:
        state = hash_.step(state, b)
    return state


def runs(hash_: _Hash, state: int, rows: Rows) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The data that give the lowest bits these values, from a state."""
    return _run(hash_, state, rows[0]), _run(hash_, state, rows[1])


def _run(hash_: _Hash, state: int, row: tuple[int, ...]) -> tuple[int, ...]:
    run: list[int] = []
    for w in row:
        run.append(hash_.lowest(state) ^ w)
        state = hash_.step(state, run[-1])
    return tuple(run)


def read(update: Update) -> _Hash | None:
    """The update as such a hash."""
    (x,), (datum,), type_ = update.accumulators, update.data, update.types[0]
    expr, outer = update.components[0], (1, 0)
    modulus = 1 << type_.bits
    mixed: Op | None = None
    around: list[Op] = []
    while mixed is None:
        if not isinstance(expr, Op) or expr.type != type_ or len(expr.args) != 2:
            return None
        if expr.op == "^":
            mixed = expr
            break
        around.append(expr)
        inside = [arg for arg in expr.args if not isinstance(arg, Const)]
        if len(inside) != 1:
            return None
        expr = inside[0]
    hole = Var(type_, "mixed with the datum")
    for narrow, rest in (mixed.args, mixed.args[::-1]):
        low = _bits(narrow, datum)
        inner = None if low is None else _affine(rest, x, modulus)
        if low is None or inner is None or not 0 < low <= min(_LOW, type_.bits - 1):
            continue
        for op in reversed(around):
            again = _affine(
                Op(type_, op.op, tuple(arg if isinstance(arg, Const) else hole for arg in op.args)), hole, modulus
            )
            if again is None:
                return None
            outer = again[0] * outer[0] % modulus, (again[0] * outer[1] + again[1]) % modulus
        return _Hash(type_, *inner, *outer, low, datum)
    return None


def _bits(expr: Expr, datum: Var) -> int | None:
    """How many lowest bits of a datum an expression is, all of them zero or one for some datum."""
    if expr == datum:
        return datum.type.bits if datum.type.code == "uint" else None
    if not isinstance(expr, Op):
        return None
    if expr.op == "cast" and expr.type.is_int:
        own = _bits(expr.args[0], datum)
        return own if own is not None and own < expr.type.bits else None
    if expr.op != "&":
        return None
    for arg, mask in (expr.args, expr.args[::-1]):
        if isinstance(mask, Const) and _is_datum(arg, datum):
            size = int(mask.value).bit_length()
            return size if int(mask.value) == (1 << size) - 1 and size < datum.type.bits else None
    return None


def _is_datum(expr: Expr, datum: Var) -> bool:
    """Whether an expression is a datum, cast or not."""
    while isinstance(expr, Op) and expr.op == "cast" and expr.args[0].type.is_int:
        expr = expr.args[0]
    return expr == datum


def _affine(expr: Expr, x: Var, modulus: int) -> tuple[int, int] | None:
    """The factor of x and the rest, of an expression in x and literals."""
    if expr == x:
        return 1, 0
    if isinstance(expr, Const):
        return 0, int(expr.value) % modulus
    if not isinstance(expr, Op) or expr.type != x.type:
        return None
    parts = [part for part in (_affine(arg, x, modulus) for arg in expr.args) if part is not None]
    if len(parts) < len(expr.args):
        return None
    if expr.op == "neg":
        return -parts[0][0] % modulus, -parts[0][1] % modulus
    if expr.op in ("+", "-"):
        sign = 1 if expr.op == "+" else -1
        return (parts[0][0] + sign * parts[1][0]) % modulus, (parts[0][1] + sign * parts[1][1]) % modulus
    if expr.op == "*" and 0 in (parts[0][0], parts[1][0]):
        (one, rest), (_, factor) = parts if parts[1][0] == 0 else parts[::-1]
        return one * factor % modulus, rest * factor % modulus
    if expr.op == "<<" and parts[1][0] == 0 and parts[1][1] < x.type.bits:
        return (parts[0][0] << parts[1][1]) % modulus, (parts[0][1] << parts[1][1]) % modulus
    return None


@lru_cache(maxsize=64)
def _rows(bits: int, low: int, p: int, c: int) -> Rows | None:
    """Two rows of lowest bits w1, w2, … that lead to one end: the sum of p^(n-i)*(t(wi) - t(wi')) is 0, where t(w) is
    p*w + c without its lowest bits."""
    every = np.uint64((1 << bits) - 1)
    kept = every ^ np.uint64((1 << low) - 1)
    count = 1 << low
    t = (np.arange(count, dtype=np.uint64) * np.uint64(p) + np.uint64(c)) & kept
    ordered = np.argsort(t, kind="stable")
    same = np.flatnonzero(t[ordered][1:] == t[ordered][:-1])
    if len(same):
        one, other = int(ordered[same[0]]), int(ordered[same[0] + 1])
        return (one, 0), (other, 0)
    steps, first = np.unique((t[:, None] - t[None, :]) & every, return_index=True)
    for found in _sums(steps, bits, low, p):
        pairs = [divmod(int(first[i]), count) for i in found]
        if any(i != 0 for i in found):
            return (*(w for w, _ in pairs), 0), (*(w for _, w in pairs), 0)
    return None


def _sums(steps: sampling.Array, bits: int, low: int, p: int) -> Iterator[tuple[int, ...]]:
    """Numbers of steps d1, d2, … for which the sum of p^(n-i)*di is 0, not all of them 0; the shortest first."""
    every = np.uint64((1 << bits) - 1)

    def times(power: int) -> sampling.Array:
        return (steps * np.uint64(pow(p, power, 1 << bits))) & every

    def both(power: int, some: int) -> sampling.Array:
        """The sums of two neighbouring steps, the later of the given power: (steps, steps), of so many steps."""
        return ((times(power + 1)[:some, None] + times(power)[None, :some]) & every).ravel()

    size = len(steps)
    if size**3 >> (bits - low):
        for sums, width in ((times(1), 1), (both(1, size), 2)):
            ends = np.flatnonzero(sampling.among(sums, -steps & every))
            for i in ends[ends != 0].tolist()[:1]:
                last = int(np.searchsorted(steps, -sums[i : i + 1] & every)[0])
                yield (*divmod(i, size)[2 - width :], last)
    elif size >= _SOME:
        yield from _four_lists([both(power, _SOME) for power in (6, 4, 2, 0)], _SOME, bits, low)


def _four_lists(lists: list[sampling.Array], size: int, bits: int, low: int) -> Iterator[tuple[int, ...]]:
    """One of each of four lists whose sum is 0 (Wagner, A generalized birthday problem, 2002)."""
    part = np.uint64((1 << (low + (bits - low) // 3)) - 1)
    every = np.uint64((1 << bits) - 1)
    halves = [_merged(one, other, part, every) for one, other in (lists[:2], lists[2:])]
    left, right = halves[0][0], -halves[1][0] & every
    for value in np.intersect1d(sampling.distinct(left), sampling.distinct(right), assume_unique=True).tolist():
        i, j = int(np.argmax(left == value)), int(np.argmax(right == value))
        numbers = (halves[0][1][i], halves[0][2][i], halves[1][1][j], halves[1][2][j])
        if any(numbers):
            yield tuple(place for n in numbers for place in divmod(int(n), size))


def _merged(
    one: sampling.Array, other: sampling.Array, part: np.uint64, every: np.uint64
) -> tuple[sampling.Array, sampling.Array, sampling.Array]:
    """Sums of which the lowest bits are zero, and the numbers of what they are sums of."""
    order = np.argsort(one & part, kind="stable")
    keys, wanted = (one & part)[order], -other & part
    start, end = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    counts = end - start
    second = np.repeat(np.arange(len(other)), counts)
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(start, counts)
    first = order[place]
    return (one[first] + other[second]) & every, first, second
