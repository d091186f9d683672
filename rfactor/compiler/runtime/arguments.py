"""What a caller gives a pipeline: arrays and scalars, checked and laid out in slots. Nothing is copied."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rfactor.errors import BufferError
from rfactor.ir.algorithm import plain
from rfactor.ir.evaluate import stored_dtype_of
from rfactor.ir.loopnest import BufferArgument, ScalarArgument
from rfactor.ir.types import I32, I64, Type


class Placed(NamedTuple):
    """An array and where it lies in the plane of its function."""

    array: NDArray[Any]
    """Dimension 0 (innermost) is its last axis."""
    mins: tuple[int, ...]
    """The least coordinate of each dimension, dimension 0 first."""


@runtime_checkable
class HasPlace(Protocol):
    """What counts as `Placed`: the language's `Buffer` too."""

    @property
    def array(self) -> NDArray[Any]: ...

    @property
    def mins(self) -> tuple[int, ...]: ...


Argument: TypeAlias = "NDArray[Any] | HasPlace | bool | int | float | np.generic"
"""An array begins at 0 in every dimension unless it is placed elsewhere."""


def slots(argument: BufferArgument | ScalarArgument) -> tuple[tuple[str, Type], ...]:
    """The variables that an argument becomes in the nest, each in a slot of 64 bits.

    For an array its address (under its own name), then `name.min.d`, `name.extent.d`, `name.stride.d` a dimension.
    """
    if isinstance(argument, ScalarArgument):
        return ((argument.name, argument.type),)
    box = (
        (f"{argument.name}.{what}.{d}", I64 if what == "stride" else I32)
        for d in range(argument.dimensions)
        for what in ("min", "extent", "stride")
    )
    return ((argument.name, I64), *box)


class Bound(NamedTuple):
    """One argument as it was given: looked at again only when something of it has changed."""

    seen: object
    """All that its slots and its checks depend on."""
    slots: tuple[int, ...]
    range: tuple[int, int]
    """The addresses that an array reaches, from and up to."""


class Binding:
    """Lays the arguments of one pipeline out in slots; of the last call they are kept, for what is equal in the next.

    May be shared between threads: code only reads the slots.
    """

    def __init__(self, expected: Sequence[BufferArgument | ScalarArgument]) -> None:
        origins = ((0,) * a.dimensions if isinstance(a, BufferArgument) else () for a in expected)
        self._expected = tuple((a, a.name, origin) for a, origin in zip(expected, origins, strict=True))
        self._last: tuple[list[Bound], ctypes.Array[ctypes.c_int64] | None] = [_NOTHING] * len(expected), None
        positions = accumulate((len(slots(argument)) for argument in expected), initial=0)
        self.scalars = {
            a.name: (p, a) for p, a in zip(positions, expected, strict=False) if isinstance(a, ScalarArgument)
        }
        """The slot of each scalar, by name."""

    def __call__(self, values: Mapping[str, Argument]) -> tuple[ctypes.Array[ctypes.c_int64], object]:
        """The slots of all arguments in order, and what must stay alive while they are used.

        Raises `BufferError` naming the argument and what is needed, `KeyError` for one that is missing.
        """
        last, filled = self._last
        bound: list[Bound] = []
        arrays: list[NDArray[Any] | None] = []
        looked: object
        for (argument, name, origin), known in zip(self._expected, last, strict=True):
            try:
                value = values[name]
            except KeyError:
                raise KeyError(f"argument {name!r} is missing") from None
            if isinstance(argument, ScalarArgument):
                looked = value if type(value) is int else (value,)
                if looked != known.seen or type(value) is not int:
                    known = Bound(looked, (scalar(argument, value),), (0, 0))
                    filled = None if known.slots != last[len(bound)].slots else filled
                array = None
            else:
                if type(value) is np.ndarray:
                    array, mins = value, origin
                else:
                    own = _placed(argument, value)
                    array, mins = own.array, own.mins
                looked = seen(array, mins)
                if looked != known.seen:
                    start = address(array)
                    known = Bound(looked, tuple(_box(argument, Placed(array, mins), start)), _range(name, array, start))
                    filled = None
            bound.append(known)
            arrays.append(array)
        if filled is None:
            self._check_overlap(bound, arrays)
            flat = [slot for one in bound for slot in one.slots]
            filled = (ctypes.c_int64 * max(len(flat), 1))(*flat)
            self._last = bound, filled
        return filled, arrays

    def _check_overlap(self, bound: list[Bound], arrays: list[NDArray[Any] | None]) -> None:
        """Refuse an output that shares memory with another array: the code is free to assume that none does."""
        all_ = zip((argument for argument, *_ in self._expected), bound, arrays, strict=True)
        given = [(argument, one, array) for argument, one, array in all_ if array is not None]
        for i, (argument, one, array) in zip(range(len(given)), given, strict=True):
            if not _is_output(argument):
                continue
            if folded(array):
                raise BufferError(FOLDED.format(argument.name))
            for j, (other, its, its_array) in zip(range(len(given)), given, strict=True):
                if i == j or (_is_output(other) and j < i):
                    continue
                apart = one.range[1] <= its.range[0] or its.range[1] <= one.range[0]
                if not apart and share_memory(array, its_array):
                    raise Overlap(argument.name, other.name)


