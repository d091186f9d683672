"""Parallel loops: the body becomes a function, and threads take iterations from a shared counter.

A loop makes two functions. `body(first, end, …)` runs a range of iterations. `worker(closure)` is what every thread
runs: it takes ranges until none is left. The closure, on the stack of the thread that started the loop, holds the
counter and all that the body uses from outside.
"""

from __future__ import annotations

from llvmlite import ir

from rfactor.compiler.codegen.memory import Array
from rfactor.compiler.codegen.statements import (
    I32,
    I64_,
    POINTER,
    Statements,
    arguments,
    captured,
    new_function,
)
from rfactor.ir.loopnest import For
from rfactor.native.literal import LLVMValue

_TURNS = 16
"""How many ranges a thread gets of a loop of many iterations, so that a slow thread holds up the others but little."""

_RUNTIME = ir.LiteralStructType([POINTER, I64_])
"""`runtime.threads.Cell`: what runs workers, of the signature of `GOMP_parallel`, and how many it is asked for."""

_HEADER = 3
"""Fields of a closure before what the body uses: the counter, the number of iterations, the length of a range."""


def emit_parallel(loop: For, outside: Statements) -> None:
    """Emit a parallel loop at the end of the block of `outside`."""
    builder = outside.builder
    emitter = outside.emitter()
    first, extent = emitter.emit(loop.min), emitter.emit(loop.extent)
    variables, arrays = captured(loop.body, outside)
    variables.pop(loop.name, None)
    body = _body(loop, outside, variables, arrays)
    passed = [first, *arguments(outside.context, variables, arrays)]
    closure = ir.LiteralStructType([I64_, I64_, I64_, *(value.type for value in passed)])
    worker = _worker(builder.module, body, closure)

    with builder.if_then(builder.icmp_signed(">", extent, I32(0))):
        count = builder.sext(extent, I64_)
        threads = builder.load(_field(builder, _RUNTIME, outside.context.runtime, 1), typ=I64_)
        share = builder.udiv(count, builder.mul(threads, I64_(_TURNS)))
        chunk = builder.select(builder.icmp_unsigned("==", share, I64_(0)), I64_(1), share)
        shared = outside.slot(closure, 1)
        for index, value in zip(range(_HEADER + len(passed)), [I64_(0), count, chunk, *passed], strict=True):
            builder.store(value, _field(builder, closure, shared, index))
        alone = builder.or_(builder.icmp_unsigned("<", count, I64_(2)), builder.icmp_unsigned("<", threads, I64_(2)))
        with builder.if_else(alone) as (here, everywhere):
            with here:
                builder.call(worker, [shared])
            with everywhere:
                launch = builder.load(_field(builder, _RUNTIME, outside.context.runtime, 0), typ=POINTER)
                _launch(builder, launch, worker, shared, builder.trunc(threads, I32))


def _field(builder: ir.IRBuilder, struct: ir.Type, pointer: LLVMValue, index: int) -> LLVMValue:
    return builder.gep(pointer, [I32(0), I32(index)], source_etype=struct)


class Indirect(ir.Value):  # type: ignore[misc]
    """A pointer to a function of known signature, as something to call."""

    def __init__(self, pointer: LLVMValue, signature: ir.FunctionType) -> None:
        self.type, self.pointer, self.function_type = pointer.type, pointer, signature

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())


def _launch(
    builder: ir.IRBuilder, launch: LLVMValue, worker: ir.Function, closure: LLVMValue, threads: LLVMValue
) -> None:
    """`launch(worker, closure, threads, 0)`."""
    signature = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I32, I32])
    address = ir.FormattedConstant(POINTER, worker.get_reference())
    builder.call(Indirect(launch, signature), [address, closure, threads, I32(0)])


def _body(loop: For, outside: Statements, variables: dict[str, LLVMValue], arrays: dict[str, Array]) -> ir.Function:
    module = outside.builder.module
    name = module.get_unique_name(f"{loop.name}.body")
    builder, (first, end), context, values, pointers = new_function(
        module, name, ir.VoidType(), [I32, I32], variables, arrays
    )
    inside = Statements(builder, values, pointers, context, outside.parallel, outside.told)
    inside.count(loop.name, first, end, loop.body)
    builder.ret_void()
    return builder.function


def _worker(module: ir.Module, body: ir.Function, closure: ir.Type) -> ir.Function:
    """Take ranges of iterations from the counter until there are none."""
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [POINTER]), module.get_unique_name(f"{body.name}.worker")
    )
    function.linkage = "internal"
    function.attributes.add("nounwind")
    (shared,) = function.args
    entry, take, work, done = (function.append_basic_block(name) for name in ("entry", "take", "work", "done"))
    builder = ir.IRBuilder(entry)
    fields = [
        builder.load(_field(builder, closure, shared, index), typ=element)
        for index, element in zip(range(1, len(closure.elements)), closure.elements[1:], strict=True)
    ]
    count, chunk, first, *passed = fields
    builder.branch(take)

    builder.position_at_end(take)
    start = builder.atomic_rmw("add", shared, chunk, "monotonic")
    builder.cbranch(builder.icmp_signed("<", start, count), work, done)

    builder.position_at_end(work)
    end = builder.add(start, chunk)
    end = builder.select(builder.icmp_signed("<", end, count), end, count)
    low, high = (builder.add(first, builder.trunc(bound, I32)) for bound in (start, end))
    builder.call(body, [low, high, *passed])
    builder.branch(take)

    ir.IRBuilder(done).ret_void()
    return function
