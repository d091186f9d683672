"""Parallel loops: the body becomes a function, and threads take iterations from a shared counter.

A loop makes two functions. `body(first, end, …)` runs a range of iterations. `worker(closure)` is what every thread
runs: it takes ranges until none is left. Who starts the loop makes the closure, on its stack, which holds the counter
and all that the body uses from outside, and has the workers run; a function that LLVM takes pains over calls another
for that, `launch(first, extent, …)`. LLVM takes pains over the body alone.
"""

from __future__ import annotations

from llvmlite import ir

from rfactor.compiler.codegen.memory import Array
from rfactor.compiler.codegen.statements import (
    ALIGNMENT,
    I32,
    I64_,
    INTERRUPTED,
    POINTER,
    Context,
    Statements,
    arguments,
    captured,
    new_function,
)
from rfactor.ir.expr import Const
from rfactor.ir.loopnest import For
from rfactor.native.literal import LLVMValue

_TURNS = 16
"""How many ranges a thread gets of a loop of many iterations, so that a slow thread holds up the others but little."""

RUNTIME = ir.LiteralStructType([POINTER, I64_, POINTER])
"""`runtime.threads.Cell`: `launch(worker, closure, threads, flags)`, the most threads that it is asked for, and
`poll(since)`, null where there is none. At `since` it keeps when it was first called by a worker; 0 before."""
_STOP, _LONG = 1, 2
"""What `poll` says where the run is to end early, and where the worker has taken long."""
_FIRST_PARTS, _PARTS = 4, 256
"""How many parts the first range of a thread is run in, which shows whether ranges take long, and those that do: so
that the run may end in between."""


def emit_parallel(loop: For, outside: Statements) -> None:
    """Emit a parallel loop at the end of the block of `outside`."""
    builder = outside.builder
    emitter = outside.emitter()
    first, extent = emitter.emit(loop.min), emitter.emit(loop.extent)
    variables, arrays = captured(loop.body, outside)
    variables.pop(loop.name, None)
    if isinstance(loop.extent, Const) and int(loop.extent.value) <= 0:
        return
    if isinstance(loop.extent, Const):
        _start(loop, outside, first, extent, variables, arrays)
        return
    with builder.if_then(builder.icmp_signed(">", extent, I32(0))):
        _start(loop, outside, first, extent, variables, arrays)


def _start(
    loop: For,
    outside: Statements,
    first: LLVMValue,
    extent: LLVMValue,
    variables: dict[str, LLVMValue],
    arrays: dict[str, Array],
) -> None:
    """Have a loop that is not empty run: here, or in a function that LLVM takes no pains over."""
    body = _body(loop, outside, variables, arrays)
    passed = [first, *arguments(outside.context, variables, arrays)]
    if outside.rough:
        _launch(outside.builder, outside.context, body, extent, passed)
        return
    module = outside.builder.module
    builder, (inner, count), context, values, pointers = new_function(
        module,
        outside.context.target,
        module.get_unique_name(f"{loop.name}.launch"),
        ir.VoidType(),
        [I32, I32],
        variables,
        arrays,
    )
    builder.function.attributes.add("optnone")
    _launch(builder, context, body, count, [inner, *arguments(context, values, pointers)])
    builder.ret_void()
    outside.builder.call(builder.function, [first, extent, *passed[1:]])


def _launch(
    builder: ir.IRBuilder, context: Context, body: ir.Function, extent: LLVMValue, passed: list[LLVMValue]
) -> None:
    """Make the closure of a loop and have the workers run."""
    module, first = builder.module, passed[0]
    closure = module.context.get_identified_type(f"{body.name}.closure")
    closure.set_body(I64_, I64_, I64_, *(value.type for value in passed))
    worker = _worker(module, body, closure)
    with builder.goto_entry_block():
        shared = builder.alloca(closure)
    shared.align = ALIGNMENT
    shared.type = POINTER
    count = builder.sext(extent, I64_)
    most = builder.load(_field(builder, RUNTIME, context.runtime, 1), typ=I64_)
    threads = builder.select(builder.icmp_signed("<", count, most), count, most)
    share = builder.udiv(count, builder.mul(threads, I64_(_TURNS)))
    chunk = builder.select(builder.icmp_unsigned("==", share, I64_(0)), I64_(1), share)
    with builder.if_else(builder.icmp_signed("<", threads, I64_(2))) as (here, everywhere):
        with here:
            builder.call(body, [first, builder.add(first, extent), *passed[1:]])
        with everywhere:
            for index, value in enumerate([I64_(0), count, chunk, *passed]):
                builder.store(value, _field(builder, closure, shared, index))
            run = builder.load(_field(builder, RUNTIME, context.runtime, 0), typ=POINTER)
            signature = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I32, I32])
            address = ir.FormattedConstant(POINTER, worker.get_reference())
            builder.call(Indirect(run, signature), [address, shared, builder.trunc(threads, I32), I32(1)])


