"""How much of its inputs a pipeline reads, for a given output: `Func.infer_input_bounds`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rfactor.compiler.asked import outputs_for
from rfactor.compiler.deep import deep
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.lower import affine, built
from rfactor.compiler.lower.bounds import Bounded, infer_bounds
from rfactor.compiler.lower.boxes import Box, hulls
from rfactor.compiler.pipeline import Owner, Prepared, prepare
from rfactor.compiler.runtime.arguments import HasPlace
from rfactor.compiler.schedule.directives import Split, TailStrategy
from rfactor.compiler.strides import laid_out, zeros
from rfactor.errors import AlgorithmError, BufferError
from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Expr, Value, names
from rfactor.semantics.interpreter import ImageValue, element
from rfactor.semantics.validity import validate

_PASSES = 16
"""How often boxes may change before they are as promised; Halide's bindings give up after as many."""

Shape = tuple[tuple[int, int], ...]
"""Least coordinate and extent, dimension by dimension."""


@deep
def infer_input_bounds(owner: Owner, given: Any) -> None:
    """Set every `ImageParam` that has no array yet to zeros of just the box that is read for the outputs given.

    Boxes that promises (`im.dim(0).set_min(…)`) tell of depend on one another: they are found by passes, and an output
    that is a bounds query becomes what is promised of it. Raises `AlgorithmError` where a box depends on data or grows
    with every pass; `BufferError` for outputs that do not fit, a promise that leaves out what is needed, or a
    parameter without a value.
    """
    prepared = prepare(owner)
    buffers, fresh = outputs_for(prepared, (given,))
    images = {image.name(): image for image in prepared.images if isinstance(image, ImageParam) and not image.is_set()}
    queries = [
        (output.function.name, buffer)
        for output, buffer in zip(prepared.outputs, buffers, strict=True)
        if fresh or buffer.asks
    ]
    shapes: dict[str, Shape] = {name: ((0, 0),) * image.dimensions() for name, image in images.items()}
    shapes |= {name: _shape(buffer) for name, buffer in queries}
    bounded = _bounded(prepared)
    for _ in range(_PASSES):
        found, needed = _proposed(prepared, bounded, _known(prepared, buffers), shapes)
        if found == shapes:
            break
        before, shapes = shapes, found
    else:
        told = " and ".join(name for name in shapes if before[name] != shapes[name])
        raise AlgorithmError(f"the box of {told} changes with every pass that infers it: set its images first")
    for name, shape in shapes.items():
        _check(name, shape, needed[name])
    for name, image in images.items():
        strides = _strides(image, name, _known(prepared, buffers) | _named(shapes))
        image.set(zeros(image.type().ir, shapes[name], strides))
    for name, buffer in queries:
        if buffer.asks:
            buffer.become(shapes[name])


@deep
def answer(prepared: Prepared, outputs: Sequence[Buffer], given: Mapping[str, Any]) -> None:
    """Give every bounds query among `given` and `outputs` the box that is needed of it, with what is promised.

    `given` has the images and parameters by name. Nothing is computed. Raises as `infer_input_bounds`.
    """
    queries = {name: one for name, one in given.items() if isinstance(one, Buffer) and one.asks}
    queries |= {o.function.name: one for o, one in zip(prepared.outputs, outputs, strict=True) if one.asks}
    shapes = {name: _shape(one) for name, one in queries.items()}
    found, needed = _proposed(prepared, _bounded(prepared), _known(prepared, outputs, given), shapes)
    for name in queries:
        _check(name, found[name], needed[name])
    for output, one in zip(prepared.outputs, outputs, strict=True):
        if one.asks:
            one.become(found[output.function.name])
    for name in given.keys() & queries.keys():
        queries[name].become(found[name])


@deep
def needed_of_outputs(prepared: Prepared, outputs: Sequence[Buffer]) -> dict[str, Shape]:
    """By function, the least boxes around those of `outputs` that hold all that is computed and read of them.

    Raises `AlgorithmError` where a box depends on data or grows with every pass.
    """
    bounded, known = _bounded(prepared), _known(prepared, outputs)
    shapes = {o.function.name: _shape(one) for o, one in zip(prepared.outputs, outputs, strict=True)}
    for _ in range(_PASSES):
        before, now = shapes, _solved(bounded, {**known, **_named(shapes)})
        shapes = {name: _around(name, shape, bounded.outputs[name], now) for name, shape in before.items()}
        if shapes == before:
            return shapes
    raise AlgorithmError("what is computed of the outputs grows with every pass that infers it")


