"""What `realize` is asked for: the arrays given to compute into, or new ones as large as must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.compiler.language.buffer import Buffer, blank
from rfactor.compiler.language.foreign import output_of
from rfactor.compiler.language.region import misfit
from rfactor.compiler.language.types import Type
from rfactor.compiler.lower import affine
from rfactor.compiler.schedule.directives import Bound
from rfactor.errors import AlgorithmError, BufferError
from rfactor.ir.algorithm import Function

if TYPE_CHECKING:
    from rfactor.compiler.pipeline import Output, Prepared


def outputs_for(prepared: Prepared, given: tuple[Any, ...]) -> tuple[list[Buffer], bool]:
    """The arrays to compute into, and whether they are new."""
    if len(given) == 1 and type(given[0]) in (list, tuple) and _sizes_fit(prepared, given[0]):
        return [_new(o, given[0]) for o in prepared.outputs], True
    functions = {output.function.name: output.function for output in prepared.outputs}
    wanted = " and ".join(
        f"{f.name} has {len(f.variables)} dimensions and {len(f.types)} components" for f in functions.values()
    )
    if len(given) == 1 and (isinstance(given[0], Sequence | Iterator) or _lists_sizes(prepared, given[0])):
        given = tuple(given[0])
    elif len(given) > 1 and not all(_is_size(one) for one in given):
        raise BufferError(f"{wanted}: realize takes sizes, an array, or a tuple of arrays, not {given!r}")
    if all(_is_size(one) for one in given):
        sizes = [int(size) for size in given]
        for function in functions.values():
            rank = len(function.variables)
            if len(sizes) != rank:
                raise BufferError(
                    f"Error: Func {function.name} is defined with {rank} dimensions, but realize() is requesting a "
                    f"realization with {len(sizes)} dimensions. {wanted}: realize takes {rank} sizes, not {sizes}"
                )
            if any(size < 0 for size in sizes):
                raise BufferError(f"{wanted}: realize takes {rank} sizes of 0 or more, not {sizes}")
        return [_new(o, sizes) for o in prepared.outputs], True
    buffers = [one if isinstance(one, Buffer) else Buffer(_array(one, wanted)) for one in given]
    if len(buffers) != len(prepared.outputs):
        raise BufferError(f"{wanted}: realize takes {len(prepared.outputs)} arrays, {len(buffers)} were given")
    for i, (output, buffer) in zip(count(), zip(prepared.outputs, buffers, strict=True), strict=False):
        function, type_ = output.function, Type(output.function.types[output.component])
        dimensions, given_type, rank = len(function.variables), buffer.type(), buffer.dimensions()
        if given_type != type_ or rank != dimensions:
            raise BufferError(misfit(f"Output buffer {_called(output)}", type_, dimensions, given_type, rank))
        first = buffers[i - output.component]
        if _box(buffer) != _box(first):
            raise BufferError(f"the arrays given for {function.name} have different boxes: {first}, {buffer}")
    return buffers, False


def _new(output: Output, sizes: Sequence[int]) -> Buffer:
    """A new array, of zeros where points may be left as they are. Raises `MemoryError`, saying what for."""
    make = Buffer if output.function.pure.may_keep(output.component) else blank
    try:
        return make(Type(output.function.types[output.component]), sizes)
    except MemoryError as error:
        raise MemoryError(f"{_called(output)} of sizes {[*sizes]}: {error}") from error


def _called(output: Output) -> str:
    """The function, and which component of several."""
    return output.function.name if len(output.function.types) == 1 else f"{output.function.name}.{output.component}"


def _sizes_fit(prepared: Prepared, sizes: Sequence[Any]) -> bool:
    """Whether they are sizes, one for each dimension of every output."""
    for size in sizes:
        if type(size) is not int or size < 0:
            return False
    return all(len(output.box) == len(sizes) for output in prepared.outputs)


def _lists_sizes(prepared: Prepared, given: Any) -> bool:
    """Whether an array holds sizes, and is none to compute into: that has as many dimensions as each output."""
    if not isinstance(given, np.ndarray) or given.ndim != 1 or given.dtype.kind not in "iu":
        return False
    return any(len(output.box) != 1 for output in prepared.outputs)


def _is_size(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _array(value: Any, wanted: str) -> np.ndarray[Any, Any]:
    """The array of an output: one whose memory is that of what was given."""
    array = output_of(value)
    if array is None:
        raise BufferError(f"{wanted}: realize takes sizes, an array, or a tuple of arrays, not {value!r}")
    return array


def _box(buffer: Buffer) -> list[tuple[int, int]]:
    return [(buffer.min(d), buffer.extent(d)) for d in range(buffer.dimensions())]


def new_arrays(prepared: Prepared, outputs: Sequence[Buffer]) -> list[Buffer]:
    """New arrays for what is asked for, as large and with the strides that was promised."""
    return _strided(prepared, [_with_room(*pair, prepared) for pair in zip(prepared.outputs, outputs, strict=True)])


def _strided(prepared: Prepared, outputs: list[Buffer]) -> list[Buffer]:
    if not any(end == "stride" for image in prepared.output_images for end, _ in image.promises):
        return outputs
    from rfactor.compiler.input_bounds import strided

    return strided(prepared, outputs)


def _with_room(output: Output, asked: Buffer, prepared: Prepared) -> Buffer:
    """A new array, larger than what is asked for where constants that hold it say that more is computed: those of
    `bound`, and those promised of the output's array."""
    directives = prepared.schedule.functions[output.function.name].bounds
    if not (directives or output.promised):
        return asked
    sizes, mins = list(reversed(asked.array.shape)), list(asked.mins)
    for d, least, extent in (*_constant_bounds(output.function, directives), *output.promised):
        low = mins[d] if least is None else least
        if low <= mins[d] and mins[d] + sizes[d] <= low + extent:
            mins[d], sizes[d] = low, extent
    if (sizes, mins) == (list(reversed(asked.array.shape)), list(asked.mins)):
        return asked
    large = _new(output, sizes)
    large.set_min(mins)
    return large


def as_needed(prepared: Prepared, outputs: Sequence[Buffer]) -> list[Buffer] | None:
    """New arrays that hold all that is computed or read of the outputs beyond these: what a scatter may write, or
    another output reads. None where these do, or where it is not known."""
    from rfactor.compiler.input_bounds import needed_of_outputs

    try:
        boxes = needed_of_outputs(prepared, outputs)
    except (AlgorithmError, BufferError):
        return None
    found = []
    for output in prepared.outputs:
        box = boxes[output.function.name]
        large = _new(output, [extent for _, extent in box])
        large.set_min([low for low, _ in box])
        found.append(large)
    same = all(_box(large) == _box(small) for large, small in zip(found, outputs, strict=True))
    return None if same else _strided(prepared, found)


def _constant_bounds(function: Function, directives: Sequence[object]) -> Iterator[tuple[int, int | None, int]]:
    for directive in directives:
        extent = affine.constant_value(directive.extent) if isinstance(directive, Bound) else None
        if isinstance(directive, Bound) and extent is not None:
            low = None if directive.min is None else affine.constant_value(directive.min)
            if directive.min is None or low is not None:
                yield function.variables.index(directive.variable), low, extent
