"""Neighbours in memory that are loaded and stored under a mask, where the machine has no instruction for it.

LLVM writes out a test, a branch and a move for each lane, at each place: a load of 32 bytes is 64 blocks. Here one
function of the module does it for all places: whole vectors at once, otherwise the lanes that are set, one by one.

    <32 x i8> @masked.load.v32i8(ptr from, i32 set)      lanes that are not set are 0
    void @masked.store.v32i8(<32 x i8> value, ptr to, i32 set)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from llvmlite import ir

from rfactor.native.instructions import call_intrinsic, mangled
from rfactor.native.literal import Builder, LLVMValue
from rfactor.native.output import POINTER

FEW = 4
"""Lanes that LLVM may write out."""
_TRUE = ir.Constant(ir.IntType(1), 1)


def written_out(mask: LLVMValue, element: ir.Type, narrowest: int) -> bool:
    """Whether LLVM writes out the lanes of an operation on neighbours in memory under this mask, more than a few.

    `narrowest` is how many bits lanes have at least that the machine has masks for. A mask that is known is no branch.
    """
    return mask.type.count > FEW and _bits(element) < narrowest and not _known(mask)


def masked_load(builder: Builder, vector: ir.VectorType, address: LLVMValue, mask: LLVMValue) -> LLVMValue:
    """The elements at `address`, 0 in lanes that are not set; no other element is read."""
    name, words = f"masked.load.{mangled(vector)}", _words(vector)
    function = builder.module.globals.get(name)
    if function is None:
        function = _private(builder.module, name, vector, [POINTER, words])
        source, lanes = function.args
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        copy = _place(inner, vector)
        with _all_set(inner, lanes, vector):
            inner.ret(inner.load(source, align=_bytes(vector), typ=vector))
        inner.store(ir.Constant(vector, None), copy)
        _each(inner, lanes, lambda lane: _move(inner, vector.element, source, copy, lane))
        inner.ret(inner.load(copy, typ=vector))
    return builder.call(function, [address, _set(builder, mask)])


def masked_store(builder: Builder, value: LLVMValue, address: LLVMValue, mask: LLVMValue) -> None:
    """Store the lanes that are set; no other element is written."""
    vector = value.type
    name, words = f"masked.store.{mangled(vector)}", _words(vector)
    function = builder.module.globals.get(name)
    if function is None:
        function = _private(builder.module, name, ir.VoidType(), [vector, POINTER, words])
        whole, target, lanes = function.args
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        copy = _place(inner, vector)
        with _all_set(inner, lanes, vector):
            inner.store(whole, target, align=_bytes(vector))
            inner.ret_void()
        inner.store(whole, copy)
        _each(inner, lanes, lambda lane: _move(inner, vector.element, copy, target, lane))
        inner.ret_void()
    builder.call(function, [value, address, _set(builder, mask)])


def _private(module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    return function


def _known(value: LLVMValue) -> bool:
    """Whether a value is computed of constants alone."""
    if isinstance(value, ir.Constant):
        return True
    return isinstance(value, ir.Instruction) and bool(value.operands) and all(map(_known, value.operands))


def _bits(element: ir.Type) -> int:
    return {ir.HalfType(): 16, ir.FloatType(): 32, ir.DoubleType(): 64}.get(element) or int(element.width)


def _bytes(vector: ir.VectorType) -> int:
    return max(_bits(vector.element) // 8, 1)


def _words(vector: ir.VectorType) -> ir.IntType:
    """An integer of a bit for each lane, of a width that machines have."""
    return ir.IntType(max(32, 1 << (vector.count - 1).bit_length()))


def _set(builder: Builder, mask: LLVMValue) -> LLVMValue:
    """The lanes that are set, as bits."""
    bits = builder.bitcast(mask, ir.IntType(mask.type.count))
    return builder.zext(bits, _words(mask.type))


def _place(builder: Builder, vector: ir.VectorType) -> LLVMValue:
    place = builder.alloca(vector)
    place.type = POINTER
    return place


def _all_set(builder: Builder, lanes: LLVMValue, vector: ir.VectorType) -> AbstractContextManager[None]:
    """Code for where all lanes are set; it returns."""
    whole: AbstractContextManager[None] = builder.if_then(
        builder.icmp_unsigned("==", lanes, lanes.type((1 << vector.count) - 1))
    )
    return whole


def _each(builder: Builder, lanes: LLVMValue, act: Callable[[LLVMValue], None]) -> None:
    """`act` on each lane that is set, from the first on."""
    words, before = lanes.type, builder.block
    loop, done = builder.append_basic_block("lane"), builder.append_basic_block("done")
    builder.cbranch(builder.icmp_unsigned("==", lanes, words(0)), done, loop)
    builder.position_at_end(loop)
    left = builder.phi(words)
    left.add_incoming(lanes, before)
    lane = call_intrinsic(builder, "llvm.cttz", left, _TRUE)
    act(lane)
    others = builder.and_(left, builder.sub(left, words(1)))
    left.add_incoming(others, builder.block)
    builder.cbranch(builder.icmp_unsigned("==", others, words(0)), done, loop)
    builder.position_at_end(done)


def _move(builder: Builder, element: ir.Type, source: LLVMValue, target: LLVMValue, lane: LLVMValue) -> None:
    at = [builder.gep(pointer, [lane], source_etype=element) for pointer in (source, target)]
    size = max(_bits(element) // 8, 1)
    builder.store(builder.load(at[0], align=size, typ=element), at[1], align=size)