def _around(name: str, shape: Shape, box: Box, known: Mapping[str, Value]) -> Shape:
    """The hull of a box that is held and one that is needed."""
    result = []
    for (low, extent), ends in zip(shape, box, strict=True):
        first, last = (_value(name, end, 0, known) for end in ends)
        held = (low, low + extent - 1) if extent else (first, last)
        least, greatest = (min(held[0], first), max(held[1], last)) if last >= first else held
        result.append((least, max(greatest - least + 1, 0)))
    return tuple(result)


def _proposed(
    prepared: Prepared, bounded: Bounded, known: Mapping[str, Value], shapes: Mapping[str, Shape]
) -> tuple[dict[str, Shape], dict[str, Shape]]:
    """The boxes of what has no memory, now `shapes`, after one pass: with what is promised, and as needed."""
    promises = _promises(prepared)

    def promised(shapes: Mapping[str, Shape], by: Mapping[str, Value]) -> dict[str, Shape]:
        return {
            name: tuple(
                (
                    _value(name, promises.get(f"{name}.min.{d}"), low, by),
                    _value(name, promises.get(f"{name}.extent.{d}"), extent, by),
                )
                for d, (low, extent) in enumerate(shape)
            )
            for name, shape in shapes.items()
        }

    before = {**known, **_named(shapes)}
    then = promised(shapes, before)
    before |= _named(then)
    known = _solved(bounded, before | _steps(prepared, then, before))
    needed: dict[str, Shape] = {}
    for name in shapes:
        if name in bounded.images:
            entries = hulls(bounded.images[name]).items()
            boxes = [box for live, box in entries if _value(name, live, 0, known)]
        else:
            boxes = [_rounded(prepared, name, bounded.outputs[name])]
        ends = [[(_value(name, low, 0, known), _value(name, high, 0, known)) for low, high in box] for box in boxes]
        needed[name] = tuple(
            (min(low for low, _ in dimension), max(max(high for _, high in dimension) + 1 - min(dimension)[0], 0))
            for dimension in (zip(*ends, strict=True) if ends else (((0, -1),) for _ in shapes[name]))
        )
    return promised(needed, {**known, **_named(needed)}), needed


def _promises(prepared: Prepared) -> dict[str, Expr]:
    """What is promised of the boxes of images and outputs, by the name of the end."""
    images = [image for image in prepared.images if isinstance(image, ImageParam)]
    return {
        f"{one.name()}.{end}.{d}": value.node
        for one in (*images, *prepared.output_images)
        for (end, d), value in one.promises.items()
    }


def _value(what: str, expr: Expr | None, otherwise: int, known: Mapping[str, Value]) -> int:
    if expr is None:
        return otherwise
    missing = [name for name in names(expr) if name not in known]
    if missing:
        raise AlgorithmError(f"what is read of {what} depends on {', '.join(missing)}: set its images first")
    return int(evaluate_scalar(expr, known))


def _rounded(prepared: Prepared, name: str, box: Box) -> Box:
    """What an output needs where updates round the extents of pure loops up: code itself needs no more than `box`."""
    function, schedule = prepared.algorithm.function(name), prepared.schedule.functions[name]
    result = list(box)
    for k, stage in enumerate(schedule.stages):
        rounds = {TailStrategy.RoundUp, TailStrategy.Auto} if k else {TailStrategy.RoundUp}
        steps = {variable: (d, 1) for d, variable in enumerate(function.variables)}
        for relation in stage.relations:
            if isinstance(relation, Split) and relation.old in steps and isinstance(relation.factor, int):
                d, step = steps.pop(relation.old)
                step *= relation.factor
                steps[relation.outer] = d, step
                low, high = result[d]
                if relation.tail in rounds:
                    extent = affine.add(affine.subtract(high, low), affine.integer(1))
                    whole = affine.scale(affine.divide_up(extent, step), step)
                    result[d] = low, affine.subtract(affine.add(low, whole), affine.integer(1))
    return tuple(result)


def strided(prepared: Prepared, outputs: Sequence[Buffer]) -> list[Buffer]:
    """New arrays of the boxes of `outputs`, with the strides that are promised of them."""
    known, images = _known(prepared, outputs), {image.stride_name(): image for image in prepared.output_images}
    result = []
    for output, one in zip(prepared.outputs, outputs, strict=True):
        image = images.get(output.name)
        promised = {} if image is None else _strides(image, output.name, known)
        result.append(zeros(output.function.types[output.component], _shape(one), promised) if promised else one)
    return result


