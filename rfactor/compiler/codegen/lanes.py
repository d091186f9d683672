"""What is known of a vector index: the part that all lanes share, and where lanes are in turn.

x8(s) + i64x8(ramp(m, 1, 8) // x8(2))   =   lanes 0, 2, 4, 6 at s + i64(m // 2) and the three elements after it,
                                            lanes 1, 3, 5, 7 at s + i64((m + 1) // 2) and the three after that
x8(s) + i64x8(v)                        =   s, then i64x8(v)

Quotients and remainders of coordinates: they do not overflow. What reads data stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from rfactor.compiler.lower import affine
from rfactor.ir.expr import Const, Expr, Op
from rfactor.ir.loopnest import Broadcast, Ramp
from rfactor.ir.types import I32, I64

_MOST = 4
"""Turns that are told apart."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Lane `k` is at `starts[k % n] + k // n * step`, where `n` is the number of starts."""

    starts: tuple[Expr, ...]
    """Scalar coordinates."""
    step: int


def shared(index: Expr) -> tuple[Expr, Expr | None]:
    """The scalar that all lanes of `index` (i64) have in common, and the vector that is left: None where nothing is."""
    base, parts = _taken_apart(index)
    vector: Expr | None = None
    for part, factor in parts:
        scaled = part if abs(factor) == 1 else _times(part, abs(factor))
        if vector is None:
            vector = scaled if factor > 0 else Op(index.type, "neg", (scaled,))
        else:
            vector = Op(index.type, "+" if factor > 0 else "-", (vector, scaled))
    return base, vector


def turns(index: Expr) -> Turns | None:
    """Where the lanes of `index` (i64) are, where they depend on quotients and remainders of coordinates alone, and
    each turn has two lanes or more."""
    base, parts = _taken_apart(index)
    divisions = [(d, factor) for part, factor in parts if (d := _division(part))]
    strides = [
        int(part.stride.value) * factor
        for part, factor in parts
        if isinstance(part, Ramp) and isinstance(part.stride, Const)
    ]
    if not divisions or len(divisions) + len(strides) != len(parts):
        return None
    count = lcm(*(d.count // gcd(d.count, d.stride) for d, _ in divisions))
    if count > _MOST or index.type.lanes < 2 * count:
        return None
    stride = sum(strides)
    step = count * stride + sum(factor * (count * d.stride // d.count) for d, factor in divisions if d.op == "//")
    starts = []
    for lane in range(count):
        start = affine.add(base, Const(I64, lane * stride))
        for d, factor in divisions:
            type = d.start.type
            own: Expr = Op(type, d.op, (affine.add(d.start, Const(type, lane * d.stride)), Const(type, d.count)))
            if type == I32:
                own = Op(I64, "cast", (own,))
            start = affine.add(start, affine.scale(own, factor))
        starts.append(start)
    return Turns(tuple(starts), step)


def _taken_apart(index: Expr) -> tuple[Expr, list[tuple[Expr, int]]]:
    """`index` as a scalar and vectors with their factors: its value is their sum, also where it wraps."""
    base: Expr = Const(index.type.element, 0)
    parts: list[tuple[Expr, int]] = []
    pending = [(index, 1)]
    while pending:
        expr, factor = pending.pop()
        if isinstance(expr, Broadcast):
            base = affine.add(base, affine.scale(expr.value, factor))
        elif isinstance(expr, Ramp):
            base = affine.add(base, affine.scale(expr.base, factor))
            parts.append((Ramp(Const(expr.base.type, 0), expr.stride, expr.type.lanes), factor))
        elif isinstance(expr, Op) and expr.op == "neg":
            pending.append((expr.args[0], -factor))
        elif isinstance(expr, Op) and expr.op in ("+", "-"):
            pending += [(expr.args[1], factor if expr.op == "+" else -factor), (expr.args[0], factor)]
        elif isinstance(expr, Op) and expr.op == "*" and (times := _literal(expr.args[1])) is not None:
            pending.append((expr.args[0], factor * times))
        else:
            parts.append((expr, factor))
    return base, parts


def _times(vector: Expr, factor: int) -> Expr:
    return Op(vector.type, "*", (vector, Broadcast(Const(vector.type.element, factor), vector.type.lanes)))


def _literal(expr: Expr) -> int | None:
    """The value of a literal in all lanes."""
    if isinstance(expr, Broadcast) and isinstance(expr.value, Const):
        return int(expr.value.value)
    return None


@dataclass(frozen=True, slots=True)
class _Division:
    """`ramp(start, stride, lanes) op count`, over coordinates, in i32 or i64."""

    op: str
    start: Expr
    stride: int
    count: int


def _division(expr: Expr) -> _Division | None:
    if isinstance(expr, Op) and expr.op == "cast":
        expr = expr.args[0]
    if not (isinstance(expr, Op) and expr.op in ("//", "%") and expr.type.element in (I32, I64)):
        return None
    ramp, count = expr.args[0], _literal(expr.args[1])
    if count is None or count <= 0 or not isinstance(ramp, Ramp) or not isinstance(ramp.stride, Const):
        return None
    return None if affine.reads(ramp.base) else _Division(expr.op, ramp.base, int(ramp.stride.value), count)