def _field(builder: ir.IRBuilder, struct: ir.Type, pointer: LLVMValue, index: int) -> LLVMValue:
    return builder.gep(pointer, [I32(0), I32(index)], source_etype=struct)


class Indirect(ir.Value):  # type: ignore[misc]
    """A pointer to a function of known signature, as something to call."""

    def __init__(self, pointer: LLVMValue, signature: ir.FunctionType) -> None:
        self.type, self.pointer, self.function_type = pointer.type, pointer, signature

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())


def _body(loop: For, outside: Statements, variables: dict[str, LLVMValue], arrays: dict[str, Array]) -> ir.Function:
    module = outside.builder.module
    name = module.get_unique_name(f"{loop.name}.body")
    builder, (first, end), context, values, pointers = new_function(
        module, outside.context.target, name, ir.VoidType(), [I32, I32], variables, arrays
    )
    inside = Statements(builder, values, pointers, context, outside.parallel, outside.told)
    inside.count(loop.name, first, end, loop.body)
    builder.ret_void()
    return builder.function


def _part(builder: ir.IRBuilder, chunk: LLVMValue, number: int) -> LLVMValue:
    share = builder.udiv(chunk, I64_(number))
    return builder.select(builder.icmp_unsigned("==", share, I64_(0)), I64_(1), share)


def _cell(builder: ir.IRBuilder, type: ir.Type) -> LLVMValue:
    room = builder.alloca(type)
    room.type = POINTER
    return room


def _worker(module: ir.Module, body: ir.Function, closure: ir.Type) -> ir.Function:
    """Take ranges of iterations from the counter until there are none, the last iterations first, or the run is to end.

    What ran before went upwards, as a rule: of what it read or wrote the end is in the caches, and of more than they
    hold nothing but the end.
    """
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [POINTER]), module.get_unique_name(f"{body.name}.worker")
    )
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind", "optnone"):
        function.attributes.add(attribute)
    (shared,) = function.args
    names = ("entry", "look", "more", "take", "work", "run", "ask", "stop", "done")
    entry, look, more, take, work, run, ask, stop, done = map(function.append_basic_block, names)
    builder = ir.IRBuilder(entry)
    fields = [
        builder.load(_field(builder, closure, shared, index), typ=element)
        for index, element in zip(range(1, len(closure.elements)), closure.elements[1:], strict=True)
    ]
    count, chunk, first, *passed = fields
    runtime, failure = passed[:2]  # the first two of `Context.values`
    poll = builder.load(_field(builder, RUNTIME, runtime, 2), typ=POINTER)
    asks = builder.icmp_unsigned("!=", poll, ir.Constant(POINTER, None))
    few, part = (_part(builder, chunk, number) for number in (_FIRST_PARTS, _PARTS))
    step, at, last, since = (_cell(builder, I64_) for _ in range(4))
    builder.store(I64_(0), since)
    builder.store(builder.select(asks, few, chunk), step)
    builder.store(I64_(0), at)
    builder.store(I64_(0), last)
    builder.branch(look)

    builder.position_at_end(look)
    failed = builder.load_atomic(failure, "monotonic", 4, typ=I32)
    builder.cbranch(builder.icmp_signed("==", failed, I32(INTERRUPTED)), done, more)

    builder.position_at_end(more)
    begun = builder.icmp_signed("<", builder.load(at, typ=I64_), builder.load(last, typ=I64_))
    builder.cbranch(begun, run, take)

    builder.position_at_end(take)
    start = builder.atomic_rmw("add", shared, chunk, "monotonic")
    builder.cbranch(builder.icmp_signed("<", start, count), work, done)

    builder.position_at_end(work)
    end = builder.add(start, chunk)
    end = builder.select(builder.icmp_signed("<", end, count), end, count)
    builder.store(builder.sub(count, end), at)
    builder.store(builder.sub(count, start), last)
    builder.branch(run)

    builder.position_at_end(run)
    low, limit = builder.load(at, typ=I64_), builder.load(last, typ=I64_)
    high = builder.add(low, builder.load(step, typ=I64_))
    high = builder.select(builder.icmp_signed("<", high, limit), high, limit)
    builder.store(high, at)
    ends = (builder.add(first, builder.trunc(bound, I32)) for bound in (low, high))
    builder.call(body, [*ends, *passed])
    builder.cbranch(asks, ask, look)

    builder.position_at_end(ask)
    answer = builder.call(Indirect(poll, ir.FunctionType(I32, [POINTER])), [since])
    # The first range goes in parts, the others do where time has shown that they are long.
    within = builder.icmp_signed("<", high, limit)
    held = builder.load(step, typ=I64_)
    brief = builder.select(within, held, chunk)
    builder.store(builder.select(builder.icmp_signed("==", answer, I32(_LONG)), part, brief), step)
    builder.cbranch(builder.icmp_signed("==", answer, I32(_STOP)), stop, look)

    builder.position_at_end(stop)
    builder.atomic_rmw("xchg", failure, I32(INTERRUPTED), "monotonic")
    builder.branch(done)

    ir.IRBuilder(done).ret_void()
    return function
