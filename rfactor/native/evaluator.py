"""Expressions compiled to functions over arrays: what the enumerator and the prover's sampling run.

The meaning is that of `ir.evaluate` under `wrap` with IEEE floats, bit for bit (`exp` and the like are libm's).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Expr, Var, variables
from rfactor.ir.types import BF16, F32, Type
from rfactor.native.engine import Code, Target, compile_module, host

if TYPE_CHECKING:
    pass

Array = NDArray[Any]
_CACHED = 512
"""How many compiled evaluators are kept for reuse."""


@dataclass(frozen=True, eq=False)
class Evaluator:
    """A tuple of expressions as a compiled function over arrays. Safe to call from several threads at once."""

    expressions: tuple[Expr, ...]
    variables: tuple[Var, ...]
    block: int
    """How many elements one turn of the compiled loop computes."""
    code: Code

    def __call__(self, arguments: Mapping[str, Array] | Sequence[Array]) -> tuple[Array, ...]:
        """The value of every expression, one array each, where the variables have the values in `arguments`.

        `arguments`: one-dimensional arrays of one length and of the variables' dtypes, by name or in the order of
        `variables`. Raises `ValueError` if lengths or dtypes differ. Without variables, arrays of length one result.
        """
        inputs = self._inputs(arguments)
        length = len(inputs[0]) if inputs else 1
        padded = max(length, self.block)
        if padded != length:
            inputs = [np.concatenate([a, np.zeros(padded - length, a.dtype)]) for a in inputs]
        outputs = [np.empty(padded, dtype_of(e.type)) for e in self.expressions]
        if length:
            self._function(*(a.ctypes.data for a in (*inputs, *outputs)), padded)
        return tuple(out[:length] for out in outputs)

    @property
    def _function(self) -> Any:
        count = len(self.variables) + len(self.expressions)
        return _prototype(count)(self.code.addresses["evaluate"])

    def _inputs(self, arguments: Mapping[str, Array] | Sequence[Array]) -> list[Array]:
        if isinstance(arguments, Mapping):
            arguments = [arguments[var.name] for var in self.variables]
        if len(arguments) != len(self.variables):
            raise ValueError(f"{len(self.variables)} arrays are needed, {len(arguments)} given")
        arrays: list[Array] = []
        for var, array in zip(self.variables, arguments, strict=True):
            if array.dtype != dtype_of(var.type) or array.ndim != 1:
                raise ValueError(
                    f"{var.name} must be a one-dimensional array of {dtype_of(var.type)}, "
                    f"not {array.ndim}-dimensional of {array.dtype}"
                )
            if arrays and len(array) != len(arrays[0]):
                raise ValueError(f"{var.name} has {len(array)} elements where others have {len(arrays[0])}")
            arrays.append(np.ascontiguousarray(array))
        return arrays


@lru_cache(maxsize=64)
def _prototype(count: int) -> Any:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count, ctypes.c_int64)


@lru_cache(maxsize=_CACHED)
def compile_evaluator(expressions: tuple[Expr, ...], arguments: tuple[Var, ...] | None = None) -> Evaluator:
    """`expressions` (scalar; operations and intrinsics only) as a function of `arguments`.

    Without `arguments`, the variables in order of first occurrence. Equal calls share one evaluator.
    Raises `KeyError` for a variable that is not among the arguments.
    """
    if arguments is None:
        arguments = tuple(dict.fromkeys(var for expr in expressions for var in variables(expr)))
    target = replace(host(), level=0)
    lanes = _lanes(target, [e.type for e in (*expressions, *arguments)])
    code = compile_module(_module(expressions, arguments, lanes, target.triple), ["evaluate"], target)
    return Evaluator(expressions, arguments, lanes, code)


def _lanes(target: Target, types: list[Type]) -> int:
    """As many lanes as fill one register with the narrowest type, and at most four with the widest."""
    narrowest, widest = min(max(t.bits, 8) for t in types), max(max(t.bits, 8) for t in types)
    return min(target.lanes(narrowest), 4 * target.lanes(widest))


def _module(expressions: tuple[Expr, ...], arguments: tuple[Var, ...], lanes: int, triple: str) -> str:
    """A loop over blocks of `lanes` elements; the last block is moved back so that it ends at the end."""
    from llvmlite import ir

    from rfactor.native.emit import Emitter

    pointer, i64 = ir.PointerType(), ir.IntType(64)
    module = ir.Module("evaluator")
    module.triple = triple
    count = len(arguments) + len(expressions)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * count + [i64]), "evaluate")
    arrays, length = function.args[:count], function.args[count]
    entry, body, done = (function.append_basic_block(name) for name in ("entry", "body", "done"))

    builder = ir.IRBuilder(entry)
    last = builder.sub(length, i64(lanes))
    builder.branch(body)

    builder.position_at_end(body)
    start = builder.phi(i64)
    start.add_incoming(i64(0), entry)
    values = {
        var.name: _load(builder, var.type, lanes, array, start) for var, array in zip(arguments, arrays, strict=False)
    }
    emitter = Emitter(builder, values, lanes=lanes)
    results = [emitter.emit(expr) for expr in expressions]
    for expr, result, array in zip(expressions, results, arrays[len(arguments) :], strict=True):
        _store(builder, expr.type, lanes, result, array, start)
    finished = builder.icmp_signed(">=", start, last)
    following = builder.add(start, i64(lanes))
    moved = builder.select(builder.icmp_signed("<", following, last), following, last)
    start.add_incoming(moved, builder.block)
    builder.cbranch(finished, done, body)

    ir.IRBuilder(done).ret_void()
    return str(module)


def _held(type: Type) -> Type:
    """The type of a variable's array: bf16 is held as f32."""
    return F32 if type is BF16 else type


def _load(builder: Any, type: Type, lanes: int, array: Any, start: Any) -> Any:
    from llvmlite import ir

    from rfactor.native.literal import memory_type

    element, memory = memory_type(_held(type)), memory_type(_held(type).with_lanes(lanes))
    address = builder.gep(array, [start], source_etype=element)
    value = builder.load(address, align=1, typ=memory)
    return builder.icmp_unsigned("!=", value, ir.Constant(memory, None)) if type.is_bool else value


def _store(builder: Any, type: Type, lanes: int, value: Any, array: Any, start: Any) -> None:
    from rfactor.native.literal import memory_type

    element, memory = memory_type(_held(type)), memory_type(_held(type).with_lanes(lanes))
    if type.is_bool:
        value = builder.zext(value, memory)
    builder.store(value, builder.gep(array, [start], source_etype=element), align=1)
