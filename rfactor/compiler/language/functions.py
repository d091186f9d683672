"""The functions of the language: casts, extremes, choices and interpolation.

Functions of floats are in `mathematics`, those of integers and their bits in `integers`.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import inf, isfinite

from rfactor.compiler.language.expr import (
    Expr,
    ExprLike,
    as_expr,
    converted,
    is_sequence,
    is_signed_constant,
    joined,
    promoted,
    together,
    typed_binary,
)
from rfactor.compiler.language.numbers import number_of
from rfactor.compiler.language.told import tell
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.types import Type, meant
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import types as T

# -- extremes --------------------------------------------------------------------------------------------------------


def min(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The least of two or more values. A number is i32 or f32: `min(u8(x), 3)` is i32."""
    return _extreme("min", a, b, *more)


def max(a: ExprLike, b: ExprLike, *more: ExprLike) -> Expr:
    """The greatest of two or more values. A number is i32 or f32: `max(u8(x), 3)` is i32."""
    return _extreme("max", a, b, *more)


def _extreme(op: str, first: ExprLike, *rest: ExprLike) -> Expr:
    return typed_binary(op, *together(first, _extreme(op, *rest))) if rest else as_expr(first)


def clamp(value: ExprLike, low: ExprLike, high: ExprLike) -> Expr:
    """`value` held between `low` and `high`, which its type must hold; `low` where those cross.

    Raises `TypeMismatch`.
    """
    held = as_expr(value)
    type_ = held.node.type
    ends = []
    for what, end in (("low", low), ("high", high)):
        bound = as_expr(end)
        if not (isinstance(bound.node, ir.Const) or can_represent(type_, bound.node.type)):
            raise TypeMismatch(
                f"clamp of {held}, which is {type_}: its {what} end {bound} is {bound.node.type}; write {type_}(…)"
            )
        ends.append(_constant_as(type_, bound))
    least, most = ends
    return Expr(ir.clamp(held.node, least.node, most.node), joined(held, least, most))


def _constant_as(type: T.Type, value: Expr) -> Expr:
    """`value` as `type`. Raises `TypeMismatch` for a constant that the type does not hold."""
    node = value.node
    if not isinstance(node, ir.Const):
        return converted(type, value)
    if type.is_float:
        held = ir.const(type, node.value)
        if not node.type.is_float and held.value != node.value:
            raise TypeMismatch(f"{node.value} is no {type}, the nearest is {held.value}: write {type}({node.value})")
        return Expr(held, value.uses)
    if node.type.is_float and not builtins.float(node.value).is_integer():
        raise TypeMismatch(f"{node.value} is no {type}: write a whole number, or clamp {promoted(type, node.type)}(…)")
    if type.is_bool and node.value not in (0, 1):
        raise TypeMismatch(f"{node.value} is no bool: clamp a number, as i32(…) of it")
    return Expr(ir.Const(type, builtins.int(node.value)), value.uses)


def can_represent(type: T.Type, other: T.Type) -> bool:
    """Whether every value of `other` is one of `type`."""
    if type == other:
        return True
    if type.is_float:
        width = other.bits - (other.code == "int")
        if other.is_float:
            return type.holds(other)
        return width <= type.digits and not type.is_bfloat  # of which Halide says so of no integers
    return not other.is_float and type.min <= other.min and other.max <= type.max


def abs(value: ExprLike) -> Expr:
    """The magnitude; of a signed integer as the unsigned type of its width, as in Halide."""
    held = as_expr(value)
    type_ = held.node.type
    if type_.code in ("uint", "bool"):
        tell("Warning: abs of an unsigned type is a no-op")
        return held
    magnitude = Expr(ir.apply("abs", held.node), held.uses)
    return cast(Type(T.Type("uint", type_.bits)), magnitude) if type_.code == "int" else magnitude


def absd(a: ExprLike, b: ExprLike) -> Expr:
    """The distance between two values; of integers as an unsigned type, of truth values as one."""
    left, right = together(a, b)
    type_ = left.node.type
    if type_.is_float:
        return abs(left - right)
    if type_.is_bool:
        return left != right
    unsigned = Type(T.Type("uint", type_.bits))
    return _select(left < right, cast(unsigned, right - left), cast(unsigned, left - right))


# -- choices ---------------------------------------------------------------------------------------------------------


