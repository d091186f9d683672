"""Types and constants of the expression language, as LLVM's."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir

from rfactor.ir.expr import Value, const
from rfactor.ir.types import BF16, F16, F32, F64, Type

Builder: TypeAlias = Any
"""An `ir.IRBuilder`. llvmlite carries no types."""
LLVMValue: TypeAlias = Any
"""An `ir.Value`."""

_FLOATS = {F16: ir.HalfType(), BF16: ir.FloatType(), F32: ir.FloatType(), F64: ir.DoubleType()}


def llvm_type(type: Type) -> ir.Type:
    """The LLVM type of a value of `type` in a register: `i1` for bool, a vector for more than one lane.

    bf16 is an f32 whose lower half is zero: see `bfloat`.
    """
    scalar = _FLOATS[type.element] if type.is_float else ir.IntType(type.bits)
    return scalar if type.lanes == 1 else ir.VectorType(scalar, type.lanes)


def memory_type(type: Type) -> ir.Type:
    """The LLVM type of a value of `type` in memory, where a bool is a byte and bf16 an integer of 16 bits."""
    if type.is_bfloat:
        return llvm_type(Type("uint", 16, type.lanes))
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
    if type.is_bfloat:
        number = float(const(type, number).value)
    elif type.bits == 16:
        return f"0xH{int(np.float16(number).view(np.uint16)):04X}"
    rounded = float(np.float32(number)) if type.bits <= 32 else number
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
