"""How much of its inputs a pipeline reads, for a given output: `Func.infer_input_bounds`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rfactor.compiler.deep import deep
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.types import Type
from rfactor.compiler.lower import built
from rfactor.compiler.lower.bounds import Bounded, hulls, infer_bounds
from rfactor.compiler.pipeline import Owner, Prepared, outputs_for, prepare
from rfactor.errors import AlgorithmError
from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Expr, Value, names


@deep
def infer_input_bounds(owner: Owner, given: Any) -> None:
    """Set every `ImageParam` that has no array yet to zeros of just the box that is read for the outputs given.

    Raises `AlgorithmError` where that box depends on the bounds of such an image, or on data; `BufferError` for
    outputs that do not fit, or a parameter without a value.
    """
    prepared = prepare(owner)
    buffers, _ = outputs_for(prepared, (given,))
    bounded, known = bounds_for(prepared, buffers)
    open_ = [image for image in prepared.images if isinstance(image, ImageParam) and not image.is_set()]

    def value(what: str, expr: Expr) -> int:
        missing = [name for name in names(expr) if name not in known]
        if missing:
            raise AlgorithmError(f"what is read of {what} depends on {', '.join(missing)}: set its images first")
        return int(evaluate_scalar(expr, known))

    for image in open_:
        name = image.name()
        boxes = [
            [(value(name, low), value(name, high)) for low, high in box]
            for live, box in hulls(bounded.images[name]).items()
            if value(name, live)
        ]
        dimensions = range(image.dimensions())
        lows = [min((box[d][0] for box in boxes), default=0) for d in dimensions]
        highs = [max((box[d][1] for box in boxes), default=-1) for d in dimensions]
        buffer = Buffer(Type(image.type().ir), [max(high - low + 1, 0) for low, high in zip(lows, highs, strict=True)])
        buffer.set_min(*lows)
        image.set(buffer)


def bounds_for(prepared: Prepared, outputs: Sequence[Buffer]) -> tuple[Bounded, dict[str, Value]]:
    """The bounds of a pipeline, and those of its variables that are known for these outputs and its inputs now."""
    known: dict[str, Value] = {parameter.name(): parameter.get() for parameter in prepared.parameters}
    for image in prepared.images:
        if isinstance(image, Buffer) or image.is_set():
            known.update(_box(image.name(), image if isinstance(image, Buffer) else image.get()))
    for output, buffer in zip(prepared.outputs, outputs, strict=True):
        known.update(_box(output.function.name, buffer))
    algorithm, schedule, nest = built(prepared.algorithm, prepared.schedule)
    bounded = infer_bounds(nest, algorithm, schedule)
    for name, expr in bounded.definitions:
        if all(part in known for part in names(expr)):
            known[name] = int(evaluate_scalar(expr, known))
    return bounded, known


def _box(name: str, buffer: Buffer) -> Iterator[tuple[str, int]]:
    for d in range(buffer.dimensions()):
        yield f"{name}.min.{d}", buffer.min(d)
        yield f"{name}.extent.{d}", buffer.extent(d)
