"""Values of expressions over the reals between two floats: what a proof may say of exp, sin and the like at a point.

Every operation is rounded outwards: by one float where arithmetic is rounded to the nearest, by more for functions of
the C library, whose errors are a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """A real that is known to be between two floats, as a number beside exact ones.

    What its bounds do not decide raises `Undecided`: a comparison, or whether a divisor is 0.
    """

    bounds: Enclosure

    @staticmethod
    def of(value: Fraction | Within) -> Within:
        """A number as one that is known within bounds."""
        return value if isinstance(value, Within) else Within(exactly(value))

    @property
    def magnitude(self) -> float:
        """The least that its absolute value may be."""
        return size(self.bounds)[0]

    def function(self, name: str) -> Within:
        """The value of a function there."""
        return self._known(lambda: _of_function(name, [self.bounds]))

    def _with(self, op: str, one: Fraction | int | Within, other: Fraction | int | Within) -> Within:
        operands = [v.bounds if isinstance(v, Within) else exactly(Fraction(v)) for v in (one, other)]
        return self._known(lambda: _of_arithmetic(op, operands))

    @staticmethod
    def _known(compute: Callable[[], Enclosure]) -> Within:
        try:
            low, high = compute()
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise Undecided from error
        if not (math.isfinite(low) and math.isfinite(high)):
            raise Undecided
        return Within((low, high))

    def __add__(self, other: Fraction | int | Within) -> Within:
        return self._with("+", self, other)

    def __sub__(self, other: Fraction | int | Within) -> Within:
        return self._with("-", self, other)

    def __mul__(self, other: Fraction | int | Within) -> Within:
        return self._with("*", self, other)

    def __truediv__(self, other: Fraction | int | Within) -> Within:
        return self._with("/", self, other)

    def __radd__(self, other: Fraction | int) -> Within:
        return self._with("+", other, self)

    def __rsub__(self, other: Fraction | int) -> Within:
        return self._with("-", other, self)

    def __rmul__(self, other: Fraction | int) -> Within:
        return self._with("*", other, self)

    def __rtruediv__(self, other: Fraction | int) -> Within:
        return self._with("/", other, self)

    def __neg__(self) -> Within:
        return Within((-self.bounds[1], -self.bounds[0]))

    def __bool__(self) -> bool:
        return True  # it is not known to be 0

    def __eq__(self, other: object) -> bool:
        return not self._differs(other)

    def __ne__(self, other: object) -> bool:
        return self._differs(other)

    def _differs(self, other: object) -> bool:
        assert isinstance(other, int | Fraction | Within)
        bounds = (self - other).bounds
        if bounds[0] <= 0.0 <= bounds[1]:
            raise Undecided
        return True

    def __lt__(self, other: Fraction | int | Within) -> bool:
        self._differs(other)
        return (self - other).bounds[1] < 0.0

    def __le__(self, other: Fraction | int | Within) -> bool:
        return self < other

    def __gt__(self, other: Fraction | int | Within) -> bool:
        return not self < other

    def __ge__(self, other: Fraction | int | Within) -> bool:
        return not self < other


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
    if expr.op in ("+", "-", "*", "/"):
        return _of_arithmetic(expr.op, args)
    if expr.op == "neg":
        return -high, -low
    if expr.op == "abs":
        return size(args[0])
    if expr.op in ("min", "max"):
        choose = min if expr.op == "min" else max
        return choose(low, other_low), choose(high, other_high)
    if expr.op == "cast" and expr.args[0].type.is_float:
        return low, high
    raise Undecided


def _of_arithmetic(op: str, args: list[Enclosure]) -> Enclosure:
    one, other = args
    if op == "+":
        return _wider(one[0] + other[0], one[1] + other[1], 1)
    if op == "-":
        return less(one, other)
    if op == "/":
        return over(one, other)
    corners = [a * b for a in one for b in other]
    return _wider(min(corners), max(corners), 1)


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
