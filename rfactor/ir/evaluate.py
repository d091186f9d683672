"""What expressions mean, on NumPy arrays: the reference that compiled evaluators, provers and code are held against.

Under `wrap` integers are arrays of their own type and floats follow IEEE 754. Under `math` integers are Python integers
in object arrays. With `floats="real"`, floats are `Fraction`s, or ±inf as Python floats, in object arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import Context
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rfactor.ir import bfloat, fused
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.meaning import Meaning
from rfactor.ir.routines import PARAMETERS, routine
from rfactor.ir.types import Type
from rfactor.ir.unknown import sampled

Array = NDArray[Any]
Floats = Literal["ieee", "real"]


_QUIET = Context()
"""A context in which NumPy says nothing of overflows and divisions by zero: quicker to take than `errstate`."""
_QUIET.run(np.seterr, all="ignore")


@cache
def dtype_of(type: Type) -> np.dtype[Any]:
    """The NumPy type in which values of one lane are held: f32 for bf16 (see `held`), which NumPy has not."""
    if type.is_bfloat:
        return np.dtype(np.float32)
    return np.dtype("bool" if type.is_bool else f"{type.code[0]}{type.bits // 8}")


@cache
def stored_dtype_of(type: Type) -> np.dtype[Any]:
    """The NumPy type of an array in memory whose elements are of `type`."""
    return bfloat.STORED if type.is_bfloat else dtype_of(type)


def held(type: Type, values: Array) -> Array:
    """Numbers, not objects, as `type` holds them: floats are rounded once."""
    return bfloat.rounded(values) if type.is_bfloat else values.astype(dtype_of(type))


def evaluate(expr: Expr, env: Mapping[str, Array], meaning: Meaning = Meaning.WRAP, floats: Floats = "ieee") -> Array:
    """The value of `expr` where each variable has the array in `env` (all broadcast together).

    Arrays have the variable's dtype, or hold Python integers, `Fraction`s and floats where the meaning is unbounded or
    real. Unknown functions are those that samples take; calls of Funcs and images have no value: `KeyError`.
    """
    return _QUIET.copy().run(_Evaluator(env, meaning, floats).visit, expr)


def evaluate_all(
    exprs: Sequence[Expr], env: Mapping[str, Array], meaning: Meaning = Meaning.WRAP, floats: Floats = "ieee"
) -> Iterator[Array]:
    """The values of several expressions as `evaluate` gives them; what they share is computed once, each when asked."""
    evaluator = _Evaluator(env, meaning, floats)
    for expr in exprs:
        yield _QUIET.copy().run(evaluator.visit, expr)


def spread(values: Array, size: int) -> Array:
    """Values that are the same everywhere, or one for each of `size` places, as one for each."""
    return values if values.shape == (size,) else np.broadcast_to(values, (size,))


def evaluate_scalar(expr: Expr, env: Mapping[str, Value], meaning: Meaning = Meaning.WRAP) -> Value:
    """The value of `expr` at one point; Python values in and out."""
    arrays: dict[str, Array] = {}
    for var_name, value in env.items():
        arrays[var_name] = np.array([value], dtype=object)
    return to_value(evaluate(_typed_env(expr, arrays, meaning), arrays, meaning)[0])


def _typed_env(expr: Expr, arrays: dict[str, Array], meaning: Meaning) -> Expr:
    """Give the arrays of `expr`'s variables the dtype that `meaning` asks for."""
    from rfactor.ir.expr import variables

    for var in variables(expr):
        if var.name in arrays:
            arrays[var.name] = as_array(var.type, arrays[var.name], meaning)
    return expr


def as_array(type: Type, values: Any, meaning: Meaning = Meaning.WRAP, floats: Floats = "ieee") -> Array:
    """`values` (a sequence of Python numbers) as the array that `evaluate` works on for `type`."""
    if type.is_float and floats == "real":
        return _objects([_real(value) for value in values])
    if type.is_int and meaning is Meaning.MATH:
        return _objects([int(value) for value in values])
    with np.errstate(all="ignore"):
        array = np.asarray(values)
        if type.is_bfloat and array.dtype == object:
            return np.array([bfloat.nearest(value) for value in array.tolist()], dtype=np.float32)
        return held(type, array)


