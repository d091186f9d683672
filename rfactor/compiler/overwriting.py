"""Outputs computed over an image that they read: `im.set(b)`, then `f.realize(b)`.

Such a run is made in an array of its own, which is copied over the image at the end: code may assume that arrays do not
overlap, and may compute a point twice. It is made where that is what the loops do over the image itself, those over
pure variables in any order and those over reduction variables in theirs: where no value of the image is read after its
point is written (`written_before`). Stages that copy the image first, each point to itself, write nothing new.

    f(x) = a(x); f(r) = a(r + 1) - a(r)   ->   such; f(r) = a(r - 1) is none
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rfactor.compiler.lower.conditions import negated
from rfactor.compiler.lower.inline import inline
from rfactor.compiler.runtime.arguments import HasPlace, Placed, address, folded
from rfactor.compiler.schedule.directives import ROOT, Bound, Schedule
from rfactor.compiler.written_before import may_be_written_before, predicates
from rfactor.ir.algorithm import Algorithm, Definition, Function
from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.types import I32

OVERWRITABLE = (
    "The array of an output may be that of an image, point for point, where each value of the image is read before its "
    "point is written: by the definition of that point, by what comes before in the order of stages and of loops over "
    "reduction variables, or by what is computed at the root before; copies of the image to itself write nothing"
)


_DEEPEST = 8
"""As many conditions are remembered of what is read in arms within arms."""
_EXACT = frozenset({"==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "//", "%", "min", "max"})


def overwritable(algorithm: Algorithm, schedule: Schedule) -> frozenset[str]:
    """The images that the array of the output may be: none of several outputs or components."""
    algorithm = inline(algorithm, schedule)
    output = algorithm.function(algorithm.outputs[-1])
    if len(algorithm.outputs) > 1 or len(output.types) > 1:
        return frozenset()
    reads: dict[str, set[str]] = {output.name: set()}
    elsewhere: dict[str, set[str]] = {output.name: set()}
    for producer in algorithm.functions:  # producers before consumers
        name = producer.name
        if name != output.name:
            before = schedule.functions[name].compute == ROOT
            reads[name] = set() if before else set().union(*(_read(stage, reads) for stage in producer.stages))
            pure = not (before or producer.updates)
            elsewhere[name] = _elsewhere(producer.pure, _point(producer), reads, elsewhere) if pure else reads[name]

    own = schedule.functions[output.name].bounds
    bounds = [bound for bound in own if isinstance(bound, Bound)] if all(isinstance(one, Bound) for one in own) else []

    def may_be(image: str) -> bool:
        """Whether no stage reads a point that it, or a stage before, has written; copies of the image write nothing."""
        written: list[Definition] = []
        for stage in output.stages:
            if stage.keeps_all or (not written and _copies(stage, image)):
                continue
            written.append(stage)
            for call, where in _calls(stage):
                if call.kind == "func" and image in elsewhere.get(call.name, ()):
                    return False
                read = call.name == image if call.kind == "image" else image in reads.get(call.name, ())
                if read and any(may_be_written_before(output, one, call.args, stage, where, bounds) for one in written):
                    return False
        return True

    return frozenset(image.name for image in algorithm.images if may_be(image.name))


def _copies(stage: Definition, image: str) -> bool:
    """Whether a stage writes what its array holds, where that is the image's."""
    (value,) = stage.values
    return isinstance(value, Call) and (value.kind, value.name, value.args) == ("image", image, stage.arguments)


def same_points(output: HasPlace, image: HasPlace) -> bool:
    """Whether every point of `output` is that point of `image`, and none other of it."""
    array, other = output.array, image.array
    if array.itemsize != other.itemsize or array.ndim != other.ndim or folded(other):
        return False
    offset = 0
    for d in range(array.ndim):
        extent, step = array.shape[-1 - d], other.strides[-1 - d]
        moved = output.mins[d] - image.mins[d]
        if moved < 0 or moved + extent > other.shape[-1 - d] or (extent > 1 and array.strides[-1 - d] != step):
            return False
        offset += moved * step
    return address(array) == address(other) + offset


def apart(output: HasPlace) -> Placed:
    """A copy of an output, laid out as it is."""
    array = output.array
    spans = [step * (extent - 1) for step, extent in zip(array.strides, array.shape, strict=True)]
    before = -sum(span for span in spans if span < 0)
    memory = np.empty(before + sum(span for span in spans if span > 0) + array.itemsize, np.uint8)
    copy: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, memory, before, array.strides)
    copy[...] = array
    return Placed(copy, output.mins)


def _read(definition: Definition, reads: Mapping[str, set[str]]) -> set[str]:
    """The images that a stage reads while loops run, by way of the functions that it calls too."""
    called = [call for call, _ in _calls(definition)]
    return {call.name for call in called if call.kind == "image"}.union(
        *(reads.get(call.name, set()) for call in called if call.kind == "func")
    )


def _elsewhere(
    definition: Definition, point: tuple[Expr, ...], reads: Mapping[str, set[str]], elsewhere: Mapping[str, set[str]]
) -> set[str]:
    """The images that a pure definition reads at other than the point that is computed."""
    found: set[str] = set()
    for call, _ in _calls(definition):
        if call.kind == "func":
            found |= (elsewhere if call.args == point else reads).get(call.name, set())
        elif call.kind == "image" and call.args != point:
            found.add(call.name)
    return found


def _calls(definition: Definition) -> Iterator[tuple[Call, tuple[Expr, ...]]]:
    """The calls of a stage, each with what holds where it makes a difference: an arm where it is chosen, and all but
    the domain and its predicate where that holds."""
    chosen: list[Expr] = [*definition.arguments, *definition.values]
    if definition.where is not None:
        chosen.append(definition.where)
    always: list[Expr] = []
    if definition.domain is not None:
        always.append(definition.domain.predicate)
        always += (end for variable in definition.domain.variables for end in (variable.min, variable.extent))
    seen: set[tuple[Expr, tuple[Expr, ...]]] = set()
    for exprs, where in ((chosen, predicates(definition)), (always, ())):
        for expr in exprs:
            yield from _within(expr, where, seen)


def _within(
    expr: Expr, where: tuple[Expr, ...], seen: set[tuple[Expr, tuple[Expr, ...]]]
) -> Iterator[tuple[Call, tuple[Expr, ...]]]:
    """The calls in `expr` that were not `seen` where that holds."""
    stack = [(expr, where)]
    while stack:
        node, where = stack.pop()
        if (node, where) in seen:
            continue
        seen.add((node, where))
        if isinstance(node, Call):
            yield node, where
        inside = getattr(node, "args", ())
        if isinstance(node, Op) and node.op == "select" and len(where) < _DEEPEST and _exact(node.args[0]):
            condition, *arms = node.args
            stack.append((condition, where))
            stack += ((arm, (*where, one)) for arm, one in zip(arms, (condition, negated(condition)), strict=True))
        else:
            stack += ((one, where) for one in inside)


def _exact(condition: Expr) -> bool:
    """Whether a condition says of integers what it says of values that may wrap: it adds and multiplies none."""
    return all(
        isinstance(node, Const | Var) or (isinstance(node, Op) and node.op in _EXACT) for node in walk(condition)
    )


def _point(function: Function) -> tuple[Expr, ...]:
    return tuple(Var(I32, name) for name in function.variables)
