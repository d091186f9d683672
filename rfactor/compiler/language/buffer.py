"""Arrays: `Buffer` over a NumPy array without copying it, and `ImageParam` for one that is given later.

Axes are reversed, as in Halide's bindings: dimension 0 of a `Buffer` is the last axis of its array, so that `b[x, y]`
is `array[y, x]` and dimension 0 is the innermost in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from math import prod
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.language.chance import numbered
from rfactor.compiler.language.expr import Expr, ExprLike, OnEntry, as_expr, as_i32, joined
from rfactor.compiler.language.foreign import array_of, of_list
from rfactor.compiler.language.images import ENDS, OutputImageParam
from rfactor.compiler.language.implicit import expanded
from rfactor.compiler.language.memory import ALIGNMENT, reserved, reserved_like
from rfactor.compiler.language.names import Named
from rfactor.compiler.language.public import integer, listed, public
from rfactor.compiler.language.region import BufferDimension, Region, misfit
from rfactor.compiler.language.types import Type, dtype_of, in_memory, is_bfloat, meant, type_of_dtype
from rfactor.compiler.language.wrappers import Wrapped
from rfactor.compiler.schedule.directives import SILENT
from rfactor.errors import AlgorithmError, BufferError, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import Image
from rfactor.ir.bfloat import element, of_words
from rfactor.ir.types import BF16, U16

_MOST_DIMENSIONS = 64
"""Of NumPy's arrays."""
_WRITABLE = 1
"""`PyBUF_WRITABLE`, what asks for memory of an object in order to write to it."""


def coordinates(what: str, dimensions: int, index: Any) -> list[Expr]:
    """The coordinates of `what[index]`, as i32. Raises `TypeMismatch` for another number of them or a wrong type."""
    several = listed(index)
    given = expanded(what, [index] if several is None else several, dimensions)
    if len(given) != dimensions:
        raise TypeMismatch(f"{what} has {dimensions} dimensions, {len(given)} indices were given")
    return [coordinate(what, as_expr(one)) for one in given]


def coordinate(what: str, value: Expr) -> Expr:
    """One coordinate, as i32: conditions and integers that i32 holds are converted."""
    type_ = value.node.type
    index = None if type_.is_float else as_i32(value)
    if index is None:
        raise TypeMismatch(
            f"Implicit cast from {Type(type_)} to int: {what} is indexed by {value}; "
            f"indices are i32, write i32({value})"
        )
    return index


