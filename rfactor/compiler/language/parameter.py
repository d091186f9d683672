"""`Parameter`: what is known of an input before the pipeline runs, of scalars and of arrays alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rfactor.compiler.language.arguments import ArgumentEstimates, estimates_of
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.chance import unnumbered
from rfactor.compiler.language.expr import Expr, ExprLike, as_expr
from rfactor.compiler.language.hints import MemoryType
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.public import public
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import Param
from rfactor.errors import AlgorithmError, TypeMismatch


@public
class Parameter:
    """The inside of a `Param`, an `ImageParam` or an `OutputImageParam`: what is set here is set there.

    What asks a scalar for an array, or the other way round, raises `AlgorithmError`.
    """

    def __init__(
        self, type: Any = None, is_buffer: bool = False, dimensions: int = 0, name: str = "", *, p: Any = None
    ) -> None:
        """`Parameter(type, is_buffer, dimensions, name)`, of an input of its own; `Parameter(other)`; `Parameter()`,
        which is not `defined()`."""
        self._of: Param | OutputImageParam | None = None
        type = type if p is None else p
        if isinstance(type, Parameter):
            self._of = type._of
        elif type is not None:
            with unnumbered():
                self._of = ImageParam(type, dimensions, name or None) if is_buffer else Param(type, name or None)

    @classmethod
    def of(cls, input: Param | OutputImageParam) -> Parameter:
        """That of an input."""
        made = cls()
        made._of = input
        return made

    def _any(self) -> Param | OutputImageParam:
        if self._of is None:
            raise AlgorithmError("Parameter() is of nothing: take that of a Param or an ImageParam")
        return self._of

    def _scalar(self) -> Param:
        if not isinstance(self._any(), Param):
            raise AlgorithmError(f"{self.name()} is an array: it has no value, least or greatest value")
        return self._of  # type: ignore[return-value]

    def _box(self) -> OutputImageParam:
        if isinstance(self._any(), Param):
            raise AlgorithmError(f"{self.name()} is a scalar: it has no box and no memory")
        return self._of  # type: ignore[return-value]

    def _image(self) -> ImageParam:
        box = self._box()
        if not isinstance(box, ImageParam):
            raise AlgorithmError(f"{self.name()} is an output: its array is given to realize")
        return box

    def defined(self) -> bool:
        """Whether it is of something."""
        return self._of is not None

    def same_as(self, other: Parameter) -> bool:
        """Whether it is of the same input."""
        return self._of is other._of

    def name(self) -> str:
        """Its name."""
        return self._any().name()

    def type(self) -> Type:
        """The type of its value, or of its elements."""
        return self._any().type()

    def is_buffer(self) -> bool:
        """Whether it is an array."""
        return isinstance(self._any(), OutputImageParam)

    def dimensions(self) -> int:
        """The number of dimensions, 0 of a scalar."""
        return self._box().dimensions() if self.is_buffer() else 0

    # Scalars

    def scalar(self) -> bool | int | float:
        """The value."""
        return self._scalar().get()

    def scalar_expr(self) -> Expr:
        """The value as a constant."""
        return as_expr(self.scalar(), self._scalar().node.type)

    def set_scalar(self, *given: Any, value_type: Type | None = None, value: Any = None) -> None:
        """`set_scalar(value)` or `set_scalar(type, value)`: give the value."""
        parts = [one for one in (value_type, *given, value) if one is not None]
        if len(parts) == 2 and parts[0] != self.type():
            raise TypeMismatch(f"{self.name()} is {self.type()}, not {parts[0]}")
        if not 1 <= len(parts) <= 2:
            raise TypeError("set_scalar() takes a value, or a type and a value")
        self._scalar().set(parts[-1])

    def default_value(self) -> Expr:
        """The value that was set as the default, undefined where none was."""
        return self._scalar().default

    def set_default_value(self, expr: ExprLike) -> None:
        """Say what the value is where none is given: kept for readers."""
        self._scalar().default = as_expr(expr)

    def min_value(self) -> Expr:
        """The least value, undefined where none was set."""
        return self._scalar().min_value()

    def max_value(self) -> Expr:
        """The greatest value, undefined where none was set."""
        return self._scalar().max_value()

    def set_min_value(self, expr: ExprLike) -> None:
        """Promise that the value is no less."""
        self._scalar().set_min_value(expr)

    def set_max_value(self, expr: ExprLike) -> None:
        """Promise that the value is no greater."""
        self._scalar().set_max_value(expr)

    def estimate(self) -> Expr:
        """What the value is said to be like, undefined where nothing was said."""
        return self._scalar().estimate

    def set_estimate(self, expr: ExprLike) -> None:
        """Say what the value will be like."""
        self._scalar().set_estimate(expr)

    # Arrays

    def buffer(self) -> Buffer:
        """The array."""
        return self._image().get()

    def set_buffer(self, buffer: Buffer | np.ndarray[Any, Any]) -> None:
        """Give the array."""
        self._image().set(buffer)

    def buffer_constraints(self) -> list[tuple[Expr, Expr, Expr]]:
        """What is promised of each dimension: least coordinate, extent, stride; undefined where nothing is."""
        ends: tuple[Callable[[int], Expr], ...] = (self.min_constraint, self.extent_constraint, self.stride_constraint)
        return [(ends[0](d), ends[1](d), ends[2](d)) for d in range(self.dimensions())]

    def min_constraint(self, dim: int) -> Expr:
        """The least coordinate that is promised of a dimension, undefined where none is."""
        return self._promised("min", dim)

    def extent_constraint(self, dim: int) -> Expr:
        """The extent that is promised of a dimension, undefined where none is."""
        return self._promised("extent", dim)

    def stride_constraint(self, dim: int) -> Expr:
        """The stride that is promised of a dimension, undefined where none is."""
        return self._promised("stride", dim)

    def set_min_constraint(self, dim: int, expr: ExprLike) -> None:
        """Promise the least coordinate of a dimension."""
        self._box().dim(dim).set_min(expr)

    def set_extent_constraint(self, dim: int, expr: ExprLike) -> None:
        """Promise the extent of a dimension."""
        self._box().dim(dim).set_extent(expr)

    def set_stride_constraint(self, dim: int, expr: ExprLike) -> None:
        """Promise the stride of a dimension."""
        self._box().dim(dim).set_stride(expr)

    def min_constraint_estimate(self, dim: int) -> Expr:
        """What the least coordinate of a dimension is said to be, undefined where nothing was said."""
        return self._box().estimates.get(("min", dim), Expr())

    def extent_constraint_estimate(self, dim: int) -> Expr:
        """What the extent of a dimension is said to be, undefined where nothing was said."""
        return self._box().estimates.get(("extent", dim), Expr())

    def set_min_constraint_estimate(self, dim: int, expr: ExprLike) -> None:
        """Say what the least coordinate of a dimension will be."""
        self._box().estimate("min", dim, expr)

    def set_extent_constraint_estimate(self, dim: int, expr: ExprLike) -> None:
        """Say what the extent of a dimension will be."""
        self._box().estimate("extent", dim, expr)

    def host_alignment(self) -> int:
        """The alignment that arrays need, in bytes."""
        return self._box().host_alignment()

    def set_host_alignment(self, bytes: int) -> None:
        """Promise that arrays begin at addresses that are multiples of so many bytes."""
        self._box().set_host_alignment(bytes)

    def memory_type(self) -> MemoryType:
        """Where it is: where the caller has it."""
        self._any()
        return MemoryType.Auto

    def store_in(self, memory_type: MemoryType) -> None:
        """Nothing: the array is where it is. Raises `NotImplementedError` for memory of devices."""
        self._box().store_in(memory_type)

    def get_argument_estimates(self) -> ArgumentEstimates:
        """All that was said of it."""
        return estimates_of(self._any())

    def _promised(self, end: str, dim: int) -> Expr:
        self._box().dim(dim)
        return self._box().promises.get((end, dim), Expr())

    def __repr__(self) -> str:
        if self._of is None:
            return "<halide.Parameter>"
        return f"<halide.Parameter '{self.name()}' type {self.type()}>"
