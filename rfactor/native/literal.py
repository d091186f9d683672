"""Types and constants of the expression language, as LLVM's."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from rfactor.ir.expr import Value
from rfactor.ir.types import Type

Builder: TypeAlias = Any
"""An `ir.IRBuilder`. llvmlite carries no types."""
LLVMValue: TypeAlias = Any
"""An `ir.Value`."""

_FLOATS = {16: ir.HalfType(), 32: ir.FloatType(), 64: ir.DoubleType()}


def llvm_type(type: Type) -> ir.Type:
    """The LLVM type of a value of `type` in a register: `i1` for bool, a vector for more than one lane."""
    scalar = _FLOATS[type.bits] if type.is_float else ir.IntType(type.bits)
    return scalar if type.lanes == 1 else ir.VectorType(scalar, type.lanes)


def memory_type(type: Type) -> ir.Type:
    """The LLVM type of a value of `type` in memory, where a bool is a byte."""
    return llvm_type(Type("uint", 8, type.lanes)) if type.is_bool else llvm_type(type)


class Literal(ir.Constant):  # type: ignore[misc]
    """A constant that holds `value` in every lane of `type`."""

    def __init__(self, type: Type, value: Value) -> None:
        scalar, text = llvm_type(type.element), _text(type, value)
        self.type = llvm_type(type)
        self.constant = text if type.lanes == 1 else f"splat ({scalar} {text})"
        self.language_type, self.value = type, value

    def _get_reference(self) -> str:
        return str(self.constant)


class Text(ir.Constant):  # type: ignore[misc]
    """A constant as LLVM writes it. llvmlite would write out every lane of a vector."""

    def __init__(self, type: ir.Type, text: str) -> None:
        self.type, self.constant = type, text

    def _get_reference(self) -> str:
        return str(self.constant)


def vector(element: ir.Type, values: Iterable[int]) -> Text:
    """A constant vector of integers."""
    lanes = [f"{element} {value}" for value in values]
    return Text(ir.VectorType(element, len(lanes)), f"<{', '.join(lanes)}>")


def _text(type: Type, value: Value) -> str:
    if type.is_bool:
        return "true" if value else "false"
    if not type.is_float:
        return str(int(value))
    number = float(value)
    if type.bits == 16:
        return f"0xH{int(np.float16(number).view(np.uint16)):04X}"
    rounded = float(np.float32(number)) if type.bits == 32 else number
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
