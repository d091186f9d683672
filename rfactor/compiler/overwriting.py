"""Outputs computed over an image that they read: `im.set(b)`, then `f.realize(b)`.

Such a run is made in an array of its own, which is copied over the image at the end: code may assume that arrays do not
overlap, and may compute a point twice. It is made where that is what the loops do over the image itself, those over
pure variables in any order and those over reduction variables in theirs: where each value of the image is read before
its point is written, by what is computed before, by that point alone, or by one that an earlier iteration writes.
Stages that copy the image, each point to itself, write nothing new.

    f(x) = a(x); f(r) = a(r + 1) - a(r)   ->   such; f(r) = a(r - 1) is none
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import dropwhile
from typing import Any

import numpy as np

from rfactor.compiler.lower.inline import inline
from rfactor.compiler.runtime.arguments import HasPlace, Placed, address, folded
from rfactor.compiler.schedule.directives import ROOT, Schedule
from rfactor.compiler.schedule.purity import race_free
from rfactor.ir.algorithm import Algorithm, Definition, Function, ReductionDomain
from rfactor.ir.expr import Call, Expr, Var, walk
from rfactor.ir.linear import linear
from rfactor.ir.types import I32

OVERWRITABLE = (
    "The array of an output may be that of an image, point for point, where each value of the image is read before its "
    "point is written: by the definition of that point alone, by that of one before in the order of the loops over "
    "reduction variables, or by what is computed at the root before; copies of the image to itself write nothing"
)


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

    def may_be(image: str) -> bool:
        """Whether stages that leave the image as it is come first, then one that reads each point before it is written,
        then none that reads it."""
        stages = list(dropwhile(lambda stage: _leaves(stage, image), output.stages))
        if not stages:
            return True
        first, *later = stages
        late = _elsewhere(first, first.arguments, reads, elsewhere)
        return _writes_once(output, first) and image not in late.union(*(_read(stage, reads) for stage in later))

    return frozenset(image.name for image in algorithm.images if may_be(image.name))


def _leaves(stage: Definition, image: str) -> bool:
    """Whether a stage leaves what its array holds as it is, where that is the image's."""
    if stage.keeps_all:
        return True
    (value,) = stage.values
    return isinstance(value, Call) and (value.kind, value.name, value.args) == ("image", image, stage.arguments)


def _writes_once(function: Function, stage: Definition) -> bool:
    """Whether no two iterations of a stage are known to write the same point: some do not meet at all, others differ in
    a dimension in which a reduction variable stands alone."""
    if stage.domain is None:
        return True
    alone = [linear(at)[0] for at in stage.arguments]
    apart = all(any(terms.keys() == {one.var} for terms in alone) for one in stage.domain.variables)
    return apart or len(race_free(function, stage)) == len(stage.domain.variables)


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
    called = list(_calls(definition))
    return {call.name for call in called if call.kind == "image"}.union(
        *(reads.get(call.name, set()) for call in called if call.kind == "func")
    )


def _elsewhere(
    definition: Definition,
    point: tuple[Expr, ...],
    reads: Mapping[str, set[str]],
    elsewhere: Mapping[str, set[str]],
) -> set[str]:
    """The images that a stage reads at other than the point that is computed, or one that is computed later."""
    found: set[str] = set()
    for call in _calls(definition):
        same = call.args == point
        if call.kind == "image" and not (same or _is_ahead(call.args, point, definition.domain)):
            found.add(call.name)
        elif call.kind == "func":
            found |= (elsewhere if same else reads).get(call.name, set())
    return found


def _is_ahead(read: tuple[Expr, ...], written: tuple[Expr, ...], domain: ReductionDomain | None) -> bool:
    """Whether a point that is read by an iteration is written, if at all, by that or a later one: where each reduction
    variable stands alone in a dimension that is written, and the outermost in which the points differ is greater.

    Coordinates leave i32 in no pipeline that runs, so that sums of them are those of integers.
    """
    if domain is None:
        return False
    loops: dict[Expr, int] = {variable.var: place for place, variable in enumerate(domain.variables)}
    steps = [0] * len(loops)
    for mine, its in zip(written, read, strict=True):
        (terms, constant), (other, its_constant) = linear(mine), linear(its)
        moving = [term for term in terms if term in loops]
        if terms != other or (its_constant != constant and (len(moving) != 1 or terms != {moving[0]: 1})):
            return False
        if its_constant != constant:
            steps[loops[moving[0]]] = int(its_constant - constant)
    ahead = next((step for step in reversed(steps) if step), 0)
    alone = [term for mine in written for term in linear(mine)[0] if term in loops]
    return ahead >= 0 and len(alone) == len(set(alone)) == len(loops)


def _calls(definition: Definition) -> Iterator[Call]:
    exprs: list[Expr] = [*definition.arguments, *definition.values]
    if definition.where is not None:
        exprs.append(definition.where)
    if definition.domain is not None:
        exprs.append(definition.domain.predicate)
        exprs += (end for variable in definition.domain.variables for end in (variable.min, variable.extent))
    return (node for expr in exprs for node in walk(expr) if isinstance(node, Call))


def _point(function: Function) -> tuple[Expr, ...]:
    return tuple(Var(I32, name) for name in function.variables)
