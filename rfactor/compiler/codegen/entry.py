"""The entry of a pipeline that other programs link: a C function over plain structs. See docs/aot.md.

It checks what it is given, lays it out in slots, and runs the pipeline. It returns 0, or a number whose meaning
`NAME_error` tells; it never prints, and never stops the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from rfactor.compiler.codegen.free import uses_threads
from rfactor.compiler.codegen.module import build, passes_for
from rfactor.compiler.codegen.parallel import RUNTIME, Indirect
from rfactor.compiler.codegen.statements import I32, I64_, OUT_OF_MEMORY, POINTER
from rfactor.compiler.runtime.arguments import FOLDED
from rfactor.ir.loopnest import BufferArgument, LoweredPipeline, ScalarArgument
from rfactor.ir.nest_printer import show_told
from rfactor.ir.types import Type
from rfactor.native.engine import Target
from rfactor.native.literal import LLVMValue

BUFFER = ir.LiteralStructType([POINTER, POINTER, I32, I32])
"""`rfactor_buffer`: data, dim, dimensions, type."""
DIMENSION = ir.LiteralStructType([I32, I32, I64_])
"""`rfactor_dimension`: min, extent, stride."""
PARALLEL, THREADS = "rfactor_parallel", "rfactor_threads"
"""How a program runs parallel loops: functions that it may define; those in the object run them on the caller alone."""

_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "bfloat": 4}
_I8 = ir.IntType(8)


SPAN = 1 << 62
"""The elements of an array lie less than this many bytes apart, so that no sum of steps to one of them overflows."""


def longest_way(argument: BufferArgument) -> int:
    """How far apart the ends of one dimension of an array may be, in elements."""
    return SPAN // (max(argument.type.bits // 8, 1) * max(argument.dimensions, 1))


def type_number(type: Type) -> int:
    """The number of a type in an `rfactor_buffer`: its bits, plus 256 times its kind (0 signed, 1 unsigned, 2 float, 4
    brain float)."""
    return _CODES[type.code] << 8 | type.bits


@dataclass(frozen=True, slots=True)
class Constant:
    """An array that becomes part of the object."""

    array: NDArray[np.generic]
    mins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a C function takes, and what it runs."""

    name: str
    lowered: LoweredPipeline
    arguments: tuple[BufferArgument | ScalarArgument, ...]
    """In the order of the function's arguments, outputs last; some may be of no use to the pipeline."""
    boxes: Mapping[str, tuple[str, int, str]]
    """The scalars of the pipeline that are bounds of an output: the buffer, its dimension, `min` or `extent`;"""
    alike: Sequence[tuple[BufferArgument, BufferArgument]]
    """outputs that have the box of another,"""
    constants: Mapping[str, Constant]
    """arrays that are no arguments,"""
    titles: Mapping[str, str]
    """and what a user calls those arrays that have another name in the nest."""


def emit_entry(entry: Entry, target: Target) -> tuple[str, tuple[str, ...], Target]:
    """LLVM IR before any pass, the messages of errors 1, 2, …, and `target` with the passes that help the pipeline."""
    tuned = passes_for(entry.lowered, target)
    module, pipeline, checks = build(entry.lowered, tuned, f"{entry.name}.pipeline")
    pipeline.linkage = "internal"
    function = ir.Function(module, ir.FunctionType(I32, signature(entry)), entry.name)
    emitted = _Emitted(ir.IRBuilder(function.append_basic_block("entry")), [])
    given = {a.name: value for a, value in zip(entry.arguments, function.args, strict=True)}
    for argument in entry.arguments:
        if isinstance(argument, BufferArgument) and argument in entry.lowered.arguments:
            emitted.check_buffer(argument, entry.titles.get(argument.name, argument.name), given[argument.name])
    for one, other in entry.alike:
        emitted.check_alike(one, given[one.name], other, given[other.name])
    values: list[LLVMValue] = []
    for argument in entry.lowered.arguments:
        if argument.name in entry.constants:
            values += _constant(module, argument.name, entry.constants[argument.name])
        elif isinstance(argument, BufferArgument):
            values += emitted.box(argument, given[argument.name])
        elif argument.name in entry.boxes:
            buffer, d, what = entry.boxes[argument.name]
            values.append(emitted.bound(given[buffer], d, what))
        else:
            values.append(_slot(emitted.builder, argument.type, given[argument.name]))
    emitted.call(pipeline, values, max([len(check.arguments) for check in checks], default=0), _cell(module, entry))
    texts = [check.message.format(*map(show_told, check.arguments)) for check in checks]
    messages = (*emitted.messages, *texts)
    _messages(module, f"{entry.name}_error", messages)
    return str(module), messages, tuned


