"""A function to an answer: frozen, lowered, compiled, run. Executables are kept by what they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.freeze import freeze, parts
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import Param
from rfactor.compiler.lower import lower, passes
from rfactor.compiler.lower.loops import show_loops
from rfactor.compiler.lower.storage import buffer_name
from rfactor.compiler.runtime.arguments import Placed
from rfactor.compiler.schedule.directives import Schedule
from rfactor.errors import BufferError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.evaluate import dtype_of
from rfactor.ir.loopnest import LoweredPipeline

if TYPE_CHECKING:
    from rfactor.compiler.codegen.module import Executable
    from rfactor.compiler.language.func import Func


def lowered(func: Func) -> LoweredPipeline:
    """The nest that code is generated from, for dense arrays."""
    frozen = freeze(func)
    return lower(frozen.algorithm, frozen.schedule)


def loop_nest(func: Func) -> str:
    """The loops as text, without bounds."""
    frozen = freeze(func)
    _, nest = next(passes(frozen.algorithm, frozen.schedule))
    return show_loops(nest)


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A frozen pipeline, what it was frozen from, and what is needed to run it."""

    algorithm: Algorithm
    schedule: Schedule
    images: tuple[Buffer | ImageParam, ...]
    parameters: tuple[Param, ...]
    producers: tuple[Func, ...]
    """All its functions but the output, which is not held: it holds this."""
    parts: list[object]
    """See `freeze.parts`."""
    outputs: tuple[tuple[str, np.dtype[Any]], ...]
    """The buffers and NumPy types of the components."""
    box: tuple[tuple[str, str], ...]
    """The arguments that say where the output begins and how far it goes in each dimension."""
    executables: dict[frozenset[str], Executable]
    """By the arrays whose dimension 0 is not dense."""


def prepare(func: Func) -> Prepared:
    """`func` as it is now, frozen again only where a definition or a directive changed something."""
    known: Prepared | None = func.prepared
    if known is not None:
        now = parts((*known.producers, func))
        if len(now) == len(known.parts) and all(map(is_, now, known.parts)):
            return known
    frozen = freeze(func)
    function, name = frozen.algorithm.functions[-1], func.name()
    found = Prepared(
        frozen.algorithm,
        frozen.schedule,
        frozen.images,
        frozen.parameters,
        frozen.functions[:-1],
        parts(frozen.functions),
        tuple((buffer_name(name, c), dtype_of(type_)) for c, type_ in zip(count(), function.types, strict=False)),
        tuple((f"{name}.min.{d}", f"{name}.extent.{d}") for d in range(len(function.variables))),
        func.executables.setdefault((frozen.algorithm, tuple(frozen.schedule.functions.items())), {}),
    )
    func.prepared = found
    return found


def executable(func: Func, sparse: frozenset[str] = frozenset()) -> Executable:
    """The compiled pipeline of `func`. `sparse` names arrays whose dimension 0 is not dense."""
    return _executable(prepare(func), sparse)


def _executable(prepared: Prepared, sparse: frozenset[str]) -> Executable:
    found = prepared.executables.get(sparse)
    if found is None:
        from rfactor.compiler.codegen.module import compile_pipeline

        found = compile_pipeline(lower(prepared.algorithm, prepared.schedule, sparse))
        prepared.executables[sparse] = found
    return found


def realize(func: Func, given: tuple[Any, ...]) -> Any:
    """See `Func.realize`."""
    prepared = prepare(func)
    values: dict[str, Any] = {}
    sparse: list[str] = []
    for image in prepared.images:
        buffer = image if isinstance(image, Buffer) else image.get()
        _place(image.name(), Placed(buffer.array, buffer.mins), values, sparse)
    for parameter in prepared.parameters:
        values[parameter.name()] = parameter.get()
    plain = _arrays(prepared, given)
    if plain is not None:
        fresh: list[Buffer] | None = None
        placed = plain
    else:
        outputs, new = _outputs(func.function, given)
        fresh = outputs if new else None
        placed = [Placed(buffer.array, buffer.mins) for buffer in outputs]
    for (name, _), place in zip(prepared.outputs, placed, strict=True):
        _place(name, place, values, sparse)
    array, mins = placed[0]
    for d, (low, extent) in enumerate(prepared.box):
        values[low] = mins[d]
        values[extent] = array.shape[-1 - d]
    _executable(prepared, frozenset(sparse))(values)
    if fresh is None:
        return None
    return fresh[0] if len(fresh) == 1 else tuple(fresh)


def _place(name: str, placed: Placed, values: dict[str, Any], sparse: list[str]) -> None:
    values[name] = placed
    array = placed.array
    if array.ndim and array.strides[-1] != array.itemsize and array.shape[-1] > 1:
        sparse.append(name)


def _arrays(prepared: Prepared, given: tuple[Any, ...]) -> list[Placed] | None:
    """The arrays given as places, where they are NumPy arrays of one shape, one a component and of its type."""
    arrays = given[0] if len(given) == 1 and type(given[0]) is tuple else given
    if len(arrays) != len(prepared.outputs):
        return None
    origin = (0,) * len(prepared.box)
    found: list[Placed] = []
    for array, (_, dtype) in zip(arrays, prepared.outputs, strict=True):
        if type(array) is not np.ndarray or array.dtype != dtype or array.ndim != len(origin):
            return None
        if found and array.shape != found[0].array.shape:
            return None
        found.append(Placed(array, origin))
    return found


def _outputs(function: Function, given: tuple[Any, ...]) -> tuple[list[Buffer], bool]:
    """The arrays to compute into, and whether they are new."""
    wanted = f"{function.name} has {len(function.variables)} dimensions and {len(function.types)} components"
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = tuple(given[0])
    elif len(given) > 1 and not all(_is_size(one) for one in given):
        raise BufferError(f"{wanted}: realize takes sizes, an array, or a tuple of arrays, not {given!r}")
    if all(_is_size(one) for one in given):
        sizes = [int(size) for size in given]
        if len(sizes) != len(function.variables) or any(size < 0 for size in sizes):
            raise BufferError(f"{wanted}: realize takes {len(function.variables)} sizes of 0 or more, not {sizes}")
        return [Buffer(Type(type_), sizes) for type_ in function.types], True
    buffers = [one if isinstance(one, Buffer) else Buffer(_array(one, wanted)) for one in given]
    if len(buffers) != len(function.types):
        raise BufferError(f"{wanted}: realize takes {len(function.types)} arrays, {len(buffers)} were given")
    for component, buffer in zip(range(len(buffers)), buffers, strict=True):
        type_ = Type(function.types[component])
        if buffer.type() != type_ or buffer.dimensions() != len(function.variables):
            raise BufferError(
                f"component {component} of {function.name} is {type_} of {len(function.variables)} dimensions; "
                f"the array given is {buffer.type()} of {buffer.dimensions()}"
            )
        if _box(buffer) != _box(buffers[0]):
            raise BufferError(f"the arrays given for {function.name} have different boxes: {buffers[0]}, {buffer}")
    return buffers, False


def _is_size(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _array(value: Any, wanted: str) -> np.ndarray[Any, Any]:
    if not isinstance(value, np.ndarray):
        raise BufferError(f"{wanted}: realize takes sizes, an array, or a tuple of arrays, not {value!r}")
    return value


def _box(buffer: Buffer) -> list[tuple[int, int]]:
    return [(buffer.min(d), buffer.extent(d)) for d in range(buffer.dimensions())]
