"""`LoopLevel`: a place for `compute_at` and its like, named once and used several times."""

from __future__ import annotations

from typing import Any

from rfactor.compiler.language.placement import loop_level
from rfactor.compiler.language.public import integer, public
from rfactor.compiler.schedule import directives
from rfactor.compiler.schedule.directives import INLINED, ROOT, UNDEFINED
from rfactor.errors import ScheduleError


@public
class LoopLevel:
    """A loop of a function, `LoopLevel(f, x)`; the root of the pipeline; or nowhere, that is inline.

    `LoopLevel()` is none yet: it is set before anything is computed by it.
    """

    def __init__(self, func: Any = None, var: Any = None, stage_index: int = -1) -> None:
        """`stage_index` says whose loop is meant, for a reader: the loop around all uses is taken."""
        self._stage_index = integer(stage_index, "stage_index")
        self.level: directives.LoopLevel = UNDEFINED if func is None else loop_level(func, var, "LoopLevel")

    @classmethod
    def root(cls) -> LoopLevel:
        """Outside all loops."""
        made = cls()
        made.level = ROOT
        return made

    @classmethod
    def inlined(cls) -> LoopLevel:
        """Nowhere: calls are replaced by values."""
        made = cls()
        made.level = INLINED
        return made

    def set(self, other: LoopLevel) -> None:
        """Mean what `other` means now, for all functions that were placed by this level."""
        if not isinstance(other, LoopLevel):
            raise ScheduleError(f"LoopLevel.set takes another LoopLevel, not {other!r}")
        self.level, self._stage_index = other.level, other._stage_index

    def __repr__(self) -> str:
        return "<halide.LoopLevel>"

    def stage_index(self) -> int:
        """The stage of the function that was named, -1 where none was."""
        return self._stage_index