@public
class Buffer(OnEntry, Named, Region):
    """An array with a place in the plane.

    `Buffer(array, name="", reverse_axes=True)` over anything with Python's buffer interface, without copying, arrays of
    other libraries (see `foreign`), and a copy of a list, of `type` where that is given;
    `Buffer(words, type=BFloat(16))` over integers of 16 bits that are the bits of brain floats (an array of the package
    `ml_dtypes` needs no type), `Buffer(buffer, type=UInt(16))` back;
    `Buffer(type, sizes, name="")` and `Buffer(type, sizes, storage_order, name="")` of zeros, sizes of dimension 0
    first and the dimensions of `storage_order` innermost first; `Buffer(buffer)` over the same elements; `Buffer()`
    without elements, which is not `defined()`.
    """

    asks: bool
    """Whether it is a bounds query."""

    def __init__(
        self,
        *given: Any,
        name: str | None = None,
        reverse_axes: bool = True,
        buffer: Any = None,
        type: Type | None = None,
        sizes: Any = None,
        storage_order: Any = None,
    ) -> None:
        """Raises `TypeMismatch` for other arguments, and for element types that the language does not have."""
        if buffer is not None or type is not None:
            named = [one for one in (buffer, type, sizes, storage_order) if one is not None]
            given = (*given, *named)
        array, mins, own, reverse = _array_of(given)
        Named.__init__(self, name or own or None, "b")
        if array is not None:
            type_of_dtype(array.dtype)
            array = in_memory(array)
            if not (reverse and reverse_axes):
                array = array.transpose()
        self._array, self._mins = array, mins
        self._called = self._host_dirty = False
        self.asks = bool(given) and isinstance(given[0], Buffer) and given[0].asks

    @staticmethod
    def make_bounds_query(type: Type, sizes: Sequence[int], name: str = "") -> Buffer:
        """A box without memory of its own, to be asked what is read for it, or to become what is needed of it: see
        `Callable`. All its elements are one, which is 0."""
        made = Buffer(_no_memory(type, _extents(type, sizes)), name)
        made.asks = True
        return made

    def dim(self, dimension: int) -> BufferDimension:
        """Dimension `dimension`; 0 is the innermost. Raises `BufferError` if there is none.

        The stride of a bounds query is that of an array of its box.
        """
        told = super().dim(dimension)
        if not self.asks:
            return told
        inner = self.array.shape[self.array.ndim - self._dimension(dimension) :]
        return BufferDimension(told.min(), told.extent(), prod(inner))

    def become(self, shape: Sequence[tuple[int, int]]) -> None:
        """Give a bounds query another box: the least coordinate and the extent of each dimension."""
        self._array = _no_memory(self.type(), [extent for _, extent in shape])
        self._mins = tuple(low for low, _ in shape)

    @staticmethod
    def make_scalar(type: Type, name: str = "") -> Buffer:
        """One element, in no dimension."""
        return Buffer(type, [], name)

    @staticmethod
    def make_interleaved(type: Type, width: int, height: int, channels: int, name: str = "") -> Buffer:
        """A zero image whose channels (dimension 2) lie together in memory."""
        return Buffer(type, [width, height, channels], [2, 0, 1], name)

    @staticmethod
    def make_with_shape_of(src: Buffer, name: str = "") -> Buffer:
        """Zeros of the type, the box and the order in memory of another."""
        result = Buffer(reserved_like(src.array), name)
        result._mins = src.mins
        return result

    def _fresh(self) -> Buffer:
        return Buffer(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.array if self.array.dtype.kind != "V" else _brain_floats(self.array, dtype)
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy(order="K") if copy else array

    def __buffer__(self, flags: int) -> memoryview:
        """The memory of its array: `memoryview(buffer)`, from Python 3.12 on. Raises `BufferError` where it is to be
        written and may not be, and of brain floats."""
        array = self.array
        if array.dtype.kind == "V":
            raise BufferError(_NO_BRAIN_FLOATS)
        if flags & _WRITABLE and not array.flags.writeable:
            raise BufferError("the array of this Buffer may not be written")
        return array.data

    def type(self) -> Type:
        """The type of its elements."""
        return type_of_dtype(self.array.dtype)

    def copy(self) -> Buffer:
        """A buffer over a copy of the elements, in the same order in memory."""
        result = Buffer(reserved_like(self.array))
        result.array[...] = self.array
        result._mins = self._mins
        return result

    def same_as(self, other: Buffer) -> bool:
        """Whether it is the same object."""
        return self is other

    def set_name(self, name: str) -> None:
        """Call it otherwise. Raises `AlgorithmError` where expressions refer to it already: they hold the name."""
        if self._called:
            raise AlgorithmError(f"set_name of {self.name()}: expressions refer to it by that name already")
        Named.__init__(self, name, "b")

    def has_device_allocation(self) -> bool:
        """False: there is no device."""
        return False

    def device_dirty(self) -> bool:
        """False: there is no device."""
        return False

    def host_dirty(self) -> bool:
        """What `set_host_dirty` said last; there is no device to bring up to date."""
        return self._host_dirty

    def set_host_dirty(self, dirty: bool = True) -> None:
        """Say that a device is to be brought up to date: there is none."""
        self._host_dirty = bool(dirty)

    def copy_to_host(self) -> int:
        """Nothing: the elements are here. Gives 0."""
        return 0

    def set_device_dirty(self, dirty: bool = True) -> None:
        """Nothing for False. Raises `NotImplementedError` for True: there is no device whose memory could be newer."""
        if dirty:
            raise NotImplementedError("Buffer.set_device_dirty(True) is not there: there is no device")

    def copy_to_device(self, device_api: Any = None, target: Any = None) -> int:
        """Raises `NotImplementedError`: there is no device."""
        raise NotImplementedError("Buffer.copy_to_device is not there: there is no device")

    def device_malloc(self, device_api: Any = None, target: Any = None) -> int:
        """Raises `NotImplementedError`: there is no device."""
        raise NotImplementedError("Buffer.device_malloc is not there: there is no device")

    def device_sync(self) -> int:
        """Nothing: there is no device to wait for. Gives 0."""
        return 0

    def device_free(self) -> int:
        """Nothing: there is no memory of a device. Gives 0."""
        return 0

    def device_deallocate(self) -> None:
        """Nothing: there is no memory of a device."""

    def device_detach_native(self) -> int:
        """Nothing: there is no memory of a device. Gives 0."""
        return 0

    def allocate(self) -> None:
        """New memory, zeros, of the same box: what was there is left to its other owners."""
        self._array = reserved_like(self.array)

    def deallocate(self) -> None:
        """Nothing: memory goes when nothing refers to it any more."""

    def __getitem__(self, index: Any) -> Any:
        """An element if the coordinates are numbers, else the expression of one."""
        several = listed(index)
        given = (index,) if several is None else several
        if not any(isinstance(one, Expr) for one in given):
            return element(self.array, self.position(given))
        return self(*given)

    def __call__(self, *index: Any) -> Expr:
        """The expression of an element."""
        at = coordinates(self.name(), self.dimensions(), index)
        self._called = True
        node = ir.Call(self.type().ir, self.name(), tuple(e.node for e in at), "image")
        return Expr(node, {**(joined(*at) if at else {}), self.name(): self})

    def __setitem__(self, index: Any, value: Any) -> None:
        several = listed(index)
        given = (index,) if several is None else several
        self.array[self.position(given)] = self.element(value)

    def image(self) -> Image:
        """Its declaration as an input."""
        return Image(self.name(), self.type().ir, self.dimensions())

    def entry_names(self) -> frozenset[str]:
        """Those of its box."""
        return frozenset(f"{self._name}.{end}.{d}" for d in range(self.dimensions()) for end in ENDS)

    def __repr__(self) -> str:
        if self._array is None:
            return "<undefined halide.Buffer>"
        box = (f"[{d.min()},{d.extent()},{d.stride()}]" for d in map(self.dim, range(self.dimensions())))
        return f"<halide.Buffer of type {self.type()} shape:[{','.join(box)}]>"


def _array_of(given: tuple[Any, ...]) -> tuple[NDArray[Any] | None, tuple[int, ...], str, bool]:
    """What `Buffer` was given: the array, its mins, a name, and whether its axes are to be reversed."""
    if len(given) == 1 and type(given[0]) is np.ndarray:
        return given[0], (0,) * given[0].ndim, "", True
    if given and isinstance(given[-1], Type) and not all(isinstance(one, str | Type) for one in given):
        if isinstance(given[0], list | tuple):
            given = (of_list(given[0], given[-1]), *given[1:])
        held, mins, name, whole = _array_of(given[:-1])
        return None if held is None else _read_as(given[-1], held), mins, name, whole
    own = next((one for one in given if isinstance(one, str)), "")
    match [one for one in given if not isinstance(one, str)]:
        case []:
            return None, (), own, True
        case [Buffer() as other]:
            return other._array, other.mins, own, True
        case [Type() as type_]:
            return _zeros(type_, (), ()), (), own, True
        case [Type() as type_, given_] if (sizes := listed(given_)) is not None:
            return _zeros(type_, sizes, range(len(sizes))), (0,) * len(sizes), own, True
        case [Type() as type_, given_, axes] if (sizes := listed(given_)) is not None and (
            order := listed(axes)
        ) is not None:
            if sorted(order) != list(range(len(sizes))):
                raise TypeMismatch(f"the storage order {order} names each of {len(sizes)} dimensions once")
            return _zeros(type_, sizes, order), (0,) * len(sizes), own, True
        case [list() | tuple() as values, *reverse]:
            array = of_list(values)
            return array, (0,) * array.ndim, own, all(reverse)
        case [value, *reverse] if (taken := array_of(value)) is not None:
            return taken, (0,) * taken.ndim, own, all(reverse)
    raise TypeMismatch(
        f"Buffer takes an array, a type and sizes ([width, height, …]), or another Buffer, not {given!r}"
    )


def _read_as(type: Type, array: NDArray[Any]) -> NDArray[Any]:
    """The elements of an array read as `type`. Raises `TypeMismatch` unless they are of it, or one is of brain floats
    and the other of their bits."""
    array = in_memory(array)
    held, wanted = type_of_dtype(array.dtype).ir, type.ir
    if held != wanted and {held, wanted} != {BF16, U16}:
        raise TypeMismatch(
            f"Buffer of {type} over an array of {Type(held)}: it is over an array of {type}, or of brain floats over "
            "their bits, integers of 16 bits"
        )
    return array.view(dtype_of(wanted))


_NO_BRAIN_FLOATS = (
    "Unsupported Buffer<> type. NumPy has no brain floats: np.asarray(buffer, np.float32) has the values, "
    "np.asarray(Buffer(buffer, type=UInt(16))) is the bits; with the package ml_dtypes the array is of its bfloat16"
)


def _brain_floats(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Elements as NumPy can have them: the array itself as one of the package `ml_dtypes`, else the values, as f32.

    Raises `BufferError` where no type is asked for and the package is not there.
    """
    if dtype is not None and np.dtype(dtype).kind != "V":
        return of_words(array)
    if dtype is not None:
        return array.view(dtype) if is_bfloat(np.dtype(dtype)) else array
    try:
        known = import_module("ml_dtypes")
    except ImportError:
        raise BufferError(_NO_BRAIN_FLOATS) from None
    return array.view(known.bfloat16)


def _extents(type: Type, sizes: Sequence[Any]) -> list[int]:
    """Sizes as numbers. Raises `TypeMismatch`, `BufferError` where no array has them."""
    extents = [integer(size, "a size of a Buffer of {}", type) for size in sizes]
    if extents and min(extents) < 0:
        raise BufferError(f"Buffer of {type} with sizes {extents}: sizes are 0 or more")
    if (
        prod(max(extent, 1) for extent in extents) * max(type.bits() // 8, 1) >= (1 << 63) - ALIGNMENT
        or len(extents) > _MOST_DIMENSIONS
    ):
        raise BufferError(f"Buffer of {type} with sizes {extents}: there is no such memory")
    return extents


def _no_memory(type: Type, sizes: Sequence[int]) -> NDArray[Any]:
    array: NDArray[Any] = np.broadcast_to(np.zeros((), dtype_of(type.ir)), tuple(reversed(sizes)))
    return array


def blank(type: Type, sizes: Sequence[int]) -> Buffer:
    """A Buffer of what happens to be in memory, all of which is about to be computed. Raises as `Buffer` does."""
    return Buffer(reserved(_extents(type, sizes)[::-1], dtype_of(type.ir)))


def _zeros(type: Type, sizes: Sequence[Any], order: Sequence[int]) -> NDArray[Any]:
    extents = _extents(type, sizes)
    if isinstance(order, range):
        return reserved(extents[::-1], dtype_of(type.ir), zeros=True)
    stored = reserved([extents[d] for d in reversed(order)], dtype_of(type.ir), zeros=True)
    axes = {d: axis for axis, d in zip(range(len(extents)), reversed(order), strict=True)}
    return stored.transpose([axes[d] for d in reversed(range(len(extents)))])


@public
class ImageParam(Named, OutputImageParam, Wrapped):
    """An input array given at run time: `ImageParam(UInt(8), 2)`, then `set(array)`."""

    def __init__(self, type: Type | None = None, dimensions: SupportsIndex = 0, name: str | None = None) -> None:
        """`ImageParam()` is not `defined()`. Raises `TypeMismatch` for what is no type or number of dimensions."""
        rank = integer(dimensions, "ImageParam takes a type, a number of dimensions and a name: the second")
        if not 0 <= rank <= _MOST_DIMENSIONS:
            raise TypeMismatch(f"ImageParam of {rank} dimensions: arrays have 0 to {_MOST_DIMENSIONS}")
        Named.__init__(self, name or None, "im")
        OutputImageParam.__init__(self)
        if type is not None:
            meant("ImageParam", type)
            numbered()  # a definition of its values
            self._shape = self._name, type, rank, "input", self._name, self
        self._buffer: Buffer | None = None
        self.wrappers = {}
        self.trace = SILENT

    def _stem(self) -> str:
        return f"{self.name()}_im"

    def trace_loads(self) -> Self:
        """Write a line `Load im.0(3) = 7` for each value that is read from it."""
        self.trace = replace(self.trace, loads=True)
        return self

    def set(self, array: Any) -> None:
        """Give the array: a `Buffer`, or what one is made of; a list is copied as the type of this.

        Raises `BufferError` for another type or number of dimensions.
        """
        type_, dimensions = self.type(), self.dimensions()
        if isinstance(array, list | tuple):
            array = of_list(array, type_)
        buffer = array if isinstance(array, Buffer) else Buffer(array)
        given, rank = buffer.type(), buffer.dimensions()
        if given != type_ or rank != dimensions:
            raise BufferError(misfit(f"Input buffer {self.name()}", type_, dimensions, given, rank))
        self._buffer = buffer

    def is_set(self) -> bool:
        """Whether an array was given."""
        return self._buffer is not None

    def reset(self) -> None:
        """Forget the array."""
        self._buffer = None

    def get(self) -> Buffer:
        """The array; an undefined one if none was given."""
        return Buffer() if self._buffer is None else self._buffer

    def given(self) -> Buffer:
        """The array. Raises `BufferError` if none was given."""
        if self._buffer is None:
            name = self.name()
            raise BufferError(
                f"Error: Buffer argument {name} is nullptr: it has no array, call {name}.set(…) before realize"
            )
        return self._buffer

    __iter__ = None
    """There is no end to its elements: its array is given at run time."""

    def __getitem__(self, index: Any) -> Expr:
        at = coordinates(self.name(), self.dimensions(), index)
        node = ir.Call(self.type().ir, self.name(), tuple(e.node for e in at), "image")
        return Expr(node, {**(joined(*at) if at else {}), self.name(): self})

    def __call__(self, *index: Any) -> Expr:
        return self[index]

    def image(self) -> Image:
        """Its declaration as an input."""
        return Image(self.name(), self.type().ir, self.dimensions())


def image_of(value: ExprLike) -> bool:
    """Whether it is an array: a `Buffer` or an `ImageParam`."""
    return isinstance(value, Buffer | ImageParam)