def to_value(value: Any) -> Value:
    """A Python bool, int or float (or `Fraction`, as is) from an array's element."""
    if isinstance(value, np.generic):
        result: Value = value.item()
        return result
    return value  # type: ignore[no-any-return]


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _real(value: Any) -> Any:
    number = value if isinstance(value, Fraction | int) else float(value)
    return number if isinstance(number, float) and not math.isfinite(number) else Fraction(number)


@lru_cache(maxsize=1024)
def _constant(expr: Const, boxed: bool) -> Array:
    """A constant as an array of one element, which nothing may write to."""
    if boxed:
        array = _objects([_real(expr.value) if expr.type.is_float else int(expr.value)])
    else:
        with np.errstate(all="ignore"):
            array = np.asarray([expr.value]).astype(dtype_of(expr.type))
    array.flags.writeable = False
    return array


class _Evaluator:
    def __init__(self, env: Mapping[str, Array], meaning: Meaning, floats: Floats) -> None:
        self.env, self.meaning, self.floats = env, meaning, floats
        self.boxes = meaning is Meaning.MATH or floats == "real"
        self.memo: dict[Expr, Array] = {}

    def boxed(self, type: Type) -> bool:
        """Whether values of `type` are Python objects here."""
        return (type.is_int and self.meaning is Meaning.MATH) or (type.is_float and self.floats == "real")

    def visit(self, expr: Expr) -> Array:
        memo = self.memo
        for node in walk(expr):
            if node not in memo:
                memo[node] = self.compute(node)
        return memo[expr]

    def compute(self, expr: Expr) -> Array:
        """The value of a node whose operands have theirs."""
        kind = type(expr)
        if kind is Op:
            memo, op, operands = self.memo, expr.op, expr.args  # type: ignore[attr-defined]
            args = [memo[arg] for arg in operands]
            if op == "select":
                condition = args[0]
                return np.where(condition if condition.dtype == bool else condition.astype(bool), args[1], args[2])
            if op == "cast":
                return self.cast(args[0], operands[0].type, expr.type)
            operand = operands[0].type
            if self.boxes and self.boxed(operand):
                return _boxed(op, operand, args)
            result = NATIVE[op](operand, *args)
            if expr.type.is_bfloat and result.dtype == np.float32:  # wider ones stand for reals, as of other types
                return bfloat.rounded(result)
            return result
        if kind is Var:
            return self.env[expr.name]  # type: ignore[attr-defined]
        if isinstance(expr, Const):
            return _constant(expr, self.boxed(expr.type))
        if isinstance(expr, Call) and expr.kind == "intrinsic":
            args = [self.memo[arg] for arg in expr.args]
            return _intrinsic(expr, args, self.boxed(expr.type))
        if isinstance(expr, Call) and expr.kind == "unknown":
            return self.unknown(expr, [self.memo[arg] for arg in expr.args])
        raise KeyError(f"{expr} has no value by itself")

    def unknown(self, expr: Call, args: list[Array]) -> Array:
        """The function that samples take, element by element."""
        rows = _rows(args)
        values = [sampled(expr.name, expr.type, self.meaning, row) for row in rows]
        if not self.boxed(expr.type):
            return as_array(expr.type, values, self.meaning)
        return _objects([_real(v) for v in values] if expr.type.is_float else values)

    def cast(self, value: Array, old: Type, new: Type) -> Array:
        if new.is_bool:
            return np.asarray(value != 0, dtype=bool)
        if new.is_int and self.meaning is Meaning.MATH:
            if old.is_float:
                return _objects([_truncate(v) for v in value.tolist()])
            return _objects([int(v) for v in value.tolist()])
        if new.is_float and self.floats == "real":
            return _objects([_real(v) for v in value.tolist()])
        if old.is_float and new.is_int:
            return _saturate(value, new)
        if new.is_float and value.dtype == object:
            return as_array(new, value) if new.is_bfloat else _doubles(value).astype(dtype_of(new))
        return held(new, value)


