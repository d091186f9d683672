"""Types and constants in C99. f16 and bf16 are a `float` that holds a value of it, and two bytes in memory."""

from __future__ import annotations

import math

from rfactor.ir.expr import Const
from rfactor.ir.types import BF16, F16, Type

SHORT = {F16: "rf_half", BF16: "rf_bfloat"}


def value_type(type: Type) -> str:
    """What a value is in an expression."""
    if type.is_bool:
        return "bool"
    if type.is_float:
        return "double" if type.bits == 64 else "float"
    return f"{'' if type.is_signed else 'u'}int{type.bits}_t"


def memory_type(type: Type) -> str:
    """What an element is in memory."""
    return "uint8_t" if type.is_bool else "uint16_t" if short(type) else value_type(type)


def short(type: Type) -> str | None:
    """The function that rounds to a float type of 16 bits, by which those of its bits and values are called too: f16 or
    bf16; None for other types."""
    return SHORT.get(type)


def unsigned(type: Type) -> str:
    """The type in which integers of `type` wrap: no narrower than `unsigned int`, to which C would widen them."""
    return f"uint{max(type.bits, 32)}_t"


def constant(node: Const) -> str:
    """A constant as an expression of its type."""
    type, value = node.type, node.value
    if type.is_bool:
        return "true" if value else "false"
    if type.is_float:
        return _real(float(value), type)
    number = int(value)
    if type.is_signed and number == type.min:
        return f"INT{type.bits}_MIN"
    suffix = f"{'' if type.is_signed else 'U'}INT{type.bits}_C({abs(number)})"
    plain = str(abs(number)) if type.is_signed and type.bits <= 32 else suffix
    return f"-{plain}" if number < 0 else plain


def literal(text: str) -> str:
    """A string literal."""
    plain = {c: c for c in text if " " <= c <= "~" and c not in '"\\?'}
    escaped = (plain.get(c) or "".join(f"\\{byte:03o}" for byte in c.encode(errors="replace")) for c in text)
    return '"' + "".join(escaped) + '"'


def _real(value: float, type: Type) -> str:
    if math.isnan(value):
        return f"({value_type(type)})NAN"
    if math.isinf(value):
        return f"({value_type(type)}){'-' if value < 0 else ''}INFINITY"
    return value.hex() + ("" if type.bits == 64 else "f")
