"""What is known of a vector index: the part that all lanes share, and the distances of the lanes from it.

x8(s) + i64x8(ramp(m, 1, 8) // x8(2))   =   s + i64(m // 2), then (0, 0, 1, 1, 2, 2, 3, 3) where m % 2 is 0,
                                                                  (0, 1, 1, 2, 2, 3, 3, 4) where it is 1
x8(s) + i64x8(v)                        =   s, then i64x8(v)

Quotients and remainders of coordinates: they do not overflow. What reads data stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from rfactor.compiler.lower import affine
from rfactor.ir.expr import Const, Expr, Op
from rfactor.ir.loopnest import Broadcast, Ramp
from rfactor.ir.types import I32, I64

_LONGEST = 4
"""Patterns of lanes that repeat after more than this many coordinates are not told apart."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Lanes at `base + distances[residue]`."""

    base: Expr
    """A scalar coordinate."""
    residue: Expr
    """A scalar of type i32, at least zero and less than the number of patterns."""
    distances: tuple[tuple[int, ...], ...]


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


def pattern(index: Expr) -> Pattern | None:
    """The distances of the lanes of `index` (i64) by the residue of a coordinate, where they depend on nothing else."""
    base, parts = _taken_apart(index)
    lanes = index.type.lanes
    divisions = [(d, factor) for part, factor in parts if (d := _division(part))]
    ramps = [
        (int(part.stride.value), factor)
        for part, factor in parts
        if isinstance(part, Ramp) and isinstance(part.stride, Const)
    ]
    if not divisions or len(divisions) + len(ramps) != len(parts):
        return None
    first = divisions[0][0].start
    period = lcm(*(d.count for d, _ in divisions))
    if period > _LONGEST:
        return None
    apart: list[int] = []
    for d, factor in divisions:
        terms, constant = affine.affine(affine.subtract(d.start, first))
        if any(own % period for _, own in terms):
            return None
        apart.append(constant)
        if d.op == "//":
            whole = Op(I32, "//", (d.start, affine.integer(d.count)))
            base = affine.add(base, affine.scale(Op(I64, "cast", (whole,)), factor))
    distances: list[tuple[int, ...]] = []
    for residue in range(period):
        row = [sum(factor * lane * stride for stride, factor in ramps) for lane in range(lanes)]
        for (d, factor), constant in zip(divisions, apart, strict=True):
            start = (residue + constant) % period
            for lane in range(lanes):
                at = start + lane * d.stride
                row[lane] += factor * (at % d.count if d.op == "%" else at // d.count - start // d.count)
        distances.append(tuple(row))
    return Pattern(base, Op(I32, "%", (first, affine.integer(period))), tuple(distances))


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
    """`ramp(start, stride, lanes) op count`, over coordinates."""

    op: str
    start: Expr
    stride: int
    count: int


def _division(expr: Expr) -> _Division | None:
    if isinstance(expr, Op) and expr.op == "cast":
        expr = expr.args[0]
    if not (isinstance(expr, Op) and expr.op in ("//", "%") and expr.type.element == I32):
        return None
    ramp, count = expr.args[0], _literal(expr.args[1])
    if count is None or count <= 0 or not isinstance(ramp, Ramp) or not isinstance(ramp.stride, Const):
        return None
    return None if affine.reads(ramp.base) else _Division(expr.op, ramp.base, int(ramp.stride.value), count)
