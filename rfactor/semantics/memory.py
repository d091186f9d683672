"""The memory of an interpreted loop nest: cells that know what was done to them, by which iterations.

After *Formal Semantics for the Halide Language* (2020), section 5.2, where accesses outside of a buffer are memory
errors. Besides those, this refuses reads of what nothing was written to, reads of a folded cell that holds another
point by now, and two iterations of a loop that runs at once that access one cell, unless both only read or both
update it as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rfactor.errors import Error
from rfactor.ir.expr import Value

Point = tuple[int, ...]
Iterations = tuple[tuple[int, int], ...]
"""Which iteration of each loop that runs at once this is, outermost first: the number of the execution of the loop, and
that of the iteration."""


class Fault(Error):
    """What no correct nest does: an access outside of storage, a read of nothing, a race."""


@dataclass(slots=True)
class Access:
    """Who is at work: which iterations, and whether it updates a point as one."""

    path: Iterations = ()
    atomic: bool = False


def _at_once(a: Iterations, b: Iterations) -> bool:
    """Whether nothing orders two accesses: they are in two iterations of one execution of a loop that runs at once."""
    for one, other in zip(a, b, strict=False):
        if one != other:
            return one[0] == other[0]
    return False


@dataclass(slots=True)
class Cells:
    """The storage of a function or a buffer. Cells are points, or places in a flat buffer `(index,)`."""

    name: str
    holds: Callable[[Point], bool]
    """Whether a point is within it."""
    folds: tuple[int | None, ...] = ()
    unwritten: Value | None = None
    """What is read where nothing was written; None where that is a fault."""
    values: dict[Point, tuple[Value, ...]] = field(default_factory=dict)
    points: dict[Point, Point] = field(default_factory=dict)
    """Of folded storage: the point that a cell holds."""
    writers: dict[Point, Access] = field(default_factory=dict)
    readers: dict[Point, list[Access]] = field(default_factory=dict)

    def _cell(self, point: Point, what: str) -> Point:
        if not self.holds(point):
            raise Fault(f"{self.name} is {what} at {point}, outside of its storage")
        if not any(self.folds):
            return point
        return tuple(p if fold is None else p % fold for p, fold in zip(point, self.folds, strict=True))

    def read(self, point: Point, access: Access) -> tuple[Value, ...]:
        """The value at a point. Raises `Fault`."""
        cell = self._cell(point, "read")
        values = self.values.get(cell)
        if values is None:
            if self.unwritten is None:
                raise Fault(f"{self.name} is read at {point}, where nothing was written")
            return (self.unwritten,)
        held = self.points.get(cell, point)
        if held != point:
            raise Fault(f"{self.name} is read at {point}, where its folded storage holds {held}")
        if access.path:
            self._against(self.writers.get(cell), access, point)
            known = self.readers.setdefault(cell, [])
            if all(other.path != access.path or other.atomic != access.atomic for other in known):
                known.append(Access(access.path, access.atomic))
        return values

    def keeping(self, point: Point, values: tuple[Value, ...], keeps: tuple[bool, ...]) -> tuple[Value, ...]:
        """`values` with those that are there by now in the components that are kept."""
        if not any(keeps):
            return values
        held = self.values[self._cell(point, "written")]
        return tuple(old if stay else new for old, new, stay in zip(held, values, keeps, strict=True))

    def write(self, point: Point, values: tuple[Value, ...], access: Access) -> None:
        """Put a value at a point. Raises `Fault`."""
        cell = self._cell(point, "written")
        if access.path:
            self._against(self.writers.get(cell), access, point)
            for reader in self.readers.pop(cell, ()):
                self._against(reader, access, point)
            self.writers[cell] = Access(access.path, access.atomic)
        elif self.writers or self.readers:
            self.writers.pop(cell, None)
            self.readers.pop(cell, None)
        self.values[cell] = values
        if self.folds:
            self.points[cell] = point

    def _against(self, other: Access | None, access: Access, point: Point) -> None:
        if other is not None and not (other.atomic and access.atomic) and _at_once(other.path, access.path):
            raise Fault(f"{self.name} is accessed at {point} by two iterations that run at once, one of which writes")


def boxed(box: tuple[tuple[int, int], ...]) -> Callable[[Point], bool]:
    """Whether a point is within a box of (min, extent) pairs."""
    return lambda point: all(low <= p < low + extent for p, (low, extent) in zip(point, box, strict=True))


def dense_strides(extents: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a dense array, dimension 0 innermost."""
    strides, step = [], 1
    for extent in extents:
        strides.append(step)
        step *= max(extent, 1)
    return tuple(strides)


Memory = Mapping[str, Cells]