def _rows(args: list[Array]) -> Iterator[tuple[Any, ...]]:
    """The values of arrays, element by element."""
    return zip(*(arg.tolist() for arg in np.broadcast_arrays(*args)), strict=True)


def nearest(value: Any) -> float:
    """A number of any size as a double: infinite beyond the greatest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _doubles(values: Array) -> Array:
    """Numbers of any size as doubles."""
    return np.array([nearest(v) for v in values.tolist()]) if values.dtype == object else values.astype(np.float64)


def _truncate(value: Any) -> int:
    if isinstance(value, float) and not math.isfinite(value):
        return 0 if math.isnan(value) else (1 << 64) * (1 if value > 0 else -1)
    return int(value)


def _saturate(value: Array, new: Type) -> Array:
    """Float to integer: truncated, saturated, NaN gives 0."""
    wide = np.trunc(_doubles(value))
    low, high = float(new.min), float(new.max)
    inside = (wide >= low) & (wide < high if new.bits == 64 else wide <= high)
    result = np.where(inside, wide, 0.0).astype(dtype_of(new))
    result = np.where(~inside & (wide > 0), dtype_of(new).type(new.max), result)
    return np.where(~inside & (wide < 0), dtype_of(new).type(new.min), result)


def _quotient(type: Type, a: Array, b: Array) -> Array:
    """The quotient whose remainder is not negative; 0 where b is 0."""
    if np.all(b > 0):
        return np.asarray(np.floor_divide(a, b))
    zero = a.dtype.type(0)
    if a.dtype.kind == "u":
        return np.where(b == 0, zero, np.floor_divide(a, np.where(b == 0, b.dtype.type(1), b)))
    rest = _remainder(type, a, b)
    safe = np.where((b == 0) | (b == -1), b.dtype.type(1), b)
    quotient = np.floor_divide(a, safe)  # rounded down, which is one too low where the remainder would be negative
    quotient = np.where((safe < 0) & (rest != 0), quotient + a.dtype.type(1), quotient)
    return np.where(b == 0, zero, np.where(b == -1, np.negative(a), quotient))


def _remainder(type: Type, a: Array, b: Array) -> Array:
    """The remainder, 0 <= remainder < |b|; 0 where b is 0."""
    if np.all(b > 0):
        return np.asarray(np.remainder(a, b))
    none = (b == 0) | (b == -1) if a.dtype.kind == "i" else b == 0
    safe = np.where(none, b.dtype.type(1), b)
    rest = np.remainder(a, safe)  # has the sign of the divisor
    return np.where(none, a.dtype.type(0), np.where(rest < 0, rest - safe, rest))


def _shift_left(a: Array, count: Array) -> Array:
    bits = a.dtype.itemsize * 8
    shifted: Array = np.left_shift(a, np.where(count >= bits, 0, count).astype(a.dtype))
    return np.where(count >= bits, a.dtype.type(0), shifted)


def _shift_right(a: Array, count: Array) -> Array:
    bits = a.dtype.itemsize * 8
    beyond = np.where(a < 0, a.dtype.type(-1), a.dtype.type(0)) if a.dtype.kind == "i" else a.dtype.type(0)
    shifted: Array = np.right_shift(a, np.where(count >= bits, 0, count).astype(a.dtype))
    return np.where(count >= bits, beyond, shifted)


def _shift(left: bool, a: Array, count: Array) -> Array:
    toward, away = (_shift_left, _shift_right) if left else (_shift_right, _shift_left)
    if a.dtype.kind == "u":
        return toward(a, count)
    bits = a.dtype.itemsize * 8
    back = np.where(count <= -bits, bits, -np.maximum(count, -bits)).astype(np.int64)
    return np.where(count < 0, away(a, np.minimum(back, 127).astype(a.dtype)), toward(a, np.maximum(count, 0)))


def _float_extremum(least: bool, a: Array, b: Array) -> Array:
    """IEEE 754-2019 minimum or maximum: NaN wins, and -0 is below +0."""
    tie = np.where(np.signbit(a) == least, a, b)
    better = np.where(a < b, a, b) if least else np.where(a > b, a, b)
    chosen = np.where(a == b, tie, better)
    return np.where(np.isnan(a), a, np.where(np.isnan(b), b, chosen))


def _extremum(least: bool) -> Callable[..., Array]:
    def rule(type: Type, a: Array, b: Array) -> Array:
        if type.is_float:
            return _float_extremum(least, a, b)
        result: Array = np.minimum(a, b) if least else np.maximum(a, b)
        return result

    return rule


def _ufunc(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda type, *args: function(*args)


NATIVE: dict[str, Callable[..., Array]] = {
    "+": _ufunc(np.add),
    "-": _ufunc(np.subtract),
    "*": _ufunc(np.multiply),
    "/": _ufunc(np.divide),
    "//": _quotient,
    "%": _remainder,
    "min": _extremum(True),
    "max": _extremum(False),
    "neg": _ufunc(np.negative),
    "abs": _ufunc(np.abs),
    "&": _ufunc(np.bitwise_and),
    "|": _ufunc(np.bitwise_or),
    "^": _ufunc(np.bitwise_xor),
    "~": _ufunc(np.invert),
    "<<": lambda type, a, b: _shift(True, a, b),
    ">>": lambda type, a, b: _shift(False, a, b),
    "<": _ufunc(np.less),
    "<=": _ufunc(np.less_equal),
    ">": _ufunc(np.greater),
    ">=": _ufunc(np.greater_equal),
    "==": _ufunc(np.equal),
    "!=": _ufunc(np.not_equal),
    "and": _ufunc(np.logical_and),
    "or": _ufunc(np.logical_or),
    "not": _ufunc(np.logical_not),
}
"""Every operation on arrays of the machine's types: (type of the first operand, operands) to result."""


