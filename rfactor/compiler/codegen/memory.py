"""Loads and stores: dense vectors where the index is a ramp of stride 1, shuffles and gathers otherwise.

A lane whose predicate is false touches no memory. Lanes of one address are stored in order, the last one stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from llvmlite import ir

from rfactor.compiler.codegen.booleans import as_stored
from rfactor.compiler.codegen.interleaved import interleave
from rfactor.compiler.codegen.lanes import Turns, shared, turns
from rfactor.compiler.codegen.masked import masked_load, masked_store, written_out
from rfactor.compiler.codegen.places import Places
from rfactor.compiler.codegen.spans import Span
from rfactor.compiler.lower import affine
from rfactor.compiler.lower.in_place import in_place, own_loads
from rfactor.ir.expr import Const, Expr, Op, walk
from rfactor.ir.loopnest import Broadcast, Load, Ramp, Store
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, F32, I64, Type
from rfactor.native import bfloat
from rfactor.native.conversions import convert
from rfactor.native.emit import Emitter, Place
from rfactor.native.instructions import declare, freeze, mangled, shuffle, splat
from rfactor.native.literal import Builder, Literal, LLVMValue, Text, llvm_type, memory_type, vector

_WIDEST_STRIDE = 4
"""Ramps of strides up to this are loaded whole and picked apart."""
_MOST_APART = 64
"""Lanes of other ramps that are loaded and stored one by one, which is faster than gathering and scattering them; with
more, or under a mask, they are gathered and scattered."""
_GATHERED_BITS = 32
"""Lanes of fewer bits no machine gathers by one instruction."""


@dataclass(frozen=True, slots=True)
class Array:
    """A flat buffer in generated code."""

    pointer: LLVMValue
    type: Type
    """f32 where bf16 is kept as it is computed with: see `Statements._allocate`."""
    ours: bool = False
    """Whether all that it holds was stored by this code."""


class Memory:
    """Emits the loads and stores of one function."""

    def __init__(self, builder: Builder, arrays: Mapping[str, Array], places: Places, masked_bits: int) -> None:
        """`masked_bits` is how wide lanes are at least that the machine has masks for: see `Target`."""
        self.builder, self.arrays, self.places, self._masked_bits = builder, arrays, places, masked_bits
        self.spans: Mapping[Load, Span] = {}
        """Loads that others of the same iteration lie between."""
        self._zeros: dict[Type, LLVMValue] = {}

    def load(self, load: Load, emitter: Emitter) -> LLVMValue:
        """The elements of a load; lanes whose predicate is false are zero."""
        condition = _condition(load.predicate)
        if isinstance(condition, bool):
            if not condition:
                return Literal(load.type, 0)
            return self._load(load, emitter, None)
        predicate = emitter.emit(condition)
        if condition.type.lanes > 1:
            return self._load(load, emitter, predicate)
        # One condition for all lanes is a branch. What the branch needs is emitted before it.
        emitter.emit(load.index)
        before = self.builder.block
        with self.builder.if_then(predicate):
            # Values emitted in here do not dominate what follows, so the emitter must not remember them.
            value = self._load(load, emitter.inner(), None)
            inside = self.builder.block
        result = self.builder.phi(llvm_type(load.type))
        result.add_incoming(Literal(load.type, 0), before)
        result.add_incoming(value, inside)
        return result

    def store(self, store: Store, emitter: Emitter) -> None:
        """Emit a store."""
        condition = _condition(store.predicate)
        if condition is False:
            return
        store = self._stored(store)
        value = emitter.emit(store.value)
        if condition is True:
            self._store(store, value, emitter, None)
            return
        predicate = emitter.emit(condition)
        if condition.type.lanes > 1:
            self._store(store, value, emitter, predicate)
            return
        with self.builder.if_then(predicate):
            self._store(store, value, emitter.inner(), None)

    def fill(self, stores: Sequence[Store], emitter: Emitter) -> None:
        """Emit stores that fill memory together (`interleaved.groups`), by address, as one."""
        stores = [self._stored(store) for store in stores]
        first, type = stores[0].index, self._kept(stores[0].buffer, stores[0].value.type)
        assert isinstance(first, Ramp)
        values = [self._as_word(type, emitter.emit(store.value)) for store in stores]
        address = self._at(self.arrays[stores[0].buffer], first.base, emitter)
        self.builder.store(interleave(self.builder, values), address, align=_bytes(type))

    def _stored(self, store: Store) -> Store:
        """`store`, of what it puts into memory."""
        value = as_stored(store.value, lambda buffer: self.arrays[buffer].ours)
        return store if value is store.value else replace(store, value=value)

    def address(self, store: Store, emitter: Emitter) -> LLVMValue:
        """Where a store of one lane stores."""
        return self._at(self.arrays[store.buffer], store.index, emitter)

    def update(self, store: Store, emitter: Emitter) -> bool:
        """Emit a store whose value is a function of what is there as one atomic operation.

        Emits nothing, and says so, where the store has lanes or a condition.
        """
        type = store.value.type
        if type.lanes > 1 or _condition(store.predicate) is not True:
            return False
        address = self.address(store, emitter)
        change = in_place(store) if type.is_int and not type.is_bool else None
        name = None if change is None else _IN_PLACE.get(change.op)
        if change is not None and name is not None:
            sign = "u" if name in ("min", "max") and not type.is_signed else ""
            self.builder.atomic_rmw(sign + name, address, emitter.emit(change.data), "monotonic")
            return True
        own = own_loads(store)
        _emit_without(store.value, own, emitter)
        self._exchanged(store, address, own, emitter)
        return True

    def _exchanged(self, store: Store, address: LLVMValue, own: frozenset[Load], emitter: Emitter) -> None:
        """Compute from what is there until nothing else has come between."""
        builder, type = self.builder, self._kept(store.buffer, store.value.type)
        word = ir.IntType(8 * _bytes(type))
        first = builder.load_atomic(address, "monotonic", _bytes(type), typ=word)
        before = builder.block
        again, done = builder.append_basic_block("update.again"), builder.append_basic_block("update.done")
        builder.branch(again)
        builder.position_at_end(again)
        there = builder.phi(word)
        there.add_incoming(first, before)
        plain = not type.is_bool and not type.is_bfloat
        value = builder.bitcast(there, llvm_type(type)) if plain else self._from_memory(type, there)
        inner = emitter.inner()
        inner.load = lambda load, at: value if load in own else self.load(load, at)
        new = inner.emit(store.value)
        raw = builder.bitcast(new, word) if plain else self._as_word(type, new)
        outcome = builder.cmpxchg(address, there, raw, "monotonic", "monotonic")
        there.add_incoming(builder.extract_value(outcome, 0), builder.block)
        builder.cbranch(builder.extract_value(outcome, 1), done, again)
        builder.position_at_end(done)

    # -- loads -------------------------------------------------------------------------------------------------------

    def _load(self, load: Load, emitter: Emitter, mask: LLVMValue | None) -> LLVMValue:
        array, type = self.arrays[load.buffer], self._kept(load.buffer, load.type)
        index, lanes = _plain(load.index), load.type.lanes
        if lanes == 1:
            return self._dense_load(type, self._at(array, index, emitter), None)
        if isinstance(index, Ramp) and isinstance(index.stride, Const):
            stride = int(index.stride.value)
            if _whole(stride, lanes, mask is not None):
                if mask is None and (span := self.spans.get(load)) is not None:
                    return self._strided_load(type, stride, partial(self._at, array, index.base, emitter), span)
                return self._ramp_load(type, stride, partial(self._at, array, index.base, emitter), mask)
        if isinstance(index, Broadcast):
            return self._shared_load(type, self._at(array, index.value, emitter), mask)
        found = turns(index) if index.type.element == I64 else None
        if found is not None and _whole(found.step, lanes // len(found.starts), mask is not None):
            return self._load_in_turns(array, type, found, emitter, mask)
        if isinstance(index, Ramp) and index.type.element == I64 and mask is None and lanes <= _MOST_APART:
            return self._each_load(type, array, index, emitter)
        return self._gather(type, self._addresses(array, index, emitter), mask)

    def _each_load(self, type: Type, array: Array, index: Ramp, emitter: Emitter) -> LLVMValue:
        """Elements of one stride, each loaded by itself."""
        result: LLVMValue = Text(llvm_type(type), "poison")
        for lane in range(type.lanes):
            own = affine.add(index.base, affine.scale(index.stride, lane))
            element = self._dense_load(type.element, self._at(array, own, emitter), None)
            result = self.builder.insert_element(result, element, ir.IntType(32)(lane))
        return result

    def _ramp_load(self, type: Type, stride: int, at: Callable[[int], LLVMValue], mask: LLVMValue | None) -> LLVMValue:
        """Elements `stride` apart that are loaded whole (see `_whole`), the first of which is `at(0)`."""
        if stride == 1:
            return self._dense_load(type, at(0), mask)
        if stride == -1:
            return self._reversed(self._dense_load(type, at(1 - type.lanes), self._reversed(mask)))
        return self._strided_load(type, stride, at, Span(0, (type.lanes - 1) * stride + 1))

    def _dense_load(self, type: Type, address: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        if mask is None:
            raw = self.builder.load(address, align=_bytes(type), typ=memory_type(type))
            return self._from_memory(type, raw)
        word = _word(type)
        if written_out(mask, llvm_type(word).element, self._masked_bits):
            return self._as_type(
                type, word, masked_load(self.builder, llvm_type(word), address, mask, self._masked_bits)
            )
        name = f"llvm.masked.load.{mangled(llvm_type(word))}.p0"
        return self._masked_load(name, address, word, type, mask)

    def _shared_load(self, type: Type, address: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        """One element in all lanes that load; where none does, nothing is read that may not be there."""
        builder, one = self.builder, type.element
        if mask is None:
            return splat(builder, self._dense_load(one, address, None), type.lanes)
        some = builder.icmp_unsigned("!=", builder.bitcast(mask, ir.IntType(type.lanes)), ir.IntType(type.lanes)(0))
        value = self._dense_load(one, builder.select(some, address, self._zero(one)), None)
        return builder.select(mask, splat(builder, value, type.lanes), Literal(type, 0))

    def _zero(self, type: Type) -> LLVMValue:
        """Where a zero of `type` lies."""
        zero = self._zeros.get(type)
        if zero is None:
            with self.builder.goto_entry_block():
                zero = self._zeros[type] = self.builder.alloca(memory_type(type))
                self.builder.store(memory_type(type)(None), zero)
        return zero

    def _gather(self, type: Type, addresses: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        word = _word(type)
        if mask is not None and written_out(mask, llvm_type(word).element, max(self._masked_bits, _GATHERED_BITS)):
            # Lanes that are not set read a zero elsewhere: a load each, and no branch.
            zeros = splat(self.builder, self._zero(type.element), type.lanes)
            addresses, mask = self.builder.select(mask, addresses, zeros), None
        name = f"llvm.masked.gather.{mangled(llvm_type(word))}.{mangled(addresses.type)}"
        return self._masked_load(name, addresses, word, type, _all(type) if mask is None else mask)

    def _masked_load(self, name: str, address: LLVMValue, word: Type, type: Type, mask: LLVMValue) -> LLVMValue:
        result = llvm_type(word)
        function = declare(self.builder, name, result, [address.type, mask.type, result])
        call = self.builder.call(function, [address, mask, Literal(word, 0)], arg_attrs={0: ()})
        call.arg_attributes[0].align = _bytes(type)
        return self._as_type(type, word, call)

    def _as_type(self, type: Type, word: Type, raw: LLVMValue) -> LLVMValue:
        if type.is_bool:
            return convert(self.builder, word, type, raw)
        if type.is_bfloat:
            return bfloat.of_words(self.builder, type, raw)
        return self.builder.bitcast(raw, llvm_type(type))

    def _strided_load(self, type: Type, stride: int, at: Callable[[int], LLVMValue], span: Span) -> LLVMValue:
        """Dense loads that end with the last element of `span`, nothing beyond; then the wanted lanes are picked.

        All of bytes two apart are loaded as words, whose halves they are: all targets keep the low one first.
        """
        lanes, type_ = type.lanes, memory_type(type)
        if stride == 2 and type.is_int and type.bits == 8 and span.count == 2 * lanes:
            words = ir.VectorType(ir.IntType(16), lanes)
            raw = self.builder.load(at(-span.before), align=1, typ=words)
            half = self.builder.lshr(raw, vector(words.element, [8] * lanes)) if span.before else raw
            return self.builder.trunc(half, type_)
        elements = [span.before + lane * stride for lane in range(lanes)]
        if span.count == stride * lanes:
            whole = self._dense_load(type.with_lanes(span.count), at(-span.before), None)
            return shuffle(self.builder, whole, whole, elements)
        last = span.count - lanes
        starts = [*range(0, last, lanes), last]
        pieces = [self._dense_load(type, at(start - span.before), None) for start in starts]
        result = pieces[0]
        for number, start, piece in zip(range(len(starts)), starts, pieces, strict=True):
            # Lane k of the result comes from the piece that holds its element; other lanes stay as they are.
            picked = [
                lanes + element - start if min(element // lanes, len(starts) - 1) == number else lane
                for lane, element in zip(range(lanes), elements, strict=True)
            ]
            result = shuffle(self.builder, result, piece, picked)
        return result

    def _load_in_turns(
        self, array: Array, type: Type, found: Turns, emitter: Emitter, mask: LLVMValue | None
    ) -> LLVMValue:
        """A load for each turn, whose lanes are then put in their places."""
        count = len(found.starts)
        result: LLVMValue = None
        for turn, start in zip(range(count), found.starts, strict=True):
            own = list(range(turn, type.lanes, count))
            asked = None if mask is None else shuffle(self.builder, mask, mask, own)
            at = partial(self._at, array, start, emitter)
            piece = self._ramp_load(type.with_lanes(len(own)), found.step, at, asked)
            places = [lane // count if lane % count == turn else 0 for lane in range(type.lanes)]
            spread = shuffle(self.builder, piece, piece, places)
            if result is None:
                result = spread
                continue
            picked = [lane + type.lanes if lane % count == turn else lane for lane in range(type.lanes)]
            result = shuffle(self.builder, result, spread, picked)
        return result

    # -- stores ------------------------------------------------------------------------------------------------------

    def _store(self, store: Store, value: LLVMValue, emitter: Emitter, mask: LLVMValue | None) -> None:
        array = self.arrays[store.buffer]
        index, type = _plain(store.index), self._kept(store.buffer, store.value.type)
        if type.lanes == 1:
            self._dense_store(type, self._at(array, index, emitter), value, None)
            return
        if isinstance(index, Ramp) and isinstance(index.stride, Const) and index.stride.value in (1, -1):
            first = self._at(array, index.base, emitter, 0 if index.stride.value == 1 else 1 - type.lanes)
            if index.stride.value == -1:
                value, mask = self._reversed(value), self._reversed(mask)
            self._dense_store(type, first, value, mask)
            return
        if isinstance(index, Broadcast) and mask is None:
            last = self.builder.extract_element(value, ir.IntType(32)(type.lanes - 1))
            self._dense_store(type.element, self._at(array, index.value, emitter), last, None)
            return
        if isinstance(index, Ramp) and index.type.element == I64 and mask is None and type.lanes <= _MOST_APART:
            self._each_store(type, array, index, value, emitter)
            return
        self._scatter(type, self._addresses(array, index, emitter), value, mask)

    def _each_store(self, type: Type, array: Array, index: Ramp, value: LLVMValue, emitter: Emitter) -> None:
        """Elements of one stride, each stored by itself, in the order of the lanes."""
        for lane in range(type.lanes):
            own = affine.add(index.base, affine.scale(index.stride, lane))
            element = self.builder.extract_element(value, ir.IntType(32)(lane))
            self._dense_store(type.element, self._at(array, own, emitter), element, None)

    def _dense_store(self, type: Type, address: LLVMValue, value: LLVMValue, mask: LLVMValue | None) -> None:
        if mask is None:
            raw = self._as_word(type, value) if type.is_bool or type.is_bfloat else value
            self.builder.store(raw, address, align=_bytes(type))
            return
        word = llvm_type(_word(type))
        if written_out(mask, word.element, self._masked_bits):
            masked_store(self.builder, self._as_word(type, value), address, mask, self._masked_bits)
            return
        self._masked_store("llvm.masked.store", address, type, value, mask)

    def _scatter(self, type: Type, addresses: LLVMValue, value: LLVMValue, mask: LLVMValue | None) -> None:
        self._masked_store("llvm.masked.scatter", addresses, type, value, _all(type) if mask is None else mask)

    def _masked_store(self, name: str, address: LLVMValue, type: Type, value: LLVMValue, mask: LLVMValue) -> None:
        word = llvm_type(_word(type))
        raw = self._as_word(type, value)
        arguments = [word, address.type, mask.type]
        symbol = f"{name}.{mangled(word)}.{mangled(address.type)}"
        function = declare(self.builder, symbol, ir.VoidType(), arguments)
        call = self.builder.call(function, [raw, address, mask], arg_attrs={1: ()})
        call.arg_attributes[1].align = _bytes(type)

    def _as_word(self, type: Type, value: LLVMValue) -> LLVMValue:
        word = llvm_type(_word(type))
        if type.is_bfloat:
            return bfloat.words(self.builder, type, value)
        return self.builder.zext(value, word) if type.is_bool else self.builder.bitcast(value, word)

    def _kept(self, buffer: str, type: Type) -> Type:
        """The type that values of `type` have in a buffer: the registers are the same."""
        return F32.with_lanes(type.lanes) if type.is_bfloat and self.arrays[buffer].type is F32 else type

    # -- addresses and lanes -----------------------------------------------------------------------------------------

    def _addresses(self, array: Array, index: Expr, emitter: Emitter) -> LLVMValue:
        """The addresses of the elements at `index`: what all lanes share is added to the pointer."""
        if index.type.element != I64:
            return self._address(array, emitter.emit(index))
        base, vector = shared(index)
        if vector is None or base == Const(I64, 0):
            return self._address(array, emitter.emit(index))
        start = self._at(array, base, emitter)
        return self._address(Array(start, array.type), emitter.emit(vector))

    def _at(self, array: Array, index: Expr, emitter: Emitter, offset: int = 0) -> LLVMValue:
        """The address of the element `offset` after the one at a scalar index."""
        if index.type != I64:
            address = self._address(array, emitter.emit(index))
        else:
            parts, constant = self.places.parts(index)
            offset += constant
            address = array.pointer
            if parts:
                of = tuple([part for part, _ in parts])
                address = emitter.once((address, *of), of, lambda: self._address(array, self._sum(parts, emitter)))
        if offset == 0:
            return address
        return self._address(Array(address, array.type), ir.IntType(64)(I64.wrap(offset)))

    def _sum(self, parts: Sequence[tuple[Expr, Place | None]], emitter: Emitter) -> LLVMValue:
        """The sum of `parts`, one or more, what belongs to outer loops before what belongs to inner ones.

        What outer loops contribute is frozen: LLVM's strength reduction would try the addends in all combinations.
        """
        total: LLVMValue = None
        whole: Expr | None = None
        for index, (part, place) in enumerate(parts):
            whole = part if whole is None else Op(I64, "+", (whole, part))
            if place is None:
                total = emitter.once(whole, (whole,), partial(self._plus, total, part, emitter))
                continue
            with self.builder.goto_block(place.block):
                if whole not in place.known:
                    place.known[whole] = self._plus(total, part, emitter)
                total = place.known[whole]
                if index + 1 == len(parts) or parts[index + 1][1] is None:
                    if whole not in place.frozen:
                        place.frozen[whole] = freeze(self.builder, total)
                    total = place.frozen[whole]
        return total

    def _plus(self, total: LLVMValue | None, part: Expr, emitter: Emitter) -> LLVMValue:
        value = emitter.emit(part)
        return value if total is None else self.builder.add(total, value)

    def _address(self, array: Array, index: LLVMValue) -> LLVMValue:
        """The address of the element at `index`; a vector of addresses for a vector of indices."""
        pointer = array.pointer
        if isinstance(index.type, ir.VectorType):
            pointer = splat(self.builder, pointer, index.type.count)
        return self.builder.gep(pointer, [index], source_etype=memory_type(array.type))

    def _from_memory(self, type: Type, raw: LLVMValue) -> LLVMValue:
        if type.is_bfloat:
            return bfloat.of_words(self.builder, type, raw)
        if not type.is_bool:
            return raw
        return self.builder.icmp_unsigned("!=", raw, Literal(Type("uint", 8, type.lanes), 0))

    def _reversed(self, value: LLVMValue | None) -> LLVMValue | None:
        if value is None:
            return None
        return shuffle(self.builder, value, value, list(reversed(range(value.type.count))))


_IN_PLACE = {"+": "add", "-": "sub", "&": "and", "|": "or", "^": "xor", "min": "min", "max": "max"}
"""Operations of integers that memory does itself."""


def _emit_without(expr: Expr, own: frozenset[Load], emitter: Emitter) -> None:
    """Emit the parts of `expr` that are no functions of the loads `own`."""
    if not any(node in own for node in walk(expr)):
        emitter.emit(expr)
    elif expr not in own:
        for child in expr.children:
            _emit_without(child, own, emitter)


def _condition(predicate: Expr) -> Expr | bool:
    """A predicate without needless lanes: True and False where it is constant, one lane where all lanes are equal."""
    if isinstance(predicate, Broadcast):
        return _condition(predicate.value)
    if isinstance(predicate, Const):
        return bool(predicate.value)
    return predicate


def _plain(index: Expr) -> Expr:
    """A vector index as a ramp or a broadcast, where it is one."""
    return index if index.type.lanes == 1 or isinstance(index, Ramp | Broadcast) else simplify(index)


def _whole(stride: int, lanes: int, masked: bool) -> bool:
    """Whether elements `stride` apart are loaded whole and picked apart, not gathered."""
    return stride in (1, -1) or (1 < stride <= min(_WIDEST_STRIDE, lanes) and not masked)


def _bytes(type: Type) -> int:
    """The size of an element in memory, which is all the alignment that arrays promise."""
    return max(type.bits // 8, 1)


def _word(type: Type) -> Type:
    """What masked operations move: floats of 16 bits as integers, for machines that have no arithmetic on them."""
    if type.is_bool:
        return Type("uint", 8, type.lanes)
    return Type("uint", 16, type.lanes) if type.is_float and type.bits == 16 else type


def _all(type: Type) -> LLVMValue:
    return Literal(BOOL.with_lanes(type.lanes), True)
