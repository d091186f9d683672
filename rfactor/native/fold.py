"""Folds over arrays as machine code: a loop that carries a state from element to element.

Two loops are made of the same parts. `run` starts from a given state and takes every step in order; it may stop early,
store values of every step, and remember a condition that failed. `reduce` starts each slice of the steps from the
slice's own first element and leaves one state a slice. In lanes, `reduce` folds several subsequences of a slice at
once: neighbours in one vector where the operator commutes (`interleaved`), else contiguous parts side by side, joined
in order. What a slice gives depends on its steps and the number of lanes alone, never on threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Expr, Var
from rfactor.ir.types import BOOL, I64, Type
from rfactor.native.emit import Emitter
from rfactor.native.engine import Code, host
from rfactor.native.instructions import I32, splat
from rfactor.native.kept_code import compile_kept
from rfactor.native.literal import Builder, LLVMValue, memory_type, vector

Array = NDArray[Any]
STEP = Var(I64, "t")
"""The number of the step, in every expression of a fold."""

_I64, _I8, _POINTER = ir.IntType(64), ir.IntType(8), ir.PointerType()


@dataclass(frozen=True)
class Stream:
    """One array that is read an element a step."""

    var: Var
    """The variable that holds the element."""
    dense: bool = True
    """Elements of successive steps are neighbours in memory."""


@dataclass(frozen=True)
class Inputs:
    """All that a step reads beside the state: elements of arrays, and constants."""

    streams: tuple[Stream, ...] = ()
    constants: tuple[Var, ...] = ()


@dataclass(frozen=True)
class Run:
    """Every step in order, from a given state."""

    inputs: Inputs
    state: tuple[Var, ...]
    update: tuple[Expr, ...]
    """The next value of each variable of the state."""
    stop: Expr | None = None
    """Leave before the first step of which this holds, with the state as it is then."""
    stored: tuple[Expr, ...] = ()
    """Values that are stored in arrays, one an element and step."""
    failed: Expr | None = None
    """A condition on state and data that is remembered once it held."""
    changed: Expr | None = None
    """Steps of which this does not hold leave the state as it is: they are passed over by a branch."""


@dataclass(frozen=True)
class Reduce:
    """One state a slice, from the slice's own elements."""

    inputs: Inputs
    state: tuple[Var, ...]
    first: tuple[Expr, ...]
    """The state of one step alone, over its data."""
    update: tuple[Expr, ...]
    """The state after one more step."""
    right: tuple[Var, ...]
    """Variables of the state on the right, in `joined`."""
    joined: tuple[Expr, ...]
    """The state of neighbours, over `state` on the left and `right`."""
    lanes: int = 1
    interleaved: bool = False
    """Lanes take neighbouring steps: the operator commutes."""
    failed: Expr | None = None
    """A condition on data that is remembered once it held."""
    changed: Expr | None = None
    """Steps of which this does not hold leave the state as it is: they are passed over by a branch."""


@dataclass(frozen=True)
class Scatter:
    """Every step in order, each from the state at a place that its data name: one state a group."""

    inputs: Inputs
    index: Expr
    """The number of the group of a step."""
    state: tuple[Var, ...]
    update: tuple[Expr, ...]
    first: tuple[Expr, ...] | None = None
    """The state of one step alone, for groups that saw no step yet; None where all groups have a state before."""
    stop: Expr | None = None
    """Leave before the first step of which this holds."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled `Run` or `Reduce`. Safe to call from several threads at once; the interpreter's lock is released."""

    code: Code
    inputs: Inputs
    state: tuple[Var, ...]
    stored: tuple[Type, ...]

    def __call__(
        self,
        streams: Sequence[tuple[int, int]],
        constants: Sequence[Any],
        states: Sequence[Array],
        low: int,
        high: int,
        slice: int = 0,
        stored: Sequence[Array] = (),
    ) -> tuple[int, bool]:
        """Take steps `low` to `high`: the step at which it stopped, and whether `failed` ever held.

        `streams`: the address of the element of step 0 and the bytes from step to step, of each array. `states`: one
        array a variable of the state; of a `Run` they hold one element, the start before and the state after, of a
        `Reduce` one a slice of `slice` steps, of a `Scatter` one a group, with an array of bytes after them that tell
        which groups saw a step, where it has a first state. `stored`: the arrays of stored values, one a step from
        `low` on.
        """
        count = max(1, len(streams))
        bases = (ctypes.c_void_p * count)(*[base for base, _ in streams])
        strides = (ctypes.c_int64 * count)(*[stride for _, stride in streams])
        slots = np.zeros(max(1, len(constants)), np.uint64)
        for k, (var, value) in enumerate(zip(self.inputs.constants, constants, strict=True)):
            slots[k : k + 1].view(dtype_of(var.type))[0] = value
        places = (ctypes.c_void_p * max(1, len(states)))(*[a.ctypes.data for a in states])
        outputs = (ctypes.c_void_p * max(1, len(stored)))(*[a.ctypes.data for a in stored])
        failed = ctypes.c_uint8(0)
        end = self._function(
            bases, strides, slots.ctypes.data, places, outputs, low, high, slice, ctypes.byref(failed)
        )  # fmt: skip
        return int(end), bool(failed.value)

    @property
    def _function(self) -> Any:
        return _PROTOTYPE(self.code.addresses["fold"])


