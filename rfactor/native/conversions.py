"""What casts mean to the machine: total, and the same bits in scalar code and in vectors."""

from __future__ import annotations

import math

import numpy as np

from rfactor.ir.types import F32, F64, Type
from rfactor.native import bfloat
from rfactor.native.instructions import declare, mangled
from rfactor.native.literal import Builder, Literal, LLVMValue, llvm_type
from rfactor.native.rules import RULES, absolute


def convert(builder: Builder, old: Type, new: Type, value: LLVMValue) -> LLVMValue:
    """`value` of type `old` as `new`, of as many lanes: see `ir.expr.cast`."""
    target = llvm_type(new)
    if new.is_bool:
        return RULES["!="](builder, old, value, Literal(old, 0))
    if old.is_float:
        if new.is_float:
            return _float_to_float(builder, old, new, value)
        if old.lanes > 1:
            return saturate(builder, old, new, value, int(new.min), int(new.max))
        old, value = _widened(builder, old, value)
        name = f"llvm.fpto{'s' if new.is_signed else 'u'}i.sat.{mangled(target)}"
        function = declare(builder, f"{name}.{mangled(value.type)}", target, [value.type])
        return builder.call(function, [value])
    if new.is_float:
        if new.is_bfloat:
            return _integer_to_bfloat(builder, old, new, value)
        # Through f32 for f16 is exact: integers of more than 24 bits are infinite in f16 either way.
        via = F32.with_lanes(new.lanes) if new.bits == 16 else new
        signed = old.is_signed and not old.is_bool
        wide = (builder.sitofp if signed else builder.uitofp)(value, llvm_type(via))
        return wide if via == new else builder.fptrunc(wide, target)
    if new.bits < old.bits:
        return builder.trunc(value, target)
    if new.bits == old.bits:
        return value
    return (builder.sext if old.is_signed and not old.is_bool else builder.zext)(value, target)


def saturate(builder: Builder, old: Type, new: Type, value: LLVMValue, low: int, high: int) -> LLVMValue:
    """Vectors of floats truncated and held from `low` to `high`, NaN as 0: what `llvm.fptosi.sat` does lane by lane.

    Where both ends are floats, they are what the float is held to: one instruction an end.
    """
    old, value = _widened(builder, old, value)
    least, most = _inward(old, low, math.inf), _inward(old, high, -math.inf)
    held = builder.select(builder.fcmp_ordered(">", value, Literal(old, least)), value, Literal(old, least))
    held = builder.select(builder.fcmp_ordered("<", held, Literal(old, most)), held, Literal(old, most))
    whole = (builder.fptosi if new.is_signed else builder.fptoui)(held, llvm_type(new))
    if least != low:
        below = builder.fcmp_ordered("<", value, Literal(old, least))
        whole = builder.select(below, Literal(new, low), whole)
    if most != high:
        above = builder.fcmp_ordered(">", value, Literal(old, most))
        whole = builder.select(above, Literal(new, high), whole)
    nothing = min(max(0, low), high)
    if int(least) != nothing:  # NaN became the least
        whole = builder.select(builder.fcmp_unordered("uno", value, value), Literal(new, nothing), whole)
    return whole


def _widened(builder: Builder, type: Type, value: LLVMValue) -> tuple[Type, LLVMValue]:
    """Floats of 16 bits as f32, which hold them all."""
    if type.bits > 16:
        return type, value
    wide = F32.with_lanes(type.lanes)
    return wide, value if type.is_bfloat else builder.fpext(value, llvm_type(wide))


def _inward(type: Type, end: int, toward: float) -> float:
    """`end`, or the next float of `type` in that direction."""
    scalar = np.float32 if type.bits == 32 else np.float64
    nearest = scalar(end)
    beyond = int(nearest) < end if toward > 0 else int(nearest) > end
    return float(np.nextafter(nearest, scalar(toward)) if beyond else nearest)


def _integer_to_bfloat(builder: Builder, old: Type, new: Type, value: LLVMValue) -> LLVMValue:
    """Through f32 for up to 16 bits, else through f64, both exact; of 64 bits large ones without what lies below their
    upper 48 bits, rounded to odd, so that the second rounding is the only one that counts."""
    signed, lanes = old.is_signed and not old.is_bool, old.lanes
    made = builder.sitofp if signed else builder.uitofp
    if old.bits <= 16:
        return bfloat.rounded(builder, lanes, made(value, llvm_type(new)))
    wide = F64.with_lanes(lanes)
    double = made(value, llvm_type(wide))
    if old.bits == 64:
        low = builder.and_(value, Literal(old, 0xFFFF))
        rest = builder.zext(builder.icmp_unsigned("!=", low, Literal(old, 0)), value.type)
        high = (builder.ashr if signed else builder.lshr)(value, Literal(old, 16))
        odd = builder.fmul(made(builder.or_(high, rest), llvm_type(wide)), Literal(wide, 65536.0))
        near = builder.fcmp_ordered("<", absolute(builder, wide, double), Literal(wide, 2.0**52))
        double = builder.select(near, double, odd)
    return _float_to_float(builder, wide, new, double)


def _float_to_float(builder: Builder, old: Type, new: Type, value: LLVMValue) -> LLVMValue:
    if old.is_bfloat:
        if new.bits == 64:
            return builder.fpext(value, llvm_type(new))
        return value if new.bits == 32 or new.is_bfloat else builder.fptrunc(value, llvm_type(new))
    if new.is_bfloat:
        single = _odd(builder, old, value) if old.bits == 64 else _widened(builder, old, value)[1]
        return bfloat.converted(builder, old.lanes, single)
    if new.bits > old.bits:
        return builder.fpext(value, llvm_type(new))
    if not (old.bits == 64 and new.bits == 16):
        return builder.fptrunc(value, llvm_type(new))
    return builder.fptrunc(_odd(builder, old, value), llvm_type(new))


def _odd(builder: Builder, old: Type, value: LLVMValue) -> LLVMValue:
    """f64 as f32 rounded to odd, so that the rounding to at most 22 bits that follows is the only one that counts."""
    lanes = old.lanes
    single, word = F32.with_lanes(lanes), Type("uint", 32, lanes)
    nearest = builder.fptrunc(value, llvm_type(single))
    back = builder.fpext(nearest, value.type)
    away = builder.fcmp_ordered(">", absolute(builder, old, back), absolute(builder, old, value))
    inexact = builder.fcmp_ordered("!=", back, value)
    bits = builder.bitcast(nearest, llvm_type(word))
    bits = builder.sub(bits, builder.zext(away, bits.type))
    bits = builder.or_(bits, builder.zext(inexact, bits.type))
    return builder.bitcast(bits, nearest.type)
