"""A function to an answer: frozen, lowered, compiled, run. Executables are kept by what they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.compiler.language.buffer import Buffer
from rfactor.compiler.language.freeze import Frozen, freeze
from rfactor.compiler.language.types import Type
from rfactor.compiler.lower import lower, passes
from rfactor.compiler.lower.loops import show_loops
from rfactor.compiler.lower.storage import buffer_name
from rfactor.errors import BufferError
from rfactor.ir.algorithm import Function
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


def executable(func: Func, frozen: Frozen | None = None, sparse: frozenset[str] = frozenset()) -> Executable:
    """The compiled pipeline of `func`. `sparse` names arrays whose dimension 0 is not dense."""
    from rfactor.compiler.codegen.module import compile_pipeline

    frozen = freeze(func) if frozen is None else frozen
    key = (frozen.algorithm, tuple(frozen.schedule.functions.items()), sparse)
    if key not in func.executables:
        func.executables[key] = compile_pipeline(lower(frozen.algorithm, frozen.schedule, sparse))
    found: Executable = func.executables[key]
    return found


def realize(func: Func, given: tuple[Any, ...]) -> Any:
    """See `Func.realize`."""
    from rfactor.compiler.runtime.arguments import Placed

    frozen = freeze(func)
    function = func.function
    outputs, fresh = _outputs(function, given)
    values: dict[str, Any] = {}
    sparse: set[str] = set()
    for image in frozen.images:
        buffer = image if isinstance(image, Buffer) else image.get()
        _place(image.name(), buffer, values, sparse, Placed)
    for parameter in frozen.parameters:
        values[parameter.name()] = parameter.get()
    for component, buffer in zip(range(len(outputs)), outputs, strict=True):
        _place(buffer_name(function.name, component), buffer, values, sparse, Placed)
    for d in range(len(function.variables)):
        values[f"{function.name}.min.{d}"] = outputs[0].min(d)
        values[f"{function.name}.extent.{d}"] = outputs[0].extent(d)
    executable(func, frozen, frozenset(sparse))(values)
    if not fresh:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _place(name: str, buffer: Buffer, values: dict[str, Any], sparse: set[str], placed: Any) -> None:
    values[name] = placed(buffer.array, buffer.mins)
    if buffer.dimensions() and buffer.extent(0) > 1 and buffer.dim(0).stride() != 1:
        sparse.add(name)


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