def select(condition: ExprLike, true: ExprLike, false: ExprLike, *more: ExprLike) -> Expr | tuple[Expr, ...]:
    """`true` where `condition` holds, else `false`; further conditions and values follow: `select(c, a, d, b, e)`.

    Tuples are selected component by component, by one condition or a tuple of them. A whole number takes the type of
    the other value. Raises `TypeMismatch` for values of two types.
    """
    if more:
        if len(more) % 2:
            raise TypeMismatch(
                f"select takes conditions and values in turn and a last value, hence an odd number of arguments, "
                f"not {3 + len(more)}"
            )
        if _is_tuple(condition) != _is_tuple(false):
            raise TypeMismatch(
                "select() on Tuples may not mix Expr and Tuple for the condition elements. All are tuples, or none is"
            )
        return select(condition, true, select(false, more[0], more[1], *more[2:]))
    if any(map(_is_tuple, (condition, true, false))):
        left, right = Tuple(true), Tuple(false)
        conditions = list(Tuple(condition)) if _is_tuple(condition) else [condition] * len(left)
        if not len(left) == len(right) == len(conditions):
            raise TypeMismatch(
                "select() on Tuples requires all Tuples to have identical sizes. "
                f"Here are {len(left)} and {len(right)} components and {len(conditions)} conditions"
            )
        return tuple(_select(c, a, b) for c, a, b in zip(conditions, left, right, strict=True))
    return _select(condition, true, false)


def _is_tuple(value: ExprLike) -> bool:
    return is_sequence(value) or (hasattr(value, "components") and value.components() is not None)


def _select(condition: ExprLike, true: ExprLike, false: ExprLike) -> Expr:
    test = as_expr(condition)
    if is_signed_constant(test) and test.node.value in (0, 1):  # type: ignore[attr-defined]
        test = converted(T.BOOL, test)
    if not test.node.type.is_bool:
        raise TypeMismatch(f"the condition {test} is {test.node.type}, not bool: compare it, as in {test} != 0")
    a, b = _alike(as_expr(true), as_expr(false))
    return Expr(ir.select(test.node, a.node, b.node), joined(test, a, b))


