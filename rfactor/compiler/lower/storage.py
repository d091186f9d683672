"""Storage: functions become flat buffers, one a component; points become indices.

    realize f((min, extent), …)   ->   allocate f.0[…]; allocate f.1[…]
    f(x, y) = a, b                ->   let f.0.value = a; let f.1.value = b; f.0[i] = f.0.value; f.1[i] = f.1.value
    f(x, y)[1]                    ->   f.1[i]

with `i = (x - f.min.0) + (y - f.min.1)*f.stride.1` in i64. Dimension 0 is dense in storage of our own; arrays that the
caller gives have the strides that they come with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.affine import reads
from rfactor.compiler.lower.data_range import data_range
from rfactor.compiler.lower.trace import access
from rfactor.compiler.schedule.directives import SILENT, Trace
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Call, Const, Expr, Op, Var, rebuild, walk
from rfactor.ir.loopnest import (
    Allocate,
    Assert,
    Atomic,
    Block,
    For,
    If,
    Let,
    Load,
    Produce,
    Provide,
    Realize,
    Stmt,
    Store,
    Write,
    block,
)
from rfactor.ir.several import Several, points
from rfactor.ir.simplify import conversion
from rfactor.ir.types import BOOL, I32, I64

ALWAYS = Const(BOOL, True)
_ZERO = affine.integer(0)
_MOST_ROUNDED = 1 << 28
"""Elements that padding and folds round up to, in all: sizes of what is checked on entry do not leave i64 then."""
SMALL = 1 << 12
"""Extents up to this are rounded up to a constant."""


def buffer_name(function: str, component: int) -> str:
    """The flat buffer of one component of a function."""
    return f"{function}.{component}"


def value_name(buffer: str) -> str:
    """What a user's value is called between its computation and its store to `buffer`."""
    return f"{buffer}.value"


def is_value(name: str) -> bool:
    """Whether `name` is a user's value rather than a coordinate, whose names end in `.min`, `.extent`, …."""
    return name.endswith(value_name(""))


