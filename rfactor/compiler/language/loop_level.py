"""`LoopLevel`: a place for `compute_at` and its like, named once and used several times."""

from __future__ import annotations

from typing import Any

from rfactor.compiler.language.placement import loop_level
from rfactor.compiler.schedule import directives
from rfactor.compiler.schedule.directives import INLINED, ROOT


class LoopLevel:
    """A loop of a function, `LoopLevel(f, x)`; the root of the pipeline; or nowhere, that is inline."""

    def __init__(self, func: Any = None, variable: Any = None) -> None:
        self.level: directives.LoopLevel = INLINED if func is None else loop_level(func, variable, "LoopLevel")

    @classmethod
    def root(cls) -> LoopLevel:
        """Outside all loops."""
        made = cls()
        made.level = ROOT
        return made

    @classmethod
    def inlined(cls) -> LoopLevel:
        """Nowhere: calls are replaced by values."""
        return cls()

    def set(self, other: LoopLevel) -> None:
        """Halide's late binding of a level."""
        raise NotImplementedError("LoopLevel.set is not there yet: give compute_at the level itself")
