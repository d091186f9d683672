"""Functions of which only the types are known: pure, total, otherwise any at all.

A claim about them holds for every such function. Samples take one: values of it depend on name and arguments alone,
repeat often, so that ties are met, and now and then are an end of the type.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rfactor.ir.expr import Call, Expr, Value, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's arguments and of its value."""

    arguments: tuple[Type, ...]
    result: Type

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.arguments))} -> {self.result}"


Functions = Mapping[str, Signature]


def parse_signature(text: str) -> Signature:
    """`i32, f32 -> f32` as a signature. Raises `ValueError`."""
    arguments, arrow, result = text.partition("->")
    types = tuple(parse_type(name.strip()) for name in arguments.split(",") if name.strip())
    if not arrow or not types:
        raise ValueError(f"a function's type is written as in i32, i32 -> f32, not {text!r}")
    return Signature(types, parse_type(result.strip()))


def unknown_calls(exprs: Iterable[Expr]) -> tuple[Call, ...]:
    """The calls of functions of which only the types are known, arguments before what holds them."""
    found = (node for expr in exprs for node in walk(expr) if isinstance(node, Call) and node.kind == "unknown")
    return tuple(dict.fromkeys(found))


def signatures(exprs: Iterable[Expr]) -> dict[str, Signature]:
    """The unknown functions that `exprs` call."""
    return {call.name: Signature(tuple(arg.type for arg in call.args), call.type) for call in unknown_calls(exprs)}


_ORDINARY = 16
"""Values that are near zero; of two more each is an end."""


def sampled(name: str, result: Type, meaning: Meaning, arguments: Sequence[Value]) -> Value:
    """The value of the function that samples take for `name`."""
    alike = tuple(0 if value != value else hash(value) for value in arguments)
    number = zlib.crc32(repr((name, alike)).encode())
    if result.is_bool:
        return bool(number & 1)
    choice = number % (_ORDINARY + 2)
    signed = result.is_signed
    if choice < _ORDINARY:
        value = choice - (_ORDINARY // 2 if signed else 0)
        return value / 2 if result.is_float else value
    if result.is_float or meaning is Meaning.MATH:
        return (1000 if choice == _ORDINARY or not signed else -1000) * (1.0 if result.is_float else 1)
    return result.max if choice == _ORDINARY else result.min
