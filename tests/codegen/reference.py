"""What a lowered nest means, one lane after the other: the oracle of the code generator's tests.

Every access is checked against its buffer, so that a nest which reads out of bounds fails here first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.ir.bfloat import of_words, stored
from rfactor.ir.evaluate import dtype_of, evaluate, held
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, select
from rfactor.ir.loopnest import (
    Allocate,
    Assert,
    Block,
    Broadcast,
    BufferArgument,
    For,
    If,
    Let,
    Load,
    LoweredPipeline,
    Produce,
    Ramp,
    ScalarArgument,
    Stmt,
    Store,
)
from rfactor.ir.types import BOOL, I32, I64, Type

Array = np.ndarray[Any, Any]
TRUE = Const(BOOL, True)


def i32(value: int) -> Const:
    return Const(I32, value)


def i64(value: int) -> Const:
    return Const(I64, value)


def var(name: str, type: Type = I32) -> Var:
    return Var(type, name)


def ramp(base: Expr, stride: int = 1, lanes: int = 16) -> Ramp:
    return Ramp(base, Const(base.type, stride), lanes)


def wide(name: str) -> Expr:
    """A loop variable as a flat index."""
    return cast(I64, var(name))


def add(*terms: Expr) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = apply("+", result, term)
    return result


def times(expr: Expr, factor: int) -> Expr:
    return apply("*", expr, Const(expr.type, factor))


def load(type: Type, buffer: str, index: Expr, predicate: Expr | None = None) -> Load:
    return Load(type.with_lanes(index.type.lanes), buffer, index, predicate)


def store(buffer: str, index: Expr, value: Expr, predicate: Expr = TRUE) -> Store:
    return Store(buffer, index, value, predicate)


def pipeline(body: Stmt, *arguments: BufferArgument | ScalarArgument) -> LoweredPipeline:
    return LoweredPipeline("test", arguments, body)


def source(name: str, type: Type, dimensions: int = 1) -> BufferArgument:
    return BufferArgument(name, type, dimensions, output=False)


def sink(name: str, type: Type, dimensions: int = 1) -> BufferArgument:
    return BufferArgument(name, type, dimensions, output=True)


def elements(type: Type, numbers: Any) -> Array:
    """Numbers as the elements of an array in memory."""
    return stored(type, held(type, np.asarray(numbers)))


class Failed(Exception):
    """An Assert did not hold."""


class Interpreter:
    """Runs a nest on dense one-dimensional arrays."""

    def __init__(self, lowered: LoweredPipeline, values: Mapping[str, Any]) -> None:
        self.buffers: dict[str, Array] = {}
        env: dict[str, Array] = {}
        for argument in lowered.arguments:
            value = values[argument.name]
            if isinstance(argument, ScalarArgument):
                env[argument.name] = held(argument.type, np.array([value]))
                continue
            self.buffers[argument.name] = value.reshape(-1)
            stride = 1
            for d in range(argument.dimensions):
                extent = value.shape[-1 - d]
                for what, number, type in (("min", 0, "i4"), ("extent", extent, "i4"), ("stride", stride, "i8")):
                    env[f"{argument.name}.{what}.{d}"] = np.array([number], type)
                stride *= extent
        self.run(lowered.body, env)

    def lanes(self, expr: Expr, env: Mapping[str, Array]) -> Array:
        """The value of every lane of `expr`."""
        if isinstance(expr, Ramp):
            base, stride = self.lanes(expr.base, env), self.lanes(expr.stride, env)
            return base + stride * np.arange(expr.type.lanes, dtype=base.dtype)
        if isinstance(expr, Broadcast):
            return np.repeat(self.lanes(expr.value, env), expr.type.lanes)
        if isinstance(expr, Load):
            return self.load(expr, env)
        if isinstance(expr, Const):
            return np.repeat(evaluate(expr, {}), expr.type.lanes)
        if not expr.children:
            return env[expr.name] if isinstance(expr, Var) else evaluate(expr, env)
        names = {f"#{k}": child for k, child in zip(range(9), expr.children, strict=False)}
        inner = {name: self.lanes(child, env) for name, child in names.items()}
        flat = _with_operands(expr, [Var(child.type.element, name) for name, child in names.items()])
        return np.broadcast_to(evaluate(flat, inner), (expr.type.lanes,))

    def load(self, expr: Load, env: Mapping[str, Array]) -> Array:
        index = self.lanes(expr.index, env)
        predicate = np.broadcast_to(self.lanes(expr.predicate, env), index.shape)
        result = np.zeros(index.shape, dtype_of(expr.type.element))
        for lane in np.flatnonzero(predicate):
            assert 0 <= index[lane] < len(self.buffers[expr.buffer]), f"load of {expr.buffer}[{index[lane]}]"
            result[lane] = self.buffers[expr.buffer][index[lane]]
        return result

    def run(self, stmt: Stmt, env: dict[str, Array]) -> None:
        match stmt:
            case Block():
                for child in stmt.statements:
                    self.run(child, env)
            case For():
                first, extent = (int(self.lanes(e, env)[0]) for e in (stmt.min, stmt.extent))
                for value in range(first, first + extent):
                    self.run(stmt.body, env | {stmt.name: np.array([value], np.int32)})
            case Let():
                self.run(stmt.body, env | {stmt.name: self.lanes(stmt.value, env)})
            case If():
                if self.lanes(stmt.condition, env)[0]:
                    self.run(stmt.then, env)
                elif stmt.otherwise is not None:
                    self.run(stmt.otherwise, env)
            case Produce():
                self.run(stmt.body, env)
            case Allocate():
                size = int(self.lanes(stmt.size, env)[0])
                outer = self.buffers.get(stmt.buffer)
                self.buffers[stmt.buffer] = np.full(max(size, 0), 99).astype(dtype_of(stmt.type))
                self.run(stmt.body, env)
                if outer is not None:
                    self.buffers[stmt.buffer] = outer
            case Store():
                self.store(stmt, env)
            case Assert():
                if not self.lanes(stmt.condition, env)[0]:
                    raise Failed(stmt.message.format(*(self.lanes(a, env)[0] for a in stmt.arguments)))
            case _:
                raise TypeError(stmt)

    def store(self, stmt: Store, env: Mapping[str, Array]) -> None:
        index, value = self.lanes(stmt.index, env), self.lanes(stmt.value, env)
        predicate = np.broadcast_to(self.lanes(stmt.predicate, env), index.shape)
        for lane in np.flatnonzero(predicate):
            assert 0 <= index[lane] < len(self.buffers[stmt.buffer]), f"store to {stmt.buffer}[{index[lane]}]"
            self.buffers[stmt.buffer][index[lane]] = value[lane]


def _with_operands(expr: Expr, operands: list[Expr]) -> Expr:
    """The scalar operation of `expr` on other operands."""
    assert isinstance(expr, Op), expr
    if expr.op == "select":
        return select(*operands)
    return cast(expr.type.element, operands[0]) if expr.op == "cast" else apply(expr.op, *operands)


def check(lowered: LoweredPipeline, values: Mapping[str, Any]) -> None:
    """Compiled code leaves the same bits in all arrays as the interpreter does. Runs the code twice.

    Arrays of bf16 are f32, as `evaluate` holds them.
    """
    types = {argument.name: argument.type for argument in lowered.arguments}
    expected = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in values.items()}
    Interpreter(lowered, expected)
    executable = compile_pipeline(lowered)
    for _ in range(2):
        actual = {k: stored(types[k], v.copy()) if isinstance(v, np.ndarray) else v for k, v in values.items()}
        executable(actual)
        for name, value in actual.items():
            if isinstance(value, np.ndarray):
                found = of_words(value) if types[name].is_bfloat else value
                np.testing.assert_array_equal(found, expected[name], err_msg=name)
