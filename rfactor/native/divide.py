"""Euclidean division on machine integers: total, and without a branch.

`0 <= a % b < |b|` and `a == a // b * b + a % b`; by zero both are 0; `MIN // -1` wraps to `MIN`.
"""

from __future__ import annotations

from llvmlite import ir

from rfactor.ir.types import Type
from rfactor.native.literal import Builder, Literal, LLVMValue


def _truncated_quotient(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`a / b` rounded toward zero, where `b` is neither 0 nor -1.

    Vectors of up to 32 bits divide as floats: a correctly rounded quotient of integers that is not a whole number is at
    least 1/|b| away from the next one, and the rounding moves it by less (16 bits in f32, 32 bits in f64).
    """
    if type.lanes == 1 or type.bits == 64:
        return builder.sdiv(a, b) if type.is_signed else builder.udiv(a, b)
    wide: ir.Type = ir.VectorType(ir.FloatType() if type.bits <= 16 else ir.DoubleType(), type.lanes)
    to_float, from_float = (builder.sitofp, builder.fptosi) if type.is_signed else (builder.uitofp, builder.fptoui)
    return from_float(builder.fdiv(to_float(a, wide), to_float(b, wide)), a.type)


def _divide(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> tuple[LLVMValue, LLVMValue]:
    """Euclidean quotient and remainder."""
    zero, one = Literal(type, 0), Literal(type, 1)
    none = builder.icmp_unsigned("==", b, zero)
    if not type.is_signed:
        quotient = _truncated_quotient(builder, type, a, builder.select(none, one, b))
        remainder = builder.sub(a, builder.mul(quotient, b))
        return builder.select(none, zero, quotient), builder.select(none, zero, remainder)
    flips = builder.icmp_unsigned("==", b, Literal(type, -1))
    safe = builder.select(builder.or_(none, flips), one, b)
    quotient = _truncated_quotient(builder, type, a, safe)
    remainder = builder.sub(a, builder.mul(quotient, safe))
    below = builder.icmp_signed("<", remainder, zero)
    positive = builder.icmp_signed(">", safe, zero)
    # Where the truncated remainder is negative, the quotient moves away from zero by one.
    step = builder.select(positive, Literal(type, -1), one)
    quotient = builder.select(below, builder.add(quotient, step), quotient)
    size = builder.select(positive, safe, builder.sub(zero, safe))
    remainder = builder.select(below, builder.add(remainder, size), remainder)
    quotient = builder.select(flips, builder.sub(zero, a), quotient)
    return builder.select(none, zero, quotient), remainder


def euclidean_quotient(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`a // b`."""
    known = int(b.value) if isinstance(b, Literal) else 0
    if known == 0:
        return _divide(builder, type, a, b)[0]
    if not type.is_signed:
        return builder.udiv(a, b)
    size = abs(known)
    if size & (size - 1) == 0:
        quotient = builder.ashr(a, Literal(type, size.bit_length() - 1))
    else:
        # Rounding down is truncation of the complement: ~(~a / b) for negative a.
        sign = builder.ashr(a, Literal(type, type.bits - 1))
        quotient = builder.xor(sign, builder.udiv(builder.xor(sign, a), Literal(type, size)))
    # The remainder is the same by b and by -b.
    return builder.sub(Literal(type, 0), quotient) if known < 0 else quotient


def euclidean_remainder(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`a % b`."""
    size = abs(int(b.value)) if isinstance(b, Literal) else 0
    if size == 0:
        return _divide(builder, type, a, b)[1]
    if size & (size - 1) == 0:
        return builder.and_(a, Literal(type, size - 1))
    if not type.is_signed:
        return builder.urem(a, b)
    positive = Literal(type, size)
    return builder.sub(a, builder.mul(euclidean_quotient(builder, type, a, positive), positive))
