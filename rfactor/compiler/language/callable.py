"""Compiled functions in the process: `f.compile_to_callable([im, p])` is called with arrays and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.compiler.language.arguments import Argument, ArgumentKind
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.compiled import Compiled
from rfactor.compiler.language.foreign import array_of, output_of
from rfactor.compiler.language.public import public
from rfactor.compiler.language.region import misfit
from rfactor.compiler.language.types import dtype_of, in_memory
from rfactor.compiler.runtime.arguments import Placed
from rfactor.errors import AlgorithmError, BufferError
from rfactor.ir.bfloat import STORED

if TYPE_CHECKING:
    from rfactor.compiler.pipeline import Output


@public
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
        if len(set(listed)) < len(listed):
            raise AlgorithmError(f"the list of arguments of compile_to_callable has one twice: {', '.join(listed)}")
        self._images = [
            (argument.name, dtype_of(argument.type.ir), argument.dimensions)
            for argument in arguments
            if argument.kind != ArgumentKind.InputScalar
        ]
        self._names = (*listed, *(output.name for output in self._prepared.outputs))
        self._aliases = _shorter([*listed, *(_called_as(output) for output in self._prepared.outputs)], self._names)

    def __call__(self, *given: Any, **named: Any) -> None:
        """Compute; where an array is a bounds query (`Buffer.make_bounds_query`), give all such the box that is needed
        of them instead. Raises `BufferError` for a wrong number of arguments, a wrong type, rank or size."""
        values = self._by_name(given, named)
        places, asks = dict(values), False
        for name, dtype, dimensions in self._images:
            value = values[name]
            asks = asks or (isinstance(value, Buffer) and value.asks)
            places[name] = _placed("Input", name, value, dtype, dimensions)
        placed: list[Placed] = []
        for output in self._prepared.outputs:
            value = values[output.name]
            asks = asks or (isinstance(value, Buffer) and value.asks)
            place = _placed("Output", output.name, value, output.dtype, len(output.box))
            if output.component and (place.array.shape != placed[-1].array.shape or place.mins != placed[-1].mins):
                raise BufferError(f"the arrays given for {output.function.name} have different boxes")
            placed.append(place)
        if asks:
            self._answer(values)
        else:
            self._run(self._prepared, placed, places)

    def _by_name(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        count, told = len(self._names), f"The arguments are {', '.join(self._names)}."
        if len(given) > count:
            raise BufferError(f"Expected at most {count} positional arguments, but saw {len(given)}. {told}")
        if len(given) < count and not named:
            raise BufferError(f"Expected exactly {count} positional arguments, but saw {len(given)}. {told}")
        values = dict(zip(self._names, given, strict=False))
        for name, value in named.items():
            own = self._aliases.get(name, name)
            if own not in self._names:
                raise BufferError(f"Unknown argument '{name}' specified via keyword. {told}")
            if own in values:
                raise BufferError(f"Argument {name} specified multiple times. {told}")
            values[own] = value
        for name in self._names:
            if name not in values:
                raise BufferError(f"Argument {name} was not specified by either positional or keyword argument. {told}")
        return values

    def _answer(self, values: dict[str, Any]) -> None:
        from rfactor.compiler.input_bounds import answer

        outputs = [values[output.name] for output in self._prepared.outputs]
        held = [one if isinstance(one, Buffer) else Buffer(one) for one in outputs]
        given = {name: values[name] for name, *_ in self._prepared.numbers_by_name}
        for name, *_ in self._images:
            given[name] = values[name] if isinstance(values[name], Buffer) else Buffer(values[name])
        answer(self._prepared, held, given)


def _called_as(output: Output) -> str:
    """The name of the function where that says which component is meant."""
    return output.function.name if len(output.function.types) == 1 else output.name


def _shorter(called: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """What else an argument may be called by: the name without the number that tells it from another that lives, where
    no other argument is called so."""
    plain = [re.sub(r"\$\d+", "", one) for one in called]
    once = {short: name for short, name in zip(plain, names, strict=True) if plain.count(short) == 1}
    return {**once, **dict(zip(called, names, strict=True))}


def _called(dtype: np.dtype[Any]) -> str:
    return "bfloat16" if dtype == STORED else str(dtype)


def _placed(kind: str, name: str, value: Any, dtype: np.dtype[Any], dimensions: int) -> Placed:
    array = None if isinstance(value, Buffer) else output_of(value) if kind == "Output" else array_of(value)
    if isinstance(value, Buffer):
        place = Placed(value.array, value.mins)
    elif array is not None:
        place = Placed(in_memory(array), (0,) * array.ndim)
    else:
        raise BufferError(f"{name} must be an array of {_called(dtype)}: {value!r} is not an instance of Buffer")
    if place.array.dtype != dtype or place.array.ndim != dimensions:
        raise BufferError(
            misfit(f"{kind} buffer {name}", _called(dtype), dimensions, _called(place.array.dtype), place.array.ndim)
        )
    return place
