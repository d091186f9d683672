"""The functions of the language: `select`, `min`, `clamp`, casts, and functions of floats."""

from __future__ import annotations

from rfactor.compiler.language.expr import (
    Expr,
    ExprLike,
    as_expr,
    binary,
    converted,
    intrinsic,
    is_number,
    joined,
    matched,
)
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.types import Type
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import types as T


def min(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The least of two or more values."""
    return _extreme("min", a, b, *more)


def max(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The greatest of two or more values."""
    return _extreme("max", a, b, *more)


def _extreme(op: str, a: ExprLike, *rest: ExprLike) -> Expr:
    result = a
    for value in rest:
        result = binary(op, result, value)
    return as_expr(result)


def clamp(value: ExprLike, low: ExprLike, high: ExprLike) -> Expr:
    """`value` held between `low` and `high`, which are converted to its type; `low` where those cross."""
    held = as_expr(value)
    type_ = held.node.type
    least, most = (converted(type_, as_expr(end, type_ if is_number(end) else None)) for end in (low, high))
    return Expr(ir.clamp(held.node, least.node, most.node), joined(held, least, most))


def select(condition: ExprLike, true: ExprLike, false: ExprLike, *more: ExprLike) -> Expr | Tuple:
    """`true` where `condition` holds, else `false`; further conditions and values follow as in Halide.

    Tuples are selected component by component. Raises `TypeMismatch`.
    """
    if more:
        return select(condition, true, select(false, more[0], more[1], *more[2:]))
    if isinstance(true, Tuple | tuple) or isinstance(false, Tuple | tuple):
        left, right = Tuple(true), Tuple(false)
        if len(left) != len(right):
            raise TypeMismatch(f"select between tuples of {len(left)} and {len(right)} components")
        conditions = list(Tuple(condition)) if isinstance(condition, Tuple | tuple) else [condition] * len(left)
        return Tuple([_select(c, a, b) for c, a, b in zip(conditions, left, right, strict=True)])
    return _select(condition, true, false)


def _select(condition: ExprLike, true: ExprLike, false: ExprLike) -> Expr:
    test = as_expr(condition)
    a, b = matched(true, false)
    if not test.node.type.is_bool:
        raise TypeMismatch(f"the condition {test} is {test.node.type}, not bool: compare it, as in {test} != 0")
    return Expr(ir.select(test.node, a.node, b.node), joined(test, a, b))


def mux(index: ExprLike, values: list[ExprLike] | tuple[ExprLike, ...] | Tuple) -> Expr:
    """`values[index]`, the last value for every other index."""
    choices = list(values)
    result = as_expr(choices[-1])
    for i in reversed(range(len(choices) - 1)):
        result = _select(as_expr(index) == i, choices[i], result)
    return result


def cast(type: Type, value: ExprLike) -> Expr:
    """`value` converted to `type`: integers wrap, floats are truncated and saturate, NaN gives 0."""
    if isinstance(value, Expr):
        return Expr(ir.cast(type.ir, value.node), value.uses)
    return converted(type.ir, as_expr(value, type.ir if _holds(type.ir, value) else None))


def _holds(type: T.Type, number: ExprLike) -> bool:
    if not is_number(number) or hasattr(number, "dtype"):
        return False
    if type.is_float:
        return True
    return not isinstance(number, float) and int(type.min) <= int(number) <= int(type.max)


def saturating_cast(type: Type, value: ExprLike) -> Expr:
    """`value` converted to `type`, held within its range."""
    held = as_expr(value)
    own, new = held.node.type, type.ir
    if own.is_float or new.is_float or own.is_bool:
        return cast(type, held)
    low, high = new.min, new.max
    if own.min < low:
        held = binary("max", held, Expr(ir.Const(own, low)))
    if own.max > high:
        held = binary("min", held, Expr(ir.Const(own, high)))
    return cast(type, held)


def i8(value: ExprLike) -> Expr:
    """`value` as an 8-bit signed integer."""
    return cast(Type(T.I8), value)


def i16(value: ExprLike) -> Expr:
    """`value` as a 16-bit signed integer."""
    return cast(Type(T.I16), value)


def i32(value: ExprLike) -> Expr:
    """`value` as a 32-bit signed integer."""
    return cast(Type(T.I32), value)


def i64(value: ExprLike) -> Expr:
    """`value` as a 64-bit signed integer."""
    return cast(Type(T.I64), value)


def u8(value: ExprLike) -> Expr:
    """`value` as an 8-bit unsigned integer."""
    return cast(Type(T.U8), value)


def u16(value: ExprLike) -> Expr:
    """`value` as a 16-bit unsigned integer."""
    return cast(Type(T.U16), value)


def u32(value: ExprLike) -> Expr:
    """`value` as a 32-bit unsigned integer."""
    return cast(Type(T.U32), value)


def u64(value: ExprLike) -> Expr:
    """`value` as a 64-bit unsigned integer."""
    return cast(Type(T.U64), value)


def f16(value: ExprLike) -> Expr:
    """`value` as a 16-bit float."""
    return cast(Type(T.F16), value)


def f32(value: ExprLike) -> Expr:
    """`value` as a 32-bit float."""
    return cast(Type(T.F32), value)


def f64(value: ExprLike) -> Expr:
    """`value` as a 64-bit float."""
    return cast(Type(T.F64), value)


def abs(value: ExprLike) -> Expr:
    """The magnitude; of a signed integer as the unsigned type of its width, as in Halide."""
    held = as_expr(value)
    type_ = held.node.type
    if type_.code == "uint":
        return held
    magnitude = Expr(ir.apply("abs", held.node), held.uses)
    return cast(Type(T.Type("uint", type_.bits)), magnitude) if type_.code == "int" else magnitude


def absd(a: ExprLike, b: ExprLike) -> Expr:
    """The distance between two values; of integers as an unsigned type."""
    left, right = matched(a, b)
    type_ = left.node.type
    if type_.is_float:
        return abs(left - right)
    unsigned = Type(T.Type("uint", type_.bits))
    return _select(left < right, cast(unsigned, right - left), cast(unsigned, left - right))


def exp(x: ExprLike) -> Expr:
    """e to the power x."""
    return intrinsic("exp", x)


def log(x: ExprLike) -> Expr:
    """The natural logarithm."""
    return intrinsic("log", x)


def sqrt(x: ExprLike) -> Expr:
    """The square root."""
    return intrinsic("sqrt", x)


def sin(x: ExprLike) -> Expr:
    """The sine."""
    return intrinsic("sin", x)


def cos(x: ExprLike) -> Expr:
    """The cosine."""
    return intrinsic("cos", x)


def tan(x: ExprLike) -> Expr:
    """The tangent."""
    return intrinsic("tan", x)


def tanh(x: ExprLike) -> Expr:
    """The hyperbolic tangent."""
    return intrinsic("tanh", x)


def floor(x: ExprLike) -> Expr:
    """Rounded down, as a float."""
    return intrinsic("floor", x)


def ceil(x: ExprLike) -> Expr:
    """Rounded up, as a float."""
    return intrinsic("ceil", x)


def round(x: ExprLike) -> Expr:
    """Rounded to the nearest, as a float."""
    return intrinsic("round", x)


def trunc(x: ExprLike) -> Expr:
    """Rounded towards zero, as a float."""
    return intrinsic("trunc", x)


def pow(x: ExprLike, y: ExprLike) -> Expr:
    """x to the power y."""
    return intrinsic("pow", x, y)


def likely(x: ExprLike) -> Expr:
    """`x`: a hint that needs no heeding, guards of loops are partitioned anyway."""
    return as_expr(x)