class Overlap(BufferError):
    """The array of an output shares memory with another."""

    def __init__(self, output: str, other: str) -> None:
        super().__init__(f"{output} is an output and overlaps {other} in memory; give it an array of its own")


FOLDED = "{} is an output and some of its elements share memory with each other"
_NOTHING = Bound(None, (), (0, 0))


def _is_output(argument: BufferArgument | ScalarArgument) -> bool:
    return isinstance(argument, BufferArgument) and argument.output


class _Interface(ctypes.Structure):
    """NumPy's `PyArrayInterface`, whose layout its documentation promises."""

    _fields_ = [
        ("two", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_size_t),
        ("descr", ctypes.c_void_p),
    ]


_interface_at = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_interface = _Interface.from_address


def address(array: NDArray[Any]) -> int:
    """Where the first element lies: `array.ctypes.data`, in a fifth of the time."""
    capsule = array.__array_struct__
    data: int = _interface(_interface_at(capsule, None)).data
    return data


def seen(array: NDArray[Any], mins: tuple[int, ...]) -> tuple[object, ...]:
    """All that the slots and the checks of an array depend on."""
    return address(array), array.dtype, array.shape, array.strides, array.flags.num, mins


def _placed(argument: BufferArgument, value: object) -> HasPlace:
    if isinstance(value, Placed):
        return value
    if isinstance(value, np.ndarray):
        return Placed(value, (0,) * argument.dimensions)
    if isinstance(value, HasPlace):  # last: asking a protocol takes 10 µs
        return value
    raise BufferError(f"{argument.name} must be an array of {argument.type}, not {type(value).__name__}")


def scalar(argument: ScalarArgument, value: object) -> int:
    """The slot of a number. Raises `BufferError` where the argument's type does not hold it."""
    kind = argument.type
    number = value.item() if isinstance(value, np.generic) else value
    if kind.is_float and isinstance(number, bool | int | float):
        return int(struct.unpack("<q", struct.pack("<d", float(number)))[0])
    if isinstance(number, bool | int) and not kind.is_float:
        if not kind.min <= number <= kind.max:
            raise BufferError(
                f"{plain(argument.name)} is {number}, which {kind} does not hold ({kind.min} to {kind.max})"
            )
        return I64.wrap(int(number))
    raise BufferError(f"{plain(argument.name)} must be a number of type {kind}, not {value!r}")


def _box(argument: BufferArgument, placed: HasPlace, start: int) -> list[int]:
    """The address `start`, and the min, extent and stride of each dimension."""
    array, name = placed.array, argument.name
    wanted = stored_dtype_of(argument.type)
    if array.dtype != wanted:
        raise BufferError(f"{name} must hold {argument.type} (NumPy's {wanted}), not {array.dtype}")
    if array.ndim != argument.dimensions or len(placed.mins) != argument.dimensions:
        raise BufferError(f"{name} must have {argument.dimensions} dimensions, not {array.ndim}")
    if argument.output and not array.flags.writeable:
        raise BufferError(f"{name} is an output and must be writeable; this array is read-only")
    if not array.flags.aligned:
        raise BufferError(f"{name} must be aligned to its elements of {wanted.itemsize} bytes; copy it first")
    filled = [start]
    for d in range(array.ndim):
        extent, step = array.shape[-1 - d], array.strides[-1 - d]
        # Of a dimension that no step leads along, NumPy leaves the stride open.
        free = extent <= 1 or array.size == 0
        stride = 1 if d == 0 and free else step // wanted.itemsize
        if not free and step % wanted.itemsize:
            raise BufferError(
                f"{name} must have strides of whole elements; dimension {d} has a stride of {step} bytes "
                f"where an element has {wanted.itemsize}"
            )
        if d == 0 and argument.dense and stride != 1:
            raise BufferError(
                f"{name} must be dense in dimension 0, the last axis of the array: its stride is {stride} elements, "
                f"1 is needed; copy it, or declare the stride as unknown"
            )
        low = placed.mins[d]
        if not (I32.min <= low and low + extent <= I32.max):
            raise BufferError(f"{name} has {extent} elements from {low} in dimension {d}; coordinates are i32")
        filled += [low, extent, stride]
    return filled


def folded(array: NDArray[Any]) -> bool:
    """Whether two elements of `array` may lie at one address: a step is shorter than what the steps below it span."""
    if array.flags.forc or array.size == 0:
        return False
    reach = array.itemsize
    for step, extent in sorted((abs(step), extent) for step, extent in zip(array.strides, array.shape, strict=True)):
        if extent > 1:
            if step < reach:
                return True
            reach += step * (extent - 1)
    return False


def _range(name: str, array: NDArray[Any], start: int) -> tuple[int, int]:
    """The addresses that an array at `start` reaches, from and up to. Raises `BufferError` where they are none."""
    if array.flags.c_contiguous:
        return start, start + array.nbytes
    spans = [step * (extent - 1) for step, extent in zip(array.strides, array.shape, strict=True)]
    low = start + sum(span for span in spans if span < 0)
    high = start + sum(span for span in spans if span > 0) + array.itemsize
    if array.size and not 0 <= low < high < 1 << 63:
        raise BufferError(f"{name} reaches beyond all addresses: look at its strides, {array.strides} bytes")
    return low, high


def share_memory(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether two arrays of overlapping ranges have an element in common; yes where that is hard to tell."""
    try:
        return bool(np.shares_memory(first, second, max_work=10_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
