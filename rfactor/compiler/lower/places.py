"""Intervals at the places of a walk over a nest, each of which knows what was found around it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rfactor.compiler.lower.interval import Intervals
from rfactor.compiler.lower.scope import Scope, alike, within
from rfactor.compiler.lower.sums import Sums


@dataclass(slots=True)
class _Place:
    """What is known at one place of the walk."""

    scope: Scope
    around: _Place | None
    """The innermost one of which everything is known here, and no other condition."""
    intervals: dict[int, Intervals] = field(default_factory=dict)
    """By level."""

    def at(self, level: int, sums: Sums) -> Intervals:
        """Intervals here as seen from inside `level` loops; those of one level share what they know."""
        if level not in self.intervals:
            place = self.around
            while place is not None and level not in place.intervals:
                place = place.around
            around = None if place is None else place.intervals[level]
            self.intervals[level] = Intervals(self.scope, level, None if level else sums, around)
        return self.intervals[level]


class Places:
    """The place where a walk is, and those around it."""

    def __init__(self, sums: Sums) -> None:
        """`sums` is extended with the ends of the sums of coordinates, as seen from outside all loops."""
        self._sums = sums
        self._places: list[_Place] = []
        """Outermost first."""

    def at(self, scope: Scope, level: int) -> Intervals:
        """Intervals where `scope` is known, as seen from inside `level` loops."""
        while self._places and not within(scope, self._places[-1].scope):
            self._places.pop()
        if not self._places or self._places[-1].scope is not scope:
            around = self._places[-1] if self._places and alike(scope, self._places[-1].scope) else None
            self._places.append(_Place(scope, around))
        return self._places[-1].at(level, self._sums)
