"""A function to an answer: frozen, lowered, compiled, run. Executables are kept by what they were made from."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from operator import is_
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rfactor.compiler.asked import as_needed, new_arrays, outputs_for
from rfactor.compiler.collector import uncollected
from rfactor.compiler.deep import deep
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.changes import LATEST
from rfactor.compiler.language.freeze import frozen, parts
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.variables import Param
from rfactor.compiler.language.warned import warn, warned
from rfactor.compiler.lower import affine, arguments, bounded_loops, lower
from rfactor.compiler.lower.as_written import renumbered
from rfactor.compiler.lower.loops import show_loops
from rfactor.compiler.lower.storage import buffer_name
from rfactor.compiler.overwriting import OVERWRITABLE, apart, overwritable, same_points
from rfactor.compiler.runtime.alike import Look, Repeated, look
from rfactor.compiler.runtime.arguments import HasPlace, Overlap, Placed, scalar, seen, share_memory
from rfactor.compiler.runtime.threads import loops_run
from rfactor.compiler.schedule.directives import Schedule
from rfactor.compiler.structure import structure
from rfactor.errors import BufferError
from rfactor.ir.algorithm import Algorithm, Function, Requirement
from rfactor.ir.evaluate import stored_dtype_of
from rfactor.ir.expr import Const, Var, apply
from rfactor.ir.loopnest import LoweredPipeline
from rfactor.ir.nest_printer import show_pipeline
from rfactor.ir.types import I64
from rfactor.kept import Kept

if TYPE_CHECKING:
    from rfactor.compiler.codegen.module import Executable
    from rfactor.compiler.lower.bounds import Bounded


@deep
def lowered(outputs: Sequence[Func]) -> LoweredPipeline:
    """The nest that code is generated from, for dense arrays."""
    pipeline = frozen(outputs)
    return lower(pipeline.algorithm, pipeline.schedule)


@deep
def statement(outputs: Sequence[Func]) -> str:
    """The nest that code is generated from as text, with stages as the user numbered them."""
    pipeline = frozen(outputs)
    nest = lower(pipeline.algorithm, pipeline.schedule)
    return renumbered(show_pipeline(nest), pipeline.algorithm, pipeline.schedule)


@deep
def loop_nest(outputs: Sequence[Func]) -> str:
    """The loops as text, as `print_loop_nest` writes them."""
    pipeline = frozen(outputs)
    warn(pipeline, outputs)
    schedule = replace(pipeline.schedule, traces={})
    return show_loops(bounded_loops(pipeline.algorithm, schedule), pipeline.algorithm, schedule)


def _never(given: tuple[Any, ...]) -> bool:
    """The `repeated` of what has not run twice."""
    return False


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
    promised: tuple[tuple[int, int | None, int], ...]
    """Constant extents that were promised of its function's arrays, with the least coordinates: by dimension."""


@dataclass(slots=True, eq=False)
class Ran:
    """What ran on some arrays."""

    executable: Executable
    slots: ctypes.Array[ctypes.c_int64]
    """Of its arguments; what numbers they had then does not matter."""
    look: Look | None = None
    """What was seen of the arrays once they have come again; None where `repeated` is not for them."""
    known: tuple[bytes, Repeated | None, list[object]] = (b"", None, [])
    """The slots of the call before, where some are of numbers; what makes it again, once it has come again; the last
    mark that was there before numbers and images were seen to be those. Replaced in one piece: threads may be about."""
    wake: Callable[[], None] | None = None
    """That of the executable, unless no parallel loop runs on these arrays."""


@dataclass(slots=True, eq=False)
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
    executables: dict[tuple[frozenset[str], tuple[Stride, ...]], Executable]
    """By the arrays whose dimension 0 is not dense, and the strides that code is compiled for."""
    images_by_name: tuple[tuple[str, Any], ...]
    """The images with their names."""
    numbers_by_name: tuple[tuple[str, str, Any], ...]
    """The parameters with their names, and those of their variables."""
    output_images: tuple[OutputImageParam, ...] = ()
    """What is promised of the arrays of outputs."""
    files: tuple[Func, ...] = ()
    """Those of its functions whose values are written to files."""
    recent: dict[Hashable, Ran] = field(default_factory=dict)
    """What ran, by what was seen of the arrays."""
    mark: object = None
    """Of the last change before this was last seen to hold: see `changes.LATEST`."""
    last: Ran | None = None
    """What ran last."""
    repeated: Repeated = _never
    """Compute into the arrays or `Buffer`s given if nothing has changed, and they and the images are those of the last
    call; whether it did. This is what a small call takes its time for: one native function."""
    bounded: Bounded | None = None
    """What is needed of every function and image, once something has asked for it."""
    overwritable: frozenset[str] | None = None
    """The images that the output may be, once an array has been both."""