def signature(entry: Entry) -> list[ir.Type]:
    """The types of the function's arguments; it gives an i32."""
    return [POINTER if isinstance(a, BufferArgument) else _c_type(a.type) for a in entry.arguments]


def passed_type(type: Type) -> str:
    """The C type of a scalar argument."""
    if type.is_bool:
        return "bool"
    if type.is_float:
        return "double" if type.bits == 64 else "float"
    return f"{'u' if not type.is_signed else ''}int{type.bits}_t"


def _c_type(type: Type) -> ir.Type:
    if type.is_float:
        return ir.DoubleType() if type.bits == 64 else ir.FloatType()
    return ir.IntType(max(type.bits, 8))


def _slot(builder: ir.IRBuilder, type: Type, value: LLVMValue) -> LLVMValue:
    """A scalar in a slot: floats as f64, integers as i64."""
    if type.is_float:
        return builder.bitcast(value if type.bits == 64 else builder.fpext(value, ir.DoubleType()), I64_)
    if type.is_bool:
        value = builder.icmp_unsigned("!=", value, _I8(0))
    if type.bits == 64:
        return value
    return (builder.sext if type.is_signed and not type.is_bool else builder.zext)(value, I64_)


@dataclass(slots=True)
class _Emitted:
    """The C function under construction, and the messages of its errors so far."""

    builder: ir.IRBuilder
    messages: list[str]

    def check(self, holds: LLVMValue, message: str) -> None:
        """Return the number of `message` unless `holds`."""
        self.messages.append(message)
        with self.builder.if_then(self.builder.not_(holds), likely=False):
            self.builder.ret(I32(len(self.messages)))

    def check_buffer(self, argument: BufferArgument, name: str, buffer: LLVMValue) -> None:
        """All that can be told without looking at the nest; messages call the array `name`."""
        builder, type = self.builder, argument.type
        null = ir.Constant(POINTER, None)
        self.check(builder.icmp_unsigned("!=", buffer, null), f"{name} is null")
        rank = builder.icmp_signed("==", self._field(buffer, 2, I32), I32(argument.dimensions))
        self.check(rank, f"{name} must have {argument.dimensions} dimensions")
        number = type_number(type)
        has_type = builder.icmp_signed("==", self._field(buffer, 3, I32), I32(number))
        self.check(has_type, f"{name} must hold {type}, whose number is {number}")
        if argument.dimensions:
            self.check(builder.icmp_unsigned("!=", self._field(buffer, 1, POINTER), null), f"{name} has a null dim")
        empty: LLVMValue = ir.IntType(1)(0)
        near: list[LLVMValue] = []
        for d in range(argument.dimensions):
            least, extent = (builder.sext(self._dim(buffer, d, i, I32), I64_) for i in (0, 1))
            self.check(builder.icmp_signed(">=", extent, I64_(0)), f"{name} has a negative extent in dimension {d}")
            ends = builder.icmp_signed("<=", builder.add(least, extent), I64_((1 << 31) - 1))
            self.check(ends, f"{name} ends beyond 2^31 in dimension {d}: coordinates are i32")
            empty = builder.or_(empty, builder.icmp_signed("==", extent, I64_(0)))
            near.append(self._is_near(argument, buffer, d, extent))
        for d, reached in enumerate(near):
            self.check(
                builder.or_(empty, reached), f"{name} spans too much memory in dimension {d}: look at its stride"
            )
        if argument.output and argument.dimensions:
            self.check(builder.or_(empty, self._is_unfolded(argument, buffer)), FOLDED.format(name))
        data = self._field(buffer, 0, POINTER)
        there = builder.or_(empty, builder.icmp_unsigned("!=", data, null))
        self.check(there, f"{name} has elements but its data is null")
        size = max(type.bits // 8, 1)
        past = builder.and_(builder.ptrtoint(data, I64_), I64_(size - 1))
        self.check(
            builder.icmp_unsigned("==", past, I64_(0)), f"{name} must be aligned to its elements of {size} bytes"
        )

    def _is_near(self, argument: BufferArgument, buffer: LLVMValue, d: int, extent: LLVMValue) -> LLVMValue:
        """Whether the last element of a dimension lies near enough to the first."""
        builder, step = self.builder, self._step(buffer, d)
        steps = builder.sub(extent, I64_(1))
        moves = builder.icmp_signed(">", steps, I64_(0))
        longest = builder.udiv(I64_(longest_way(argument)), builder.select(moves, steps, I64_(1)))
        return builder.or_(builder.not_(moves), builder.icmp_unsigned("<=", step, longest))

    def _step(self, buffer: LLVMValue, d: int) -> LLVMValue:
        """The stride of a dimension without its sign."""
        stride = self._dim(buffer, d, 2, I64_)
        return self.builder.select(self.builder.icmp_signed("<", stride, I64_(0)), self.builder.neg(stride), stride)

    def _is_unfolded(self, argument: BufferArgument, buffer: LLVMValue) -> LLVMValue:
        """Whether each step of an array that is near is longer than all that shorter ones span: see `folded`."""
        builder = self.builder
        extents = [builder.sext(self._dim(buffer, d, 1, I32), I64_) for d in range(argument.dimensions)]
        steps = [self._step(buffer, d) for d in range(argument.dimensions)]
        spans = [builder.mul(step, builder.sub(extent, I64_(1))) for step, extent in zip(steps, extents, strict=True)]
        all_beyond: LLVMValue = ir.IntType(1)(1)
        for d, step in enumerate(steps):
            reach: LLVMValue = I64_(0)
            for e, other in enumerate(steps):
                if e != d:
                    below = builder.icmp_unsigned("<=" if e < d else "<", other, step)
                    reach = builder.add(reach, builder.select(below, spans[e], I64_(0)))
            moves = builder.icmp_signed(">", extents[d], I64_(1))
            beyond = builder.icmp_unsigned(">", step, reach)
            all_beyond = builder.and_(all_beyond, builder.or_(builder.not_(moves), beyond))
        return all_beyond

    def check_alike(self, one: BufferArgument, buffer: LLVMValue, other: BufferArgument, first: LLVMValue) -> None:
        """Whether two outputs, both checked, have one box."""
        builder = self.builder
        for d in range(one.dimensions):
            least, extent = (
                builder.icmp_signed("==", self._dim(buffer, d, i, I32), self._dim(first, d, i, I32)) for i in (0, 1)
            )
            message = f"{one.name} and {other.name} must have one box; they differ in dimension {d}"
            self.check(builder.and_(least, extent), message)

    def box(self, argument: BufferArgument, buffer: LLVMValue) -> list[LLVMValue]:
        """The slots of an array."""
        builder = self.builder
        values = [builder.ptrtoint(self._field(buffer, 0, POINTER), I64_)]
        for d in range(argument.dimensions):
            values += [builder.sext(self._dim(buffer, d, i, I32), I64_) for i in (0, 1)]
            values.append(self._dim(buffer, d, 2, I64_))
        return values

    def bound(self, buffer: LLVMValue, d: int, what: str) -> LLVMValue:
        """One end of a box, as i64."""
        return self.builder.sext(self._dim(buffer, d, ("min", "extent").index(what), I32), I64_)

    def call(self, pipeline: ir.Function, values: list[LLVMValue], reported: int, cell: _Cell) -> None:
        """Run the pipeline over slots on the stack, and return what it says."""
        builder = self.builder
        room = _stack(builder, I64_, len(values))
        for i, value in zip(count(), values, strict=False):
            builder.store(value, builder.gep(room, [I64_(i)], source_etype=I64_))
        runtime = _stack(builder, RUNTIME, 1)
        if cell is not None:
            launch, threads = cell
            builder.store(launch, builder.gep(runtime, [I32(0), I32(0)], source_etype=RUNTIME))
            wide = builder.sext(builder.call(threads, []), I64_)
            builder.store(wide, builder.gep(runtime, [I32(0), I32(1)], source_etype=RUNTIME))
            nothing = ir.Constant(POINTER, None)
            builder.store(nothing, builder.gep(runtime, [I32(0), I32(2)], source_etype=RUNTIME))
        status = builder.call(pipeline, [room, runtime, _stack(builder, I64_, reported)])
        failed = builder.icmp_signed(">", status, I32(0))
        builder.ret(builder.select(failed, builder.add(status, I32(len(self.messages))), status))

    def _field(self, buffer: LLVMValue, index: int, type: ir.Type) -> LLVMValue:
        at = self.builder.gep(buffer, [I32(0), I32(index)], source_etype=BUFFER)
        return self.builder.load(at, typ=type)

    def _dim(self, buffer: LLVMValue, d: int, index: int, type: ir.Type) -> LLVMValue:
        dims = self._field(buffer, 1, POINTER)
        return self.builder.load(self.builder.gep(dims, [I32(d), I32(index)], source_etype=DIMENSION), typ=type)


_Cell = tuple[ir.Function, ir.Function] | None


def _stack(builder: ir.IRBuilder, type: ir.Type, number: int) -> LLVMValue:
    room = builder.alloca(ir.ArrayType(type, max(number, 1)))
    room.align = 8
    room.type = POINTER
    return room


def _cell(module: ir.Module, entry: Entry) -> _Cell:
    """The two functions that run parallel loops, weak, or None where there is no such loop."""
    if not uses_threads(entry.lowered.body):
        return None
    launch = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I32, I32]), PARALLEL)
    builder = ir.IRBuilder(launch.append_basic_block("entry"))
    worker = Indirect(launch.args[0], ir.FunctionType(ir.VoidType(), [POINTER]))
    builder.call(worker, [launch.args[1]])
    builder.ret_void()
    threads = ir.Function(module, ir.FunctionType(I32, []), THREADS)
    ir.IRBuilder(threads.append_basic_block("entry")).ret(I32(1))
    for function in (launch, threads):
        function.linkage = "weak"
    return launch, threads


