"""Loop nests: how an algorithm is computed. Statements, and the expressions that only they use.

After *Formal Semantics for the Halide Language* (2020), section 4. A nest is born with *holes* for bounds: variables
named `f.s0.x.min` and `f.s0.x.extent` that no statement defines yet; bounds inference fills them with `Let`s.
Lowering ends in a nest without `Provide`, `Realize`, or vectorized and unrolled loops: code is generated from that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rfactor.ir.effects import Print
from rfactor.ir.expr import Const, Expr
from rfactor.ir.nodes import _held, _set
from rfactor.ir.types import BOOL, Type

LoopKind = Literal["serial", "parallel", "vectorized", "unrolled"]


_ALWAYS = Const(BOOL, True)


class Load(Expr):
    """The elements of a flat buffer at `index` (i32 or i64, in elements; one lane or several).

    Lanes where `predicate` is false are not loaded and have an unspecified but fixed value of zero.
    """

    __slots__ = ("buffer", "index", "predicate")
    buffer: str
    index: Expr
    predicate: Expr

    def __new__(cls, type: Type, buffer: str, index: Expr, predicate: Expr | None = None) -> Load:
        if predicate is None:
            predicate = _ALWAYS
        key = (buffer, type, index, predicate)
        known = _LOADS.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        _set(self, "type", type)
        _set(self, "buffer", buffer)
        _set(self, "index", index)
        _set(self, "predicate", predicate)
        _set(self, "_hash", hash(("load", key)))
        return _held(_LOADS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.type, self.buffer, self.index, self.predicate)

    def _label(self) -> tuple[object, ...]:
        return (self.type, self.buffer)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.index, self.predicate)

    def with_children(self, children: tuple[Expr, ...]) -> Load:
        return Load(self.type, self.buffer, *children)


class Ramp(Expr):
    """The vector `base, base + stride, …` of `lanes` lanes, of the integer type of scalar `base` and `stride`."""

    __slots__ = ("base", "stride")
    base: Expr
    stride: Expr

    def __new__(cls, base: Expr, stride: Expr, lanes: int) -> Ramp:
        key = (base, stride, lanes)
        known = _RAMPS.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        _set(self, "type", base.type.with_lanes(lanes))
        _set(self, "base", base)
        _set(self, "stride", stride)
        _set(self, "_hash", hash(("ramp", key)))
        return _held(_RAMPS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.base, self.stride, self.type.lanes)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.base, self.stride)

    def with_children(self, children: tuple[Expr, ...]) -> Ramp:
        return Ramp(children[0], children[1], self.type.lanes)


class Broadcast(Expr):
    """The scalar `value` in every one of `lanes` lanes."""

    __slots__ = ("value",)
    value: Expr

    def __new__(cls, value: Expr, lanes: int) -> Broadcast:
        key = (value, lanes)
        known = _BROADCASTS.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        _set(self, "type", value.type.with_lanes(lanes))
        _set(self, "value", value)
        _set(self, "_hash", hash(("broadcast", key)))
        return _held(_BROADCASTS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.value, self.type.lanes)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> Broadcast:
        return Broadcast(children[0], self.type.lanes)


_LOADS: dict[tuple[object, ...], Load] = {}
_RAMPS: dict[tuple[object, ...], Ramp] = {}
_BROADCASTS: dict[tuple[object, ...], Broadcast] = {}


class AnyLane(Expr):
    """Whether any lane of the vector of bools `value` holds: a scalar."""

    __slots__ = ("value",)
    value: Expr

    def __init__(self, value: Expr) -> None:
        _set(self, "type", BOOL)
        _set(self, "value", value)
        _set(self, "_hash", hash(("any", value)))

    def _key(self) -> tuple[object, ...]:
        return (self.value,)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> AnyLane:
        return AnyLane(children[0])


class LaneReduction(Expr):
    """The lanes of the vector `value` joined by `op`, which is associative and commutative, in any order: a scalar."""

    __slots__ = ("op", "value")
    op: str
    value: Expr

    def __init__(self, op: str, value: Expr) -> None:
        _set(self, "type", value.type.element)
        _set(self, "op", op)
        _set(self, "value", value)
        _set(self, "_hash", hash(("lanes", op, value)))

    def _key(self) -> tuple[object, ...]:
        return (self.op, self.value)

    def _label(self) -> tuple[object, ...]:
        return (self.type, self.op)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> LaneReduction:
        return LaneReduction(self.op, children[0])


class LanePrefix(Expr):
    """The lanes of the vector `value` up to each joined by `op`, which is associative, in any grouping: a vector.

    `identity` is that of `op`, scalar.
    """

    __slots__ = ("identity", "op", "value")
    op: str
    value: Expr
    identity: Const

    def __init__(self, op: str, value: Expr, identity: Const) -> None:
        _set(self, "type", value.type)
        _set(self, "op", op)
        _set(self, "value", value)
        _set(self, "identity", identity)
        _set(self, "_hash", hash(("prefixes", op, value)))

    def _key(self) -> tuple[object, ...]:
        return (self.op, self.value, self.identity)

    def _label(self) -> tuple[object, ...]:
        return (self.type, self.op)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> LanePrefix:
        return LanePrefix(self.op, children[0], self.identity)


class Stmt:
    """A statement of a loop nest."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Block(Stmt):
    """Statements one after the other."""

    statements: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class For(Stmt):
    """`body` for `min <= name < min + extent` (both i32); a negative extent counts as zero."""

    name: str
    min: Expr
    extent: Expr
    kind: LoopKind
    body: Stmt