def prepare(owner: Owner) -> Prepared:
    """`owner` as it is now, frozen again only where a definition or a directive changed something."""
    known: Prepared | None = owner.prepared
    if known is not None:
        mark = LATEST[0]
        if known.mark is mark:
            return known
        now = parts(known.producers) + (parts((owner,)) if isinstance(owner, Func) else [])
        if len(now) == len(known.parts) and all(map(is_, now, known.parts)):
            known.mark = mark
            return known
    owner.prepared = found = _frozen(owner)
    return found


@deep
def _frozen(owner: Owner) -> Prepared:
    """`owner`, frozen."""
    pipeline = frozen(owner.results())
    warn(pipeline, owner.results())
    producers = pipeline.functions[:-1] if isinstance(owner, Func) else pipeline.functions
    return Prepared(
        pipeline.algorithm,
        pipeline.schedule,
        pipeline.images,
        pipeline.parameters,
        producers,
        parts(pipeline.functions),
        tuple(
            output for func in owner.results() for output in _outputs_of(pipeline.algorithm.function(func.name()), func)
        ),
        {},
        tuple((image.name(), image) for image in pipeline.images),
        tuple((parameter.name(), parameter.variable.name, parameter) for parameter in pipeline.parameters),
        tuple(image for func in owner.results() for image in func.output_images),
        tuple(func for func in pipeline.functions if func.debug_file is not None),
    )


def _outputs_of(function: Function, func: Func) -> Iterator[Output]:
    name = function.name
    promised = tuple(_promised(func))
    box = tuple((f"{name}.min.{d}", f"{name}.extent.{d}") for d in range(len(function.variables)))
    for component, type_ in zip(count(), function.types, strict=False):
        yield Output(function, component, buffer_name(name, component), stored_dtype_of(type_), box, promised)


def _promised(func: Func) -> Iterator[tuple[int, int | None, int]]:
    for image in func.output_images:
        ends = {end: affine.constant_value(value.node) for end, value in image.promises.items()}
        for d in range(image.dimensions()):
            low, extent = ends.get(("min", d)), ends.get(("extent", d))
            if extent is not None:
                yield d, low, extent


def executable(owner: Owner, sparse: frozenset[str] = frozenset()) -> Executable:
    """The compiled pipeline of `owner`. `sparse` names arrays whose dimension 0 is not dense."""
    return _executable(prepare(owner), sparse, ())


Stride = tuple[str, int, int]
"""An array, a dimension, and how many elements its neighbours are apart."""

_SMALL_STRIDES = range(2, 5)
"""Code is compiled for such strides as arrays have them: lanes that far apart are loaded whole and picked apart, where
any stride needs a gather. Channels that lie side by side are what makes them."""


_MOST_RECENT = 64
"""Arrays of as many calls are kept laid out; beyond, all are forgotten."""

_compiled: Kept[Hashable, Executable] = Kept(256)
"""Compiled pipelines that are kept for others of their structure, about 1 MB each."""


told_of: list[Callable[[Algorithm, Schedule], None]] = []
"""Who is told of every pipeline before it is compiled, or its code found."""


def _executable(prepared: Prepared, sparse: frozenset[str], strides: tuple[Stride, ...]) -> Executable:
    found = prepared.executables.get((sparse, strides))
    if found is None:
        algorithm = prepared.algorithm
        if strides:
            algorithm = replace(algorithm, requirements=(*algorithm.requirements, *map(_has_stride, strides)))
        found = prepared.executables[sparse, strides] = _compile(algorithm, prepared.schedule, sparse)
    return found


def _has_stride(seen_: Stride) -> Requirement:
    name, d, elements = seen_
    actual, wanted = Var(I64, f"{name}.stride.{d}"), Const(I64, elements)
    message = f"{name} has stride {{}} in dimension {d}, where this code is for {{}}"
    return Requirement(apply("==", actual, wanted), message, (actual, wanted))


@deep
def _compile(algorithm: Algorithm, schedule: Schedule, sparse: frozenset[str]) -> Executable:
    """Compiled now, or for another pipeline of the same structure before."""
    from rfactor.compiler.codegen.module import compile_pipeline, renamed

    for tell in told_of:
        tell(algorithm, schedule)
    given = arguments(algorithm, sparse)
    told = (*schedule.traces.items(), *algorithm.outputs) if schedule.traces else ()  # names that are written
    key = structure(algorithm, schedule), tuple(argument.name in sparse for argument in given), told
    same = _compiled.get(key)
    if same is None:
        with uncollected():
            found = compile_pipeline(warned(lower(algorithm, schedule, sparse)))
    else:
        found = renamed(same, given, lambda: lower(algorithm, schedule, sparse))
    _compiled.keep(key, found)
    return found


