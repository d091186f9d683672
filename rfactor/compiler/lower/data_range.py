"""The values that data can have, by their types and the operations on them alone.

u8 data             in 0 … 255
i32(u8 data) & 15   in 0 … 15
u8 data + u8 data   in 0 … 255: it may wrap around, so that the whole type is possible
"""

from __future__ import annotations

from rfactor.ir.expr import Call, Const, Expr, Op
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.types import BOOL

Range = tuple[int, int]
"""Least and greatest value."""
_COUNTS = frozenset(row.name for row in INTRINSICS.values() if row.takes == "integer")
"""Functions that count bits."""


def data_range(expr: Expr) -> Range | None:
    """The values that an integer or bool expression can have, by its type and operations alone; None for floats."""
    if expr.type.is_float:
        return None
    whole = (int(expr.type.min), int(expr.type.max))
    if isinstance(expr, Const):
        return int(expr.value), int(expr.value)
    if isinstance(expr, Call) and expr.name in _COUNTS:
        return 0, expr.type.bits
    if not isinstance(expr, Op):
        return whole
    ranges = [data_range(arg) for arg in expr.args]
    result = _data_operation(expr, ranges)
    if result is None or result[0] < whole[0] or result[1] > whole[1]:
        return whole
    return result


def _data_operation(expr: Op, ranges: list[Range | None]) -> Range | None:
    known = [r for r in ranges if r is not None]
    op = expr.op
    if op == "select":
        return _hull(ranges[1], ranges[2])
    if len(known) != len(ranges):
        return None
    if op == "cast":
        return known[0]
    if op in ("and", "or", "not") or expr.type == BOOL:
        return 0, 1
    a = known[0]
    b = known[1] if len(known) > 1 else known[0]
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "neg":
        return -a[1], -a[0]
    if op == "*":
        corners = [x * y for x in a for y in b]
        return min(corners), max(corners)
    if op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if op == "abs" and a[0] > int(expr.type.min):
        return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))
    if op == "&" and (a[0] >= 0 or b[0] >= 0):
        return 0, min(r[1] for r in (a, b) if r[0] >= 0)
    if op in ("|", "^") and a[0] >= 0 and b[0] >= 0:
        return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
    if op == "//" and b[0] == b[1] and b[0] > 0:
        return a[0] // b[0], a[1] // b[0]
    if op == "%" and b[0] == b[1] and b[0] != 0:
        return 0, abs(b[0]) - 1
    if op == ">>" and b[0] == b[1] and 0 <= b[0] < expr.type.bits:
        return a[0] >> b[0], a[1] >> b[0]
    return None


def _hull(a: Range | None, b: Range | None) -> Range | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