def _strides(image: OutputImageParam, name: str, known: Mapping[str, Value]) -> dict[int, int]:
    """The strides that are promised of an array, by dimension."""
    return {d: _value(name, value.node, 0, known) for (end, d), value in image.promises.items() if end == "stride"}


def _steps(prepared: Prepared, shapes: Mapping[str, Shape], known: Mapping[str, Value]) -> dict[str, Value]:
    """The strides that new arrays of `shapes` would have, by the names that code knows them by."""
    images = [image for image in prepared.images if isinstance(image, ImageParam)]
    return {
        f"{image.stride_name()}.stride.{d}": step
        for image in (*images, *prepared.output_images)
        if image.name() in shapes
        for d, step in enumerate(
            laid_out([extent for _, extent in shapes[image.name()]], _strides(image, image.name(), known))
        )
    }


def _check(name: str, shape: Shape, needed: Shape) -> None:
    for d, ((low, extent), (first, count)) in enumerate(zip(shape, needed, strict=True)):
        if count and not (low <= first and first + count <= low + extent):
            raise BufferError(
                f"Applying the constraints on {name} to the required region made it smaller in dimension {d}. "
                f"Required size: {first} to {first + count - 1}. Constrained size: {low} to {low + extent - 1}."
            )


def bounds_for(prepared: Prepared, outputs: Sequence[Buffer]) -> tuple[Bounded, dict[str, Value]]:
    """The bounds of a pipeline, and those of its variables that are known for these outputs and its inputs now."""
    bounded = _bounded(prepared)
    return bounded, _solved(bounded, _known(prepared, outputs))


def _known(prepared: Prepared, outputs: Sequence[Buffer], given: Mapping[str, Any] | None = None) -> dict[str, Value]:
    """Parameters, and the boxes of outputs and of images that are set, or are in `given` by name."""
    held = {} if given is None else given
    known: dict[str, Value] = {
        variable: held[name] if name in held else parameter.get()
        for name, variable, parameter in prepared.numbers_by_name
    }
    for image in prepared.images:
        name = image.name()
        if name in held or isinstance(image, Buffer) or image.is_set():
            placed = held[name] if name in held else image if isinstance(image, Buffer) else image.given()
            known |= _named({name: _shape(placed)}) | _held_steps(name, placed)
    for output, buffer in zip(prepared.outputs, outputs, strict=True):
        known |= _named({output.function.name: _shape(buffer)}) | _held_steps(output.name, buffer)
    arrays = {
        image.name(): held.get(image.name(), image if isinstance(image, Buffer) else image.is_set() and image.given())
        for image in prepared.images
    }
    for reading in prepared.algorithm.readings:
        placed = arrays[reading.value.name]
        if placed and all(name in known for index in reading.value.args for name in names(index)):
            value = ImageValue(placed.array, placed.mins)
            point = tuple(int(evaluate_scalar(index, known)) for index in reading.value.args)
            known[reading.var.name] = element(reading.value.name, value, point)
    return known


def _bounded(prepared: Prepared) -> Bounded:
    if prepared.bounded is None:
        validate(prepared.algorithm)
        algorithm, schedule, nest = built(prepared.algorithm, prepared.schedule)
        prepared.bounded = infer_bounds(nest, algorithm, schedule)
    return prepared.bounded


def _solved(bounded: Bounded, known: dict[str, Value]) -> dict[str, Value]:
    """`known` with those of a pipeline's variables that follow from it."""
    for name, expr in bounded.definitions:
        if all(part in known for part in names(expr)):
            known[name] = int(evaluate_scalar(expr, known))
    return known


def _shape(placed: HasPlace) -> Shape:
    return tuple(zip(placed.mins, reversed(placed.array.shape), strict=True))


def _held_steps(name: str, placed: HasPlace) -> dict[str, Value]:
    """The strides of an array, in elements."""
    size = placed.array.itemsize
    return {f"{name}.stride.{d}": step // size for d, step in enumerate(reversed(placed.array.strides))}


def _named(shapes: Mapping[str, Shape]) -> dict[str, Value]:
    return {
        f"{name}.{end}.{d}": value
        for name, shape in shapes.items()
        for d, (low, extent) in enumerate(shape)
        for end, value in (("min", low), ("extent", extent))
    }