def forget() -> None:
    """Compile afresh what has been compiled for other functions of the same structure: so that it can be timed."""
    _compiled.clear()


def realize(owner: Owner, given: tuple[Any, ...]) -> Any:
    """See `Func.realize`."""
    prepared = prepare(owner)
    plain = _arrays(prepared, given)
    if plain is not None:
        run(prepared, plain)
        if prepared.files:
            _write_files(prepared, outputs_for(prepared, given)[0])
        return None
    outputs, fresh = outputs_for(prepared, given)
    if any(one.asks for one in outputs):
        _answer(prepared, outputs)
        return None
    held = new_arrays(prepared, outputs) if fresh else outputs
    try:
        run(prepared, [Placed(buffer.array, buffer.mins) for buffer in held])
    except BufferError:
        larger = as_needed(prepared, held) if fresh else None
        if larger is None:
            raise
        held = larger
        run(prepared, [Placed(buffer.array, buffer.mins) for buffer in held])
    if prepared.files:
        _write_files(prepared, held)
    if not fresh:
        return None
    outputs = [
        large
        if large is asked
        else large.cropped([(one.min(), one.extent()) for one in map(asked.dim, range(asked.dimensions()))])
        for large, asked in zip(held, outputs, strict=True)
    ]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _answer(prepared: Prepared, outputs: Sequence[Buffer]) -> None:
    from rfactor.compiler.input_bounds import answer

    answer(prepared, outputs, {})


def _write_files(prepared: Prepared, outputs: Sequence[Buffer]) -> None:
    from rfactor.compiler.debug_files import write

    write(prepared, outputs)


def run(prepared: Prepared, placed: Sequence[Placed], given: Mapping[str, Any] | None = None) -> None:
    """Compute into arrays, one an output. `given` has the images and parameters by name, in place of what is set.

    How arrays are checked and laid out depends on nothing but what `seen` says of them; it is kept for some of those
    that came last.
    """
    mark = prepared.mark  # before anything is asked that may change
    places = _images(prepared, given)
    inputs = len(places)
    places += placed
    key = tuple([seen(place.array, place.mins) for place in places])
    ran = prepared.recent.get(key)
    if ran is None:
        copied = _aligned(prepared, places[:inputs])
        if copied:  # what lies there now: nothing is kept of it
            run(prepared, placed, {**(given or {}), **copied})
            return
        try:
            executable, slots = _bound(prepared, places[:inputs], placed, _numbers(prepared, given))
        except Overlap as error:
            if not _may_overwrite(prepared, places[:inputs], placed):
                raise BufferError(f"{error}. {OVERWRITABLE}") from None
            (output,), own = placed, apart(placed[0])
            run(prepared, [own], given)
            output.array[...] = own.array
            return
        if len(prepared.recent) >= _MOST_RECENT:
            prepared.recent.clear()
        ran = prepared.recent[key] = Ran(executable, slots)
    elif ran.look is None and not (prepared.files or any(any(place.mins) for place in placed)):
        ran.look = look([one.array for one in places[:inputs]], [one.array for one in placed], Buffer)
    slots = _filled(prepared, ran, given) if prepared.numbers_by_name else ran.slots
    if given is None:
        prepared.repeated = _repeated(prepared, ran, slots, tuple([place.mins for place in places[:inputs]]), mark)
        prepared.last = ran
    wake = ran.executable.wake
    before = 0 if wake is None else loops_run()
    ran.executable.start(slots)
    # Numbers may be others in the next call, and then other loops run.
    ran.wake = wake if wake is not None and (prepared.numbers_by_name or loops_run() != before) else None


def _repeated(
    prepared: Prepared, ran: Ran, slots: ctypes.Array[ctypes.c_int64], mins: tuple[tuple[int, ...], ...], mark: object
) -> Repeated:
    """What makes this call where it comes again and nothing has changed since `mark`."""
    numbers = bytes(slots) if prepared.numbers_by_name else b""
    seen_numbers, repeated, marks = ran.known
    if numbers != seen_numbers:
        ran.known = numbers, None, []
        return _never
    if ran.look is None:
        return _never
    if repeated is None:
        marks = [mark]
        images = tuple(image for _, image in prepared.images_by_name)
        repeated = ran.look.calling(ran.executable.call(slots, ran.wake is not None), LATEST, marks, images, mins)
        ran.known = numbers, repeated, marks
    else:
        marks[0] = mark
    return repeated


