"""Arrays that are given later, as expressions see them: their box, and what is promised of it.

A promise (`im.dim(0).set_min(0)`) is checked on entry of the pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rfactor.compiler.language.changes import Changing
from rfactor.compiler.language.expr import Expr, ExprLike, OnEntry, Uses, as_expr, converted, known_on_entry
from rfactor.compiler.language.hints import MemoryType, kind_of_memory
from rfactor.compiler.language.public import integer, public
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import end_pairs, estimated
from rfactor.errors import AlgorithmError, BufferError, ScheduleError, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import ADDRESS, Requirement
from rfactor.ir.types import I32, I64

if TYPE_CHECKING:
    from rfactor.compiler.language.parameter import Parameter


ENDS = ("min", "extent", "stride")
"""What is known of each dimension of an array."""


@public
@dataclass(frozen=True, slots=True)
class Dimension:
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
        """Say what the box will be like: for readers, as there are no autoschedulers."""
        self._image.estimate("min", self._d, min)
        self._image.estimate("extent", self._d, extent)
        return self

    def dim(self, dimension: int) -> Dimension:
        """Another dimension of the same array."""
        return self._image.dim(dimension)

    def _promise(self, what: str, value: ExprLike) -> Self:
        self._image.promise(what, self._d, value)
        return self


@public
class OutputImageParam(Changing, OnEntry):
    """The box of an array: of an `ImageParam`, or of an output (`f.output_buffer()`)."""

    _shape: tuple[str, Type, int, str, str, Any] | None
    _any_stride = False
    """Whether the stride of dimension 0 was left open, by `Expr()`."""
    alignment: int | None = None
    """What `set_host_alignment` said."""
    _later = False
    """Whether it is of an output of a tuple, the first of which has the same box."""

    def __init__(self) -> None:
        """One that is not `defined()`: of no array."""
        self._shape = None
        self.promises: Mapping[tuple[str, int], Expr] = {}
        """What is promised of the box, by end and dimension."""
        self.estimates: Mapping[tuple[str, int], Expr] = {}
        """What the box is said to be like, by end and dimension: no more than kept."""

    @classmethod
    def of_output(cls, name: str, type: Type, dimensions: int, buffer: str) -> OutputImageParam:
        """The box of an output of the function `name`; `buffer` is the name of its strides."""
        made = cls()
        made._shape = name, type, dimensions, "output", buffer, None
        made._later = buffer.rpartition(".")[2] not in ("0", name)
        return made

    def _described(self) -> tuple[str, Type, int, str, str, Any]:
        """Name, type, rank, what it is, the name of its strides, what its expressions refer to (None for an output)."""
        if self._shape is None:
            kind = type(self).__name__
            raise AlgorithmError(f"{kind}() is of no array yet: give it a type and a number of dimensions")
        return self._shape

    def stride_name(self) -> str:
        """The name of its strides."""
        return self._described()[4]

    def name(self) -> str:
        """Its name."""
        return self._described()[0]

    def type(self) -> Type:
        """The type of its elements."""
        return self._described()[1]

    def dimensions(self) -> int:
        """The number of dimensions."""
        return self._described()[2]

    def defined(self) -> bool:
        """Whether it is of an array: `ImageParam()` is not."""
        return self._shape is not None

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self._shape is None:
            return f"<halide.{kind} {kind}()>"
        return f"<halide.{kind} '{self.name()}', dims: {self.dimensions()}, type: {self.type()}>"

    def parameter(self) -> Parameter:
        """What is known of it before the pipeline runs."""
        from rfactor.compiler.language.parameter import Parameter

        return Parameter.of(self)

    def dim(self, dimension: int) -> Dimension:
        """Dimension `dimension`; 0 is the innermost. Raises `BufferError` if there is none."""
        if not 0 <= dimension < self.dimensions():
            raise BufferError(f"{self.name()} has {self.dimensions()} dimensions, hence no dimension {dimension}")
        return Dimension(self, dimension)

    def bound(self, what: str, d: int) -> Expr:
        """`min`, `extent` or `stride` of dimension `d`, as i32."""
        name, _, _, _, buffer, uses = self._described()
        own: Uses = {buffer: self} if uses is None else {name: uses}
        if what == "stride":
            return Expr(ir.cast(I32, ir.Var(I64, f"{buffer}.stride.{d}")), own)
        return Expr(ir.Var(I32, f"{name}.{what}.{d}"), own)

    def entry_names(self) -> frozenset[str]:
        """The variables that tell where the array lies."""
        name, _, rank, _, buffer, _ = self._described()
        return frozenset(f"{buffer if end == 'stride' else name}.{end}.{d}" for d in range(rank) for end in ENDS)

    def promise(self, what: str, d: int, value: ExprLike) -> None:
        """Promise that an end of the box is `value`; an undefined `Expr()` takes a promise back.

        Taken back, the stride of dimension 0 may be any in compiled files too.

        Raises `TypeMismatch`, `AlgorithmError`.
        """
        held = as_expr(value)
        if self._later and what != "stride":
            raise ScheduleError(
                f"Can't constrain the {what} of an output buffer beyond the first of {self.name()}. They are "
                "implicitly constrained to have the same min and extent as the first output buffer: constrain that"
            )
        if (what, d) == ("stride", 0):
            self._any_stride = not held.defined()
        if not held.defined():
            self.promises = {end: kept for end, kept in self.promises.items() if end != (what, d)}
            return
        if not held.node.type.is_int:
            raise TypeMismatch(f"the {what} of {self.name()} is an integer, not {held} of {held.node.type}")
        known_on_entry(held, f"the {what} of {self.name()}")
        self.promises = {**self.promises, (what, d): converted(I32, self._possible(what, held))}

    def _possible(self, what: str, held: Expr) -> Expr:
        number = held.node.value if isinstance(held.node, ir.Const) else 0
        if not (0 if what == "extent" else I32.min) <= number <= I32.max:
            least = "0 or more" if what == "extent" else f"{I32.min} or more"
            raise BufferError(f"the {what} of {self.name()} is not {number}: it is {least}, and at most {I32.max}")
        return held

    def is_dense(self) -> bool:
        """Whether the stride of dimension 0 is 1: it is, where it was neither promised otherwise nor left open."""
        stride = self.promises.get(("stride", 0))
        return stride.node == ir.Const(I32, 1) if stride is not None else not self._any_stride

    def requirements(self) -> tuple[Requirement, ...]:
        """What is checked on entry."""
        found = []
        for (what, d), value in self.promises.items():
            actual, wanted = self.bound(what, d).node, value.node
            if what == "stride":  # in i64, as indices are: what i32 holds of it may be another
                actual, wanted = ir.Var(I64, f"{self.stride_name()}.stride.{d}"), ir.cast(I64, wanted)
            message = f"{self._described()[3]} {self.name()} has {what} {{}} in dimension {d}, where {{}} was promised"
            found.append(Requirement(ir.apply("==", actual, wanted), message, (actual, wanted)))
        if self.alignment is not None:
            found.append(self._aligned(self.alignment))
        return tuple(found)

    def _aligned(self, bytes: int) -> Requirement:
        past = ir.apply("%", ir.Var(I64, self.stride_name() + ADDRESS), ir.Const(I64, bytes))
        message = (
            f"The host pointer of {self.name()} is not aligned to a {bytes} bytes boundary: it is {{}} bytes past one; "
            "copy the array to such a place, or promise less by set_host_alignment"
        )
        return Requirement(ir.apply("==", past, ir.Const(I64, 0)), message, (past,))

    def references(self) -> Uses:
        """What its promises refer to."""
        return {name: used for value in self.promises.values() for name, used in value.uses.items()}

    def estimate(self, what: str, d: int, value: ExprLike) -> None:
        """Say what `min` or `extent` of dimension `d` will be like. Raises `AlgorithmError` for what is no number."""
        self.estimates = {**self.estimates, (what, d): estimated(f"the {what} of {self.name()}", as_expr(value))}

    def set_estimates(self, estimates: Sequence[Any]) -> Self:
        """Say what the box will be like: a (min, extent) or `Range` each dimension. Raises `AlgorithmError`."""
        given = end_pairs(f"set_estimates of {self.name()}", estimates)
        if len(given) != self.dimensions():
            raise AlgorithmError(f"set_estimates of {self.name()}: one (min, extent) a dimension is needed")
        for d, (low, extent) in enumerate(given):
            self.dim(d).set_estimate(low, extent)
        return self

    def set_host_alignment(self, alignment: int) -> Self:
        """Promise that arrays begin at addresses that are multiples of so many bytes: checked on entry, no more.

        Raises `BufferError` for what is no number of bytes.
        """
        count = integer(alignment, "set_host_alignment of {}: the alignment", self.name())
        if not 1 <= count <= I32.max:
            raise BufferError(
                f"set_host_alignment({count}) of {self.name()}: an alignment is a number of bytes from 1 to {I32.max}"
            )
        self.alignment = count
        return self

    def host_alignment(self) -> int:
        """The alignment that was said, or that of an element, in bytes."""
        return self.alignment or self.type().bytes()

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
