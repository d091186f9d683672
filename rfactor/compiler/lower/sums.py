"""The sums of coordinates, which i32 must hold, and what they are computed for."""

from __future__ import annotations

from dataclasses import dataclass, field

from rfactor.compiler.lower.ends import Interval
from rfactor.ir.expr import Expr
from rfactor.ir.printer import brief


@dataclass(frozen=True, slots=True)
class Computed:
    """What coordinates are computed for."""

    what: str
    expr: Expr | None = None
    """The index or condition that they are in."""

    def __str__(self) -> str:
        return self.what if self.expr is None else f"{self.what} {brief(self.expr)}"


@dataclass(slots=True)
class Sums:
    """Least and greatest values of sums, in the order in which they are met."""

    here: Computed = field(default_factory=lambda: Computed("this pipeline"))
    """What those are computed for that are met now."""
    found: dict[Interval, Computed] = field(default_factory=dict)
    """What each was first met for."""

    def keep(self, ends: Interval) -> None:
        """Note that i32 must hold sums from the one end to the other."""
        self.found.setdefault(ends, self.here)