def _alike(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Two values to choose between, of one type: a signed integer constant takes the other's. Raises `TypeMismatch`."""
    left, right = a.node.type, b.node.type
    if is_signed_constant(a):
        return converted(right, a), b
    if is_signed_constant(b):
        return a, converted(left, b)
    if left != right:
        raise TypeMismatch(
            f"select between {a} of {left} and {b} of {right}: its values are of one type (a matching type); "
            f"write {promoted(left, right)}(…)"
        )
    return a, b


def mux(index: ExprLike, values: Sequence[ExprLike] | Tuple) -> Expr | Tuple:
    """`values[index]`, the last value for every other index. Of tuples, a tuple.

    Raises `TypeMismatch` for none, and for values of two types.
    """
    choices: list[ExprLike] = list(values if isinstance(values, tuple | list) else Tuple(values))
    if not choices:
        raise TypeMismatch("mux takes one value or more")
    at = as_expr(index)
    if any(map(_is_tuple, choices)):
        rows = [list(Tuple(choice)) for choice in choices]
        if len({len(row) for row in rows}) != 1:
            raise TypeMismatch(f"mux of tuples of {', '.join(str(len(row)) for row in rows)} components")
        return Tuple([_mux(at, column) for column in zip(*rows, strict=True)])
    return _mux(at, choices)


def _mux(index: Expr, choices: Sequence[ExprLike]) -> Expr:
    values = [as_expr(choice) for choice in choices]
    types = {value.node.type: value for value in values}
    if len(types) > 1:
        told = " and ".join(f"{value} of {type}" for type, value in types.items())
        raise TypeMismatch(f"mux requires all the values to have the same type, unlike {told}")
    type_ = index.node.type
    result = values[-1]
    for i in reversed(range(len(values) - 1)):
        if type_.is_float or type_.min <= i <= type_.max:  # others the index never is
            result = _select(index == Expr(ir.const(type_, i)), values[i], result)
    return result


# -- casts -----------------------------------------------------------------------------------------------------------


def cast(type: Type, value: ExprLike) -> Expr:
    """`value` converted to `type`: integers wrap, floats are truncated and saturate, NaN gives 0.

    Bool is one bit wide: the lowest of the whole number.
    """
    held, new = as_expr(value), meant("cast", type)
    constant = _truncated(held.node) if new.is_bool or new.is_int else None
    if constant is not None and (new.is_bool or new.min <= constant <= new.max):
        return Expr(ir.Const(new, constant & 1 == 1 if new.is_bool else constant), held.uses)
    if new.is_bool and not held.node.type.is_bool:
        whole = held if held.node.type.is_int else converted(T.I64, held)
        return (whole & 1) != 0
    return converted(new, held)


def _truncated(node: ir.Expr) -> builtins.int | None:
    """The whole number in i64 that a constant is, rounded towards zero; None where there is none."""
    if not isinstance(node, ir.Const) or not isfinite(node.value):
        return None
    whole = builtins.int(node.value)
    return whole if T.I64.min <= whole <= T.I64.max else None


def saturating_cast(type: Type, value: ExprLike) -> Expr:
    """`value` converted to `type`, held within its range."""
    held = as_expr(value)
    own, new = held.node.type, meant("saturating_cast", type)
    if new.is_bool:
        return held if own.is_bool else held >= 1
    if own.is_float or new.is_float or own.is_bool:
        return cast(type, held)
    if own.min < new.min:
        held = typed_binary("max", held, Expr(ir.Const(own, new.min)))
    if own.max > new.max:
        held = typed_binary("min", held, Expr(ir.Const(own, new.max)))
    return cast(type, held)


def reinterpret(type: Type, value: ExprLike) -> Expr:
    """The bits of `value` read as `type`, which is as wide. Raises `TypeMismatch`."""
    held = as_expr(value)
    own, new = held.node.type, meant("reinterpret", type)
    if own.bits != new.bits:
        raise TypeMismatch(f"reinterpret of {own} as {new} (in {held}): both must have as many bits")
    if own == new:
        return held
    if own.is_int and new.is_int:
        return converted(new, held)
    return Expr(ir.intrinsic(f"reinterpret_{new}", held.node), held.uses)


def _short(type: T.Type, value: ExprLike) -> Expr:
    """A cast to a float type: a number is rounded once."""
    number = number_of(value)
    if number is not None:
        return Expr(ir.const(type, float(ir.const(type, number).value)))
    return cast(Type(type), value)


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
    number = number_of(value)
    if isinstance(number, builtins.int) and T.I64.max < number <= T.U64.max:
        return Expr(ir.Const(T.U64, number))
    return cast(Type(T.U64), value)


def f16(value: ExprLike) -> Expr:
    """`value` as a 16-bit float."""
    return _short(T.F16, value)


def bf16(value: ExprLike) -> Expr:
    """`value` as a 16-bit brain float."""
    return _short(T.BF16, value)


def f32(value: ExprLike) -> Expr:
    """`value` as a 32-bit float."""
    return _short(T.F32, value)


def f64(value: ExprLike) -> Expr:
    """`value` as a 64-bit float."""
    return _short(T.F64, value)


def i8_sat(value: ExprLike) -> Expr:
    """`value` as an 8-bit signed integer, held within its range."""
    return saturating_cast(Type(T.I8), value)


def i16_sat(value: ExprLike) -> Expr:
    """`value` as a 16-bit signed integer, held within its range."""
    return saturating_cast(Type(T.I16), value)


def i32_sat(value: ExprLike) -> Expr:
    """`value` as a 32-bit signed integer, held within its range."""
    return saturating_cast(Type(T.I32), value)


def i64_sat(value: ExprLike) -> Expr:
    """`value` as a 64-bit signed integer, held within its range."""
    return saturating_cast(Type(T.I64), value)


def u8_sat(value: ExprLike) -> Expr:
    """`value` as an 8-bit unsigned integer, held within its range."""
    return saturating_cast(Type(T.U8), value)


def u16_sat(value: ExprLike) -> Expr:
    """`value` as a 16-bit unsigned integer, held within its range."""
    return saturating_cast(Type(T.U16), value)


def u32_sat(value: ExprLike) -> Expr:
    """`value` as a 32-bit unsigned integer, held within its range."""
    return saturating_cast(Type(T.U32), value)


def u64_sat(value: ExprLike) -> Expr:
    """`value` as a 64-bit unsigned integer, held within its range."""
    return saturating_cast(Type(T.U64), value)


# -- interpolation ---------------------------------------------------------------------------------------------------


def lerp(zero: ExprLike, one: ExprLike, weight: ExprLike) -> Expr:
    """`zero` where `weight` is 0, `one` where it is 1, and between them in proportion.

    An unsigned weight counts in units of its type's greatest value. Integers are weighed by whole numbers, in units of
    the greatest value of the unsigned type as wide, and rounded to the nearest, up from the middle. A signed constant
    takes the type of the other value. Of conditions it is `one` where the weight is above a half. Raises `TypeMismatch`
    for values of two types, a signed weight, integers of 64 bits, and a constant weight of integers that is not from 0
    to 1.
    """
    a, b, w = as_expr(zero), as_expr(one), as_expr(weight)
    if is_signed_constant(a):
        a = converted(b.node.type, a)
    if is_signed_constant(b):
        b = converted(a.node.type, b)
    type_, share = a.node.type, w.node.type
    if type_ != b.node.type:
        raise TypeMismatch(f"lerp between {a} of {type_} and {b} of {b.node.type}: numbers of one type are needed")
    if share.code == "int":
        raise TypeMismatch(f"the weight {w} of lerp is {share}: it is an unsigned integer or a float from 0 to 1")
    if type_.is_float:
        part = converted(type_, w)
        if not share.is_float:
            part = part / Expr(ir.const(type_, builtins.float(share.max)))
        return a * (1 - part) + b * part
    if isinstance(w.node, ir.Const) and share.is_float and not 0 <= w.node.value <= 1:
        raise TypeMismatch(
            f"Floating-point weight for lerp with integer arguments is {w.node.value}, which is not in the range "
            f"[0.0, 1.0]: lerp between floats takes any"
        )
    if type_.is_bool:
        half = 0.5 if share.is_float else builtins.int(share.max) // 2
        return _select(w if share.is_bool else w > Expr(ir.const(share, half)), b, a)
    if type_.bits == 64:
        raise TypeMismatch(f"lerp between {a} and {b} of {type_}: products of 64 bits do not fit; cast to a float type")
    wide, unsigned = T.Type("uint", 2 * type_.bits), T.Type("uint", type_.bits)
    whole = builtins.int(unsigned.max)
    # Signed values are moved up by half the range, and down again: the order stays, and so do the steps between.
    up = Expr(ir.Const(unsigned, 0 if type_.code == "uint" else 1 << (type_.bits - 1)))
    low, high = (converted(wide, converted(unsigned, v) ^ up) for v in (a, b))
    part = converted(wide, _whole_weight(unsigned, w))
    mean = (low * (Expr(ir.Const(wide, whole)) - part) + high * part + whole // 2) // Expr(ir.Const(wide, whole))
    narrow = converted(unsigned, mean)
    return converted(type_, narrow ^ up)


def _whole_weight(type: T.Type, weight: Expr) -> Expr:
    """A weight in units of the greatest value of the unsigned `type`, rounded down."""
    own, greatest = weight.node.type, builtins.int(type.max)
    if own.is_float:
        fine = own if type.bits < 32 and own.bits > 16 else T.F64
        return converted(type, converted(fine, weight) * Expr(ir.const(fine, greatest)))
    if own.is_bool:
        return _select(weight, Expr(ir.Const(type, greatest)), Expr(ir.Const(type, 0)))
    if own.bits <= type.bits:
        return converted(type, weight) * Expr(ir.Const(type, greatest // builtins.int(own.max)))
    return converted(type, weight // Expr(ir.Const(own, builtins.int(own.max) // greatest)))


# -- hints -----------------------------------------------------------------------------------------------------------


def likely(x: ExprLike) -> Expr:
    """`x`: a hint that needs no heeding, guards of loops are partitioned anyway."""
    return as_expr(x)


def likely_if_innermost(x: ExprLike) -> Expr:
    """`x`: see `likely`."""
    return as_expr(x)


def strict_float(x: ExprLike) -> Expr:
    """`x`: float arithmetic is never relaxed, but for reassociation where `rfactor` was asked for."""
    return as_expr(x)


def unsafe_promise_clamped(value: ExprLike, low: ExprLike, high: ExprLike) -> Expr:
    """`value`, which the caller promises to lie between `low` and `high`: it is held there, so no promise is needed.

    `Expr()` is no end.
    """
    type_ = as_expr(value).node.type
    ends = (-inf, inf) if type_.is_float else (type_.min, type_.max)
    missing = (isinstance(end, Expr) and not end.defined() for end in (low, high))
    low, high = (
        Expr(ir.Const(type_, limit)) if absent else end
        for absent, end, limit in zip(missing, (low, high), ends, strict=True)
    )
    return clamp(value, low, high)


def logical_not(x: ExprLike) -> Expr:
    """The negation of a condition."""
    return as_expr(x).logical_not()