def _unbounded_shift(value: int, count: int) -> int:
    if count >= 0:
        return value << min(count, 4096)
    return value >> min(-count, 4096)


def _real_divide(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and b != 0:
        return a / b
    a, b = nearest(a), nearest(b)
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return _real(a / b)


def _real_times(a: Any, b: Any) -> Any:
    return a * b if isinstance(a, Fraction) and isinstance(b, Fraction) else _real(nearest(a) * nearest(b))


def _real_plus(a: Any, b: Any) -> Any:
    return a + b if isinstance(a, Fraction) and isinstance(b, Fraction) else _real(nearest(a) + nearest(b))


def _least(a: Any, b: Any) -> Any:
    return a if a != a or (b == b and a <= b) else b


def _greatest(a: Any, b: Any) -> Any:
    return a if a != a or (b == b and a >= b) else b


_BOXED_REAL: dict[str, Callable[..., Any]] = {
    "+": _real_plus, "-": lambda a, b: _real_plus(a, -b), "*": _real_times, "/": _real_divide,
    "min": _least, "max": _greatest, "neg": lambda a: -a, "abs": abs,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip
_BOXED_INTEGER: dict[str, Callable[..., Any]] = {
    "//": lambda a, b: 0 if b == 0 else (a - a % abs(b)) // b,
    "%": lambda a, b: 0 if b == 0 else a % abs(b),
    "<<": _unbounded_shift, ">>": lambda a, b: _unbounded_shift(a, -b),
}  # fmt: skip


_OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "neg": np.negative, "abs": np.abs,
    "min": np.minimum, "max": np.maximum, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
"""Operations on Python integers in arrays, which NumPy calls one by one."""


def _boxed(op: str, type: Type, args: list[Array]) -> Array:
    """An operation on object arrays of unbounded integers or extended reals."""
    if type.is_int and op in _OF_INTEGERS:
        result: Array = _OF_INTEGERS[op](*(arg if arg.dtype == object else arg.astype(object) for arg in args))
        return result
    rows = _rows(args)
    if op == "~":
        top = type.max if type.code == "uint" else -1
        return _objects([top - value for (value,) in rows])
    function = (_BOXED_REAL if type.is_float else _BOXED_INTEGER)[op]
    values = [function(*row) for row in rows]
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return np.array(values, dtype=bool)
    return _objects(values)


def _round_half_even(value: Array) -> Array:
    return np.asarray(np.rint(value))


def _width(value: Array) -> int:
    return value.dtype.itemsize * 8


def _leading_zeros(value: Array) -> Array:
    """Bits above the highest one, counted by filling everything below it."""
    filled = np.asarray(value.view(f"u{value.dtype.itemsize}"))
    shift = 1
    while shift < _width(value):
        filled = filled | (filled >> filled.dtype.type(shift))
        shift *= 2
    return np.asarray(_width(value) - np.bitwise_count(filled))


def _trailing_zeros(value: Array) -> Array:
    """Bits below the lowest one: those that `value - 1` has and `value` has not."""
    word = np.asarray(value.view(f"u{value.dtype.itemsize}"))
    return np.asarray(np.bitwise_count(~word & (word - word.dtype.type(1))))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "fast_sin": np.sin, "fast_cos": np.cos,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": np.vectorize(math.erf, otypes=[float]),
    "floor": np.floor, "ceil": np.ceil, "round": _round_half_even, "trunc": np.trunc, "pow": np.power,
    "popcount": lambda value: np.bitwise_count(value.view(f"u{value.dtype.itemsize}")),
    "count_leading_zeros": _leading_zeros, "count_trailing_zeros": _trailing_zeros,
}  # fmt: skip
"""The rows of `INTRINSICS` on arrays; what reinterprets bits is `view`."""


def _intrinsic(expr: Call, args: list[Array], boxed: bool) -> Array:
    """A function of floats, exact for sqrt and the roundings, as `routines` rounds it where it has it, else as NumPy
    does; or of bits.

    Where integers are unbounded their bits are counted as a value of their type holds them; an infinity has none, so
    NaN is its count. Raises `KeyError` for other functions of bits of unbounded numbers.
    """
    row, type = INTRINSICS[expr.name], expr.type
    if row.takes == "integer" and args[0].dtype == object:
        values = args[0].tolist()
        finite = [not isinstance(v, float) or math.isfinite(v) for v in values]
        wrapped = np.array([type.wrap(int(v)) if f else 0 for v, f in zip(values, finite, strict=True)], dtype_of(type))
        counts = _FUNCTIONS[row.name](wrapped).tolist()
        return _objects([int(c) if f else math.nan for c, f in zip(counts, finite, strict=True)])
    if row.name == fused.NAME:
        return _objects([_real_plus(_real_times(a, b), c) for a, b, c in _rows(args)]) if boxed else fused.fused(*args)
    if row.takes not in ("real", "single"):
        if any(arg.dtype == object for arg in args):
            raise KeyError(f"{expr} is about bits, and has no meaning over unbounded numbers")
        if row.takes == "bits":
            operand = expr.args[0].type
            bits = bfloat.words(args[0]) if operand.is_bfloat else args[0]
            return bfloat.of_words(bits.view(np.uint16)) if type.is_bfloat else bits.view(dtype_of(type))
        counted: Array = _FUNCTIONS[row.name](*args).astype(dtype_of(type))
        return counted
    arithmetic = None if boxed or type.bits == 64 else routine(row.name)
    if arithmetic is not None:
        singles = {parameter.name: arg.astype(np.float32) for parameter, arg in zip(PARAMETERS, args, strict=False)}
        return held(type, evaluate(arithmetic.value, singles))
    native = [_doubles(arg) if boxed else arg for arg in args]
    result: Array = _FUNCTIONS[row.name](*native)
    return _objects([_real(v) for v in result.tolist()]) if boxed else held(type, result)