_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 3, ctypes.c_void_p)


@lru_cache(maxsize=512)
def compile_fold(fold: Run | Reduce | Scatter) -> Kernel:
    """Compile a fold for this machine. Raises `KeyError` for a variable that is neither state, data nor constant."""
    text = _Loops(fold).text()
    stored = tuple(e.type for e in fold.stored) if isinstance(fold, Run) else ()
    return Kernel(compile_kept(text, ["fold"], host()), fold.inputs, fold.state, stored)


class _Loops:
    """Builds the function of one fold."""

    def __init__(self, fold: Run | Reduce | Scatter) -> None:
        self.fold = fold
        self.module = ir.Module("fold")
        self.module.triple = host().triple
        kind = ir.FunctionType(_I64, [_POINTER] * 5 + [_I64] * 3 + [_POINTER])
        self.function = ir.Function(self.module, kind, "fold")
        self.function.attributes.add("nounwind")
        for k in (*range(5), 8):
            self.function.args[k].add_attribute("noalias")
        (bases, strides, slots, places, outputs, self.low, self.high, self.slice, self.flag) = self.function.args
        builder = self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        inputs = fold.inputs
        self.bases = [self._pointer(bases, k) for k in range(len(inputs.streams))]
        self.strides = [
            _I64(_size(s.var.type)) if s.dense else self._word(strides, k) for k, s in enumerate(inputs.streams)
        ]
        self.constants = {v.name: self._load(v.type, self._at(slots, k)) for k, v in enumerate(inputs.constants)}
        marks = isinstance(fold, Scatter) and fold.first is not None
        self.places = [self._pointer(places, k) for k in range(len(fold.state) + marks)]
        count = len(fold.stored) if isinstance(fold, Run) else 0
        self.outputs = [self._pointer(outputs, k) for k in range(count)]
        self.entry = builder.block

    def text(self) -> str:
        if isinstance(self.fold, Run):
            self._run(self.fold)
        elif isinstance(self.fold, Scatter):
            self._scatter(self.fold)
        else:
            self._reduce(self.fold)
        return str(self.module)

    # -- memory --------------------------------------------------------------------------------------------------------

    def _at(self, base: LLVMValue, k: int) -> LLVMValue:
        return self.builder.gep(base, [_I64(k)], source_etype=_I64)

    def _pointer(self, base: LLVMValue, k: int) -> LLVMValue:
        return self.builder.load(self._at(base, k), typ=_POINTER)

    def _word(self, base: LLVMValue, k: int) -> LLVMValue:
        return self.builder.load(self._at(base, k), typ=_I64)

    def _load(self, type: Type, address: LLVMValue, lanes: int = 1) -> LLVMValue:
        wide = type.with_lanes(lanes)
        value = self.builder.load(address, align=1, typ=memory_type(wide))
        return self.builder.icmp_unsigned("!=", value, ir.Constant(memory_type(wide), None)) if type.is_bool else value

    def _store(self, type: Type, value: LLVMValue, address: LLVMValue, lanes: int = 1) -> None:
        if type.is_bool:
            value = self.builder.zext(value, memory_type(type.with_lanes(lanes)))
        self.builder.store(value, address, align=1)

    def _element(self, type: Type, base: LLVMValue, index: LLVMValue) -> LLVMValue:
        return self.builder.gep(base, [index], source_etype=memory_type(type))

    def _read(self, step: LLVMValue) -> dict[str, LLVMValue]:
        """The data of one step."""
        builder, values = self.builder, dict(self.constants)
        for stream, base, stride in zip(self.fold.inputs.streams, self.bases, self.strides, strict=True):
            address = builder.gep(base, [builder.mul(step, stride)], source_etype=_I8)
            values[stream.var.name] = self._load(stream.var.type, address)
        values[STEP.name] = step
        return values

    def _read_lanes(self, step: LLVMValue, lanes: int, apart: LLVMValue | None) -> dict[str, LLVMValue]:
        """The data of several steps: neighbours from `step` on, or steps that are `apart` from each other."""
        builder, values = self.builder, {n: splat(self.builder, v, lanes) for n, v in self.constants.items()}
        for stream, base, stride in zip(self.fold.inputs.streams, self.bases, self.strides, strict=True):
            type_ = stream.var.type
            if apart is None and stream.dense:
                address = builder.gep(base, [builder.mul(step, stride)], source_etype=_I8)
                values[stream.var.name] = self._load(type_, address, lanes)
                continue
            between = stride if apart is None else builder.mul(apart, stride)
            address = builder.gep(base, [builder.mul(step, stride)], source_etype=_I8)
            wide = ir.Constant(memory_type(type_.with_lanes(lanes)), ir.Undefined)
            for lane in range(lanes):
                one = builder.load(address, align=1, typ=memory_type(type_))
                wide = builder.insert_element(wide, one, I32(lane))
                address = builder.gep(address, [between], source_etype=_I8)
            if type_.is_bool:
                wide = builder.icmp_unsigned("!=", wide, ir.Constant(wide.type, None))
            values[stream.var.name] = wide
        count = vector(_I64, range(lanes))
        if apart is not None:
            count = builder.mul(count, splat(builder, apart, lanes))
        values[STEP.name] = builder.add(splat(builder, step, lanes), count)
        return values

    # -- loops ---------------------------------------------------------------------------------------------------------

    def _block(self, name: str) -> ir.Block:
        return self.function.append_basic_block(name)

    def _loop(
        self, name: str, low: LLVMValue, high: LLVMValue, carried: Sequence[LLVMValue], body: Any
    ) -> list[LLVMValue]:
        """A loop over `low` to `high`: `body(index, values)` gives the next values; those after the loop result."""
        builder, before = self.builder, self.builder.block
        head, inside, after = self._block(name), self._block(f"{name}.body"), self._block(f"{name}.end")
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(_I64)
        index.add_incoming(low, before)
        phis = [builder.phi(v.type) for v in carried]
        for phi, value in zip(phis, carried, strict=True):
            phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", index, high), inside, after)
        builder.position_at_end(inside)
        following = body(index, phis)
        index.add_incoming(builder.add(index, _I64(1)), builder.block)
        for phi, value in zip(phis, following, strict=True):
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        return phis

    def _run(self, fold: Run) -> None:
        builder = self.builder
        start = [self._load(v.type, place) for v, place in zip(fold.state, self.places, strict=True)]
        leave = self._block("leave")
        exits: list[tuple[LLVMValue, list[LLVMValue], ir.Block]] = []

        def body(step: LLVMValue, values: list[LLVMValue]) -> list[LLVMValue]:
            state, failed = values[:-1], values[-1]
            known = self._read(step) | {v.name: value for v, value in zip(fold.state, state, strict=True)}
            emitter = Emitter(builder, known)
            if fold.stop is not None:
                stop, here, go = emitter.emit(fold.stop), builder.block, self._block("go")
                builder.cbranch(stop, leave, go)
                exits.append((step, values, here))
                builder.position_at_end(go)
            for value, output in zip(fold.stored, self.outputs, strict=True):
                place = self._element(value.type, output, builder.sub(step, self.low))
                self._store(value.type, emitter.emit(value), place)
            if fold.failed is not None:
                failed = builder.or_(failed, emitter.emit(fold.failed))
            return [*self._updated(fold, emitter, known, state, 1), failed]

        end = self._loop("step", self.low, self.high, [*start, ir.IntType(1)(0)], body)
        exits.append((self.high, end, builder.block))
        builder.branch(leave)
        builder.position_at_end(leave)
        at = builder.phi(_I64)
        final = [builder.phi(v.type) for v in end]
        for step, values, block in exits:
            at.add_incoming(step, block)
            for phi, value in zip(final, values, strict=True):
                phi.add_incoming(value, block)
        for var, value, place in zip(fold.state, final, self.places, strict=False):
            self._store(var.type, value, place)
        builder.store(builder.zext(final[-1], _I8), self.flag)
        builder.ret(at)

    def _scatter(self, fold: Scatter) -> None:
        builder, leave = self.builder, self._block("leave")
        exits: list[tuple[LLVMValue, ir.Block]] = []

        def body(step: LLVMValue, values: list[LLVMValue]) -> list[LLVMValue]:
            self._one_place(fold, step, leave, exits)
            return []

        self._loop("step", self.low, self.high, [], body)
        exits.append((self.high, builder.block))
        builder.branch(leave)
        builder.position_at_end(leave)
        at = builder.phi(_I64)
        for step, block in exits:
            at.add_incoming(step, block)
        builder.store(_I8(0), self.flag)
        builder.ret(at)

    def _one_place(
        self, fold: Scatter, step: LLVMValue, leave: ir.Block, exits: list[tuple[LLVMValue, ir.Block]]
    ) -> None:
        """One step: the state at its place, before and after."""
        builder, known = self.builder, self._read(step)
        index = Emitter(builder, known).emit(fold.index)
        places = [self._element(v.type, p, index) for v, p in zip(fold.state, self.places, strict=False)]
        old = [self._load(v.type, place) for v, place in zip(fold.state, places, strict=True)]
        emitter = Emitter(builder, known | {v.name: value for v, value in zip(fold.state, old, strict=True)})
        if fold.stop is not None:
            stop, here, go = emitter.emit(fold.stop), builder.block, self._block("go")
            builder.cbranch(stop, leave, go)
            exits.append((step, here))
            builder.position_at_end(go)
        new = [emitter.emit(e) for e in fold.update]
        if fold.first is not None:
            mark = builder.gep(self.places[-1], [index], source_etype=_I8)
            seen = builder.icmp_unsigned("!=", builder.load(mark, typ=_I8), _I8(0))
            new = [builder.select(seen, n, emitter.emit(f)) for n, f in zip(new, fold.first, strict=True)]
            builder.store(_I8(1), mark)
        for var, value, place in zip(fold.state, new, places, strict=True):
            self._store(var.type, value, place)

    def _reduce(self, fold: Reduce) -> None:
        builder = self.builder
        span = builder.sub(self.high, self.low)
        count = builder.sdiv(builder.add(span, builder.sub(self.slice, _I64(1))), self.slice)
        room = []  # where lanes are laid down to be joined in order
        if fold.lanes > 1:
            room = [builder.alloca(memory_type(v.type.with_lanes(fold.lanes))) for v in fold.state]

        def one(k: LLVMValue, values: list[LLVMValue]) -> list[LLVMValue]:
            low = builder.add(self.low, builder.mul(k, self.slice))
            high = builder.add(low, self.slice)
            high = builder.select(builder.icmp_signed("<", high, self.high), high, self.high)
            *state, failed = self._slice(fold, low, high, values[0], room)
            for var, value, place in zip(fold.state, state, self.places, strict=True):
                self._store(var.type, value, self._element(var.type, place, k))
            return [failed]

        (failed,) = self._loop("slice", _I64(0), count, [ir.IntType(1)(0)], one)
        builder.store(builder.zext(failed, _I8), self.flag)
        builder.ret(self.high)

    def _slice(
        self, fold: Reduce, low: LLVMValue, high: LLVMValue, failed: LLVMValue, room: list[LLVMValue]
    ) -> list[LLVMValue]:
        """The state of steps `low` to `high`, of which there is one at least."""
        if fold.lanes == 1:
            first, failed = self._first(fold, self._read(low), 1, failed)
            return self._steps(fold, builder_add(self.builder, low, 1), high, [*first, failed])
        builder, lanes = self.builder, fold.lanes
        rounds = builder.sdiv(builder.sub(high, low), _I64(lanes))
        wide, narrow, joined = self._block("wide"), self._block("narrow"), self._block("joined")
        builder.cbranch(builder.icmp_signed(">", rounds, _I64(0)), wide, narrow)

        builder.position_at_end(narrow)
        first, short_failed = self._first(fold, self._read(low), 1, failed)
        short = self._steps(fold, builder_add(builder, low, 1), high, [*first, short_failed])
        short_end = builder.block
        builder.branch(joined)

        builder.position_at_end(wide)
        apart = None if fold.interleaved else rounds
        wide_failed = ir.Constant(ir.VectorType(ir.IntType(1), lanes), None)
        first, wide_failed = self._first(fold, self._read_lanes(low, lanes, apart), lanes, wide_failed)

        def several(k: LLVMValue, values: list[LLVMValue]) -> list[LLVMValue]:
            step = builder.add(low, builder.mul(k, _I64(lanes)) if fold.interleaved else k)
            return self._step(fold, self._read_lanes(step, lanes, apart), values, lanes)

        *states, wide_failed = self._loop("lanes", _I64(1), rounds, [*first, wide_failed], several)
        bits = builder.bitcast(wide_failed, ir.IntType(lanes))
        any_failed = builder.or_(failed, builder.icmp_unsigned("!=", bits, ir.IntType(lanes)(0)))
        for var, value, place in zip(fold.state, states, room, strict=True):
            self._store(var.type, value, place, lanes)
        left = [self._load(v.type, place) for v, place in zip(fold.state, room, strict=True)]

        def join(k: LLVMValue, values: list[LLVMValue]) -> list[LLVMValue]:
            known = self.constants | {v.name: value for v, value in zip(fold.state, values, strict=True)}
            for var, right, place in zip(fold.state, fold.right, room, strict=True):
                known[right.name] = self._load(var.type, self._element(var.type, place, k))
            emitter = Emitter(builder, known)
            return [emitter.emit(e) for e in fold.joined]

        state = self._loop("join", _I64(1), _I64(lanes), left, join)
        rest = builder.add(low, builder.mul(rounds, _I64(lanes)))
        long = self._steps(fold, rest, high, [*state, any_failed])
        long_end = builder.block
        builder.branch(joined)

        builder.position_at_end(joined)
        result = [builder.phi(v.type) for v in short]
        for phi, a, b in zip(result, short, long, strict=True):
            phi.add_incoming(a, short_end)
            phi.add_incoming(b, long_end)
        return result

    def _first(
        self, fold: Reduce, known: dict[str, LLVMValue], lanes: int, failed: LLVMValue
    ) -> tuple[list[LLVMValue], LLVMValue]:
        emitter = Emitter(self.builder, known, lanes=lanes)
        if fold.failed is not None:
            failed = self.builder.or_(failed, emitter.emit(fold.failed))
        return [emitter.emit(e) for e in fold.first], failed

    def _step(self, fold: Reduce, known: dict[str, LLVMValue], values: list[LLVMValue], lanes: int) -> list[LLVMValue]:
        *state, failed = values
        known |= {v.name: value for v, value in zip(fold.state, state, strict=True)}
        emitter = Emitter(self.builder, known, lanes=lanes)
        if fold.failed is not None:
            failed = self.builder.or_(failed, emitter.emit(fold.failed))
        return [*self._updated(fold, emitter, known, state, lanes), failed]

    def _updated(
        self, fold: Run | Reduce, emitter: Emitter, known: dict[str, LLVMValue], state: list[LLVMValue], lanes: int
    ) -> list[LLVMValue]:
        """The state after a step."""
        if fold.changed is None:
            return [emitter.emit(e) for e in fold.update]
        builder, changed = self.builder, emitter.emit(fold.changed)
        if lanes > 1:
            bits = builder.bitcast(changed, ir.IntType(lanes))
            changed = builder.icmp_unsigned("!=", bits, ir.IntType(lanes)(0))
        before, inside, after = builder.block, self._block("changed"), self._block("unchanged")
        builder.cbranch(changed, inside, after)
        builder.position_at_end(inside)
        inner = Emitter(builder, known, lanes=lanes)
        new = [inner.emit(e) for e in fold.update]
        end = builder.block
        builder.branch(after)
        builder.position_at_end(after)
        phis = [builder.phi(v.type) for v in new]
        for phi, old, value in zip(phis, state, new, strict=True):
            phi.add_incoming(old, before)
            phi.add_incoming(value, end)
        return phis

    def _steps(self, fold: Reduce, low: LLVMValue, high: LLVMValue, values: list[LLVMValue]) -> list[LLVMValue]:
        """Steps `low` to `high`, one after the other."""
        return self._loop("step", low, high, values, lambda step, v: self._step(fold, self._read(step), v, 1))


def builder_add(builder: Builder, value: LLVMValue, by: int) -> LLVMValue:
    return builder.add(value, _I64(by))


def _size(type: Type) -> int:
    return 1 if type is BOOL else type.bits // 8
