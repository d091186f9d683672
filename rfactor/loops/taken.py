"""Keep what a call did with a loop, for `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rfactor.loops.plan import Plan
    from rfactor.loops.run import Outcome


@dataclass
class Taken:
    """Hold what the latest call did with a loop."""

    plan: Plan
    dims: tuple[int, ...]
    """Numbers of steps of the loop and of those inside of it that are taken with it."""
    steps: int = 0
    """Steps that compiled code took; the rest was Python's."""
    how: str = ""
    """The schedule; empty where Python took all steps."""
    seconds: float = 0.0
    """Time for data, guards, choice and the compiled steps, and for compiling where this was the first call."""

    def ended(self, outcome: Outcome | None, seconds: float) -> None:
        """Note how it went."""
        self.seconds = seconds
        if outcome is not None:
            self.steps, self.how = outcome.steps, outcome.how
