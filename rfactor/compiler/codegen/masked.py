"""Neighbours in memory that are loaded and stored under a mask, where the machine has no instruction for it.

LLVM writes out a test, a branch and a move for each lane, at each place: a load of 32 bytes is 64 blocks. Here one
function of the module does it for all places: whole vectors at once; otherwise words of 32 bits of which all lanes are
set, where the machine has masks for those, and one by one the lanes that are left.

    <32 x i8> @masked.load.v32i8(ptr from, <32 x i8> set)             lanes that are not set are 0
    void @masked.store.v32i8(<32 x i8> value, ptr to, <32 x i8> set)  set is -1 or 0
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from llvmlite import ir

from rfactor.native.instructions import I32, call_intrinsic, declare, mangled, splat
from rfactor.native.literal import Builder, LLVMValue
from rfactor.native.literal import vector as constant_vector
from rfactor.native.output import POINTER

FEW = 4
"""Lanes that LLVM may write out."""
WORD = 32
"""Bits of what narrower lanes are moved in, where the machine has masks for that."""
_TRUE = ir.Constant(ir.IntType(1), 1)


def written_out(mask: LLVMValue, element: ir.Type, narrowest: int) -> bool:
    """Whether LLVM writes out the lanes of an operation on neighbours in memory under this mask, more than a few.

    `narrowest` is how many bits lanes have at least that the machine has masks for. A mask that is known is no branch.
    """
    return mask.type.count > FEW and _bits(element) < narrowest and not _known(mask)


def masked_load(
    builder: Builder, vector: ir.VectorType, address: LLVMValue, mask: LLVMValue, narrowest: int
) -> LLVMValue:
    """The elements at `address`, 0 in lanes that are not set; no other element is read."""
    name, lanes = f"masked.load.{mangled(vector)}", _integers(vector)
    function = builder.module.globals.get(name)
    if function is None:
        function = _private(builder.module, name, vector, [POINTER, lanes])
        source, lanes_set = function.args
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        bits = _bits_of(inner, lanes_set)
        with _all_set(inner, bits, vector):
            inner.ret(inner.load(source, align=_bytes(vector), typ=vector))
        value, left = ir.Constant(lanes, None), bits
        if words := _words(lanes, narrowest):
            asked, left = _whole_words(inner, lanes_set, words, bits)
            load = declare(inner, f"llvm.masked.load.{mangled(words)}.p0", words, [POINTER, asked.type, words])
            whole = inner.call(load, [source, asked, ir.Constant(words, None)], arg_attrs={0: ()})
            whole.arg_attributes[0].align = _bytes(vector)
            value = inner.bitcast(whole, lanes)
        number = lanes.element if lanes.count <= 1 << lanes.element.width else I32  # what holds all lanes' numbers
        places = constant_vector(number, range(lanes.count))

        def insert(lane: LLVMValue, before: LLVMValue) -> LLVMValue:
            at = inner.gep(source, [lane], source_etype=lanes.element)
            one = splat(inner, inner.load(at, align=_bytes(vector), typ=lanes.element), lanes.count)
            here = splat(inner, _fitted(inner, lane, number), lanes.count)
            return inner.select(inner.icmp_unsigned("==", places, here), one, before)

        inner.ret(inner.bitcast(_each(inner, left, value, insert), vector))
    return builder.call(function, [address, builder.sext(mask, lanes)])


def masked_store(builder: Builder, value: LLVMValue, address: LLVMValue, mask: LLVMValue, narrowest: int) -> None:
    """Store the lanes that are set; no other element is written."""
    vector = value.type
    name, lanes = f"masked.store.{mangled(vector)}", _integers(vector)
    function = builder.module.globals.get(name)
    if function is None:
        function = _private(builder.module, name, ir.VoidType(), [vector, POINTER, lanes])
        stored, target, lanes_set = function.args
        inner = ir.IRBuilder(function.append_basic_block("entry"))
        bits = _bits_of(inner, lanes_set)
        with _all_set(inner, bits, vector):
            inner.store(stored, target, align=_bytes(vector))
            inner.ret_void()
        left = bits
        if words := _words(lanes, narrowest):
            asked, left = _whole_words(inner, lanes_set, words, bits)
            store = declare(
                inner, f"llvm.masked.store.{mangled(words)}.p0", ir.VoidType(), [words, POINTER, asked.type]
            )
            whole = inner.call(store, [inner.bitcast(stored, words), target, asked], arg_attrs={1: ()})
            whole.arg_attributes[1].align = _bytes(vector)

        def move(lane: LLVMValue, before: LLVMValue) -> LLVMValue:
            at = inner.gep(target, [lane], source_etype=vector.element)
            inner.store(inner.extract_element(stored, lane), at, align=_bytes(vector))
            return before

        _each(inner, left, None, move)
        inner.ret_void()
    builder.call(function, [value, address, builder.sext(mask, lanes)])


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


def _fitted(builder: Builder, value: LLVMValue, integer: ir.IntType) -> LLVMValue:
    """A small number in another width."""
    if value.type.width == integer.width:
        return value
    return builder.trunc(value, integer) if value.type.width > integer.width else builder.zext(value, integer)


def _integers(vector: ir.VectorType) -> ir.VectorType:
    """Integers of the same width."""
    return ir.VectorType(ir.IntType(_bits(vector.element)), vector.count)


def _words(lanes: ir.VectorType, narrowest: int) -> ir.VectorType | None:
    """The same as words that the machine has masks for; None where it has none, or lanes do not fill them."""
    whole, rest = divmod(_bits(lanes.element) * lanes.count, narrowest)
    return None if rest or narrowest > WORD else ir.VectorType(ir.IntType(narrowest), whole)


def _whole_words(
    builder: Builder, lanes_set: LLVMValue, words: ir.VectorType, bits: LLVMValue
) -> tuple[LLVMValue, LLVMValue]:
    """The words of which all lanes are set, as a mask, and the bits of other lanes that are set."""
    asked = builder.icmp_signed("==", builder.bitcast(lanes_set, words), ir.Constant(words, [-1] * words.count))
    covered = builder.bitcast(builder.sext(asked, words), lanes_set.type)
    return asked, builder.and_(bits, builder.not_(_bits_of(builder, covered)))


def _bits_of(builder: Builder, lanes_set: LLVMValue) -> LLVMValue:
    """The lanes that are set as bits of an integer of a width that machines have."""
    count = lanes_set.type.count
    mask = builder.icmp_signed("<", lanes_set, ir.Constant(lanes_set.type, None))
    bits = builder.bitcast(mask, ir.IntType(count))
    wide = ir.IntType(max(32, 1 << (count - 1).bit_length()))
    return bits if wide.width == count else builder.zext(bits, wide)


def _all_set(builder: Builder, bits: LLVMValue, vector: ir.VectorType) -> AbstractContextManager[None]:
    """Code for where all lanes are set; it returns."""
    whole: AbstractContextManager[None] = builder.if_then(
        builder.icmp_unsigned("==", bits, bits.type((1 << vector.count) - 1))
    )
    return whole


def _each(
    builder: Builder,
    bits: LLVMValue,
    value: LLVMValue | None,
    act: Callable[[LLVMValue, LLVMValue | None], LLVMValue | None],
) -> LLVMValue | None:
    """What `value` becomes by `act` on each bit that is set, from the first on, and what came before."""
    before = builder.block
    loop, done = builder.append_basic_block("lane"), builder.append_basic_block("done")
    none = bits.type(0)
    builder.cbranch(builder.icmp_unsigned("==", bits, none), done, loop)
    builder.position_at_end(loop)
    left = builder.phi(bits.type)
    left.add_incoming(bits, before)
    known = None if value is None else builder.phi(value.type)
    lane = call_intrinsic(builder, "llvm.cttz", left, _TRUE)
    new = act(lane, known)
    others = builder.and_(left, builder.sub(left, bits.type(1)))
    left.add_incoming(others, loop)
    builder.cbranch(builder.icmp_unsigned("==", others, none), done, loop)
    builder.position_at_end(done)
    if known is None:
        return None
    known.add_incoming(value, before)
    known.add_incoming(new, loop)
    result = builder.phi(known.type)
    result.add_incoming(value, before)
    result.add_incoming(new, loop)
    return result
