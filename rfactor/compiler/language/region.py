"""An array and its place in the plane: what can be done to both without copying an element.

Axes of the array are reversed: dimension 0 is its last axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.language.numbers import is_i32, literal, number_of
from rfactor.compiler.language.public import integer, public
from rfactor.compiler.language.types import type_of_dtype
from rfactor.errors import BufferError, OutOfBounds, TypeMismatch
from rfactor.ir.bfloat import STORED, of_words, words

_WORDS = "bfloat16", "uint16"


def misfit(what: str, type: object, dimensions: int, given: object, rank: int) -> str:
    """What Halide says of an array of type `given` and `rank` dimensions where `what` takes another type or rank."""
    if given != type:
        words = ": Buffer(words, type=BFloat(16)) reads them as such" if (str(type), str(given)) == _WORDS else ""
        return f"Error: {what} has type {type} but type of the buffer passed in is {given}{words}"
    return (
        f"Error: {what} requires a buffer of exactly {dimensions} dimensions, "
        f"but the buffer passed in has {rank} dimensions"
    )


@public
@dataclass(frozen=True, slots=True)
class BufferDimension:
    """One dimension of a buffer that is there."""

    _min: int
    _extent: int
    _stride: int

    def min(self) -> int:
        """The least coordinate."""
        return self._min

    def extent(self) -> int:
        """The number of coordinates."""
        return self._extent

    def max(self) -> int:
        """The greatest coordinate."""
        return self._min + self._extent - 1

    def stride(self) -> int:
        """The distance in memory, in elements."""
        return self._stride


@public
class Region:
    """An array and the least coordinate of each of its dimensions."""

    _array: NDArray[Any] | None
    _mins: tuple[int, ...]

    def name(self) -> str:
        """Its name."""
        raise NotImplementedError

    def _fresh(self) -> Self:
        """Another one over the same array at the same place."""
        raise NotImplementedError

    def defined(self) -> bool:
        """Whether there is an array."""
        return self._array is not None

    @property
    def array(self) -> NDArray[Any]:
        """The array itself: axes reversed. Raises `BufferError` if there is none."""
        if self._array is None:
            raise BufferError(f"{self.name()} is an undefined Buffer: make one by Buffer(array) or Buffer(type, sizes)")
        return self._array

    @property
    def mins(self) -> tuple[int, ...]:
        """The least coordinate of each dimension."""
        return self._mins

    def dimensions(self) -> int:
        """The number of dimensions. Raises `BufferError` if there is no array."""
        return self.array.ndim

    def dim(self, dimension: int) -> BufferDimension:
        """Dimension `dimension`; 0 is the innermost. Raises `BufferError` if there is none."""
        d = self._dimension(dimension)
        array = self.array
        return BufferDimension(self._mins[d], array.shape[-1 - d], array.strides[-1 - d] // array.itemsize)

    def _dimension(self, dimension: Any) -> int:
        d = integer(dimension, "a dimension of {}", self.name())
        if not 0 <= d < len(self._mins):
            raise BufferError(f"{self.name()} has {len(self._mins)} dimensions, hence no dimension {d}")
        return d

    def min(self, d: int) -> int:
        """The least coordinate in dimension `d`."""
        return self.dim(d).min()

    def extent(self, d: int) -> int:
        """The number of coordinates in dimension `d`."""
        return self.dim(d).extent()

    def stride(self, d: int) -> int:
        """The distance in memory between neighbours in dimension `d`, in elements."""
        return self.dim(d).stride()

    def width(self) -> int:
        """The extent of dimension 0, 1 if there is none."""
        return self._extent(0)

    def height(self) -> int:
        """The extent of dimension 1, 1 if there is none."""
        return self._extent(1)

    def channels(self) -> int:
        """The extent of dimension 2, 1 if there is none."""
        return self._extent(2)

    def _extent(self, d: int) -> int:
        return self.dim(d).extent() if d < self.dimensions() else 1

    def left(self) -> int:
        """The least coordinate of dimension 0."""
        return self.dim(0).min()

    def right(self) -> int:
        """The greatest coordinate of dimension 0."""
        return self.dim(0).max()

    def top(self) -> int:
        """The least coordinate of dimension 1."""
        return self.dim(1).min()

    def bottom(self) -> int:
        """The greatest coordinate of dimension 1."""
        return self.dim(1).max()

    def number_of_elements(self) -> int:
        """How many elements there are."""
        return int(self.array.size)

    def size_in_bytes(self) -> int:
        """How many bytes they take, gaps between them included."""
        array = self.array
        if not array.size:
            return 0
        spans = (abs(step) * (extent - 1) for step, extent in zip(array.strides, array.shape, strict=True))
        return int(sum(spans)) + array.itemsize

    def contains(self, coords: Iterable[int]) -> bool:
        """Whether there is an element at these coordinates."""
        given = self._counted("contains", tuple(coords))
        return all(low <= at < low + self.extent(d) for d, (at, low) in _numbered(given, self._mins))

    def _counted(self, what: str, given: tuple[Any, ...]) -> tuple[int, ...]:
        if len(given) != len(self._mins):
            raise BufferError(f"{what} of {self.name()} takes {len(self._mins)} numbers, {len(given)} were given")
        return self._integers(given)

    def _integers(self, given: Iterable[Any]) -> tuple[int, ...]:
        name = self.name()
        return tuple(integer(one, "a coordinate of {}", name) for one in given)

    def _coordinates(self, given: Iterable[Any]) -> tuple[int, ...]:
        """Where an array begins. Raises `TypeMismatch` for what i32 does not hold."""
        found = self._integers(given)
        if not all(map(is_i32, found)):
            raise TypeMismatch(f"coordinates of {self.name()} are of 32 bits, not {', '.join(map(str, found))}")
        return found

    def _listed(self, what: str, given: Any, count: int | None = None) -> tuple[Any, ...]:
        """What has elements, as a tuple. Raises `TypeMismatch`."""
        listed = tuple(given) if isinstance(given, Iterable) else ()
        if not isinstance(given, Iterable) or count not in (None, len(listed)):
            wanted = "a list" if count is None else f"{count} numbers each"
            raise TypeMismatch(f"{what} of {self.name()} takes a dimension and numbers, or {wanted}, not {given!r}")
        return listed

    # -- elements ----------------------------------------------------------------------------------------------------

    def position(self, given: tuple[Any, ...]) -> tuple[int, ...]:
        """The index in the array of an element. Raises `BufferError`, `OutOfBounds`."""
        if len(given) != len(self._mins):
            raise BufferError(f"{self.name()} has {len(self._mins)} dimensions, {len(given)} indices were given")
        found = tuple(at - low for at, low in zip(self._integers(given), self._mins, strict=True))
        for d, at in _numbered(found):
            if not 0 <= at[0] < self.array.shape[-1 - d]:
                dimension = self.dim(d)
                raise OutOfBounds(
                    f"{self.name()}: index {given[d]} is out of bounds for axis {d} "
                    f"with min={dimension.min()}, extent={dimension.extent()}"
                )
        return found[::-1]

    def element(self, value: Any) -> bool | int | float | tuple[int]:
        """A number as an element: of booleans whether it is not 0, of integers a NumPy float without its fraction, of
        brain floats its bits.

        Raises `TypeMismatch` where the type does not hold it.
        """
        type_ = type_of_dtype(self.array.dtype).ir
        number = number_of(value)
        if type_.is_bool and isinstance(number, int | float):
            number = bool(number)
        if type_.is_int and isinstance(value, np.float16 | np.float32) and np.isfinite(value):
            number = int(value)
        if number is None:
            raise TypeMismatch(f"{self.name()} holds {type_}, {value!r} is no number")
        held = literal(number, type_).value
        return (int(words(np.array(held, np.float32))),) if type_.is_bfloat else held

    def fill(self, value: Any) -> None:
        """Set every element. Raises `TypeMismatch` where the type does not hold the value."""
        self.array[...] = self.element(value)

    def all_equal(self, value: Any) -> bool:
        """Whether every element is `value`."""
        if self.array.dtype == STORED:
            return bool((of_words(self.array) == number_of(value)).all())
        return bool((self.array == self.element(value)).all())

    def for_each_element(self, f: Callable[[list[int]], object]) -> None:
        """Call `f` with the coordinates of each element, dimension 0 moving fastest."""
        ranges = [range(self.dim(d).min(), self.dim(d).max() + 1) for d in reversed(range(len(self._mins)))]
        for point in itertools.product(*ranges):
            f(list(point[::-1]))

    def copy_from(self, other: Region) -> None:
        """Take over the elements at the coordinates that both have. Raises `BufferError` for another type or rank."""
        if other.array.dtype != self.array.dtype or other.dimensions() != self.dimensions():
            raise BufferError(
                f"copy_from: {self.name()} is {self.array.dtype} of {self.dimensions()} dimensions, "
                f"{other.name()} is {other.array.dtype} of {other.dimensions()}"
            )
        mine, its = self._fresh(), other._fresh()
        for d in range(self.dimensions()):
            low = max(self.min(d), other.min(d))
            extent = max(min(self.dim(d).max(), other.dim(d).max()) + 1 - low, 0)
            if not extent:
                return
            mine.crop(d, low, extent)
            its.crop(d, low, extent)
        mine.array[...] = its.array

    # -- shapes, each in place and as a new one ------------------------------------------------------------------------

    def set_min(self, *given: Any, mins: Any = None) -> None:
        """Place the array: its first element is at `mins`. Fewer than there are dimensions move the first ones."""
        if mins is not None or (len(given) == 1 and isinstance(given[0], Sequence | np.ndarray)):
            given = self._listed("set_min", given[0] if mins is None else mins)
        if len(given) > len(self._mins):
            raise BufferError(f"set_min of {self.name()} takes {len(self._mins)} coordinates, {len(given)} were given")
        self._mins = self._coordinates(given) + self._mins[len(given) :]

    def translate(self, dimension: Any = None, dx: Any = None, *, delta: Any = None) -> None:
        """`translate(d, distance)`, or `translate([distance, …])` for the first dimensions: move all coordinates."""
        if dx is not None:
            moves = [0] * self._dimension(dimension) + [*self._integers([dx])]
        else:
            moves = [*self._integers(self._listed("translate", dimension if delta is None else delta))]
        if len(moves) > len(self._mins):
            raise BufferError(f"translate of {self.name()}, which has {len(self._mins)} dimensions, by {moves}")
        moves += [0] * (len(self._mins) - len(moves))
        self._mins = tuple(low + move for low, move in zip(self._mins, moves, strict=True))

    def crop(self, dimension: Any = None, min: Any = None, extent: Any = None, *, rect: Any = None) -> None:
        """`crop(d, min, extent)`, or `crop([(min, extent), …])`: keep a part. Raises `OutOfBounds` beyond the ends."""
        if min is None:
            for d, (pair,) in _numbered(self._listed("crop", dimension if rect is None else rect)):
                low, size = self._listed("crop", pair, 2)
                self.crop(d, low, size)
            return
        d, (low, extent) = self._dimension(dimension), self._integers((min, extent))
        held = self.dim(d)
        if extent < 0 or low < held.min() or low + extent > held.max() + 1:
            raise OutOfBounds(
                f"crop of {self.name()} to {low} … {low + extent - 1} in dimension {d}, where it holds {held.min()} to "
                f"{held.max()}"
            )
        start = low - held.min()
        self._array = self.array[self._along(d, slice(start, start + extent))]
        self._mins = (*self._mins[:d], low, *self._mins[d + 1 :])

    def _along(self, d: int, what: slice | int) -> tuple[slice | int, ...]:
        return (*[slice(None)] * (len(self._mins) - 1 - d), what, *[slice(None)] * d)

    def slice(self, dimension: int, pos: int | None = None) -> None:
        """Keep the elements at `pos` of a dimension (its least by default), which goes away."""
        d = self._dimension(dimension)
        held = self.dim(d)
        at = held.min() if pos is None else self._integers([pos])[0]
        if not held.min() <= at <= held.max():
            raise OutOfBounds(
                f"slice of {self.name()} at {at} in dimension {d}, where it holds {held.min()} to {held.max()}"
            )
        self._array = self.array[(..., *self._along(d, at - held.min()))]
        self._mins = self._mins[:d] + self._mins[d + 1 :]

    def embed(self, dimension: int, pos: int = 0) -> None:
        """Add a dimension of extent 1 before `dimension`, at coordinate `pos`: the inverse of `slice`.

        Its stride is that of an outermost dimension, as in Halide.
        """
        d = integer(dimension, "a dimension of {}", self.name())
        if not 0 <= d <= len(self._mins):
            raise BufferError(f"embed of {self.name()}, which has {len(self._mins)} dimensions, in dimension {d}")
        held, axis = self.array, len(self._mins) - d
        step = held.shape[0] * held.strides[0] if self._mins else held.itemsize
        shape, strides = list(held.shape), list(held.strides)
        shape.insert(axis, 1)
        strides.insert(axis, step)
        self._array = np.lib.stride_tricks.as_strided(held, shape, strides)
        self._mins = (*self._mins[:d], *self._coordinates([pos]), *self._mins[d:])

    def add_dimension(self) -> None:
        """Add an outermost dimension of extent 1."""
        self.embed(len(self._mins))

    def transpose(self, d1: Any = None, d2: Any = None, *, order: Any = None) -> None:
        """`transpose(d, e)` exchanges two dimensions; `transpose([d, e, …])` makes dimension i the i-th one given."""
        count = len(self._mins)
        if d2 is not None:
            a, b = self._dimension(d1), self._dimension(d2)
            order = list(range(count))
            order[a], order[b] = b, a
        else:
            order = [*self._integers(self._listed("transpose", d1 if order is None else order))]
        if sorted(order) != list(range(count)):
            raise BufferError(f"transpose of {self.name()} takes each of its {count} dimensions once, not {order}")
        old = [order.index(d) for d in range(count)]
        self._array = self.array.transpose([count - 1 - d for d in reversed(old)])
        self._mins = tuple(self._mins[d] for d in old)

    def translated(self, *given: Any, **named: Any) -> Self:
        """As `translate`, in a new one."""
        result = self._fresh()
        result.translate(*given, **named)
        return result

    def cropped(self, *given: Any, **named: Any) -> Self:
        """As `crop`, in a new one over the same elements."""
        result = self._fresh()
        result.crop(*given, **named)
        return result

    def sliced(self, dimension: int, pos: int | None = None) -> Self:
        """As `slice`, in a new one over the same elements."""
        result = self._fresh()
        result.slice(dimension, pos)
        return result

    def embedded(self, dimension: int, pos: int = 0) -> Self:
        """As `embed`, in a new one over the same elements."""
        result = self._fresh()
        result.embed(dimension, pos)
        return result

    def transposed(self, *given: Any, **named: Any) -> Self:
        """As `transpose`, in a new one over the same elements."""
        result = self._fresh()
        result.transpose(*given, **named)
        return result

    def reverse_axes(self) -> Self:
        """A new one over the same elements, its dimensions in the opposite order."""
        return self.transposed(list(reversed(range(len(self._mins)))))


def _numbered(*given: Sequence[Any]) -> Iterable[tuple[int, tuple[Any, ...]]]:
    return zip(itertools.count(), zip(*given, strict=True), strict=False)
