"""Python and NumPy numbers as constants of the language: of which type, and whether it holds them."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import types as T


def number_of(value: Any) -> bool | int | float | None:
    """A Python or NumPy number (bool included), also in an array without dimensions, as Python's; None for the rest.

    One wider than f64 is rounded to that.
    """
    if isinstance(value, bool | int | float):
        return value
    if getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return None
    dtype = getattr(value, "dtype", None)
    if getattr(dtype, "name", "") == "bfloat16":  # of the package `ml_dtypes`
        return float(value)
    held: Any = value.item() if getattr(dtype, "kind", "f") in "biuf" else None
    return held if isinstance(held, bool | int | float) else float(held) if hasattr(held, "__float__") else None


def is_number(value: object) -> bool:
    """Whether it is a Python or NumPy number (bool included)."""
    return number_of(value) is not None


def warn_of_rounding(number: float) -> None:
    """Warn, at the user's line, of a number that f32 does not hold: it is rounded, beside an operand of f64 too."""
    if number != number or ir.const(T.F32, number).value == number:
        return
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("rfactor."):
        frame, level = frame.f_back, level + 1
    warnings.warn(
        f"The floating-point value {number:.17f} will be interpreted as a float32 by Halide and lose precision; add an "
        "explicit `f32()` or `f64()`` cast to avoid this warning.",
        RuntimeWarning,
        stacklevel=level,
    )


def literal(number: bool | int | float, type: T.Type | None = None) -> ir.Const:
    """A number as a constant of `type` (by default i32, f32 or bool). Raises `TypeMismatch` if it does not fit."""
    if type is None:
        type = T.BOOL if isinstance(number, bool) else T.F32 if isinstance(number, float) else T.I32
        if type == T.I32 and not is_i32(int(number)):
            type = T.I64
    if isinstance(number, float) and not type.is_float:
        raise TypeMismatch(f"{number} is no {type}: write f32({number}) or cast the other operand to a float type")
    if type.is_bool and number not in (0, 1):
        raise TypeMismatch(f"{number} is no bool: compare with 0 instead")
    return ir.const(type, number)


def whole_number(value: Any) -> Any:
    """A whole number or a truth value, of Python's or NumPy's, as Python's `int`; other values as they are."""
    plain = number_of(value)
    return value if plain is None or isinstance(plain, float) else int(plain)


def whole_of(type: T.Type, number: Any) -> Any:
    """`number`, as a whole one where it is one with a decimal point and `type` is of whole numbers: 3 of 3.0."""
    plain = number_of(number)
    return int(plain) if type.is_int and isinstance(plain, float) and plain.is_integer() else number


def of_bits(type: T.Type, number: Any) -> Any:
    """`number`, or what has its bits in an integer `type` that does not hold it: i8 of 200 is -56."""
    whole = number_of(number)
    if isinstance(whole, bool | float) or whole is None or not type.is_int:
        return number
    return type.wrap(whole) if -1 << type.bits - 1 <= whole < 1 << type.bits else number


def peer(type: T.Type, number: Any) -> T.Type | None:
    """The type that a number takes beside an operand of `type`; None for the one that it has alone.

    Raises `TypeMismatch` where a float type does not hold a whole number.
    """
    plain = number_of(number)
    if plain is None or isinstance(plain, float):
        return None
    if is_i32(int(plain)):
        if type.is_float and ir.const(type, plain).value != plain:
            from rfactor.compiler.language.spelling import type_name

            raise TypeMismatch(
                f"Integer constant {plain} will be implicitly coerced to type {type_name(type)}, which changes its "
                f"value to {ir.const(type, plain).value:f}: write f64({plain}), or {type}({plain}) if that is meant"
            )
        return type
    return None if T.I64.min <= int(plain) <= T.I64.max else type


def is_i32(number: int) -> bool:
    return int(T.I32.min) <= number <= int(T.I32.max)