def _may_overwrite(prepared: Prepared, inputs: Sequence[HasPlace], placed: Sequence[Placed]) -> bool:
    """Whether the output may be the images that it shares memory with: see `overwriting`."""
    if len(placed) > 1 or prepared.files:
        return False
    named = zip(prepared.images_by_name, inputs, strict=True)
    shared = {name: image for (name, _), image in named if share_memory(placed[0].array, image.array)}
    if not all(same_points(placed[0], image) for image in shared.values()):
        return False
    if prepared.overwritable is None:
        prepared.overwritable = overwritable(prepared.algorithm, prepared.schedule)
    return shared.keys() <= prepared.overwritable


def _aligned(prepared: Prepared, inputs: Sequence[Placed]) -> dict[str, Placed]:
    """Copies of the images whose elements do not lie at multiples of their size, by name."""
    named = zip(prepared.images_by_name, inputs, strict=True)
    return {
        name: Placed(np.copy(place.array), place.mins) for (name, _), place in named if not place.array.flags.aligned
    }


def _images(prepared: Prepared, given: Mapping[str, Any] | None = None) -> list[Placed]:
    """The arrays of images as they are now: held, as other threads may give the `Buffer`s others meanwhile."""
    held: list[HasPlace] = [
        given[name] if given and name in given else image.given() if isinstance(image, ImageParam) else image
        for name, image in prepared.images_by_name
    ]
    return [Placed(image.array, image.mins) for image in held]


def _numbers(prepared: Prepared, given: Mapping[str, Any] | None = None) -> list[Any]:
    return [
        given[name] if given and name in given else parameter.get() for name, _, parameter in prepared.numbers_by_name
    ]


def _filled(prepared: Prepared, ran: Ran, given: Mapping[str, Any] | None = None) -> ctypes.Array[ctypes.c_int64]:
    """The slots, with the numbers of now."""
    slots = type(ran.slots).from_buffer_copy(ran.slots)
    for (_, name, _), number in zip(prepared.numbers_by_name, _numbers(prepared, given), strict=True):
        position, argument = ran.executable.bind.scalars[name]
        slots[position] = scalar(argument, number)
    return slots


def _bound(
    prepared: Prepared, inputs: Sequence[HasPlace], placed: Sequence[Placed], numbers: Sequence[Any]
) -> tuple[Executable, ctypes.Array[ctypes.c_int64]]:
    """What computes from and into these, and their slots."""
    values: dict[str, Any] = {}
    sparse: list[str] = []
    strides: list[Stride] = []
    for image, input_ in zip(prepared.algorithm.images, inputs, strict=True):
        _place(image.name, image.dimensions, Placed(input_.array, input_.mins), values, sparse, strides)
    for (_, name, _), number in zip(prepared.numbers_by_name, numbers, strict=True):
        values[name] = number
    for output, place in zip(prepared.outputs, placed, strict=True):
        _place(output.name, len(output.box), place, values, sparse, strides)
        if output.component == 0:
            shape, mins = place.array.shape, place.mins
            for d, (low, extent) in zip(count(), output.box, strict=False):
                values[low] = mins[d]
                values[extent] = shape[-1 - d]
    found = _executable(prepared, frozenset(sparse), tuple(strides))
    return found, found.bind(values)[0]


def _place(
    name: str, rank: int, place: Placed, values: dict[str, Any], sparse: list[str], strides: list[Stride]
) -> None:
    """`rank` is how many dimensions there should be; that there are so many is checked later."""
    values[name] = place
    array = place.array
    if array.ndim and array.strides[-1] != array.itemsize and array.shape[-1] > 1:
        sparse.append(name)
    for d in range(min(array.ndim, rank)):
        elements, rest = divmod(array.strides[-1 - d], array.itemsize)
        if elements in _SMALL_STRIDES and not rest and array.shape[-1 - d] > 1:
            strides.append((name, d, elements))


def _arrays(prepared: Prepared, given: tuple[Any, ...]) -> list[Placed] | None:
    """The arrays given as places, where they are arrays of the boxes and types of the outputs; None otherwise."""
    arrays = given[0] if len(given) == 1 and type(given[0]) in (tuple, list) else given
    if len(arrays) != len(prepared.outputs):
        return None
    found: list[Placed] = []
    for given_, output in zip(arrays, prepared.outputs, strict=True):
        if type(given_) is np.ndarray:
            array, mins = given_, (0,) * given_.ndim
        elif type(given_) is Buffer and not given_.asks:
            array, mins = given_.array, given_.mins
        else:
            return None
        if array.dtype != output.dtype or array.ndim != len(output.box):
            return None
        if output.component and (array.shape != found[-1].array.shape or mins != found[-1].mins):
            return None
        found.append(Placed(array, mins))
    return found
