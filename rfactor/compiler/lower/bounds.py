"""Bounds inference: fills the holes of a nest by interval arithmetic, consumers before producers.

The box that a function must be right on (its compute bounds) holds every point at which it is read inside its
`realize`, seen from there; that of an output is asked for by the caller. Going backwards through the stages, each
stage covers the box of those after it, and what it reads and writes of its own function is added for those before.
After *Formal Semantics for the Halide Language*, section 7 (figure 10), solved by intervals in place of an
oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.interval import (
    Binding,
    Definition,
    Interval,
    Intervals,
    LoopRange,
    Scope,
    ceilings,
    nonpositive,
    positive,
    union,
)
from rfactor.compiler.lower.nest import Nest, hole
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.errors import AlgorithmError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Call, Const, Expr, conjunction, walk
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Provide, Realize, Stmt, block
from rfactor.ir.types import I32

Box = tuple[tuple[Expr, Expr], ...]
"""Least and greatest coordinate of each dimension."""
Lets = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """A box that is read or written, while `live` holds."""

    live: Expr
    box: Box


@dataclass(frozen=True, slots=True)
class Bounded:
    """A nest whose holes are filled, and what it asks of the arrays that the caller gives."""

    body: Stmt
    definitions: Lets
    """Bounds that hold for the whole nest, outermost first."""
    images: Mapping[str, tuple[Touched, ...]]
    """What is read of each image."""
    outputs: Mapping[str, Box]
    """What each output must have room for."""
    sums: tuple[Interval, ...]
    """Least and greatest values of sums of coordinates: i32 must hold them."""
    sizes: tuple[tuple[str, tuple[Expr, ...]], ...]
    """The greatest extents of the storage of each function."""


def infer_bounds(nest: Nest, algorithm: Algorithm) -> Bounded:
    """The nest with `Let`s for its holes. Raises `AlgorithmError` for an index that nothing bounds."""
    inference = _Inference(algorithm, nest)
    definitions, body = inference.visit(nest.body, Scope(facts=nest.facts))
    images = {image.name: tuple(inference.touched[image.name]) for image in algorithm.images}
    return Bounded(body, definitions, images, inference.outputs, tuple(inference.sums), tuple(inference.sizes))


@dataclass(slots=True)
class _Place:
    """What is known at one place of the walk."""

    scope: Scope
    intervals: dict[int, Intervals] = field(default_factory=dict)
    """By level."""
    seen: set[tuple[str, tuple[Expr, ...]]] = field(default_factory=set)
    """Functions and images with the points at which they are read here."""


class _Inference:
    """One backward walk over a nest."""

    def __init__(self, algorithm: Algorithm, nest: Nest) -> None:
        self._functions = {function.name: function for function in algorithm.functions}
        self._images = {image.name for image in algorithm.images}
        self._outputs = algorithm.outputs
        self.touched: dict[str, list[Touched]] = {name: [] for name in (*self._images, *algorithm.outputs)}
        self._level: dict[str, int] = dict.fromkeys(self.touched, 0)
        self.outputs: dict[str, Box] = {}
        self._place = _Place(Scope())
        self.sums: dict[Interval, None] = {}
        """Ends of the sums of coordinates, as seen from outside all loops."""
        self.sizes: list[tuple[str, tuple[Expr, ...]]] = []
        """The greatest extents of the storage of each function."""

    def visit(self, stmt: Stmt, scope: Scope) -> tuple[Lets, Stmt]:
        """The statement with its holes filled, and the definitions that belong before it, outermost first."""
        if isinstance(stmt, Block):
            lets: Lets = ()
            parts: list[Stmt] = []
            for part in reversed(stmt.statements):
                own, part = self.visit(part, scope)
                scope = _defined(scope, own)
                lets += own
                parts.append(part)
            return lets, block(*reversed(parts))
        if isinstance(stmt, For):
            return (), self._loop(stmt, scope)
        if isinstance(stmt, If):
            return self._guarded(stmt, scope)
        if isinstance(stmt, Produce):
            return self._produced(stmt, scope)
        if isinstance(stmt, Realize):
            return self._realized(stmt, scope)
        if isinstance(stmt, Provide):
            self._provided(stmt, scope)
            return (), stmt
        raise TypeError(f"unexpected before bounds inference: {stmt!r}")

    def _loop(self, loop: For, scope: Scope) -> Stmt:
        depth = scope.depth + 1
        _countable(loop)
        end = affine.add(loop.min, loop.extent)
        self._noted((loop.min, end, affine.subtract(end, affine.integer(1))), scope)
        bindings: dict[str, Binding] = dict(scope.bindings)
        bindings[loop.name] = LoopRange(depth, loop.min, loop.extent)
        lets, body = self.visit(loop.body, replace(scope, depth=depth, bindings=bindings))
        return For(loop.name, loop.min, loop.extent, loop.kind, define(lets, body))

    def _guarded(self, stmt: If, scope: Scope) -> tuple[Lets, Stmt]:
        self._reads(stmt.condition, scope)
        below = tuple(nonpositive(stmt.condition))
        self._noted(below, scope)
        inside = replace(
            scope,
            conditions=scope.conditions + below,
            ceilings=scope.ceilings + tuple(ceilings(stmt.condition)),
        )
        lets, then = self.visit(stmt.then, inside)
        return (), If(stmt.condition, define(lets, then))

    def _realized(self, stmt: Realize, scope: Scope) -> tuple[Lets, Stmt]:
        self.touched[stmt.name] = []
        self._level[stmt.name] = scope.depth
        lets, body = self.visit(stmt.body, scope)
        return lets, Realize(stmt.name, stmt.types, stmt.bounds, body)

    def _produced(self, stmt: Produce, scope: Scope) -> tuple[Lets, Stmt]:
        """Stages, last to first: each is walked once the box that it must cover is known."""
        function = self._functions[stmt.name]
        parts = stmt.body.statements if isinstance(stmt.body, Block) else (stmt.body,)
        box = self._asked(function)
        lets: Lets = ()
        stages: list[Stmt] = []
        for index in reversed(range(len(parts))):
            prefix = f"{function.name}.s{index}"
            own: Lets = ()
            for name in pure_variables(function, function.stages[index]):
                low, high = box[function.variables.index(name)]
                extent = _extent(low, high)
                own += ((hole(prefix, name, "min").name, low), (hole(prefix, name, "extent").name, extent))
            self._noted([value for _, value in own], scope)
            scope = _defined(scope, own)
            lets += own
            before = len(self.touched[function.name])
            inner, stage = self.visit(parts[index], scope)
            scope = _defined(scope, inner)
            lets += inner
            stages.append(stage)
            pure = pure_variables(function, function.stages[index])
            fixed = frozenset(d for d in range(len(box)) if function.variables[d] in pure)
            box = _joined(box, self.touched[function.name][before:], fixed)
        storage: Lets = ()
        if function.name in self._outputs:
            self.outputs[function.name] = box
        else:
            for d, (low, high) in zip(range(len(box)), box, strict=True):
                storage += ((hole(function.name, "min", d).name, low),)
                storage += ((hole(function.name, "extent", d).name, _extent(low, high)),)
            extents = tuple(_extent(low, high) for low, high in box)
            greatest = self._noted(extents, _defined(scope, storage))
            self.sizes.append((function.name, tuple(extent for _, extent in greatest if extent is not None)))
        return lets + storage, Produce(stmt.name, block(*reversed(stages)))

    def _asked(self, function: Function) -> Box:
        """The box that the function must be right on."""
        touched = self.touched[function.name]
        if function.name in self._outputs:
            box: Box = ()
            for d in range(len(function.variables)):
                low, extent = hole(function.name, "min", d), hole(function.name, "extent", d)
                box += ((low, affine.subtract(affine.add(low, extent), affine.integer(1))),)
            return _joined(box, touched)
        if not touched:  # scheduled, but nothing reads it: nothing is computed
            return tuple((affine.integer(0), affine.integer(-1)) for _ in function.variables)
        first = next(iter(hulls(touched).items()))
        return _joined(first[1], [entry for entry in touched if entry.live != first[0]])

    def _provided(self, stmt: Provide, scope: Scope) -> None:
        for expr in (*stmt.arguments, *stmt.values):
            self._reads(expr, scope)
        self._touch(stmt.name, stmt.arguments, scope, f"{stmt.name} is written")

    def _reads(self, expr: Expr, scope: Scope) -> None:
        for node in walk(expr):
            if isinstance(node, Call) and node.kind != "intrinsic" and (node.name, node.args) not in self._seen(scope):
                self._seen(scope).add((node.name, node.args))
                self._touch(node.name, tuple(map(affine.tidy, node.args)), scope, f"{node.name} is read")

    def _touch(self, name: str, arguments: tuple[Expr, ...], scope: Scope, what: str) -> None:
        level = self._level[name]
        intervals = self._intervals(scope, level)
        box: Box = ()
        for d, argument in zip(range(len(arguments)), arguments, strict=True):
            low, high = intervals.of(argument)
            if low is None or high is None:
                raise AlgorithmError(
                    f"{what} at {argument} in dimension {d}, and nothing bounds that index: "
                    f"write clamp({argument}, low, high)"
                )
            box += ((low, high),)
        if level:
            self._noted(arguments, scope)
        entry = Touched(self._live(scope, intervals, level), box)
        if entry not in self.touched[name]:
            self.touched[name].append(entry)

    def _noted(self, exprs: Iterable[Expr], scope: Scope) -> list[Interval]:
        """The intervals of coordinates as seen from outside all loops; their sums are kept for the entry checks."""
        outermost = self._intervals(scope, 0)
        return [outermost.of(expr) for expr in exprs]

    def _seen(self, scope: Scope) -> set[tuple[str, tuple[Expr, ...]]]:
        """What was read already at this place."""
        return self._here(scope).seen

    def _intervals(self, scope: Scope, level: int) -> Intervals:
        """Intervals at this place; those of one level share what they know."""
        known = self._here(scope).intervals
        if level not in known:
            known[level] = Intervals(scope, level, None if level else self.sums)
        return known[level]

    def _here(self, scope: Scope) -> _Place:
        if self._place.scope is not scope:
            self._place = _Place(scope)
        return self._place

    def _live(self, scope: Scope, intervals: Intervals, level: int) -> Expr:
        """Whether every loop inside `level` around this place has an iteration at all."""
        conditions: list[Expr] = []
        for binding in scope.bindings.values():
            if isinstance(binding, LoopRange) and binding.depth > level:
                most = intervals.of(binding.extent)[1]
                if most is not None and not (isinstance(most, Const) and int(most.value) > 0):
                    condition = positive(most)
                    if condition not in conditions:
                        conditions.append(condition)
        return conjunction(*conditions)


def _countable(loop: For) -> None:
    """Refuse a loop of constant bounds that ends beyond i32."""
    first, extent = affine.constant_value(loop.min), affine.constant_value(loop.extent)
    if first is not None and extent is not None and first + extent > int(I32.max):
        raise AlgorithmError(f"the loop {loop.name} runs from {first} to {first + extent - 1}, beyond the range of i32")


def _defined(scope: Scope, lets: Lets) -> Scope:
    if not lets:
        return scope
    bindings: dict[str, Binding] = dict(scope.bindings)
    bindings.update((name, Definition(scope.depth, value)) for name, value in lets)
    return replace(scope, bindings=bindings)


def define(lets: Lets, body: Stmt) -> Stmt:
    """`body` after the definitions, the first outermost."""
    for name, value in reversed(lets):
        body = Let(name, value, body)
    return body


def _extent(low: Expr, high: Expr) -> Expr:
    return affine.add(affine.subtract(high, low), affine.integer(1))


def _joined(box: Box, touched: list[Touched], fixed: frozenset[int] = frozenset()) -> Box:
    """The box that holds `box` and what is touched while it is live.

    `fixed` are the dimensions in which every touched box is `box` itself: those of the pure variables of a stage.
    """
    for live, other in hulls(touched).items():
        condition = None if isinstance(live, Const) else live
        grown: list[Interval] = [box[d] if d in fixed else union(box[d], other[d], condition) for d in range(len(box))]
        box = tuple((low, high) for low, high in grown if low is not None and high is not None)
    return box


def hulls(touched: Sequence[Touched]) -> dict[Expr, Box]:
    """The hull of what is touched under one condition, by condition."""
    result: dict[Expr, Box] = {}
    for entry in touched:
        old = result.get(entry.live)
        if old is None:
            result[entry.live] = entry.box
            continue
        result[entry.live] = tuple(
            (affine.minimum(low_a, low_b), affine.maximum(high_a, high_b))
            for (low_a, high_a), (low_b, high_b) in zip(old, entry.box, strict=True)
        )
    return result
