"""bf16 as the machine computes with it: an f32 whose lower half is zero, rounded after each operation.

In memory it is the upper half, an integer of 16 bits. Everything is done by operations on integers, which all machines
have in vectors: instructions for bf16 take denormals for zeros.
"""

from __future__ import annotations

from rfactor.ir.types import Type
from rfactor.native.literal import Builder, Literal, LLVMValue, llvm_type

_LOWER, _QUIET = 16, 0x400000


def rounded(builder: Builder, lanes: int, value: LLVMValue) -> LLVMValue:
    """An f32 rounded to the nearest bf16, ties to even; a NaN has to have zeros below already.

    What is added carries into an infinity where it has to.
    """
    word = Type("uint", 32, lanes)
    bits = builder.bitcast(value, llvm_type(word))
    return builder.bitcast(_upper(builder, word, _nearest(builder, word, bits)), value.type)


def converted(builder: Builder, lanes: int, value: LLVMValue) -> LLVMValue:
    """Any f32 as the nearest bf16, a NaN as a quiet one."""
    word = Type("uint", 32, lanes)
    bits = builder.bitcast(value, llvm_type(word))
    quiet = builder.or_(bits, Literal(word, _QUIET))
    kept = builder.select(builder.fcmp_unordered("uno", value, value), quiet, _nearest(builder, word, bits))
    return builder.bitcast(_upper(builder, word, kept), value.type)


def _nearest(builder: Builder, word: Type, bits: LLVMValue) -> LLVMValue:
    """Bits whose upper half is the rounded one."""
    last = builder.and_(builder.lshr(bits, Literal(word, _LOWER)), Literal(word, 1))
    return builder.add(builder.add(bits, Literal(word, (1 << (_LOWER - 1)) - 1)), last)


def _upper(builder: Builder, word: Type, bits: LLVMValue) -> LLVMValue:
    return builder.and_(bits, Literal(word, 0xFFFF << _LOWER))


def words(builder: Builder, type: Type, value: LLVMValue) -> LLVMValue:
    """The bits of a value of bf16 `type` as integers of 16 bits."""
    bits = builder.bitcast(value, llvm_type(Type("uint", 32, type.lanes)))
    upper = builder.lshr(bits, Literal(Type("uint", 32, type.lanes), _LOWER))
    return builder.trunc(upper, llvm_type(Type("uint", 16, type.lanes)))


def of_words(builder: Builder, type: Type, bits: LLVMValue) -> LLVMValue:
    """The value of bf16 `type` of which integers of 16 bits are the bits."""
    wide = builder.zext(bits, llvm_type(Type("uint", 32, type.lanes)))
    upper = builder.shl(wide, Literal(Type("uint", 32, type.lanes), _LOWER))
    return builder.bitcast(upper, llvm_type(type))
