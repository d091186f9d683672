"""The interpreter: what an algorithm means, point by point.

After *Formal Semantics for the Halide Language* (2020), section 4.4. Functions are evaluated lazily by substitution; an
update is a sequence of point writes that shadow the stage before it. One departure: where the paper unrolls a reduction
domain for every point asked for, here one run of the domain is kept for each value of the stage's pure variables. The
separation restriction makes that the same: such a run reads and writes no other values of them.

Plain and slow on purpose: no bounds, no interval arithmetic, no vectors. Under `wrap`, floats as in IEEE arithmetic.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from rfactor import errors
from rfactor.ir import bfloat
from rfactor.ir.algorithm import Algorithm, Definition, Function, ReductionDomain, plain
from rfactor.ir.evaluate import dtype_of, evaluate_scalar, stored_dtype_of
from rfactor.ir.expr import Const, Expr, Op, Value
from rfactor.ir.several import points
from rfactor.semantics.scalar import Program, program
from rfactor.semantics.validity import pure_dimensions

Point = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
"""(min, extent) of each dimension, dimension 0 first."""


@dataclass(frozen=True, slots=True)
class ImageValue:
    """An input image: its elements and where they lie."""

    array: np.ndarray
    """Dimension 0 is the last axis."""
    mins: Point = ()
    """The coordinate of the first element in each dimension; zeros if not given."""

    @property
    def box(self) -> Box:
        mins = self.mins or (0,) * self.array.ndim
        return tuple(zip(mins, reversed(self.array.shape), strict=True))


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    """The conditions that `predicate` joins by `and`, left to right; none if it is `True`.

    A domain's predicate is read in this order: what a later condition loads is loaded only where the earlier hold.
    """
    if isinstance(predicate, Op) and predicate.op == "and":
        return conjuncts(predicate.args[0]) + conjuncts(predicate.args[1])
    if isinstance(predicate, Const) and predicate.value is True:
        return ()
    return (predicate,)


@dataclass(frozen=True, slots=True)
class _Stage:
    """A definition made ready to run."""

    pure: tuple[int, ...]
    """The dimensions whose own variable stands alone on the left-hand side."""
    loops: tuple[tuple[str, Program], ...]
    """Reduction variables outermost first, each with its min and extent."""
    conditions: tuple[Program, ...]
    body: Program
    """The arguments, then the values; of each point that is written."""


def _stage(function: Function, definition: Definition) -> _Stage:
    domain = definition.domain or ReductionDomain(())
    return _Stage(
        pure_dimensions(function, definition),
        tuple((rv.name, program((rv.min, rv.extent))) for rv in reversed(domain.variables)),
        tuple(program((condition,)) for condition in conjuncts(domain.predicate)),
        program(
            tuple(
                expr
                for arguments, values in points(definition.arguments, definition.values)
                for expr in (*arguments, *values)
            )
        ),
    )


@dataclass(slots=True)
class _Run:
    """One evaluation: the algorithm, its inputs and what is known so far."""

    functions: Mapping[str, Function]
    stages: Mapping[str, tuple[_Stage, ...]]
    images: Mapping[str, ImageValue]
    parameters: Mapping[str, Value]
    pure: dict[tuple[str, Point], tuple[Value, ...]] = field(default_factory=dict)
    writes: dict[tuple[str, int, Point], dict[Point, tuple[Value, ...]]] = field(default_factory=dict)

    def read(self, name: str, index: int, point: Point) -> Value:
        if name in self.functions:
            return self.value(name, len(self.stages[name]) - 1, point)[index]
        return self.load(name, point)

    def load(self, name: str, point: Point) -> Value:
        return element(name, self.images[name], point)

    def value(self, name: str, number: int, point: Point) -> tuple[Value, ...]:
        """The value of `name` at `point` after its stage `number`."""
        if number == 0:
            known = self.pure.get((name, point))
            if known is None:
                env = {**self.parameters, **dict(zip(self.functions[name].variables, point, strict=True))}
                known = self.stages[name][0].body.run(env, self.read)[len(point) :]
                self.pure[name, point] = known
            return known
        fixed = tuple(point[d] for d in self.stages[name][number].pure)
        written = self.writes.get((name, number, fixed))
        if written is None:
            written = self.writes[name, number, fixed] = self.update(name, number, fixed)
        values = written.get(point)
        return self.value(name, number - 1, point) if values is None else values

    def update(self, name: str, number: int, fixed: Point) -> dict[Point, tuple[Value, ...]]:
        """What stage `number` writes where its pure variables are `fixed`."""
        stage, rank = self.stages[name][number], len(self.functions[name].variables)
        width = rank + len(self.functions[name].types)
        written: dict[Point, tuple[Value, ...]] = {}

        def read(other: str, index: int, point: Point) -> Value:
            if other != name:
                return self.read(other, index, point)
            values = written.get(point)
            return (self.value(name, number - 1, point) if values is None else values)[index]

        variables = self.functions[name].variables
        env = {**self.parameters, **{variables[d]: at for d, at in zip(stage.pure, fixed, strict=True)}}
        for visited in self.iterations(stage.loops, env):
            if all(condition.run(visited, read)[0] for condition in stage.conditions):
                results = stage.body.run(visited, read)
                for at in range(0, len(results), width):
                    written[tuple(map(int, results[at : at + rank]))] = results[at + rank : at + width]
        return written

    def iterations(self, loops: tuple[tuple[str, Program], ...], env: dict[str, Value]) -> Iterator[dict[str, Value]]:
        """The environments of the iterations of `loops`, in order."""
        if not loops:
            yield env
            return
        (name, bounds), inner = loops[0], loops[1:]
        low, extent = bounds.run(env, self.read)
        for at in range(int(low), int(low) + int(extent)):
            yield from self.iterations(inner, {**env, name: at})


def element(name: str, image: ImageValue, point: Point) -> Value:
    """What an image holds at a point. Raises `BufferError` where it has none."""
    box = image.box
    if not all(low <= at < low + extent for at, (low, extent) in zip(point, box, strict=True)):
        held = " x ".join(f"[{low}, {low + extent})" for low, extent in box)
        raise errors.BufferError(f"{name} is read at {point}, outside its box {held or '()'}")
    at = tuple(at - low for at, (low, _) in zip(point, box, strict=True))
    value: Value = bfloat.element(image.array, at[::-1])
    return value


def environment(algorithm: Algorithm, inputs: Mapping[str, ImageValue], given: Mapping[str, Value]) -> dict[str, Value]:
    """The scalars given, and the box of every image, by name.

    Raises `BufferError` where an image is missing or does not fit its declaration, `AlgorithmError` where a parameter
    is missing.
    """
    parameters = dict(given)
    for image in algorithm.images:
        if image.name not in inputs:
            raise errors.BufferError(f"no input is given for the image {image.name}")
        value = inputs[image.name]
        if value.array.ndim != image.dimensions or value.array.dtype != stored_dtype_of(image.type):
            raise errors.BufferError(
                f"{image.name} has {image.dimensions} dimensions of {image.type}, "
                f"not {value.array.ndim} of {value.array.dtype}"
            )
        for d, (low, extent) in enumerate(value.box):
            parameters[f"{image.name}.min.{d}"] = low
            parameters[f"{image.name}.extent.{d}"] = extent
            parameters[f"{image.name}.stride.{d}"] = value.array.strides[-1 - d] // value.array.itemsize
    missing = [parameter.name for parameter in algorithm.parameters if parameter.name not in parameters]
    if missing:
        raise errors.AlgorithmError(f"no value is given for the parameter {', '.join(map(plain, missing))}")
    for reading in algorithm.readings:
        name, point = reading.value.name, (int(evaluate_scalar(at, parameters)) for at in reading.value.args)
        parameters[reading.var.name] = element(name, inputs[name], tuple(point))
    return parameters


def interpret(
    algorithm: Algorithm,
    inputs: Mapping[str, ImageValue],
    parameters: Mapping[str, Value],
    boxes: Mapping[str, Box],
) -> Mapping[str, tuple[np.ndarray, ...]]:
    """The values of functions of `algorithm` on `boxes`: by function name, one array a component.

    Dimension 0 is the last axis of every array. The functions named in `boxes` may be any, not only outputs.
    The algorithm is taken to be valid (`validity.validate`). Raises `BufferError` where an image is read outside its
    box or does not fit its declaration, `AlgorithmError` where a parameter is missing.
    """
    functions = {function.name: function for function in algorithm.functions}
    run = _Run(
        functions,
        {name: tuple(_stage(f, definition) for definition in f.stages) for name, f in functions.items()},
        inputs,
        environment(algorithm, inputs, parameters),
    )
    results: dict[str, tuple[np.ndarray, ...]] = {}
    for name, box in boxes.items():
        function = functions[name]
        arrays = tuple(
            np.empty(tuple(max(extent, 0) for _, extent in reversed(box)), dtype_of(t)) for t in function.types
        )
        for index in itertools.product(*(range(max(extent, 0)) for _, extent in box)):
            point = tuple(low + at for (low, _), at in zip(box, index, strict=True))
            for array, value in zip(arrays, run.value(name, len(function.updates), point), strict=True):
                array[index[::-1]] = value
        results[name] = tuple(map(bfloat.stored, function.types, arrays))
    return results
