"""A lowered pipeline to an executable."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from llvmlite import ir

from rfactor.compiler.codegen.free import addressed, largest, uses_threads, uses_vectors, within
from rfactor.compiler.codegen.left import as_written
from rfactor.compiler.codegen.memory import Array
from rfactor.compiler.codegen.parallel import emit_parallel
from rfactor.compiler.codegen.statements import (
    I32,
    I64_,
    INTERRUPTED,
    OUT_OF_MEMORY,
    POINTER,
    Context,
    Statements,
    arguments,
    new_function,
)
from rfactor.compiler.codegen.straight import short, stored_again, tight
from rfactor.compiler.codegen.strides import strided
from rfactor.compiler.codegen.vectorizable import most_stores, vectorizable
from rfactor.compiler.lower.prefixes import is_prefixes
from rfactor.compiler.runtime.alike import Call
from rfactor.compiler.runtime.arguments import Argument, Binding, slots
from rfactor.compiler.runtime.threads import cell, raise_interrupt, waker, waker_address
from rfactor.errors import BufferError
from rfactor.ir.algorithm import ADDRESS
from rfactor.ir.loopnest import (
    Assert,
    Block,
    BufferArgument,
    Let,
    LoweredPipeline,
    ScalarArgument,
    Stmt,
    block,
)
from rfactor.ir.statements import walk_nest
from rfactor.ir.types import F64, I64, Type
from rfactor.kept import once
from rfactor.native.conversions import convert
from rfactor.native.engine import Code, Target, compile_module, host
from rfactor.native.literal import LLVMValue, llvm_type
from rfactor.native.output import PUTS
from rfactor.native.printing import raising

_ENTRY = "pipeline"
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)


@dataclass(frozen=True, eq=False)
class Executable:
    """A compiled pipeline. Calls from several threads at once are safe where they write other arrays."""

    code: Code
    _target: Target
    _lower: Callable[[], LoweredPipeline]
    _function: Any
    _report: ctypes.Array[ctypes.c_int64]
    """Where a check that fails writes what it saw. Nobody reads this one: several calls may write at once."""
    bind: Binding
    """Checks arguments and lays them out for `start`."""
    _tells: bool
    """Whether it prints, or may refuse a value that it computes: then a call that failed is not made again."""
    _runtime: int
    """The address of `runtime.threads.Cell`; 0 where there is no parallel loop."""
    wake: Callable[[], None] | None
    """Called some time before `start`, has a thread awake by then; None where there is no parallel loop."""

    def __call__(self, values: Mapping[str, Argument]) -> None:
        """Run it on `values` by name of argument; the outputs are written in place.

        Raises `BufferError` where an array has the wrong type, rank, strides or size, or an output overlaps another
        array; `KeyError` where an argument is missing; `MemoryError` where storage cannot be had; at the end, what
        `sys.stdout` raised first while it printed; what a handler of signals raised during a parallel loop.
        """
        # The arrays are held until the code is done with them.
        given, _arrays = self.bind(values)
        self.start(given)

    def start(self, given: ctypes.Array[ctypes.c_int64]) -> None:
        """Run it on slots that `bind` has filled, whose arrays the caller holds. Raises as a call does."""
        if self._tells:
            report = type(self._report)()
            with raising():
                status = self._function(given, self._runtime, report)
            self._raise(status, report)
        else:
            self._again(given, self._function(given, self._runtime, self._report))

    def call(self, given: ctypes.Array[ctypes.c_int64], wakes: bool) -> Call:
        """What `start` does, for native code. `wakes`: whether a thread is to be awake by then."""
        if self._tells:
            return Call(otherwise=partial(self._started, given))
        return Call(
            self.code.addresses[_ENTRY],
            ctypes.addressof(given),
            self._runtime,
            ctypes.addressof(self._report),
            waker_address() if wakes else 0,
            partial(self._again, given),
            self,
        )

    def _started(self, given: ctypes.Array[ctypes.c_int64], _: int) -> bool:
        self.start(given)
        return True

    def _again(self, given: ctypes.Array[ctypes.c_int64], status: int) -> bool:
        """Raise what a call that returned `status` tells of; True where there is nothing to tell."""
        report = self._report
        if status > 0:  # before anything was done: it is made again, to be told of
            report = type(report)()
            status = self._function(given, self._runtime, report) or status  # other data may have come to lie there
        self._raise(status, report)
        return True

    def _raise(self, status: int, report: ctypes.Array[ctypes.c_int64]) -> None:
        if status == INTERRUPTED:
            raise_interrupt()
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"{self.lowered.name}: no memory for an intermediate")
        if status:
            raise BufferError(_message(self.checks[status - 1], list(report)))

    @property
    def lowered(self) -> LoweredPipeline:
        """What it was compiled from, in the names of who runs it."""
        return self._lower()

    @once
    def checks(self) -> tuple[Assert, ...]:
        """What is checked on entry, in the order of the numbers that tell of a failure."""
        return generate(self.lowered, self._target)[1]

    @property
    def initial_ir(self) -> str:
        """The LLVM IR before any pass."""
        return self.code.text

    def llvm_ir(self) -> str:
        """The LLVM IR after all passes."""
        return self.code.llvm_ir()

    def assembly(self) -> str:
        """The target's assembly."""
        return self.code.assembly()


