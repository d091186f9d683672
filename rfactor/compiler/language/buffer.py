"""Arrays: `Buffer` over a NumPy array without copying it, and `ImageParam` for one that is given later.

Axes are reversed, as in Halide's bindings: dimension 0 of a `Buffer` is the last axis of its array, so that `b[x, y]`
is `array[y, x]` and dimension 0 is the innermost in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, joined
from rfactor.compiler.language.names import Named
from rfactor.compiler.language.types import Type, dtype_of, type_of_dtype
from rfactor.errors import BufferError, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import Image
from rfactor.ir.types import I32


def coordinates(what: str, dimensions: int, index: Any) -> list[Expr]:
    """The coordinates of `what[index]`, as i32. Raises `TypeMismatch` for another number of them or a wrong type."""
    given = list(index) if isinstance(index, tuple) else [index]
    if len(given) != dimensions:
        raise TypeMismatch(f"{what} has {dimensions} dimensions, {len(given)} indices were given")
    return [coordinate(what, as_expr(one)) for one in given]


def coordinate(what: str, value: Expr) -> Expr:
    """One coordinate, as i32: integers that i32 holds are converted."""
    type_ = value.node.type
    if type_ == I32:
        return value
    if type_.is_int and (type_.bits < 32 or isinstance(value.node, ir.Const)):
        return Expr(ir.cast(I32, value.node), value.uses)
    raise TypeMismatch(f"{what} is indexed by {value} of type {type_}: indices are i32, write i32({value})")


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


class Buffer(Named):
    """An array with a place in the plane: `Buffer(array)`, or `Buffer(type, sizes)` of zeros."""

    def __init__(self, *given: Any, name: str | None = None) -> None:
        """`Buffer(array, name=None)` or `Buffer(type, sizes, name=None)`; sizes are of dimension 0 first."""
        if given and isinstance(given[0], Type):
            type_, sizes, *rest = given if len(given) > 1 else (given[0], ())
            shape = tuple(int(size) for size in sizes)[::-1]
            array: NDArray[Any] = np.zeros(shape, dtype_of(type_.ir))
        elif given and isinstance(given[0], np.ndarray):
            array, *rest = given
        else:
            raise TypeMismatch(f"Buffer takes a NumPy array, or a type and sizes, not {given!r}")
        if rest and isinstance(rest[0], str):
            name = rest[0]
        super().__init__(name, "b")
        self._type = type_of_dtype(array.dtype)
        self._array = array
        self._mins = (0,) * array.ndim

    @property
    def array(self) -> NDArray[Any]:
        """The array itself: axes reversed."""
        return self._array

    @property
    def mins(self) -> tuple[int, ...]:
        """The least coordinate of each dimension."""
        return self._mins

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def type(self) -> Type:
        """The type of its elements."""
        return self._type

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def dim(self, d: int) -> BufferDimension:
        """Dimension `d`; 0 is the innermost."""
        if not 0 <= d < self._array.ndim:
            raise BufferError(f"{self.name()} has {self._array.ndim} dimensions, hence no dimension {d}")
        stride = self._array.strides[-1 - d] // self._array.itemsize
        return BufferDimension(self._mins[d], self._array.shape[-1 - d], stride)

    def set_min(self, *mins: Any) -> None:
        """Place the array: its first element is at `mins`."""
        given = tuple(mins[0]) if len(mins) == 1 and isinstance(mins[0], Sequence) else mins
        if len(given) != self._array.ndim:
            raise BufferError(f"set_min of {self.name()} takes {self._array.ndim} coordinates, {len(given)} were given")
        self._mins = tuple(int(low) for low in given)

    def min(self, d: int) -> int:
        """The least coordinate in dimension `d`."""
        return self.dim(d).min()

    def extent(self, d: int) -> int:
        """The number of coordinates in dimension `d`."""
        return self.dim(d).extent()

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
        return self.dim(d).extent() if d < self._array.ndim else 1

    def fill(self, value: Any) -> None:
        """Set every element."""
        self._array.fill(value)

    def copy(self) -> Buffer:
        """A buffer over a copy of the array."""
        result = Buffer(self._array.copy())
        result._mins = self._mins
        return result

    def __getitem__(self, index: Any) -> Any:
        """An element if the coordinates are numbers, else the expression of one."""
        given = index if isinstance(index, tuple) else (index,)
        if not any(isinstance(one, Expr) for one in given):
            return self._array[self._position(given)]
        return self(*given)

    def __call__(self, *index: Any) -> Expr:
        """The expression of an element."""
        at = coordinates(self.name(), self._array.ndim, index)
        node = ir.Call(self._type.ir, self.name(), tuple(e.node for e in at), "image")
        return Expr(node, {**(joined(*at) if at else {}), self.name(): self})

    def __setitem__(self, index: Any, value: Any) -> None:
        given = index if isinstance(index, tuple) else (index,)
        self._array[self._position(given)] = value

    def _position(self, given: tuple[Any, ...]) -> tuple[int, ...]:
        if len(given) != self._array.ndim:
            raise BufferError(f"{self.name()} has {self._array.ndim} dimensions, {len(given)} indices were given")
        position = tuple(int(one) - low for one, low in zip(given, self._mins, strict=True))
        for d in range(len(position)):
            if not 0 <= position[d] < self._array.shape[-1 - d]:
                dimension = self.dim(d)
                raise BufferError(
                    f"{self.name()} holds {dimension.min()} to {dimension.max()} in dimension {d}, not {given[d]}"
                )
        return position[::-1]

    def image(self) -> Image:
        """Its declaration as an input."""
        return Image(self.name(), self._type.ir, self._array.ndim)

    def __repr__(self) -> str:
        box = ", ".join(f"[{self.dim(d).min()}, {self.dim(d).max()}]" for d in range(self._array.ndim))
        return f"Buffer({self._type}, {self.name()}: {box})"


@dataclass(frozen=True, slots=True)
class ImageDimension:
    """One dimension of an image that is given later: bounds are expressions."""

    _image: ImageParam
    _d: int

    def _bound(self, what: str) -> Expr:
        return Expr(ir.Var(I32, f"{self._image.name()}.{what}.{self._d}"), {self._image.name(): self._image})

    def min(self) -> Expr:
        """The least coordinate."""
        return self._bound("min")

    def extent(self) -> Expr:
        """The number of coordinates."""
        return self._bound("extent")

    def max(self) -> Expr:
        """The greatest coordinate."""
        return self.min() + self.extent() - 1


class ImageParam(Named):
    """An input array given at run time: `ImageParam(UInt(8), 2)`, then `set(array)`."""

    def __init__(self, type: Type, dimensions: int, name: str | None = None) -> None:
        super().__init__(name, "im")
        self._type = type
        self._dimensions = dimensions
        self._buffer: Buffer | None = None

    def set(self, array: Buffer | NDArray[Any]) -> None:
        """Give the array. Raises `BufferError` for another type or number of dimensions."""
        buffer = array if isinstance(array, Buffer) else Buffer(np.asarray(array))
        if buffer.type() != self._type or buffer.dimensions() != self._dimensions:
            raise BufferError(
                f"{self.name()} takes {self._type} arrays of {self._dimensions} dimensions, "
                f"not {buffer.type()} of {buffer.dimensions()}"
            )
        self._buffer = buffer

    def is_set(self) -> bool:
        """Whether an array was given."""
        return self._buffer is not None

    def reset(self) -> None:
        """Forget the array."""
        self._buffer = None

    def get(self) -> Buffer:
        """The array. Raises `BufferError` if none was given."""
        if self._buffer is None:
            raise BufferError(f"the image {self.name()} has no array: call {self.name()}.set(…) before realize")
        return self._buffer

    def type(self) -> Type:
        """The type of its elements."""
        return self._type

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._dimensions

    def dim(self, d: int) -> ImageDimension:
        """Dimension `d`; 0 is the innermost."""
        if not 0 <= d < self._dimensions:
            raise BufferError(f"{self.name()} has {self._dimensions} dimensions, hence no dimension {d}")
        return ImageDimension(self, d)

    def width(self) -> Expr:
        """The extent of dimension 0."""
        return self.dim(0).extent()

    def height(self) -> Expr:
        """The extent of dimension 1."""
        return self.dim(1).extent()

    def channels(self) -> Expr:
        """The extent of dimension 2."""
        return self.dim(2).extent()

    def left(self) -> Expr:
        """The least coordinate in dimension 0."""
        return self.dim(0).min()

    def top(self) -> Expr:
        """The least coordinate in dimension 1."""
        return self.dim(1).min()

    def __getitem__(self, index: Any) -> Expr:
        at = coordinates(self.name(), self._dimensions, index)
        uses: Uses = {**(joined(*at) if at else {}), self.name(): self}
        return Expr(ir.Call(self._type.ir, self.name(), tuple(e.node for e in at), "image"), uses)

    def __call__(self, *index: Any) -> Expr:
        return self[index]

    def image(self) -> Image:
        """Its declaration as an input."""
        return Image(self.name(), self._type.ir, self._dimensions)


def image_of(value: ExprLike) -> bool:
    """Whether it is an array: a `Buffer` or an `ImageParam`."""
    return isinstance(value, Buffer | ImageParam)