@dataclass(frozen=True, slots=True)
class Let(Stmt):
    """`body` with the variable `name` bound to `value`."""

    name: str
    value: Expr
    body: Stmt


@dataclass(frozen=True, slots=True)
class If(Stmt):
    """`then` where the scalar bool `condition` holds, otherwise `otherwise`."""

    condition: Expr
    then: Stmt
    otherwise: Stmt | None = None


@dataclass(frozen=True, slots=True)
class Produce(Stmt):
    """Marks the loops that compute the function `name`. No effect of its own."""

    name: str
    body: Stmt


@dataclass(frozen=True, slots=True)
class Provide(Stmt):
    """`name(arguments) = values`, before storage is flattened. All values are read before any is written."""

    name: str
    arguments: tuple[Expr, ...]
    values: tuple[Expr, ...]
    keeps: tuple[bool, ...] = ()
    """By component, if any: whether what is there stays, and the value is not stored."""


@dataclass(frozen=True, slots=True)
class Atomic(Stmt):
    """The update of one point, which iterations that run at once may share: each sees what the others left.

    `body` is a `Provide`; once storage is flat a `Store`, or several within the `Let`s of their values.
    """

    body: Stmt
    threads: bool
    """Whether the iterations are those of threads, not of lanes alone."""


@dataclass(frozen=True, slots=True)
class Write(Stmt):
    """Write a line to the standard output."""

    line: Print


@dataclass(frozen=True, slots=True)
class Layout:
    """How the storage of a function lies in memory."""

    order: tuple[int, ...]
    """The dimensions, innermost first."""
    padding: tuple[int, ...]
    """By dimension: its extent is rounded up to a multiple of this."""
    folds: tuple[int | None, ...]
    """By dimension: coordinates are taken modulo this, if at all."""


def plain_layout(dimensions: int) -> Layout:
    """Dimension 0 innermost, nothing padded or folded."""
    return Layout(tuple(range(dimensions)), (1,) * dimensions, (None,) * dimensions)


@dataclass(frozen=True, slots=True)
class Realize(Stmt):
    """Storage for the function `name` over a box, alive during `body`; before storage is flattened."""

    name: str
    types: tuple[Type, ...]
    bounds: tuple[tuple[Expr, Expr], ...]
    """(min, extent) of each dimension, i32."""
    body: Stmt
    layout: Layout


@dataclass(frozen=True, slots=True)
class Allocate(Stmt):
    """A flat buffer of `size` (i32 or i64) elements of `type`, alive during `body`; uninitialised."""

    buffer: str
    type: Type
    size: Expr
    body: Stmt


@dataclass(frozen=True, slots=True)
class Store(Stmt):
    """Store `value` into a flat buffer at `index` (i32 or i64, in elements), in the lanes where `predicate` holds.

    Lanes with one index are stored in lane order: the last one stays.
    """

    buffer: str
    index: Expr
    value: Expr
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Assert(Stmt):
    """Stop the pipeline with error number `code` and the values of `arguments` unless `condition` holds.

    Only outside parallel loops: every check is made on entry.
    """

    condition: Expr
    message: str
    """A template for `str.format`, over `arguments`."""
    arguments: tuple[Expr, ...] = ()


def block(*statements: Stmt | None) -> Stmt:
    """The statements in order; blocks are flattened and Nones dropped."""
    flat: list[Stmt] = []
    for statement in statements:
        if isinstance(statement, Block):
            flat.extend(statement.statements)
        elif statement is not None:
            flat.append(statement)
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """An array that the caller gives: flat buffer `name` in the nest.

    Its box is known in the nest by the variables `name.min.d`, `name.extent.d` (i32) and `name.stride.d` (i64, in
    elements) of every dimension d; the element at point p is at index `sum((p_d - min_d) * stride_d)`.
    """

    name: str
    """The image's name, or `function.component` for an output."""
    type: Type
    dimensions: int
    output: bool
    dense: bool = True
    """Whether the stride of dimension 0 is promised to be 1 (checked on entry)."""
    stored: bool = field(default=False, compare=False)
    """Of an output: whether the nest stores all that it reads of it."""


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A parameter that the caller gives."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class LoweredPipeline:
    """A lowered nest with all that it expects from outside: what code is generated from."""

    name: str
    arguments: tuple[BufferArgument | ScalarArgument, ...]
    body: Stmt