def _constant(module: ir.Module, name: str, constant: Constant) -> list[LLVMValue]:
    """The slots of an array in the object."""
    array = np.ascontiguousarray(constant.array)
    content = bytearray(array.tobytes()) or bytearray(1)
    data = ir.GlobalVariable(module, ir.ArrayType(_I8, len(content)), module.get_unique_name(f"{name}.data"))
    data.initializer = ir.Constant(data.value_type, content)
    data.linkage, data.global_constant, data.align = "private", True, 64
    values = [ir.FormattedConstant(I64_, f"ptrtoint (ptr {data.get_reference()} to i64)")]
    for d in range(array.ndim):
        step = array.strides[-1 - d] // array.itemsize
        values += [I64_(constant.mins[d]), I64_(array.shape[-1 - d]), I64_(1 if d == 0 else step)]
    return values


def _messages(module: ir.Module, name: str, messages: Sequence[str]) -> None:
    """`const char *name(int32_t number)`: what a number that the entry returned means."""
    function = ir.Function(module, ir.FunctionType(POINTER, [I32]), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    other = function.append_basic_block("other")
    said = {0: "done", OUT_OF_MEMORY: "no memory for an intermediate", **dict(zip(count(1), messages, strict=False))}
    switch = builder.switch(function.args[0], other)
    for number, message in said.items():
        block = function.append_basic_block("says")
        switch.add_case(I32(number), block)
        ir.IRBuilder(block).ret(_text(module, message))
    ir.IRBuilder(other).ret(_text(module, "no error has this number"))


def _text(module: ir.Module, text: str) -> LLVMValue:
    content = bytearray(text.encode(errors="replace") + b"\0")
    data = ir.GlobalVariable(module, ir.ArrayType(_I8, len(content)), module.get_unique_name("message"))
    data.initializer = ir.Constant(data.value_type, content)
    data.linkage, data.global_constant = "private", True
    return ir.FormattedConstant(POINTER, data.get_reference())
