"""Building blocks of the enumeration kernels: domains of values, counted loops, and compiling a module.

The kernels work on vectors of sample values, one lane a sample. A *domain* says how the grammar's operations act on one
lane: two's complement integers of a width, or doubles standing for the unbounded integers and the reals.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.native.engine import host

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
POINTER = ir.PointerType()

LEAVES = ("x0", "x1", "y0", "y1", "k")
"""The leaves of the grammar; a leaf's code is its position."""
OPS = ("+", "-", "*", "min", "max", "&", "|", "^", "<", "==")
"""Inner nodes; the last two are `select(a < b, c, d)` and `select(a == b, c, d)`."""
FIRST_OP = 16
"""Code of the first of `OPS`; smaller codes are leaves."""
CODE = {name: FIRST_OP + i for i, name in zip(range(len(OPS)), OPS, strict=True)}
SELECTS = (CODE["<"], CODE["=="])


BOOLEAN_OPS = {
    "+": "==", "-": "<", "*": "not and", "min": "<=", "max": "not or", "&": "and", "|": "or", "^": "!=",
}  # fmt: skip
"""What the codes of the binary operations mean on truth values: every function of two that depends on both."""


@dataclass(frozen=True, slots=True)
class Domain:
    """How operations act on a lane."""

    bits: int
    signed: bool
    floating: bool = False
    """Doubles: integers and reals as long as every intermediate value is exact."""
    boolean: bool = False
    """Truth values 0 and 1; the codes of the arithmetic operations stand for `BOOLEAN_OPS`."""

    @property
    def element(self) -> ir.Type:
        return ir.DoubleType() if self.floating else ir.IntType(self.bits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of a lane in memory."""
        return np.dtype(f"{'f' if self.floating else 'i' if self.signed else 'u'}{self.bits // 8}")

    def apply(self, b: ir.IRBuilder, op: str, left: Any, right: Any) -> Any:
        """The binary operation `op` of the grammar on vectors (`&`, `|`, `^` on integers)."""
        if self.boolean:
            return self._logic(b, op, left, right)
        if op in ("min", "max"):
            less = self.less(b, left, right)
            return b.select(less, left, right) if op == "min" else b.select(less, right, left)
        if self.floating:
            return {"+": b.fadd, "-": b.fsub, "*": b.fmul}[op](left, right)
        return {"+": b.add, "-": b.sub, "*": b.mul, "&": b.and_, "|": b.or_, "^": b.xor}[op](left, right)

    def _logic(self, b: ir.IRBuilder, op: str, left: Any, right: Any) -> Any:
        one = ir.Constant(left.type, [ir.Constant(left.type.element, 1)] * left.type.count)
        if op == "-":
            return b.and_(b.xor(left, one), right)
        if op == "min":
            return b.or_(b.xor(left, one), right)
        positive = {"+": b.xor, "*": b.and_, "max": b.or_, "&": b.and_, "|": b.or_, "^": b.xor}[op](left, right)
        return b.xor(positive, one) if op in ("+", "*", "max") else positive

    def less(self, b: ir.IRBuilder, left: Any, right: Any) -> Any:
        if self.floating:
            return b.fcmp_ordered("<", left, right)
        return b.icmp_signed("<", left, right) if self.signed else b.icmp_unsigned("<", left, right)

    def equal(self, b: ir.IRBuilder, left: Any, right: Any) -> Any:
        return b.fcmp_ordered("==", left, right) if self.floating else b.icmp_signed("==", left, right)

    def operations(self) -> tuple[str, ...]:
        """The binary operations that exist in this domain."""
        return OPS[:5] if self.floating else OPS[:8]


REAL = Domain(64, signed=True, floating=True)


def domain_of(type: Type, meaning: Meaning) -> Domain:
    """The domain that decides associativity of operators on `type` under `meaning` on samples."""
    if type.is_bool:
        return Domain(8, signed=False, boolean=True)
    if type.is_float or meaning is Meaning.MATH:
        return REAL
    return Domain(type.bits, signed=type.is_signed)


def constant(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


@contextmanager
def counted(b: ir.IRBuilder, start: Any, stop: Any, name: str = "i") -> Iterator[Any]:
    """A loop `for i in range(start, stop)`; yields i. The body may branch, as long as control comes back."""
    entry = b.block
    head = b.append_basic_block(f"{name}.head")
    body = b.append_basic_block(f"{name}.body")
    done = b.append_basic_block(f"{name}.done")
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64, name)
    index.add_incoming(start, entry)
    b.cbranch(b.icmp_signed("<", index, stop), body, done)
    b.position_at_end(body)
    yield index
    index.add_incoming(b.add(index, constant(1)), b.block)
    b.branch(head)
    b.position_at_end(done)


def vector_at(b: ir.IRBuilder, base: Any, element: Any, type: ir.Type) -> Any:
    """The address of element number `element` (of `type`) after `base`."""
    return b.gep(base, [element], source_etype=type)


def load(b: ir.IRBuilder, base: Any, index: Any, type: ir.Type, align: int | None = None) -> Any:
    return b.load(vector_at(b, base, index, type), typ=type, align=align)


def store(b: ir.IRBuilder, value: Any, base: Any, index: Any, align: int | None = None) -> None:
    b.store(value, vector_at(b, base, index, value.type), align=align)


def intrinsic(b: ir.IRBuilder, name: str, result: ir.Type, *args: Any) -> Any:
    """A call of an LLVM intrinsic that is overloaded on the types of its operands."""
    function_type = ir.FunctionType(result, [arg.type for arg in args])
    known = b.module.globals.get(name)
    return b.call(known or ir.Function(b.module, function_type, name), args)


class Kernels:
    """A compiled module: its functions take addresses and 64-bit integers and give a 64-bit integer."""

    def __init__(self, module: ir.Module, signatures: dict[str, int]) -> None:
        target = _target()
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(parsed, builder)
        self._engine = llvm.create_mcjit_compiler(parsed, target)
        self._engine.finalize_object()
        self._functions: dict[str, Callable[..., int]] = {}
        for name, arity in signatures.items():
            prototype = ctypes.CFUNCTYPE(ctypes.c_int64, *([ctypes.c_int64] * arity))
            self._functions[name] = prototype(self._engine.get_function_address(name))

    def call(self, name: str, *args: int | np.ndarray[Any, Any]) -> int:
        """Calls a function; arrays (C-contiguous) are passed by address."""
        return self._functions[name](*(arg if isinstance(arg, int) else arg.ctypes.data for arg in args))


def _target() -> Any:
    """A new machine: an engine disposes of the one it is given."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=host().cpu, features=host().features, opt=2, jit=True)


def function(module: ir.Module, name: str, arity: int) -> tuple[ir.IRBuilder, Sequence[Any]]:
    """A function of `arity` 64-bit arguments and its builder; addresses come as integers."""
    made = ir.Function(module, ir.FunctionType(I64, [I64] * arity), name)
    return ir.IRBuilder(made.append_basic_block("entry")), made.args


def address(b: ir.IRBuilder, integer: Any) -> Any:
    return b.inttoptr(integer, POINTER)