def _message(check: Assert, report: list[int]) -> str:
    values: list[Any] = []
    for argument, bits in zip(check.arguments, report, strict=False):
        if argument.type.is_float:
            values.append(struct.unpack("<d", struct.pack("<q", bits))[0])
        elif argument.type.is_bool:
            values.append(bool(bits))
        else:
            values.append(argument.type.wrap(bits))
    return check.message.format(*values)


def compile_pipeline(lowered: LoweredPipeline, target: Target | None = None) -> Executable:
    """Compile a lowered pipeline for `target`, by default the machine that this runs on (see `passes_for`).

    Raises `TypeError` where a statement or expression is left that lowering should have removed.
    """
    target = passes_for(lowered) if target is None else target
    text, checks = generate(lowered, target)
    code = compile_module(text, [_ENTRY], target)
    report = ctypes.c_int64 * (1 + max((len(check.arguments) for check in checks), default=0))
    function = _SIGNATURE(code.addresses[_ENTRY])
    threads = (cell(), waker(code.addresses[_ENTRY])) if uses_threads(lowered.body) else (0, None)
    bind = Binding(lowered.arguments)
    on_entry = sum(isinstance(part, Assert) for part in walk_nest(lowered.body))
    tells = PUTS in text or len(checks) > on_entry
    return Executable(code, target, lambda: lowered, function, report(), bind, tells, *threads)


def renamed(
    known: Executable, expected: Sequence[BufferArgument | ScalarArgument], lowered: Callable[[], LoweredPipeline]
) -> Executable:
    """The code of `known` for a pipeline of the same structure, with arguments of its own names."""
    return replace(known, _lower=lowered, bind=Binding(expected))


_LARGEST = 4000
"""Operations in one expression that LLVM is left to improve: the time that it takes grows with the square (10 s)."""

_MOST_STORES = 256
"""Stores in an innermost loop that LLVM's vectorizers look at. The passes that come with them take time that grows with
the square (256: 0.8 s, 1024: 14 s, with vectorizers or without), but a product of matrices in tiles of 16 x 16 that are
all unrolled takes six times as long without."""


def passes_for(lowered: LoweredPipeline, target: Target | None = None) -> Target:
    """`target`, by default this machine, with the passes that help `lowered`.

    A nest as it came from the algorithm gets all that LLVM has. One with explicit vectors says where they are, and one
    with a schedule where to unroll: LLVM's own would only swell the loops that were left as they are on purpose. Where
    nothing is left for the vectorizers, each function is simplified by itself: the rest finds nothing in such code, but
    where running values are handed from one iteration to the next, through memory otherwise.
    Short loops of vectors are unrolled, iterations of tight loops repeated, and stores that others follow left out,
    where there are such (`straight`).
    Where a case of an update is as it was written beside one that is not, its loops get all that LLVM has.
    Pointers that move with loops are looked for where that gains (`strides`). Expressions that the passes would take
    minutes for get none; loops that a schedule has unrolled that far are not looked through for lanes.
    """
    machine = host() if target is None else target
    if largest(lowered.body) > _LARGEST:
        return replace(machine, level=0)
    vectors, long = uses_vectors(lowered.body), most_stores(lowered.body) > _MOST_STORES
    if not (vectors or long or uses_threads(lowered.body)):
        return replace(machine, loop_vectorizer=True, slp_vectorizer=True, loop_unroller=True)
    if not long and as_written(lowered.body):
        return replace(machine, cases=True)
    lanes = not (vectors or long) and vectorizable(lowered.body)
    running = any(is_prefixes(part) for part in within(lowered.body))
    level = machine.level if lanes or running else min(machine.level, 1)
    unrolled = level == 1 and short(lowered.body)
    return replace(
        machine,
        level=level,
        loop_vectorizer=lanes,
        slp_vectorizer=lanes,
        loop_unroller=unrolled,
        loop_repeater=level == 1 and tight(lowered.body),
        store_remover=unrolled or (level == 1 and stored_again(lowered.body)),
        pointers=strided(lowered.body),
    )