def flatten(
    stmt: Stmt, algorithm: Algorithm, sparse: frozenset[str] = frozenset(), traces: Mapping[str, Trace] | None = None
) -> Stmt:
    """The nest over flat buffers. `sparse` names the caller's arrays whose dimension 0 may have any stride; the loads
    and stores that `traces` asks for tell what they do."""
    layouts: dict[str, _Layout] = {}
    for image in algorithm.images:
        layouts[image.name] = _given(image.name, image.dimensions, image.name not in sparse)
    for name in algorithm.outputs:
        function = algorithm.function(name)
        for component in range(len(function.types)):
            buffer = buffer_name(name, component)
            layouts[buffer] = _given(buffer, len(function.variables), buffer not in sparse)
    return _Flattening(layouts, traces or {}).visit(stmt)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the points of a buffer are."""

    mins: tuple[Expr, ...]
    """i32, a dimension each."""
    strides: tuple[Expr, ...]
    """i64, in elements; 0 where there is one coordinate."""
    folds: tuple[int | None, ...]
    """Where a dimension is folded: coordinates are taken modulo this, and the least one counts for nothing."""
    known: dict[tuple[Expr, ...], Expr] = field(default_factory=dict, compare=False)
    """Indices of points: all components of a function lie alike, and most points are asked for in each."""

    def index(self, arguments: tuple[Expr, ...]) -> Expr:
        """The flat index (i64) of a point."""
        found = self.known.get(arguments)
        if found is None:
            found = self.known[arguments] = self._index(arguments)
        return found

    def _index(self, arguments: tuple[Expr, ...]) -> Expr:
        total: Expr = Const(I64, 0)
        for argument, low, stride, fold in zip(arguments, self.mins, self.strides, self.folds, strict=True):
            at = affine.tidy(argument)
            place = affine.subtract(at, low) if fold is None else affine.tidy(Op(I32, "%", (at, Const(I32, fold))))
            total = affine.add(total, _times(widen(place), stride))
        return total


def _times(distance: Expr, stride: Expr) -> Expr:
    """The product, distributed over the terms of `distance`, so that each loop variable stands in a term of its own."""
    if isinstance(stride, Const):
        return affine.scale(distance, int(stride.value))
    terms, constant = affine.affine(distance)
    total = affine.scale(stride, constant)
    for term, factor in terms:
        total = affine.add(total, affine.scale(Op(I64, "*", (term, stride)), factor))
    return total


def widen(coordinate: Expr) -> Expr:
    """An i32 coordinate as i64, converted term by term: coordinates do not overflow, but sums of i32 data may wrap."""
    terms, constant = affine.affine(coordinate)
    low = high = constant
    for term, factor in terms:
        if reads(term):
            least, greatest = data_range(term) or _WHOLE
            low += factor * (least if factor > 0 else greatest)
            high += factor * (greatest if factor > 0 else least)
            if (least, greatest) == _WHOLE or low < I32.min or high > I32.max:
                return Op(I64, "cast", (coordinate,))
    wide = tuple((conversion(I64, term) or Op(I64, "cast", (term,)), factor) for term, factor in terms)
    return affine.from_affine(wide, constant, I64)


_WHOLE = (int(I32.min), int(I32.max))


def _given(name: str, dimensions: int, dense: bool) -> _Layout:
    """The layout of an array that the caller gives."""
    mins = tuple(Var(I32, f"{name}.min.{d}") for d in range(dimensions))
    strides: list[Expr] = [Var(I64, f"{name}.stride.{d}") for d in range(dimensions)]
    if dense and dimensions:
        strides[0] = Const(I64, 1)
    return _Layout(mins, tuple(strides), (None,) * dimensions)


class _Flattening:
    def __init__(self, layouts: dict[str, _Layout], traces: Mapping[str, Trace]) -> None:
        self._layouts, self._traces = layouts, traces
        self._known: dict[str, Expr] = {}
        """Bounds: constant ones make strides and sizes constants."""
        self._memo: dict[Expr, Expr] = {}

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Block):
            return block(*map(self.visit, stmt.statements))
        if isinstance(stmt, For):
            return For(stmt.name, self.flat(stmt.min), self.flat(stmt.extent), stmt.kind, self.visit(stmt.body))
        if isinstance(stmt, If):
            otherwise = None if stmt.otherwise is None else self.visit(stmt.otherwise)
            return If(self.flat(stmt.condition), self.visit(stmt.then), otherwise)
        if isinstance(stmt, Produce):
            return Produce(stmt.name, self.visit(stmt.body))
        if isinstance(stmt, Let):
            self._known[stmt.name] = stmt.value
            return Let(stmt.name, self.flat(stmt.value), self.visit(stmt.body))
        if isinstance(stmt, Provide):
            return self._stores(stmt)
        if isinstance(stmt, Atomic):
            return self._atomic(stmt)
        if isinstance(stmt, Realize):
            return self._allocated(stmt)
        if isinstance(stmt, Assert | Write):
            return stmt
        raise TypeError(f"unexpected before storage: {stmt!r}")

    def _stores(self, stmt: Provide) -> Stmt:
        """All values are read before any is written."""
        if any(isinstance(argument, Several) for argument in stmt.arguments):
            return self._scattered(stmt)
        stored = [c for c in range(len(stmt.values)) if not (stmt.keeps and stmt.keeps[c])]
        values = [self._told(stmt, component, self.flat(stmt.values[component])) for component in stored]
        buffers = [buffer_name(stmt.name, component) for component in stored]
        place = tuple(map(self.flat, stmt.arguments))
        indices = [self._layouts[buffer].index(place) for buffer in buffers]
        if len(values) == 1:
            return Store(buffers[0], indices[0], values[0], ALWAYS)
        lets = [(Var(value.type, value_name(buffer)), value) for buffer, value in zip(buffers, values, strict=True)]
        names = [name for name, _ in lets]
        for number, (buffer, index) in enumerate(zip(buffers, indices, strict=True)):
            if any(isinstance(node, Load) and node.buffer in buffers for node in walk(index)):
                lets.append((Var(index.type, f"{value_name(buffer)}.at"), index))
                indices[number] = lets[-1][0]
        body = block(*(Store(b, i, value, ALWAYS) for b, i, value in zip(buffers, indices, names, strict=True)))
        for name, value in reversed(lets):
            body = Let(name.name, value, body)
        return body

    def _scattered(self, stmt: Provide) -> Stmt:
        """Of several points too; and what an index reads is read before."""
        lets: list[tuple[Var, Expr]] = []
        stores: list[Stmt] = []
        for number, (arguments, values) in enumerate(points(stmt.arguments, stmt.values)):
            place = tuple(map(self.flat, arguments))
            one = Provide(stmt.name, arguments, values)
            for component, value in enumerate(map(self.flat, values)):
                buffer = buffer_name(stmt.name, component)
                index, name = self._layouts[buffer].index(place), value_name(f"{buffer}.{number}")
                if any(isinstance(node, Load) for node in walk(index)):
                    lets.append((Var(index.type, f"{name}.at"), index))
                    index = lets[-1][0]
                lets.append((Var(value.type, name), value))
                stores.append(Store(buffer, index, self._told(one, component, lets[-1][0]), ALWAYS))
        body = block(*stores)
        for name_, value in reversed(lets):
            body = Let(name_.name, value, body)
        return body

    def _told(self, stmt: Provide, component: int, value: Expr) -> Expr:
        """A value that says where it is stored, if it is to."""
        if not self._traces.get(stmt.name, SILENT).stores:
            return value
        return access("Store", stmt.name, component, tuple(map(self.flat, stmt.arguments)), value)

    def _atomic(self, stmt: Atomic) -> Stmt:
        """Components that do not read each other are updated one by one."""
        provide = stmt.body
        assert isinstance(provide, Provide)
        stores: list[Stmt] = []
        for component, value in zip(range(len(provide.values)), map(self.flat, provide.values), strict=True):
            buffer = buffer_name(provide.name, component)
            others = {buffer_name(provide.name, c) for c in range(len(provide.values)) if c != component}
            index = self._layouts[buffer].index(tuple(map(self.flat, provide.arguments)))
            if any(isinstance(node, Load) and node.buffer in others for one in (index, value) for node in walk(one)):
                return replace(stmt, body=self._stores(provide))
            stores.append(replace(stmt, body=Store(buffer, index, self._told(provide, component, value), ALWAYS)))
        return block(*stores)

    def _allocated(self, stmt: Realize) -> Stmt:
        strides: dict[int, Expr] = {}
        lets: list[tuple[str, Expr]] = []
        stride: Expr = Const(I64, 1)
        size: Expr = Const(I64, 1)
        layout = stmt.layout
        rounded = prod(layout.padding[d] * (layout.folds[d] or 1) for d in layout.order)
        if rounded > _MOST_ROUNDED:
            raise ScheduleError(
                f"{stmt.name}: align_storage and fold_storage ask for multiples of {rounded} elements; the counts of "
                f"all dimensions are to make {_MOST_ROUNDED} or less"
            )
        for d in layout.order:
            fold = layout.folds[d]
            room = affine.integer(fold) if fold is not None else affine.maximum(self._room(stmt.bounds[d][1]), _ZERO)
            # In i64: what i32 holds may be rounded up to more.
            count = affine.scale(affine.divide_up(widen(room), layout.padding[d]), layout.padding[d])
            # Of one coordinate there is but one place.
            strides[d] = Const(I64, 0) if count == Const(I64, 1) else stride
            size = affine.multiply(size, count)
            if len(strides) < len(layout.order):
                stride = affine.multiply(stride, count)
                if not isinstance(stride, Const):
                    name = Var(I64, f"{stmt.name}.stride.{layout.order[len(strides)]}")
                    lets.append((name.name, stride))
                    stride = name
        mins = tuple(low for low, _ in stmt.bounds)
        flat = _Layout(mins, tuple(strides[d] for d in range(len(mins))), layout.folds)
        for component in range(len(stmt.types)):
            self._layouts[buffer_name(stmt.name, component)] = flat
        self._memo.clear()  # another storage of the same function may have been there before
        body = self.visit(stmt.body)
        for component, type_ in reversed(list(zip(range(len(stmt.types)), stmt.types, strict=True))):
            body = Allocate(buffer_name(stmt.name, component), type_, size, body)
        for name_, value in reversed(lets):
            body = Let(name_, value, body)
        return body

    def _room(self, extent: Expr) -> Expr:
        """An extent for storage: a small constant that it never exceeds if there is one, so that it needs no heap."""
        known = self._known.get(extent.name, extent) if isinstance(extent, Var) else extent
        limit = affine.greatest(known)
        return affine.integer(max(limit, 0)) if limit is not None and limit <= SMALL else known

    def flat(self, expr: Expr) -> Expr:
        """`expr` with calls of functions and images as loads."""
        done = self._memo.get(expr)
        if done is None:
            done = rebuild(expr, tuple(map(self.flat, expr.children))) if expr.children else expr
            if isinstance(done, Call) and done.kind != "intrinsic":
                buffer = buffer_name(done.name, done.index) if done.kind == "func" else done.name
                load = Load(done.type, buffer, self._layouts[buffer].index(done.args))
                told = self._traces.get(done.name, SILENT).loads
                done = access("Load", done.name, done.index, done.args, load) if told else load
            self._memo[expr] = done
        return done
