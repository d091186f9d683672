"""Interval arithmetic of floats, for the coordinates that are computed with them.

clamp(v, 0.0, 1.0) * 10.0   ->   0.0 to 10.0, or NaN where v is

The ends are computed by the operations themselves, in their own type: rounding to nearest is monotone, so that an
operation that is monotone stays so when it is rounded, and its ends need no margin. Routines of the C library, which
may be off by a few units in the last place, get one. Ends that are known are finite; those that are not constants are
checked to be finite on entry, so that no value between them is infinite, and NaN comes only from where `nan` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Call, Const, Expr, Op
from rfactor.ir.types import I32, I64, Type

End = Expr | None


@dataclass(frozen=True, slots=True)
class FloatInterval:
    """Where the values of a float expression lie."""

    low: End = None
    """None where nothing is known: the value may be minus infinity."""
    high: End = None
    """None where nothing is known: the value may be infinity."""
    nan: bool = True
    """Whether the value may be NaN too, though all ends are finite."""

    @property
    def bounded(self) -> bool:
        """Whether no value is infinite."""
        return self.low is not None and self.high is not None


UNKNOWN = FloatInterval()


def point(value: Expr) -> FloatInterval:
    """The interval of one value, of which it is known that it is finite, or checked."""
    end = finite(value)
    return UNKNOWN if end is None else FloatInterval(end, end, False)


def hull(a: FloatInterval, b: FloatInterval) -> FloatInterval:
    """The interval that holds both."""
    return FloatInterval(_outer("min", a.low, b.low), _outer("max", a.high, b.high), a.nan or b.nan)


def converted(type: Type, low: End, high: End) -> FloatInterval:
    """The interval of numbers from `low` to `high`, which are none of them NaN, as floats of `type`."""
    return FloatInterval(_cast(type, low), _cast(type, high), False)


def truncated(type: Type, value: FloatInterval) -> tuple[End, End]:
    """The ends of the integers of `type` that a cast makes: it truncates, saturates, and makes 0 of NaN."""
    low, high = _integer(type, value.low), _integer(type, value.high)
    if not value.nan:
        return low, high
    zero = Const(type, 0)
    return _integral("min", low, zero), _integral("max", high, zero)


def operation(expr: Op | Call, operands: tuple[FloatInterval, ...]) -> FloatInterval:
    """The interval of an operation or an intrinsic on floats, other than select, from those of its operands."""
    if isinstance(expr, Op):
        if expr.op in ("+", "-", "*") and len(operands) == 2:
            return _arithmetic(expr, *operands)
        rule = _OPERATIONS.get(expr.op)
        return UNKNOWN if rule is None else rule(expr.type, *operands)
    if expr.name in _ROUNDINGS:
        (a,) = operands
        return FloatInterval(_call(expr.name, a.low), _call(expr.name, a.high), a.nan)
    if expr.name in _WITHIN:
        low, high = (Const(expr.type, end) for end in _WITHIN[expr.name])
        return FloatInterval(low, high, any(a.nan or not a.bounded for a in operands))
    function = _FUNCTIONS.get(expr.name)
    return UNKNOWN if function is None else function(expr.type, *operands)


def finite(end: Expr) -> End:
    """`end`, computed where it is a constant; None where that is infinite or NaN."""
    if isinstance(end, Const):
        return end if math.isfinite(end.value) else None
    if isinstance(end, Op | Call) and all(isinstance(arg, Const) for arg in end.children):
        value = evaluate_scalar(end, {})
        return Const(end.type, value) if math.isfinite(value) else None
    return end


def nonnegative(end: End) -> bool:
    """Whether a known end is surely >= 0, if no sum in it wraps around."""
    if isinstance(end, Const):
        return end.value >= 0
    if isinstance(end, Call):
        return end.name == "sqrt" or (end.name in _ROUNDINGS and nonnegative(end.args[0]))
    if not isinstance(end, Op):
        return False
    if end.op == "abs":
        return end.type.is_float
    if end.op == "max":
        return any(map(nonnegative, end.args))
    if end.op == "cast":
        source = end.args[0].type
        if not end.type.is_float and not (source.is_float or (source, end.type) == (I32, I64)):
            return False  # it may wrap around
        return not source.is_signed or nonnegative(end.args[0])
    return end.op in ("+", "*", "min", "/", "//") and all(map(nonnegative, end.args))


# -- ends ------------------------------------------------------------------------------------------------------------


def _op(name: str, *ends: End) -> End:
    """An operation on ends of one type; unknown where one of them is."""
    known = tuple(end for end in ends if end is not None)
    if len(known) < len(ends):
        return None
    return finite(Op(known[0].type, name, known))


def _call(name: str, *ends: End) -> End:
    known = tuple(end for end in ends if end is not None)
    return None if len(known) < len(ends) else finite(Call(known[0].type, name, known, "intrinsic"))


def _cast(type: Type, end: End) -> End:
    if end is None or end.type == type:
        return end
    return finite(Op(type, "cast", (end,)))


def _outer(extreme: str, a: End, b: End) -> End:
    """The outer of two ends; unknown where one is."""
    return a if a == b else _op(extreme, a, b)


def _inner(extreme: str, a: End, b: End) -> End:
    """The tighter of two ends; the known one where one is not."""
    if a is None or b is None:
        return b if a is None else a
    return a if a == b else _op(extreme, a, b)


def _integer(type: Type, end: End) -> End:
    if end is None:
        return None
    if isinstance(end, Const):
        whole = min(max(math.trunc(end.value), int(type.min)), int(type.max))
        return Const(type, whole)
    return Op(type, "cast", (end,))


def _integral(extreme: str, a: End, b: Const) -> End:
    if a is None:
        return None
    if isinstance(a, Const):
        return Const(a.type, (min if extreme == "min" else max)(a.value, b.value))
    return Op(a.type, extreme, (a, b))


def _zero(type: Type) -> Const:
    return Const(type, 0.0)


def _scaled(end: End, factor: float) -> End:
    return None if end is None else _op("*", end, Const(end.type, factor))


def _margin(type: Type) -> float:
    """Relative: eight units in the last place, more than any routine is off."""
    return 2.0 ** (4 - type.digits)


# -- operations ------------------------------------------------------------------------------------------------------


def _arithmetic(expr: Op, a: FloatInterval, b: FloatInterval) -> FloatInterval:
    if expr.op == "*":
        return _square(expr.type, a) if expr.args[0] == expr.args[1] else _product(expr.type, a, b)
    nan = a.nan or b.nan or not (a.bounded or b.bounded)
    if expr.op == "+":
        return FloatInterval(_op("+", a.low, b.low), _op("+", a.high, b.high), nan)
    remainder = _remainder(expr, a)
    if remainder is not None:
        return remainder
    return FloatInterval(_op("-", a.low, b.high), _op("-", a.high, b.low), nan)


def _remainder(expr: Op, a: FloatInterval) -> FloatInterval | None:
    """`a - b*floor(a / b)` for a constant b: from 0 to b, or beyond by what rounding takes; None of other forms."""
    dividend, product = expr.args
    if not (isinstance(product, Op) and product.op == "*") or a.low is None or a.high is None:
        return None
    divisor, whole = product.args
    if not (isinstance(divisor, Const) and isinstance(whole, Call) and whole.name == "floor"):
        return None
    if whole.args[0] != Op(expr.type, "/", (dividend, divisor)) or finite(divisor) is None or abs(divisor.value) < 1:
        return None  # by less than 1, the quotient may be infinite
    greatest = _op("max", _op("abs", a.low), _op("abs", a.high))
    slack = _scaled(_scaled(greatest, 2.0), _margin(expr.type))  # twice: the product may exceed the dividend
    low, high = (_zero(expr.type), divisor) if divisor.value > 0 else (divisor, _zero(expr.type))
    return FloatInterval(_op("-", low, slack), _op("+", high, slack), a.nan)


def _square(type: Type, a: FloatInterval) -> FloatInterval:
    ends = _op("*", a.low, a.low), _op("*", a.high, a.high)
    least = _zero(type)
    if nonnegative(a.low):
        return FloatInterval(ends[0], ends[1], a.nan)
    low = _op("max", least, _op("min", _op("min", *ends), _op("*", a.low, a.high)))
    return FloatInterval(least if low is None else low, _outer("max", *ends), a.nan)


def _product(type: Type, a: FloatInterval, b: FloatInterval) -> FloatInterval:
    nan = a.nan or b.nan or not (a.bounded and b.bounded)
    for one, other in ((a, b), (b, a)):
        if isinstance(one.low, Const) and one.low == one.high:
            if one.low.value == 0:
                return FloatInterval(_zero(type), _zero(type), nan)
            first, last = (other.low, other.high) if one.low.value > 0 else (other.high, other.low)
            return FloatInterval(_op("*", first, one.low), _op("*", last, one.low), nan)
        if one.low is not None and one.low == one.high:
            return _between([_op("*", other.low, one.low), _op("*", other.high, one.low)], nan)
    if nonnegative(a.low) and nonnegative(b.low):
        return FloatInterval(_op("*", a.low, b.low), _op("*", a.high, b.high), nan)
    return _between([_op("*", x, y) for x in (a.low, a.high) for y in (b.low, b.high)], nan)


def _between(corners: list[End], nan: bool) -> FloatInterval:
    """The hull of values, where all are known."""
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = _outer("min", low, corner), _outer("max", high, corner)
    return FloatInterval(low, high, nan)


def _quotient(type: Type, a: FloatInterval, b: FloatInterval) -> FloatInterval:
    if b.low is None or b.high is None:
        return UNKNOWN
    nan = a.nan or b.nan
    if isinstance(b.low, Const) and isinstance(b.high, Const):
        if b.low.value <= 0 <= b.high.value:
            return UNKNOWN
        if b.low == b.high:
            first, last = (a.low, a.high) if b.low.value > 0 else (a.high, a.low)
            return FloatInterval(_op("/", first, b.low), _op("/", last, b.low), nan)
        return _between([_op("/", x, y) for x in (a.low, a.high) for y in (b.low, b.high)], nan)
    if b.low == b.high:  # by 0 the ends are infinite or NaN, and so refused
        return _between([_op("/", a.low, b.low), _op("/", a.high, b.low)], nan or not a.bounded)
    return UNKNOWN


def _least(type: Type, a: FloatInterval, b: FloatInterval) -> FloatInterval:
    return FloatInterval(_outer("min", a.low, b.low), _inner("min", a.high, b.high), a.nan or b.nan)


def _greatest(type: Type, a: FloatInterval, b: FloatInterval) -> FloatInterval:
    return FloatInterval(_inner("max", a.low, b.low), _outer("max", a.high, b.high), a.nan or b.nan)


def _negated(type: Type, a: FloatInterval) -> FloatInterval:
    return FloatInterval(_op("neg", a.high), _op("neg", a.low), a.nan)


def _absolute(type: Type, a: FloatInterval) -> FloatInterval:
    if nonnegative(a.low):
        return a
    mirrored = _op("neg", a.high)
    low = _inner("max", _inner("max", a.low, mirrored), _zero(type))
    return FloatInterval(low, _outer("max", _op("neg", a.low), a.high), a.nan)


def _float_cast(type: Type, a: FloatInterval) -> FloatInterval:
    return FloatInterval(_cast(type, a.low), _cast(type, a.high), a.nan)


_OPERATIONS: dict[str, Callable[..., FloatInterval]] = {
    "/": _quotient, "min": _least, "max": _greatest, "neg": _negated, "abs": _absolute, "cast": _float_cast,
}  # fmt: skip
_ROUNDINGS = frozenset({"floor", "ceil", "round", "trunc"})
_WITHIN = {
    "sin": (-1.0, 1.0), "cos": (-1.0, 1.0), "tanh": (-1.0, 1.0), "erf": (-1.0, 1.0), "atan": (-2.0, 2.0),
    "atan2": (-4.0, 4.0), "fast_sin": (-1.0, 1.0), "fast_cos": (-1.0, 1.0),
}  # fmt: skip
"""Functions that never leave an interval. Angles lie within less."""


def _square_root(type: Type, a: FloatInterval) -> FloatInterval:
    if nonnegative(a.low):
        return FloatInterval(_call("sqrt", a.low), _call("sqrt", a.high), a.nan)
    zero = _zero(type)
    high = None if a.high is None else _op("max", a.high, zero)
    return FloatInterval(_call("sqrt", _inner("max", a.low, zero)), _call("sqrt", high), True)


def _exponential(type: Type, a: FloatInterval) -> FloatInterval:
    low, high = _scaled(_call("exp", a.low), 1 - _margin(type)), _scaled(_call("exp", a.high), 1 + _margin(type))
    return FloatInterval(_zero(type) if low is None else low, high, a.nan)


def _logarithm(type: Type, a: FloatInterval) -> FloatInterval:
    """Where an end that is no constant is not above 0, neither is its logarithm finite, and so refused."""
    low, high = _call("log", a.low), _call("log", a.high)
    slack = [None if end is None else _scaled(_op("abs", end), _margin(type)) for end in (low, high)]
    return FloatInterval(_op("-", low, slack[0]), _op("+", high, slack[1]), a.nan or low is None)


def _fused(type: Type, a: FloatInterval, b: FloatInterval, c: FloatInterval) -> FloatInterval:
    """Of fma(a, b, c): not from the interval of the product, whose ends are rounded where this rounds once."""
    factors = [(x, y) for x in dict.fromkeys((a.low, a.high)) for y in dict.fromkeys((b.low, b.high))]
    nan = a.nan or b.nan or c.nan or not (a.bounded and b.bounded)
    least, most = (_between([_call("fma", x, y, end) for x, y in factors], nan) for end in (c.low, c.high))
    return FloatInterval(least.low, most.high, nan)


_FUNCTIONS: dict[str, Callable[..., FloatInterval]] = {
    "sqrt": _square_root, "exp": _exponential, "log": _logarithm, "fma": _fused,
}  # fmt: skip
