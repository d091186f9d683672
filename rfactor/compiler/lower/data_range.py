"""The values that data can have, by their types and the operations on them alone.

u8 data             in 0 … 255
i32(u8 data) & 15   in 0 … 15
u8 data + u8 data   in 0 … 255: it may wrap around, so that the whole type is possible
i32(clamp(f32 data, 0, 9.5))   in 0 … 9
"""

from __future__ import annotations

from collections.abc import Callable

from rfactor.compiler.lower.float_interval import (
    UNKNOWN,
    FloatInterval,
    converted,
    hull,
    operation,
    point,
    truncated,
)
from rfactor.ir.expr import Call, Const, Expr, Op
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.types import BOOL

Range = tuple[int, int]
"""Least and greatest value."""
_COUNTS = frozenset(row.name for row in INTRINSICS.values() if row.takes == "integer")
"""Functions that count bits."""


def data_range(expr: Expr) -> Range | None:
    """The values that an integer or bool expression can have, by its type and operations alone; None for floats."""
    return None if expr.type.is_float else Ranges().of(expr)


Known = Range | FloatInterval
"""What is known of integers or bools, or of floats: then the ends are constants."""
Called = Callable[[Call], Known | None]
"""What the values of a function are known to be; None where nothing but their type is."""


class Ranges:
    """The values that expressions can have wherever they stand; what is found is kept."""

    def __init__(self, called: Called = lambda call: None) -> None:
        self._called = called
        self._integers: dict[Expr, Range] = {}
        self._floats: dict[Expr, FloatInterval] = {}

    def of(self, expr: Expr) -> Range:
        """Those of an integer or bool expression."""
        found = self._integers.get(expr)
        if found is None:
            found = self._integers[expr] = self._integer(expr)
        return found

    def of_float(self, expr: Expr) -> FloatInterval:
        """Those of a float expression; the ends are constants."""
        found = self._floats.get(expr)
        if found is None:
            found = self._floats[expr] = self._float(expr)
        return found

    def _integer(self, expr: Expr) -> Range:
        whole = (int(expr.type.min), int(expr.type.max))
        if isinstance(expr, Const):
            return int(expr.value), int(expr.value)
        if isinstance(expr, Call):
            if expr.name in _COUNTS and expr.kind == "intrinsic":
                return _counted(expr.name, expr.type.bits, *self.of(expr.args[0]))
            known = self._called(expr) if expr.kind == "func" else None
            return known if isinstance(known, tuple) else whole
        if not isinstance(expr, Op):
            return whole
        if expr.op == "cast" and expr.args[0].type.is_float and not expr.type.is_bool:
            low, high = truncated(expr.type, self.of_float(expr.args[0]))
            return _value(low, whole[0]), _value(high, whole[1])
        inner = expr.args[0]
        if isinstance(inner, Op) and _is_magnitude(expr, inner):
            return _magnitude(self.of(inner.args[0]))
        apart = _distance(expr)
        if apart is not None:
            (low_a, high_a), (low_b, high_b) = map(self.of, apart)
            return max(low_a - high_b, low_b - high_a, 0), max(high_a - low_b, high_b - low_a)
        ranges = [None if arg.type.is_float else self.of(arg) for arg in expr.args]
        result = _data_operation(expr, ranges)
        if result is None or result[0] < whole[0] or result[1] > whole[1]:
            return whole
        return result

    def _float(self, expr: Expr) -> FloatInterval:
        if isinstance(expr, Const):
            return point(expr)
        if isinstance(expr, Op):
            if expr.op == "select":
                return hull(self.of_float(expr.args[1]), self.of_float(expr.args[2]))
            if expr.op == "cast" and not expr.args[0].type.is_float:
                inner = expr.args[0]
                low, high = (Const(inner.type, end) for end in self.of(inner))
                return converted(expr.type, low, high)
            return operation(expr, tuple(map(self.of_float, expr.args)))
        if isinstance(expr, Call) and expr.kind == "intrinsic":
            if any(not arg.type.is_float for arg in expr.args):
                return UNKNOWN
            return operation(expr, tuple(map(self.of_float, expr.args)))
        known = self._called(expr) if isinstance(expr, Call) and expr.kind == "func" else None
        return known if isinstance(known, FloatInterval) else UNKNOWN


def _value(end: Expr | None, otherwise: int) -> int:
    return int(end.value) if isinstance(end, Const) else otherwise


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
        same = expr.args[0] == expr.args[1]
        return max(min(corners), 0) if same else min(corners), max(corners)
    if op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if op == "abs" and a[0] > int(expr.type.min):
        return _magnitude(a)
    if op == "&" and (a[0] >= 0 or b[0] >= 0):
        return 0, min(r[1] for r in (a, b) if r[0] >= 0)
    if op in ("|", "^") and a[0] >= 0 and b[0] >= 0:
        return (max(a[0], b[0]) if op == "|" else 0), (1 << max(a[1].bit_length(), b[1].bit_length())) - 1
    if op == "//" and b[0] == b[1] and b[0] > 0:
        return a[0] // b[0], a[1] // b[0]
    if op == "%" and b[0] == b[1] and b[0] != 0:
        return 0, abs(b[0]) - 1
    if op in (">>", "<<") and b[0] >= 0 and b[1] < expr.type.bits:
        corners = [x >> y if op == ">>" else x << y for x in a for y in b]
        return min(corners), max(corners)
    return None


def _counted(name: str, bits: int, low: int, high: int) -> Range:
    """How many bits a function counts of a number from `low` to `high`."""
    if low < 0:
        return 0, bits
    if name == "count_leading_zeros":
        return bits - high.bit_length(), bits - low.bit_length()
    return (0, high.bit_length()) if name == "popcount" else (0, max(high.bit_length() - 1, 0) if low else bits)


def _distance(expr: Op) -> tuple[Expr, Expr] | None:
    """The two that `expr` is the distance of, an unsigned number: `select(a < b, b - a, a - b)`."""
    if expr.op != "select" or expr.type.is_signed or expr.type.is_bool:
        return None
    condition, *arms = expr.args
    plain = [arm.args[0] if isinstance(arm, Op) and arm.op == "cast" else arm for arm in arms]
    if not (isinstance(condition, Op) and condition.op == "<" and condition.args[0].type.bits == expr.type.bits):
        return None
    a, b = condition.args
    whole = plain == [Op(a.type, "-", (b, a)), Op(a.type, "-", (a, b))]
    return (a, b) if whole and a.type.is_int else None


def _is_magnitude(expr: Op, inner: Op) -> bool:
    """Whether a cast makes of the absolute value of a signed integer the unsigned one as wide, which holds it."""
    return (
        (expr.op, inner.op) == ("cast", "abs")
        and (expr.type.code, inner.type.code) == ("uint", "int")
        and expr.type.bits == inner.type.bits
    )


def _magnitude(a: Range) -> Range:
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))


def _hull(a: Range | None, b: Range | None) -> Range | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
