"""Arrays that are given later, as expressions see them: their box, and what is promised of it.

A promise (`im.dim(0).set_min(0)`) is checked on entry of the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, converted
from rfactor.compiler.language.hints import MemoryType, kind_of_memory
from rfactor.compiler.language.types import Type
from rfactor.errors import AlgorithmError, BufferError, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import Requirement
from rfactor.ir.types import I32, I64


@dataclass(frozen=True, slots=True)
class ImageDimension:
    """One dimension of an array that is given later: bounds are expressions."""

    _image: OutputImageParam
    _d: int

    def min(self) -> Expr:
        """The least coordinate."""
        return self._image.bound("min", self._d)

    def extent(self) -> Expr:
        """The number of coordinates."""
        return self._image.bound("extent", self._d)

    def max(self) -> Expr:
        """The greatest coordinate."""
        return self.min() + self.extent() - 1

    def stride(self) -> Expr:
        """The distance in memory between neighbours, in elements."""
        return self._image.bound("stride", self._d)

    def set_min(self, min: ExprLike) -> Self:
        """Promise that the least coordinate is `min`."""
        return self._promise("min", min)

    def set_extent(self, extent: ExprLike) -> Self:
        """Promise that there are `extent` coordinates."""
        return self._promise("extent", extent)

    def set_stride(self, stride: ExprLike) -> Self:
        """Promise that the distance between neighbours is `stride` elements."""
        return self._promise("stride", stride)

    def set_bounds(self, min: ExprLike, extent: ExprLike) -> Self:
        """Promise both ends."""
        return self.set_min(min).set_extent(extent)

    def set_estimate(self, min: ExprLike, extent: ExprLike) -> Self:
        """Nothing: estimates are for autoschedulers."""
        return self

    def dim(self, dimension: int) -> ImageDimension:
        """Another dimension of the same array."""
        return self._image.dim(dimension)

    def _promise(self, what: str, value: ExprLike) -> Self:
        self._image.promise(what, self._d, value)
        return self


class OutputImageParam:
    """The box of an array: of an `ImageParam`, or of an output (`f.output_buffer()`)."""

    def __init__(self, name: str, type: Type, dimensions: int, what: str, buffer: str, uses: Any) -> None:
        """`buffer` is the name of its strides, `uses` what its expressions refer to, None for an output."""
        self._shape = name, type, dimensions, what, buffer, uses
        self.promises: Mapping[tuple[str, int], Expr] = {}
        """What is promised of the box, by end and dimension."""

    def name(self) -> str:
        """Its name."""
        return self._shape[0]

    def type(self) -> Type:
        """The type of its elements."""
        return self._shape[1]

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._shape[2]

    def defined(self) -> bool:
        """True."""
        return True

    def dim(self, dimension: int) -> ImageDimension:
        """Dimension `dimension`; 0 is the innermost. Raises `BufferError` if there is none."""
        if not 0 <= dimension < self.dimensions():
            raise BufferError(f"{self.name()} has {self.dimensions()} dimensions, hence no dimension {dimension}")
        return ImageDimension(self, dimension)

    def bound(self, what: str, d: int) -> Expr:
        """`min`, `extent` or `stride` of dimension `d`, as i32."""
        name, _, _, _, buffer, uses = self._shape
        own: Uses = {} if uses is None else {name: uses}
        if what == "stride":
            return Expr(ir.cast(I32, ir.Var(I64, f"{buffer}.stride.{d}")), own)
        return Expr(ir.Var(I32, f"{name}.{what}.{d}"), own)

    def promise(self, what: str, d: int, value: ExprLike) -> None:
        """Promise that an end of the box is `value`; an undefined `Expr()` takes a promise back.

        Raises `TypeMismatch`, `AlgorithmError`.
        """
        held = as_expr(value)
        if not held.defined():
            self.promises = {end: kept for end, kept in self.promises.items() if end != (what, d)}
            return
        if not held.node.type.is_int:
            raise TypeMismatch(f"the {what} of {self.name()} is an integer, not {held} of {held.node.type}")
        if any(isinstance(node, ir.Call) and node.kind != "intrinsic" for node in ir.walk(held.node)):
            raise AlgorithmError(f"the {what} of {self.name()} is known before anything is computed, unlike {held}")
        self.promises = {**self.promises, (what, d): converted(I32, held)}

    def requirements(self) -> tuple[Requirement, ...]:
        """What is checked on entry."""
        found = []
        for (what, d), value in self.promises.items():
            actual = self.bound(what, d).node
            message = f"{self._shape[3]} {self.name()} has {what} {{}} in dimension {d}, where {{}} was promised"
            found.append(Requirement(ir.apply("==", actual, value.node), message, (actual, value.node)))
        return tuple(found)

    def references(self) -> Uses:
        """What its promises refer to."""
        return {name: used for value in self.promises.values() for name, used in value.uses.items()}

    def set_estimates(self, estimates: Any) -> Self:
        """Nothing: estimates are for autoschedulers."""
        return self

    def set_host_alignment(self, alignment: int) -> Self:
        """Nothing: code does not depend on the alignment of arrays."""
        return self

    def host_alignment(self) -> int:
        """The alignment that arrays need: that of an element, in bytes."""
        return self.type().bytes()

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

    def right(self) -> Expr:
        """The greatest coordinate in dimension 0."""
        return self.dim(0).max()

    def top(self) -> Expr:
        """The least coordinate in dimension 1."""
        return self.dim(1).min()

    def bottom(self) -> Expr:
        """The greatest coordinate in dimension 1."""
        return self.dim(1).max()

    def store_in(self, memory_type: MemoryType) -> Self:
        """Nothing: the array is where it is. Raises `NotImplementedError` for memory of devices."""
        kind_of_memory(memory_type)
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("parameter", "trace_loads"):
            raise NotImplementedError(f"{type(self).__name__}.{name} is not there yet")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
