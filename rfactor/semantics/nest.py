"""What a loop nest means: an interpreter of nests whose bounds are filled in, before or after storage is flattened.

After *Formal Semantics for the Halide Language* (2020), section 5: big steps rather than small ones. Iterations of
parallel loops run backwards, those of vectorized loops forwards; that no order could matter is seen from what they
access (`memory`). A vector is a tuple of its lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, product

import numpy as np

from rfactor.errors import BufferError
from rfactor.ir import bfloat
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.effects import Print, Refuse
from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.loopnest import (
    Allocate,
    AnyLane,
    Assert,
    Atomic,
    Block,
    Broadcast,
    For,
    If,
    LanePrefix,
    LaneReduction,
    Let,
    Load,
    Produce,
    Provide,
    Ramp,
    Realize,
    Stmt,
    Store,
    Write,
)
from rfactor.ir.several import points
from rfactor.ir.types import Type
from rfactor.semantics.interpreter import Box, ImageValue, environment
from rfactor.semantics.memory import Access, Cells, Fault, Memory, Point, boxed, dense_strides
from rfactor.semantics.scalar import intrinsic_of, refusal_of, rule_of

Lanes = Value | tuple[Value, ...]
Step = Callable[..., Lanes]


class TooLong(Exception):
    """The nest takes more steps than are granted."""


def interpret_nest(
    body: Stmt,
    algorithm: Algorithm,
    inputs: Mapping[str, ImageValue],
    parameters: Mapping[str, Value],
    boxes: Mapping[str, Box],
    *,
    flat: bool,
    steps: int = 10**7,
) -> Mapping[str, tuple[np.ndarray, ...]]:
    """What a nest puts into its outputs, over the box of each: by function name, one array a component.

    Arrays that keep what the caller put there in part hold 0 before.

    `flat` tells whether its storage is flat buffers. Dimension 0 is the last axis of every array. Raises `Fault` where
    the nest does what no nest may, `BufferError` where a check fails, `TooLong`.
    """
    values = environment(algorithm, inputs, parameters)
    memory: dict[str, Cells] = {}
    for name, image in inputs.items():
        box = image.box
        strides = dense_strides(tuple(extent for _, extent in box))
        cells = Cells(name, boxed(box))
        for index in np.ndindex(*image.array.shape):
            at = tuple(reversed(index))
            point = tuple(a + low for a, (low, _) in zip(at, box, strict=True))
            key = (sum(a * s for a, s in zip(at, strides, strict=True)),) if flat else point
            cells.values[key] = (bfloat.element(image.array, index),)
        if flat:
            cells.holds = boxed(((0, image.array.size),))
        for d, stride in enumerate(strides):
            values[f"{name}.stride.{d}"] = stride
        memory[name] = cells
    for name, box in boxes.items():
        function = algorithm.function(name)
        strides = dense_strides(tuple(extent for _, extent in box))
        buffers = [f"{name}.{component}" for component in range(len(function.types))]
        for d, (low, extent) in enumerate(box):
            for owner in (name, *buffers):
                values[f"{owner}.min.{d}"], values[f"{owner}.extent.{d}"] = low, extent
                values[f"{owner}.stride.{d}"] = strides[d]
        size = 1
        for _, extent in box:
            size *= extent
        if flat:
            memory |= {buffer: Cells(buffer, boxed(((0, size),))) for buffer in buffers}
        else:
            memory[name] = Cells(name, boxed(box))
        if function.pure.keeps or function.pure.where is not None:
            held = tuple(_nothing(t) for t in function.types)
            if flat:
                for buffer, nothing in zip(buffers, held, strict=True):
                    memory[buffer].values = {(at,): (nothing,) for at in range(size)}
            else:
                everywhere = product(*(range(low, low + extent) for low, extent in box))
                memory[name].values = dict.fromkeys(everywhere, held)
    machine = _Machine(dict(values), memory, flat, steps)
    machine.run(body)
    return {name: _array(algorithm, name, box, memory, flat) for name, box in boxes.items()}


def _array(algorithm: Algorithm, name: str, box: Box, memory: Memory, flat: bool) -> tuple[np.ndarray, ...]:
    types = algorithm.function(name).types
    shape = tuple(max(extent, 0) for _, extent in reversed(box))
    arrays = tuple(np.zeros(shape, dtype_of(t)) for t in types)
    strides = dense_strides(tuple(extent for _, extent in box))
    for index in np.ndindex(*shape):
        at = tuple(reversed(index))
        flat_at = (sum(a * s for a, s in zip(at, strides, strict=True)),)
        point = tuple(a + low for a, (low, _) in zip(at, box, strict=True))
        for c, array in enumerate(arrays):
            cells, key, part = (memory[f"{name}.{c}"], flat_at, 0) if flat else (memory[name], point, c)
            if key not in cells.values:
                raise Fault(f"{name} is never written at {point}")
            array[index] = cells.values[key][part]
    return tuple(map(bfloat.stored, types, arrays))


@dataclass(slots=True)
class _Machine:
    """The state of an execution."""

    values: dict[str, Lanes]
    memory: dict[str, Cells]
    flat: bool
    steps: int
    access: Access = field(default_factory=Access)
    loops: int = 0
    programs: dict[Expr, _Program] = field(default_factory=dict)

    def value(self, expr: Expr) -> Lanes:
        if isinstance(expr, Const):
            return expr.value
        found = self.programs.get(expr)
        if found is None:
            found = self.programs[expr] = _Program(expr)
        self.steps -= 1
        if self.steps < 0:
            raise TooLong("the loop nest takes too many steps")
        return found.run(self)

    def whole(self, expr: Expr) -> int:
        value = self.value(expr)
        assert not isinstance(value, tuple)
        return int(value)

    @contextmanager
    def named(self, name: str, value: Lanes) -> Iterator[None]:
        outer = self.values.get(name)
        self.values[name] = value
        yield
        if outer is None:
            del self.values[name]
        else:
            self.values[name] = outer

    @contextmanager
    def storage(self, name: str, cells: Cells) -> Iterator[None]:
        outer = self.memory.get(name)
        self.memory[name] = cells
        yield
        if outer is None:
            del self.memory[name]
        else:
            self.memory[name] = outer

    def run(self, stmt: Stmt) -> None:
        match stmt:
            case Block():
                for part in stmt.statements:
                    self.run(part)
            case For():
                self.loop(stmt)
            case Let():
                with self.named(stmt.name, self.value(stmt.value)):
                    self.run(stmt.body)
            case If():
                if self.value(stmt.condition):
                    self.run(stmt.then)
                elif stmt.otherwise is not None:
                    self.run(stmt.otherwise)
            case Produce():
                self.run(stmt.body)
            case Atomic():
                outer, self.access = self.access, Access(self.access.path, True)
                self.run(stmt.body)
                self.access = outer
            case Provide():
                written = [
                    (tuple(map(self.whole, arguments)), tuple(_scalar(self.value(value)) for value in values))
                    for arguments, values in points(stmt.arguments, stmt.values)
                ]
                cells = self.memory[stmt.name]
                for point, found in written:
                    cells.write(point, cells.keeping(point, found, stmt.keeps), self.access)
            case Realize():
                box = tuple((self.whole(low), self.whole(extent)) for low, extent in stmt.bounds)
                folds = stmt.layout.folds if any(stmt.layout.folds) else ()
                with self.storage(stmt.name, Cells(stmt.name, boxed(box), folds)):
                    self.run(stmt.body)
            case Allocate():
                kept = Cells(stmt.buffer, boxed(((0, self.whole(stmt.size)),)), (), _garbage(stmt.type))
                with self.storage(stmt.buffer, kept):
                    self.run(stmt.body)
            case Store():
                self.store(stmt)
            case Assert():
                if not self.value(stmt.condition):
                    raise BufferError(stmt.message.format(*(self.value(argument) for argument in stmt.arguments)))
            case Write():
                self.value(stmt.line)
            case _:
                raise TypeError(f"{type(stmt).__name__} is no statement of a loop nest")

    def loop(self, loop: For) -> None:
        low, extent = self.whole(loop.min), self.whole(loop.extent)
        at_once = loop.kind in ("parallel", "vectorized")
        outer, number = self.access, self.loops
        self.loops += 1
        order = range(low, low + extent)
        for at in reversed(order) if loop.kind == "parallel" else order:
            if at_once:
                self.access = Access((*outer.path, (number, at)), outer.atomic)
            with self.named(loop.name, at):
                self.run(loop.body)
        self.access = outer

    def store(self, stmt: Store) -> None:
        index, value, predicate = (self.value(e) for e in (stmt.index, stmt.value, stmt.predicate))
        cells = self.memory[stmt.buffer]
        lanes = max((len(v) for v in (index, value, predicate) if isinstance(v, tuple)), default=1)
        for at, one, held in zip(*(_lanes(v, lanes) for v in (index, value, predicate)), strict=True):
            if held:
                cells.write((int(at),), (one,), self.access)


def _garbage(type: Type) -> Value:
    """What fresh memory holds: something unlikely."""
    return True if type.is_bool else -77.125 if type.is_float else int(type.max) - 77


def _nothing(type: Type) -> Value:
    return False if type.is_bool else 0.0 if type.is_float else 0


def _scalar(value: Lanes) -> Value:
    assert not isinstance(value, tuple)
    return value


def _lanes(value: Lanes, count: int) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,) * count


class _Program:
    """An expression as a list of steps, each the value of one distinct node."""

    def __init__(self, expr: Expr) -> None:
        nodes = tuple(walk(expr))
        slots = {node: slot for slot, node in enumerate(nodes)}
        self.steps = [(_step(node), tuple(slots[child] for child in node.children)) for node in nodes]

    def run(self, machine: _Machine) -> Lanes:
        known: list[Lanes] = []
        for step, operands in self.steps:
            known.append(step(machine, *(known[operand] for operand in operands)))
        return known[-1]


def _step(node: Expr) -> Step:
    """How a node's value comes from those of its operands."""
    lanes = node.type.lanes
    match node:
        case Const():
            constant = node.value
            return lambda machine: constant
        case Var():
            name = node.name
            return lambda machine: machine.values[name]
        case Op(op="cast") if node.type.element == node.args[0].type.element:
            return lambda machine, value: value
        case Op():
            return _wide(rule_of(node), lanes)
        case Call(kind="intrinsic"):
            return _wide(intrinsic_of(node), lanes)
        case Call():
            return _reading(node.name, node.index)
        case Refuse():
            return _wide(refusal_of(node), lanes)
        case Print():
            return lambda machine, value, *rest: value
        case Load():
            return _loading(node.buffer, node.type, lanes)
        case Ramp():
            kind = node.type.element
            return lambda machine, base, stride: tuple(kind.wrap(base + i * stride) for i in range(lanes))
        case Broadcast():
            return lambda machine, value: _lanes(value, lanes)
        case AnyLane():
            return lambda machine, value: any(value)
        case LaneReduction():
            return _joining(node.op, node.value.type.element)
        case LanePrefix():
            joined = rule_of(Op(node.type.element, node.op, (Var(node.type.element, "a"), Var(node.type.element, "b"))))
            return lambda machine, value: tuple(accumulate(value, joined))
    raise TypeError(f"{type(node).__name__} is no expression of a loop nest")


def _wide(rule: Callable[..., Value], lanes: int) -> Step:
    if lanes == 1:
        return lambda machine, *operands: rule(*operands)
    return lambda machine, *operands: tuple(map(rule, *(_lanes(operand, lanes) for operand in operands)))


def _reading(name: str, component: int) -> Step:
    def step(machine: _Machine, *point: int) -> Value:
        at: Point = tuple(map(int, point))
        return machine.memory[name].read(at, machine.access)[component]

    return step


def _loading(buffer: str, type: Type, lanes: int) -> Step:
    nothing = _nothing(type)

    def load(machine: _Machine, index: Value, held: Value) -> Value:
        return machine.memory[buffer].read((int(index),), machine.access)[0] if held else nothing

    if lanes == 1:
        return load

    def step(machine: _Machine, index: Lanes, predicate: Lanes) -> Lanes:
        pairs = zip(_lanes(index, lanes), _lanes(predicate, lanes), strict=True)
        return tuple(load(machine, at, held) for at, held in pairs)

    return step


def _joining(op: str, type: Type) -> Step:
    from functools import reduce

    rule = rule_of(Op(type, op, (Var(type, "a"), Var(type, "b"))))
    return lambda machine, value: reduce(rule, value)
