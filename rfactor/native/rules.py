"""The one place where an operation gets its machine meaning.

`RULES` has one row per operation of `ir.operations.OPERATIONS`. Every rule works on scalars and on vectors and is
total: no `nsw`, no fast-math flag, no poison. Scalar and vector code give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from llvmlite import ir

from rfactor.ir.types import F32, Type
from rfactor.native import bfloat
from rfactor.native.divide import euclidean_quotient, euclidean_remainder
from rfactor.native.instructions import call_intrinsic
from rfactor.native.literal import Builder, Literal, LLVMValue, llvm_type

Rule = Callable[..., LLVMValue]


def widened(rule: Rule) -> Rule:
    """A rule for floats, done in f32 for f16 and bf16: the second rounding never shows, as 24 >= 2 * 11 + 2 bits."""

    def by_way_of_f32(builder: Builder, type: Type, *args: LLVMValue) -> LLVMValue:
        if not (type.is_float and type.bits == 16):
            return rule(builder, type, *args)
        wide = F32.with_lanes(type.lanes)
        if type.is_bfloat:
            return bfloat.rounded(builder, type.lanes, rule(builder, wide, *args))
        result = rule(builder, wide, *(builder.fpext(a, llvm_type(wide)) for a in args))
        return builder.fptrunc(result, llvm_type(type))

    return by_way_of_f32


def _arithmetic(integer: str, real: str) -> Rule:
    def rule(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        return getattr(builder, real if type.is_float else integer)(a, b)

    return widened(rule)


def _extremum(name: str) -> Rule:
    least = name == "min"

    def rule(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        if type.is_bool:
            return builder.and_(a, b) if least else builder.or_(a, b)
        if not type.is_float:
            return call_intrinsic(builder, f"llvm.{'s' if type.is_signed else 'u'}{name}", a, b)
        if type.lanes > 1 and str(builder.module.triple).startswith("x86_64"):
            return _float_extremum(builder, type, least, a, b)
        return call_intrinsic(builder, f"llvm.{name}imum", a, b)

    by_way_of_f32 = widened(rule)

    def chosen(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        if type.is_bfloat:  # one of the operands: there is nothing to round
            return rule(builder, F32.with_lanes(type.lanes), a, b)
        return by_way_of_f32(builder, type, a, b)

    return chosen


def _float_extremum(builder: Builder, type: Type, least: bool, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`llvm.minimum` or `llvm.maximum` of vectors for x86, where LLVM's own takes twice the instructions in one chain.

    Where neither operand is the lesser, they are equal (then only zeros differ, in the sign) or one is NaN (then so is
    the union of their bits): the union, with the sign of both for a minimum and that in common for a maximum.
    """
    for end, other in ((a, b), (b, a)):
        if isinstance(end, Literal) and not math.isnan(end.value):
            return _float_extremum_of(builder, type, least, end, other)
    word = Type("uint", type.bits, type.lanes)
    better = builder.select(builder.fcmp_ordered("<" if least else ">", a, b), a, b)
    x, y = builder.bitcast(a, llvm_type(word)), builder.bitcast(b, llvm_type(word))
    union = builder.or_(x, y)
    if not least:
        sign = 1 << (type.bits - 1)
        common = builder.and_(builder.and_(x, y), Literal(word, sign))
        union = builder.or_(builder.and_(union, Literal(word, sign - 1)), common)
    tied = builder.fcmp_unordered("==", a, b)
    return builder.select(tied, builder.bitcast(union, a.type), better)


def _float_extremum_of(builder: Builder, type: Type, least: bool, end: Literal, value: LLVMValue) -> LLVMValue:
    """The same of a literal that is not NaN, in one instruction: `value` stays where it is NaN or equal.

    Where it is equal and another zero, a sum with zero is the greater of both, and the negated one the lesser.
    """
    nearer = builder.select(builder.fcmp_ordered("<" if least else ">", end, value), end, value)
    if end.value != 0 or (math.copysign(1, end.value) < 0) != least:
        return nearer
    if not least:
        return builder.fadd(nearer, Literal(type, 0.0))
    return builder.fneg(builder.fadd(builder.fneg(nearer), Literal(type, 0.0)))


def _negate(builder: Builder, type: Type, a: LLVMValue) -> LLVMValue:
    return builder.fneg(a) if type.is_float else builder.sub(Literal(type, 0), a)


def absolute(builder: Builder, type: Type, a: LLVMValue) -> LLVMValue:
    if type.is_float:
        return call_intrinsic(builder, "llvm.fabs", a)
    return call_intrinsic(builder, "llvm.abs", a, ir.Constant(ir.IntType(1), 0)) if type.is_signed else a


def _bits(name: str) -> Rule:
    return lambda builder, type, a, b: getattr(builder, name)(a, b)


def _invert(builder: Builder, type: Type, a: LLVMValue) -> LLVMValue:
    return builder.xor(a, Literal(type, type.max if type.is_bool or not type.is_signed else -1))


def _compare(relation: str) -> Rule:
    def rule(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        if type.is_float:
            return (builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered)(relation, a, b)
        return (builder.icmp_signed if type.is_signed else builder.icmp_unsigned)(relation, a, b)

    return rule


def _shift(left: bool) -> Rule:
    """A shift that a count of the width or more shifts out whole, and that a negative count turns around."""

    def toward(builder: Builder, type: Type, left: bool, a: LLVMValue, count: LLVMValue) -> LLVMValue:
        if not left and type.is_signed:
            return builder.ashr(a, call_intrinsic(builder, "llvm.umin", count, Literal(type, type.bits - 1)))
        inside = builder.icmp_unsigned("<", count, Literal(type, type.bits))
        masked = builder.and_(count, Literal(type, type.bits - 1))
        moved = builder.shl(a, masked) if left else builder.lshr(a, masked)
        return builder.select(inside, moved, Literal(type, 0))

    def rule(builder: Builder, type: Type, a: LLVMValue, count: LLVMValue) -> LLVMValue:
        forth = toward(builder, type, left, a, count)
        if not type.is_signed:
            return forth
        back = toward(builder, type, not left, a, builder.sub(Literal(type, 0), count))
        return builder.select(builder.icmp_signed("<", count, Literal(type, 0)), back, forth)

    return rule


RULES: dict[str, Rule] = {
    "+": _arithmetic("add", "fadd"),
    "-": _arithmetic("sub", "fsub"),
    "*": _arithmetic("mul", "fmul"),
    "/": _arithmetic("", "fdiv"),
    "//": euclidean_quotient,
    "%": euclidean_remainder,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "neg": _negate,
    "abs": absolute,
    "&": _bits("and_"),
    "|": _bits("or_"),
    "^": _bits("xor"),
    "~": _invert,
    "<<": _shift(True),
    ">>": _shift(False),
    "<": _compare("<"),
    "<=": _compare("<="),
    ">": _compare(">"),
    ">=": _compare(">="),
    "==": _compare("=="),
    "!=": _compare("!="),
    "and": _bits("and_"),
    "or": _bits("or_"),
    "not": _invert,
}
"""(builder, type of the operands, operands) to the result, for every operation but select and cast."""
