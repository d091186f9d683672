"""Statements of a lowered nest to LLVM IR, one function at a time.

Every generated function gets what it uses as arguments: flat buffers as `noalias` pointers (arrays of a pipeline never
overlap where one is written), variables by value, and a `Context`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

from llvmlite import ir

from rfactor.compiler.codegen.free import buffers, free, read
from rfactor.compiler.codegen.hints import leave_alone, step_by_step
from rfactor.compiler.codegen.interleaved import groups
from rfactor.compiler.codegen.left import scheduled
from rfactor.compiler.codegen.memory import Array, Memory
from rfactor.compiler.codegen.moving import moving
from rfactor.compiler.codegen.pains import heavy, launches, together
from rfactor.compiler.codegen.places import Places
from rfactor.compiler.codegen.spans import spans
from rfactor.compiler.codegen.vectorizable import side_by_side
from rfactor.compiler.lower import affine
from rfactor.compiler.lower.peel import once
from rfactor.compiler.lower.zeros import clears
from rfactor.ir.effects import Refuse
from rfactor.ir.expr import Const, Expr, Var, cast, names
from rfactor.ir.loopnest import (
    Allocate,
    AnyLane,
    Assert,
    Atomic,
    Block,
    For,
    If,
    Let,
    Produce,
    Stmt,
    Store,
    Write,
)
from rfactor.ir.statements import walk_nest
from rfactor.ir.types import F32, F64, I64, Type
from rfactor.ir.types import I32 as COORDINATE
from rfactor.native.conversions import convert
from rfactor.native.emit import Emitter, Known
from rfactor.native.engine import Target
from rfactor.native.instructions import declare
from rfactor.native.literal import LLVMValue, memory_type
from rfactor.native.output import lane_of

POINTER, I32, I64_ = ir.PointerType(), ir.IntType(32), ir.IntType(64)
_I1, _I8 = ir.IntType(1), ir.IntType(8)
OUT_OF_MEMORY = -1
INTERRUPTED = -2
"""What a pipeline returns where an allocation failed; an Assert that fails returns its number, from 1."""

_STACK_BYTES = 1 << 14
"""Buffers of a constant size up to this lie on the stack,"""
_FRAME_BYTES = 1 << 17
"""as long as those of one function take no more than this."""
ALIGNMENT = 64
_TOGETHER = 4
"""Functions that are computed at the root are parts of one function of the code up to this many."""
_LOCKS = 64
"""Locks for the points of one function, a power of two."""
_MOST_READ = 64
"""Values with loads that are kept over a store: each store looks through them."""
_LONGEST = 200
"""Characters of the longest name of a local value."""


@dataclass(frozen=True, slots=True)
class Context:
    """What every generated function is handed on: three pointers. And what machine it is for."""

    runtime: LLVMValue
    """How to run a parallel loop: see `runtime.threads.Cell`."""
    failure: LLVMValue
    """An i32 that is set where an allocation fails, or a value is refused."""
    report: LLVMValue
    """Where an Assert that fails leaves the values of its arguments."""
    target: Target

    @property
    def values(self) -> tuple[LLVMValue, LLVMValue, LLVMValue]:
        return (self.runtime, self.failure, self.report)


class Statements:
    """Emits the statements of one function, at the end of `builder`'s block."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        variables: Mapping[str, LLVMValue],
        arrays: Mapping[str, Array],
        context: Context,
        parallel: Callable[[For, Statements], None],
        told: list[Assert],
        entry: bool = False,
        root: bool = False,
        rough: bool = False,
    ) -> None:
        """`parallel` emits parallel loops; `told` collects all that may fail; checks are made on `entry` alone.

        `root` computes what is computed at the root, `rough` is a function that LLVM takes no pains over.
        """
        self.builder, self.context, self.parallel, self.told, self._entry = builder, context, parallel, told, entry
        self._root, self.rough = root, rough
        self.variables, self.arrays = dict(variables), dict(arrays)
        self.places = Places(self.variables)
        self.memory = Memory(builder, self.arrays, self.places, context.target.masked_bits)
        self._known: Known = {}
        """Values that were emitted before and dominate what is emitted now, of expressions without loads."""
        self._read: Known = {}
        """The same of expressions with loads, where nothing has been stored since into what they load from."""
        self._produced = 0
        self._left: bool | None = None
        """Whether LLVM leaves the loops that are emitted now as they are; None outside of loops."""
        self._frame = 0
        self._heap: list[LLVMValue] = []
        """Memory that is held here."""
        self._used: dict[int, tuple[Stmt, frozenset[str]]] = {}

    def emitter(self) -> Emitter:
        """An emitter for the expressions of one statement."""
        load, outside = self.memory.load, self.places.outside
        return Emitter(
            self.builder, self.variables, load, known=self._known, outside=outside, refuse=self._refuse, read=self._read
        )

    def value(self, expr: Expr) -> LLVMValue:
        return self.emitter().emit(expr)

    def emit(self, stmt: Stmt) -> None:
        """Emit `stmt`. Raises `TypeError` for a statement that lowering should have removed."""
        if self.rough and not launches(stmt):
            self._apart(stmt)
            return
        match stmt:
            case Block():
                for group in groups(list(together(stmt.statements)) if self.rough else stmt.statements):
                    self._group(group)
            case For(kind="serial"):
                outer = self._left
                if outer is None:
                    self._left = self.context.target.cases and scheduled(stmt)
                self._left = self._left or once(stmt)
                self._loop(stmt)
                self._left = outer
            case For(kind="parallel"):
                self.parallel(stmt, self)
                self._read = {}
                self._leave_if_interrupted()
            case Let():
                with self._bound(stmt.name, self.value(stmt.value)):
                    self.emit(stmt.body)
            case If():
                self._branch(stmt)
            case Produce():
                self._produce(stmt)
            case Allocate():
                self._allocate(stmt)
            case Store():
                self.memory.store(stmt, self.emitter())
                self._changed(stmt.buffer)
            case Atomic():
                self._read = {}  # another thread may have stored
                self._atomic(stmt)
                self._read = {}
            case Write():
                self.value(stmt.line)
                self._read = {}
            case Assert():
                self._assert(stmt)
            case _:
                kind = f"a {stmt.kind} loop" if isinstance(stmt, For) else type(stmt).__name__
                raise TypeError(f"{kind} is left after lowering")

    def _group(self, group: tuple[Stmt, ...]) -> None:
        """One statement, or stores that fill memory together."""
        if len(group) == 1:
            self.emit(group[0])
            return
        stores = [one for one in group if isinstance(one, Store)]
        self.memory.fill(stores, self.emitter())
        self._changed(stores[0].buffer)

    def _changed(self, buffer: str) -> None:
        """Something was stored into `buffer`: what others held is there still."""
        many = len(self._read) > _MOST_READ
        known = {} if many else self._read
        self._read = {e: value for e, value in known.items() if isinstance(e, Expr) and buffer not in read(e)}

    def _last(self, stmt: Stmt, held: Mapping[str, LLVMValue]) -> None:
        """Emit `stmt`, after which nothing uses the buffers `held`: the memory of each is given back after its last use
        inside, so that what is allocated next may have it."""
        if not held or (self.rough and not launches(stmt)):
            self.emit(stmt)
            self._give_back(held)
            return
        match stmt:
            case Block():
                children = list(together(stmt.statements) if self.rough else stmt.statements)
                for place, child in zip(range(len(children)), children, strict=True):
                    later = set[str]().union(*(buffers(one, self._used) for one in children[place + 1 :]))
                    done = {name: raw for name, raw in held.items() if name not in later}
                    held = {name: raw for name, raw in held.items() if name in later}
                    self._last(child, done)
            case Let():
                with self._bound(stmt.name, self.value(stmt.value)):
                    self._last(stmt.body, held)
            case Allocate():
                others = {name: raw for name, raw in held.items() if name != stmt.buffer}
                self._allocate(stmt, others)
                self._give_back({name: raw for name, raw in held.items() if name not in others})
            case _:
                self.emit(stmt)
                self._give_back(held)

    def _give_back(self, held: Mapping[str, LLVMValue]) -> None:
        for raw in held.values():
            self._heap.remove(raw)
            self._call("free", ir.VoidType(), raw)

    def _produce(self, stmt: Produce) -> None:
        """In a function of its own where many are computed one after the other: LLVM takes more than twice as long over
        one that is twice as long."""
        if self.places.inside or not self._root:
            self.emit(stmt.body)
            return
        self._produced += 1
        if self._produced <= _TOGETHER:
            self.emit(stmt.body)
        else:
            self._outlined(stmt.body, f"{stmt.name}.produced")

    def _apart(self, stmt: Stmt) -> None:
        """What launches nothing: here where it takes little."""
        if heavy(stmt):
            self._outlined(stmt, "part", root=True)
            return
        self.rough = False
        self.emit(stmt)
        self.rough = True

    def _outlined(self, stmt: Stmt, name: str, root: bool = False) -> None:
        """In a function of its own, called here."""
        module = self.builder.module
        variables, arrays = captured(stmt, self)
        builder, _, context, values, pointers = new_function(
            module, self.context.target, module.get_unique_name(name), ir.VoidType(), [], variables, arrays
        )
        Statements(builder, values, pointers, context, self.parallel, self.told, root=root).emit(stmt)
        builder.ret_void()
        self.builder.call(builder.function, arguments(self.context, variables, arrays))
        self._read = {}
        if launches(stmt):
            self._leave_if_interrupted()

    # -- control -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _scope(self, shadowed: bool = False) -> Iterator[None]:
        """Code that what follows is not dominated by, or in which a name means something else (`shadowed`)."""
        outer = self._known
        self._known = {} if shadowed else dict(outer)
        self._read = {} if shadowed else dict(self._read)
        yield
        self._known, self._read = outer, {}

    @contextmanager
    def _bound(self, name: str, value: LLVMValue) -> Iterator[None]:
        outer = self.variables.get(name)
        self.variables[name] = value
        self.places.bind(name)
        with self._scope(shadowed=outer is not None):
            yield
        if outer is None:
            del self.variables[name]
        else:
            self.variables[name] = outer

    def _loop(self, loop: For) -> None:
        emitter = self.emitter()
        first = emitter.emit(loop.min)
        if clears(loop):
            self._clear(loop, first, emitter.emit(loop.extent))
            return
        if isinstance(loop.min, Const) and isinstance(loop.extent, Const):
            low, extent = int(loop.min.value), int(loop.extent.value)
            if extent > 0:
                self.count(loop.name, first, first.type(low + extent), loop.body, True)
            return
        self.count(loop.name, first, self.builder.add(first, emitter.emit(loop.extent)), loop.body)

    def _clear(self, loop: For, first: LLVMValue, extent: LLVMValue) -> None:
        """A loop that fills memory with zeros, as the call that LLVM would make of it."""
        builder, store = self.builder, loop.body
        assert isinstance(store, Store)
        wide = _wide(builder, first)
        with self._bound(loop.name, first):
            self._known[cast(I64, Var(COORDINATE, loop.name))] = wide
            address = self.memory.address(store, self.emitter())
        length = _wide(builder, extent)
        some = builder.select(builder.icmp_signed("<", length, I64_(0)), I64_(0), length)
        each = max(self.arrays[store.buffer].type.bits // 8, 1)
        types = [POINTER, _I8, I64_, _I1]
        function = declare(builder, "llvm.memset.p0.i64", ir.VoidType(), types)
        call = builder.call(function, [address, _I8(0), builder.mul(some, I64_(each)), _I1(0)], arg_attrs={0: ()})
        call.arg_attributes[0].align = each
        self._changed(store.buffer)

    def count(self, name: str, first: LLVMValue, end: LLVMValue, body: Stmt, some: bool = False) -> None:
        """`body` for `first <= name < end` (signed), of which there are `some` for certain.

        It is counted in 64 bits, as addresses are, so that LLVM need not find out that a sum in 32 does not overflow.
        """
        builder, called = self.builder, label(name)
        before = builder.append_basic_block(f"{called}.before")
        inside = builder.append_basic_block(f"{called}.loop")
        after = builder.append_basic_block(f"{called}.end")
        if some:
            builder.branch(before)
        else:
            builder.cbranch(builder.icmp_signed("<", first, end), before, after)
        builder.position_at_end(inside)
        wide = builder.phi(I64_, name=f"{called}.wide")
        steps = moving(name, body)
        moved = {step: builder.phi(I64_, name=f"{called}.{step}") for step, of in steps.items() if of == step}
        counter = builder.trunc(wide, first.type, name=called)
        self._read = {}  # the body may store, and comes again
        with self.places.loop(before, self._known), self._bound(name, counter):
            index = cast(I64, Var(COORDINATE, name))
            self._known[index] = wide
            for step, of in steps.items():
                value = moved[of] if of == step else builder.mul(moved[of], I64_(step // of), flags=("nsw",))
                self._known[affine.scale(index, step)] = value
            self.memory.spans = spans(body)
            self.emit(body)
            self.memory.spans = {}
        with builder.goto_block(before):
            low, high = (_wide(builder, limit) for limit in (first, end))
        for step, phi in ((1, wide), *moved.items()):
            following = builder.add(phi, I64_(step), flags=("nsw",))
            with builder.goto_block(before):
                start, last = (_times(builder, limit, step) for limit in (low, high))
            phi.add_incoming(start, before)
            phi.add_incoming(following, builder.block)
        with builder.goto_block(before):
            builder.branch(inside)
        back = builder.cbranch(builder.icmp_signed("!=", following, last), inside, after)
        if self._left:
            leave_alone(back)
        elif side_by_side(name, body):
            step_by_step(back)
        builder.position_at_end(after)

    def _branch(self, branch: If) -> None:
        condition = self.value(branch.condition)
        if branch.otherwise is None:
            # What asks for any of many lanes guards what is done for few of them.
            likely = False if isinstance(branch.condition, AnyLane) else None
            with self.builder.if_then(condition, likely=likely), self._scope():
                self._case(branch.then)
            return
        with self.builder.if_else(condition) as (then, otherwise):
            with then, self._scope():
                self.emit(branch.then)
            with otherwise, self._scope():
                self.emit(branch.otherwise)

    def _case(self, stmt: Stmt) -> None:
        """What is done under a condition; loops of some runs of the pipeline in a function of their own.

        Beside loops of other runs they were up to 1.3 times slower: values that all of them use lie on the stack then.
        What writes the same points again and again stays: what is stored before it lets LLVM keep them in registers.
        """
        if (
            isinstance(stmt, For)
            and self._root
            and not (self.places.inside or launches(stmt))
            and heavy(stmt)
            and all(stmt.name in names(one.index) for one in walk_nest(stmt.body) if isinstance(one, Store))
        ):
            self._outlined(stmt, "case")
        else:
            self.emit(stmt)

    def _atomic(self, stmt: Atomic) -> None:
        """One component by an atomic instruction, several under a lock of the point."""
        if not stmt.threads:
            self.emit(stmt.body)
            return
        if isinstance(stmt.body, Store) and self.memory.update(stmt.body, self.emitter()):
            return
        first = _first(stmt.body)
        builder, index = self.builder, self.value(first.index)
        lock = builder.gep(
            _locks(builder.module, first.buffer),
            [builder.and_(index, index.type(_LOCKS - 1))],
            source_etype=I32,
        )
        taken, wait, held = (builder.append_basic_block(f"lock.{name}") for name in ("take", "wait", "held"))
        builder.branch(taken)
        builder.position_at_end(taken)
        before = builder.atomic_rmw("xchg", lock, I32(1), "acquire")
        builder.cbranch(builder.icmp_unsigned("==", before, I32(0)), held, wait)
        builder.position_at_end(wait)
        self._call("sched_yield", I32)
        builder.branch(taken)
        builder.position_at_end(held)
        self._read = {}
        with self._scope():
            self.emit(stmt.body)
        builder.atomic_rmw("xchg", lock, I32(0), "release")

    def _leave_if_interrupted(self) -> None:
        """After a parallel loop: one that was interrupted has computed but a part of what comes next would read."""
        builder = self.builder
        failure = builder.load_atomic(self.context.failure, "monotonic", 4, typ=I32)
        with builder.if_then(builder.icmp_signed("==", failure, I32(INTERRUPTED)), likely=False):
            self._leave(failure)

    def _leave(self, status: LLVMValue) -> None:
        for raw in self._heap:
            self._call("free", ir.VoidType(), raw)
        if isinstance(self.builder.function.function_type.return_type, ir.VoidType):
            self.builder.ret_void()
        else:
            self.builder.ret(status)

    def _assert(self, check: Assert) -> None:
        if not self._entry:
            raise TypeError(f"a check inside a parallel loop: {check.message}")
        emitter = self.emitter()
        holds = emitter.emit(check.condition)
        values = [emitter.emit(argument) for argument in check.arguments]
        self.told.append(check)
        with self.builder.if_then(self.builder.not_(holds), likely=False):
            for slot, argument, value in zip(range(len(values)), check.arguments, values, strict=True):
                self.builder.store(self._reported(argument.type, value), self._slot(slot))
            self._leave(I32(len(self.told)))

    def _refuse(self, line: Refuse, condition: LLVMValue, values: list[LLVMValue]) -> None:
        """The first that fails, in any thread, leaves its number and the values that it tells."""
        builder = self.builder
        types = [argument.type.element for argument in line.arguments]
        self.told.append(Assert(line.condition, line.template, tuple(Var(t, "…") for t in types)))
        number = I32(len(self.told))
        for lane in range(max(child.type.lanes for child in line.children)):
            shown = [lane_of(builder, value, lane) for value in values]
            with builder.if_then(lane_of(builder, condition, lane), likely=False):
                outcome = builder.cmpxchg(self.context.failure, I32(0), number, "monotonic", "monotonic")
                with builder.if_then(builder.extract_value(outcome, 1)):
                    for slot, type_, value in zip(range(len(shown)), types, shown, strict=True):
                        builder.store(self._reported(type_, value), self._slot(slot))

    def _reported(self, type: Type, value: LLVMValue) -> LLVMValue:
        if type.is_float:
            return self.builder.bitcast(convert(self.builder, type, F64, value) if type != F64 else value, I64_)
        return convert(self.builder, type, I64, value)

    def _slot(self, slot: int) -> LLVMValue:
        return self.builder.gep(self.context.report, [I64_(slot)], source_etype=I64_)

    # -- storage -----------------------------------------------------------------------------------------------------

    def _allocate(self, allocation: Allocate, held: Mapping[str, LLVMValue] = MappingProxyType({})) -> None:
        size, scalar = allocation.size, allocation.type
        bytes_each = max(scalar.bits // 8, 1)
        if isinstance(size, Const):
            if scalar.is_bfloat:  # what is small is not converted each time, and LLVM may keep it in registers
                scalar = F32
            total = max(int(size.value), 1) * max(scalar.bits // 8, 1)
            if total <= _STACK_BYTES and self._frame + total <= _FRAME_BYTES:
                self._frame += total
                pointer = self.slot(memory_type(scalar), max(int(size.value), 1), allocation.buffer)
                self._within(allocation, scalar, pointer, held)
                return
        self._on_heap(allocation, self.value(size), bytes_each, held)

    def slot(self, element: ir.Type, count: int, name: str = "") -> LLVMValue:
        """Room for `count` elements on the stack, taken once a call of the function, aligned to a vector."""
        with self.builder.goto_entry_block():
            room: LLVMValue = self.builder.alloca(ir.ArrayType(element, count), name=label(name))
        room.align = ALIGNMENT
        # llvmlite still types what alloca gives; LLVM no longer knows such pointers.
        room.type = POINTER
        return room

    def _within(self, allocation: Allocate, scalar: Type, pointer: LLVMValue, held: Mapping[str, LLVMValue]) -> None:
        outer = self.arrays.get(allocation.buffer)
        self.arrays[allocation.buffer] = Array(pointer, scalar, ours=True)
        self._read = {}  # the buffer may have another's name
        with self._scope():
            self._last(allocation.body, held)
        del self.arrays[allocation.buffer]
        if outer is not None:
            self.arrays[allocation.buffer] = outer

    def _on_heap(self, allocation: Allocate, size: LLVMValue, bytes_each: int, held: Mapping[str, LLVMValue]) -> None:
        """Memory from malloc, aligned by hand; without it the body is left out and the failure noted."""
        builder = self.builder
        wide = builder.sext(size, I64_) if size.type != I64_ else size
        count = builder.select(builder.icmp_signed("<", wide, I64_(0)), I64_(0), wide)
        room = builder.add(builder.mul(count, I64_(bytes_each)), I64_(2 * ALIGNMENT))
        raw = self._call("malloc", POINTER, room)
        with builder.if_else(builder.icmp_unsigned("!=", raw, ir.Constant(POINTER, None))) as (then, otherwise):
            with then:
                past = builder.and_(builder.ptrtoint(raw, I64_), I64_(ALIGNMENT - 1))
                aligned = builder.gep(
                    raw, [builder.sub(I64_(ALIGNMENT), past)], source_etype=ir.IntType(8), name=label(allocation.buffer)
                )
                self._heap.append(raw)
                self._within(allocation, allocation.type, aligned, {**held, allocation.buffer: raw})
            with otherwise:
                for other in held.values():
                    self._call("free", ir.VoidType(), other)
                builder.atomic_rmw("xchg", self.context.failure, I32(OUT_OF_MEMORY), "monotonic")

    def _call(self, name: str, result: ir.Type, *arguments: LLVMValue) -> LLVMValue:
        function = declare(self.builder, name, result, [a.type for a in arguments])
        if name == "malloc":
            function.return_value.add_attribute("noalias")
        return self.builder.call(function, list(arguments))


def _wide(builder: ir.IRBuilder, value: LLVMValue) -> LLVMValue:
    return I64_(value.constant) if isinstance(value, ir.Constant) else builder.sext(value, I64_)


def _times(builder: ir.IRBuilder, value: LLVMValue, by: int) -> LLVMValue:
    if isinstance(value, ir.Constant):
        return I64_(int(value.constant) * by)
    return value if by == 1 else builder.mul(value, I64_(by), flags=("nsw",))


def _first(stmt: Stmt) -> Store:
    """The first store of an update."""
    while not isinstance(stmt, Store):
        assert isinstance(stmt, Let | Block)
        stmt = stmt.body if isinstance(stmt, Let) else stmt.statements[0]
    return stmt


def _locks(module: ir.Module, buffer: str) -> LLVMValue:
    """The locks of the points of a buffer: those whose indices agree in the last bits share one."""
    name = f"locks.{buffer}"
    found = module.globals.get(name)
    if found is None:
        type_ = ir.ArrayType(I32, _LOCKS)
        found = ir.GlobalVariable(module, type_, name)
        found.linkage, found.initializer = "internal", ir.Constant(type_, None)
        found.type = POINTER  # llvmlite still types what a global is; LLVM no longer knows such pointers.
    return found


def captured(stmt: Stmt, inside: Statements) -> tuple[dict[str, LLVMValue], dict[str, Array]]:
    """The variables and arrays of `inside` that `stmt` uses."""
    needs = free(stmt)
    return (
        {name: inside.variables[name] for name in needs.variables if name in inside.variables},
        {name: inside.arrays[name] for name in needs.buffers},
    )


def label(name: str) -> str:
    """What is called `name`, as LLVM may call it: it confuses local values whose names are longer than 1024 bytes."""
    return name[:_LONGEST]


def new_function(
    module: ir.Module,
    target: Target,
    name: str,
    result: ir.Type,
    leading: list[ir.Type],
    variables: Mapping[str, LLVMValue],
    arrays: Mapping[str, Array],
) -> tuple[ir.IRBuilder, list[LLVMValue], Context, dict[str, LLVMValue], dict[str, Array]]:
    """A function private to the module over `leading` arguments, a context, arrays and variables (see `arguments`).

    Returns a builder in its entry, its leading arguments, and the rest as they are seen inside. It is never inlined:
    as arguments the arrays' pointers carry the promise that they do not overlap.
    """
    types = [*leading, *[POINTER] * 3, *[POINTER] * len(arrays), *(value.type for value in variables.values())]
    function = ir.Function(module, ir.FunctionType(result, types), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    rest = list(function.args[len(leading) :])
    pointers, values = rest[3 : 3 + len(arrays)], rest[3 + len(arrays) :]
    for argument in (*rest[:3], *pointers):
        argument.add_attribute("noalias")
    inside = {
        key: replace(array, pointer=pointer) for (key, array), pointer in zip(arrays.items(), pointers, strict=True)
    }
    for key, argument in zip((*arrays, *variables), (*pointers, *values), strict=True):
        argument.name = label(key)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    runtime, failure, report = rest[:3]
    context = Context(runtime, failure, report, target)
    return builder, list(function.args[: len(leading)]), context, dict(zip(variables, values, strict=True)), inside


def arguments(context: Context, variables: Mapping[str, LLVMValue], arrays: Mapping[str, Array]) -> list[LLVMValue]:
    """What `new_function` takes after its leading arguments, in that order."""
    return [*context.values, *(array.pointer for array in arrays.values()), *variables.values()]