def generate(lowered: LoweredPipeline, target: Target) -> tuple[str, tuple[Assert, ...]]:
    """The LLVM IR of a pipeline before any pass, and its checks in the order of their numbers."""
    module, _, checks = build(lowered, target)
    return str(module), checks


def build(
    lowered: LoweredPipeline, target: Target, name: str = _ENTRY
) -> tuple[ir.Module, ir.Function, tuple[Assert, ...]]:
    """The module of a pipeline, its entry called `name`, and its checks in the order of their numbers.

    The entry is `i32 pipeline(ptr slots, ptr runtime, ptr report)`; see `runtime.arguments.slots` for the slots.
    """
    module = ir.Module(ascii(lowered.name)[1:-1], ir.Context())  # stands in a comment
    module.triple = target.triple
    entry = ir.Function(module, ir.FunctionType(I32, [POINTER] * 3), name)
    entry.attributes.add("noinline")
    entry.attributes.add("optnone")
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    given, runtime, report = entry.args
    variables: dict[str, LLVMValue] = {}
    arrays: dict[str, Array] = {}
    position = 0
    placed = addressed(lowered.body)
    for argument in lowered.arguments:
        for slot, type_ in slots(argument):
            address = builder.gep(given, [I64_(position)], source_etype=I64_)
            position += 1
            if isinstance(argument, BufferArgument) and slot == argument.name:
                if slot in placed:
                    variables[slot + ADDRESS] = builder.load(address, typ=I64_)
                arrays[slot] = Array(builder.load(address, typ=POINTER), argument.type, argument.stored)
            else:
                variables[slot] = _scalar(builder, builder.load(address, typ=I64_), type_)
    failure = builder.alloca(I32)
    failure.type = POINTER
    builder.store(I32(0), failure)

    # What runs once, checks and all, is emitted where LLVM takes no pains over it.
    checks: list[Assert] = []
    outside = Context(runtime, failure, report, target)
    if uses_threads(lowered.body):
        Statements(builder, variables, arrays, outside, emit_parallel, checks, entry=True, rough=True).emit(
            lowered.body
        )
        builder.ret(builder.load(failure, typ=I32))
        return module, entry, tuple(checks)
    asserted, body = _divided(lowered.body)
    Statements(builder, variables, arrays, outside, emit_parallel, checks, entry=True).emit(asserted)

    inner, _, context, inner_variables, inner_arrays = new_function(
        module, target, f"{name}.body", I32, [], variables, arrays
    )
    Statements(inner, inner_variables, inner_arrays, context, emit_parallel, checks, entry=True, root=True).emit(body)
    inner.ret(inner.load(context.failure, typ=I32))

    builder.ret(builder.call(inner.function, arguments(outside, variables, arrays)))
    return module, entry, tuple(checks)


def _divided(stmt: Stmt) -> tuple[Stmt, Stmt]:
    """The checks that `stmt` begins with, and the rest; both see what is defined around them."""
    if isinstance(stmt, Assert):
        return stmt, block()
    if isinstance(stmt, Let):
        checks, rest = _divided(stmt.body)
        return (checks if checks == block() else Let(stmt.name, stmt.value, checks)), Let(stmt.name, stmt.value, rest)
    if not isinstance(stmt, Block):
        return block(), stmt
    checked: list[Stmt] = []
    for index, child in enumerate(stmt.statements):
        checks, rest = _divided(child)
        checked.append(checks)
        if not _nothing(rest):
            return block(*checked), block(rest, *stmt.statements[index + 1 :])
    return block(*checked), block()


def _nothing(stmt: Stmt) -> bool:
    return _nothing(stmt.body) if isinstance(stmt, Let) else stmt == block()


def _scalar(builder: ir.IRBuilder, bits: LLVMValue, type_: Type) -> LLVMValue:
    """A value of `type_` from its slot: floats as f64, the rest as i64."""
    if type_.is_float:
        double = builder.bitcast(bits, ir.DoubleType())
        return double if type_ == F64 else convert(builder, F64, type_, double)
    if type_ == I64:
        return bits
    if type_.is_bool:
        return builder.trunc(bits, llvm_type(type_))
    return convert(builder, I64, type_, bits)
