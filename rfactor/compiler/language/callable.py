"""Compiled functions in the process: `f.compile_to_callable([im, p])` is called with arrays and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rfactor.compiler.language.arguments import Argument, ArgumentKind
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.compiled import Compiled
from rfactor.compiler.language.types import dtype_of
from rfactor.compiler.runtime.arguments import Placed
from rfactor.errors import AlgorithmError, BufferError


class Callable:
    """A pipeline as a function of its arguments and then its outputs, in order or by name. It computes in place."""

    def __init__(self, pipeline: Compiled, arguments: Sequence[Argument]) -> None:
        """Compiles it. Raises `AlgorithmError` where `arguments` lacks something that is read."""
        from rfactor.compiler.pipeline import executable, prepare, run

        self._run = run
        executable(pipeline)
        self._prepared = prepare(pipeline)
        listed = [argument.name for argument in arguments]
        images = [image.name() for image in self._prepared.images if isinstance(image, ImageParam)]
        needed = [*images, *(parameter.name() for parameter in self._prepared.parameters)]
        missing = [name for name in needed if name not in listed]
        if missing:
            raise AlgorithmError(
                f"compile_to_callable lacks {' and '.join(missing)} among its arguments ({', '.join(listed) or 'none'})"
            )
        self._images = [
            (argument.name, dtype_of(argument.type.ir), argument.dimensions)
            for argument in arguments
            if argument.kind != ArgumentKind.InputScalar
        ]
        self._names = (*listed, *(output.name for output in self._prepared.outputs))
        self._aliases = {
            output.function.name: output.name for output in self._prepared.outputs if len(output.function.types) == 1
        }

    def __call__(self, *given: Any, **named: Any) -> None:
        """Compute. Raises `BufferError` for a wrong number of arguments, a wrong type, rank or size."""
        if len(given) + len(named) != len(self._names):
            raise BufferError(
                f"{len(self._names)} arguments are expected ({', '.join(self._names)}), not {len(given) + len(named)}"
            )
        values = dict(zip(self._names, given, strict=False))
        for name, value in named.items():
            name = self._aliases.get(name, name)
            if name not in self._names or name in values:
                raise BufferError(f"{name} is given twice or is none of the arguments: {', '.join(self._names)}")
            values[name] = value
        for name, dtype, dimensions in self._images:
            values[name] = _placed(name, values[name], dtype, dimensions)
        placed: list[Placed] = []
        for output in self._prepared.outputs:
            place = _placed(output.name, values[output.name], output.dtype, len(output.box))
            if output.component and (place.array.shape != placed[-1].array.shape or place.mins != placed[-1].mins):
                raise BufferError(f"the arrays given for {output.function.name} have different boxes")
            placed.append(place)
        self._run(self._prepared, placed, values)


def _placed(name: str, value: Any, dtype: np.dtype[Any], dimensions: int) -> Placed:
    if type(value) is np.ndarray:
        place = Placed(value, (0,) * value.ndim)
    elif isinstance(value, Buffer):
        place = Placed(value.array, value.mins)
    else:
        raise BufferError(f"{name} must be an array of {dtype}, not {value!r}")
    if place.array.dtype != dtype or place.array.ndim != dimensions:
        raise BufferError(
            f"{name} must be an array of {dtype} of {dimensions} dimensions, "
            f"not one of {place.array.dtype} of {place.array.ndim}"
        )
    return place
