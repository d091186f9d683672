"""Values of expressions over the reals between two floats: what a proof may say of exp, sin and the like at a point.

Every operation is rounded outwards: by one float where arithmetic is rounded to the nearest, by more for functions of
the C library, whose errors are a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from rfactor.ir.expr import Call, Const, Expr, Op, Var

Enclosure = tuple[float, float]
_LIBRARY = 16
"""Floats on either side of what the library says."""
_LARGEST = 2.0**20
"""Arguments of sin and cos, whose values need the argument within a part of a turn."""
_INCREASING: dict[str, Callable[[float], float]] = {
    "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "tanh": math.tanh, "sinh": math.sinh, "atan": math.atan,
    "asinh": math.asinh, "erf": math.erf, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
}  # fmt: skip
_STEPS = frozenset(("floor", "ceil", "trunc"))


class Undecided(Exception):
    """The enclosure has no value, or does not decide a comparison."""


def enclose(expr: Expr, values: Mapping[str, Enclosure]) -> Enclosure:
    """An enclosure of a real, its variables anywhere in theirs; raises `Undecided` where there is none."""
    try:
        low, high = _enclosed(expr, values)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise Undecided from error
    if not (math.isfinite(low) and math.isfinite(high)):
        raise Undecided
    return low, high


def exactly(value: float | Fraction) -> Enclosure:
    """The enclosure of a number."""
    near = float(value)
    return (near, near) if Fraction(near) == value else _wider(near, near, 1)


def less(one: Enclosure, other: Enclosure) -> Enclosure:
    """An enclosure of the difference."""
    return _wider(one[0] - other[1], one[1] - other[0], 1)


def size(one: Enclosure) -> Enclosure:
    """An enclosure of the absolute value."""
    low, high = sorted((abs(one[0]), abs(one[1])))
    return (0.0 if one[0] <= 0.0 <= one[1] else low), high


def over(one: Enclosure, other: Enclosure) -> Enclosure:
    """An enclosure of the quotient; raises `Undecided` where the divisor may be 0."""
    if other[0] <= 0.0 <= other[1]:
        raise Undecided
    corners = [a / b for a in one for b in other]
    return _wider(min(corners), max(corners), 1)


def _wider(low: float, high: float, by: int) -> Enclosure:
    for _ in range(by):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return low, high


def _enclosed(expr: Expr, values: Mapping[str, Enclosure]) -> Enclosure:
    if not expr.type.is_float:
        raise Undecided
    if isinstance(expr, Const):
        return exactly(Fraction(str(expr.value)))
    if isinstance(expr, Var):
        return values[expr.name]
    if isinstance(expr, Op) and expr.op == "select":
        return enclose(expr.args[1 if _holds(expr.args[0], values) else 2], values)
    if isinstance(expr, Op):
        return _of_operation(expr, [enclose(arg, values) for arg in expr.args])
    if isinstance(expr, Call) and expr.kind == "intrinsic":
        return _of_function(expr.name, [enclose(arg, values) for arg in expr.args])
    raise Undecided


def _of_operation(expr: Op, args: list[Enclosure]) -> Enclosure:
    (low, high), (other_low, other_high) = args[0], args[-1]
    if expr.op == "neg":
        return -high, -low
    if expr.op == "abs":
        return size(args[0])
    if expr.op in ("min", "max"):
        choose = min if expr.op == "min" else max
        return choose(low, other_low), choose(high, other_high)
    if expr.op == "cast" and expr.args[0].type.is_float:
        return low, high
    if expr.op == "+":
        return _wider(low + other_low, high + other_high, 1)
    if expr.op == "-":
        return less(args[0], args[1])
    if expr.op == "/":
        return over(args[0], args[1])
    if expr.op == "*":
        corners = [a * b for a in args[0] for b in args[1]]
        return _wider(min(corners), max(corners), 1)
    raise Undecided


def _of_function(name: str, args: list[Enclosure]) -> Enclosure:
    low, high = args[0]
    if name in _INCREASING:
        ends = float(_INCREASING[name](low)), float(_INCREASING[name](high))
        return ends if name in _STEPS else _wider(*ends, _LIBRARY)
    if name in ("sin", "cos") and max(abs(low), abs(high)) < _LARGEST:
        middle = low + (high - low) / 2
        value = math.sin(middle) if name == "sin" else math.cos(middle)
        around = (high - low) + 2**-50  # neither changes faster than its argument
        return value - around, value + around
    if name == "pow" and low > 0.0:
        corners = [math.pow(a, b) for a in (low, high) for b in args[1]]
        return _wider(min(corners), max(corners), _LIBRARY)
    raise Undecided


def _holds(condition: Expr, values: Mapping[str, Enclosure]) -> bool:
    if not isinstance(condition, Op) or condition.op not in ("<", "<=", ">", ">="):
        raise Undecided
    one, other = (enclose(arg, values) for arg in condition.args)
    if condition.op in (">", "<="):  # a > b unless a <= b
        return _below(one, other, strictly=False) == (condition.op == "<=")
    return _below(one, other, strictly=True) == (condition.op == "<")


def _below(one: Enclosure, other: Enclosure, strictly: bool) -> bool:
    """Whether one real is less than another, or at most that."""
    if one[1] < other[0] or (one[1] == other[0] and not strictly):
        return True
    if one[0] > other[1] or (one[0] == other[1] and strictly):
        return False
    raise Undecided
