"""A function to an answer: frozen, lowered, compiled, run. Executables are kept by what they were made from."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from operator import is_
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.freeze import freeze, parts
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import Param
from rfactor.compiler.lower import arguments, lower, passes
from rfactor.compiler.lower.loops import show_loops
from rfactor.compiler.lower.storage import buffer_name
from rfactor.compiler.runtime.arguments import Placed
from rfactor.compiler.schedule.directives import Schedule
from rfactor.compiler.structure import structure
from rfactor.errors import BufferError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.evaluate import dtype_of
from rfactor.ir.loopnest import LoweredPipeline
from rfactor.kept import Kept

if TYPE_CHECKING:
    from rfactor.compiler.codegen.module import Executable


def lowered(outputs: Sequence[Func]) -> LoweredPipeline:
    """The nest that code is generated from, for dense arrays."""
    frozen = freeze(*outputs)
    return lower(frozen.algorithm, frozen.schedule)


def loop_nest(outputs: Sequence[Func]) -> str:
    """The loops as text, without bounds."""
    frozen = freeze(*outputs)
    _, nest = next(passes(frozen.algorithm, replace(frozen.schedule, traces={})))
    return show_loops(nest)


class Owner(Protocol):
    """What can be realized, a `Func` or a `Pipeline`, and what it keeps for the next time."""

    prepared: Any

    def results(self) -> tuple[Func, ...]:
        """The functions that are computed."""


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """One array of the answer."""

    function: Function
    component: int
    name: str
    """The buffer."""
    dtype: np.dtype[Any]
    box: tuple[tuple[str, str], ...]
    """The arguments that say where its function begins and how far it goes in each dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A frozen pipeline, what it was frozen from, and what is needed to run it."""

    algorithm: Algorithm
    schedule: Schedule
    images: tuple[Buffer | ImageParam, ...]
    parameters: tuple[Param, ...]
    producers: tuple[Func, ...]
    """All its functions but the one that holds this."""
    parts: list[object]
    """See `freeze.parts`."""
    outputs: tuple[Output, ...]
    executables: dict[frozenset[str], Executable]
    """By the arrays whose dimension 0 is not dense."""


def prepare(owner: Owner) -> Prepared:
    """`owner` as it is now, frozen again only where a definition or a directive changed something."""
    known: Prepared | None = owner.prepared
    if known is not None:
        now = parts(known.producers) + (parts((owner,)) if isinstance(owner, Func) else [])
        if len(now) == len(known.parts) and all(map(is_, now, known.parts)):
            return known
    frozen = freeze(*owner.results())
    producers = frozen.functions[:-1] if isinstance(owner, Func) else frozen.functions
    found = Prepared(
        frozen.algorithm,
        frozen.schedule,
        frozen.images,
        frozen.parameters,
        producers,
        parts(frozen.functions),
        tuple(output for name in frozen.algorithm.outputs for output in _outputs_of(frozen.algorithm.function(name))),
        {},
    )
    owner.prepared = found
    return found


def _outputs_of(function: Function) -> Iterator[Output]:
    name = function.name
    box = tuple((f"{name}.min.{d}", f"{name}.extent.{d}") for d in range(len(function.variables)))
    for component, type_ in zip(count(), function.types, strict=False):
        yield Output(function, component, buffer_name(name, component), dtype_of(type_), box)


def executable(owner: Owner, sparse: frozenset[str] = frozenset()) -> Executable:
    """The compiled pipeline of `owner`. `sparse` names arrays whose dimension 0 is not dense."""
    return _executable(prepare(owner), sparse)


_compiled: Kept[Hashable, Executable] = Kept(256)
"""Compiled pipelines that are kept for others of their structure, about 1 MB each."""


def _executable(prepared: Prepared, sparse: frozenset[str]) -> Executable:
    found = prepared.executables.get(sparse)
    if found is None:
        from rfactor.compiler.codegen.module import compile_pipeline, renamed

        algorithm, schedule = prepared.algorithm, prepared.schedule
        given = arguments(algorithm, sparse)
        told = (*schedule.traces, *algorithm.outputs) if schedule.traces else ()  # names that are written
        key = structure(algorithm, schedule), tuple(argument.name in sparse for argument in given), told
        same = _compiled.get(key)
        if same is None:
            found = compile_pipeline(lower(algorithm, schedule, sparse))
        else:
            found = renamed(same, given, lambda: lower(algorithm, schedule, sparse))
        _compiled.keep(key, found)
        prepared.executables[sparse] = found
    return found


def realize(owner: Owner, given: tuple[Any, ...]) -> Any:
    """See `Func.realize`."""
    prepared = prepare(owner)
    plain = _arrays(prepared, given)
    if plain is not None:
        run(prepared, plain)
        return None
    outputs, fresh = outputs_for(prepared, given)
    run(prepared, [Placed(buffer.array, buffer.mins) for buffer in outputs])
    if not fresh:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def run(prepared: Prepared, placed: Sequence[Placed], given: Mapping[str, Any] | None = None) -> None:
    """Compute into arrays, one an output. `given` has the images and parameters by name, in place of what is set."""
    values: dict[str, Any] = {}
    sparse: list[str] = []
    for image in prepared.images:
        name = image.name()
        buffer = image if isinstance(image, Buffer) else given[name] if given and name in given else image.get()
        _place(name, Placed(buffer.array, buffer.mins), values, sparse)
    for parameter in prepared.parameters:
        name = parameter.name()
        values[name] = given[name] if given and name in given else parameter.get()
    for output, place in zip(prepared.outputs, placed, strict=True):
        _place(output.name, place, values, sparse)
        if output.component == 0:
            shape, mins = place.array.shape, place.mins
            for d, (low, extent) in zip(count(), output.box, strict=False):
                values[low] = mins[d]
                values[extent] = shape[-1 - d]
    _executable(prepared, frozenset(sparse))(values)


def _place(name: str, place: Placed, values: dict[str, Any], sparse: list[str]) -> None:
    values[name] = place
    array = place.array
    if array.ndim and array.strides[-1] != array.itemsize and array.shape[-1] > 1:
        sparse.append(name)


def _arrays(prepared: Prepared, given: tuple[Any, ...]) -> list[Placed] | None:
    """The arrays given as places, where they are arrays of the boxes and types of the outputs; None otherwise."""
    arrays = given[0] if len(given) == 1 and type(given[0]) in (tuple, list) else given
    if len(arrays) != len(prepared.outputs):
        return None
    found: list[Placed] = []
    for given_, output in zip(arrays, prepared.outputs, strict=True):
        if type(given_) is np.ndarray:
            array, mins = given_, (0,) * given_.ndim
        elif type(given_) is Buffer:
            array, mins = given_.array, given_.mins
        else:
            return None
        if array.dtype != output.dtype or array.ndim != len(output.box):
            return None
        if output.component and (array.shape != found[-1].array.shape or mins != found[-1].mins):
            return None
        found.append(Placed(array, mins))
    return found


def outputs_for(prepared: Prepared, given: tuple[Any, ...]) -> tuple[list[Buffer], bool]:
    """The arrays to compute into, and whether they are new."""
    if len(given) == 1 and type(given[0]) in (list, tuple) and _sizes_fit(prepared, given[0]):
        return [Buffer(Type(o.function.types[o.component]), given[0]) for o in prepared.outputs], True
    functions = {output.function.name: output.function for output in prepared.outputs}
    wanted = " and ".join(
        f"{f.name} has {len(f.variables)} dimensions and {len(f.types)} components" for f in functions.values()
    )
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = tuple(given[0])
    elif len(given) > 1 and not all(_is_size(one) for one in given):
        raise BufferError(f"{wanted}: realize takes sizes, an array, or a tuple of arrays, not {given!r}")
    if all(_is_size(one) for one in given):
        sizes = [int(size) for size in given]
        for function in functions.values():
            if len(sizes) != len(function.variables) or any(size < 0 for size in sizes):
                raise BufferError(f"{wanted}: realize takes {len(function.variables)} sizes of 0 or more, not {sizes}")
        return [Buffer(Type(o.function.types[o.component]), sizes) for o in prepared.outputs], True
    buffers = [one if isinstance(one, Buffer) else Buffer(_array(one, wanted)) for one in given]
    if len(buffers) != len(prepared.outputs):
        raise BufferError(f"{wanted}: realize takes {len(prepared.outputs)} arrays, {len(buffers)} were given")
    for i, (output, buffer) in zip(count(), zip(prepared.outputs, buffers, strict=True), strict=False):
        function, type_ = output.function, Type(output.function.types[output.component])
        if buffer.type() != type_ or buffer.dimensions() != len(function.variables):
            raise BufferError(
                f"component {output.component} of {function.name} is {type_} of {len(function.variables)} dimensions; "
                f"the array given is {buffer.type()} of {buffer.dimensions()}"
            )
        first = buffers[i - output.component]
        if _box(buffer) != _box(first):
            raise BufferError(f"the arrays given for {function.name} have different boxes: {first}, {buffer}")
    return buffers, False


def _sizes_fit(prepared: Prepared, sizes: Sequence[Any]) -> bool:
    """Whether they are sizes, one for each dimension of every output."""
    for size in sizes:
        if type(size) is not int or size < 0:
            return False
    return all(len(output.box) == len(sizes) for output in prepared.outputs)


def _is_size(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _array(value: Any, wanted: str) -> np.ndarray[Any, Any]:
    if not isinstance(value, np.ndarray):
        raise BufferError(f"{wanted}: realize takes sizes, an array, or a tuple of arrays, not {value!r}")
    return value


def _box(buffer: Buffer) -> list[tuple[int, int]]:
    return [(buffer.min(d), buffer.extent(d)) for d in range(buffer.dimensions())]
