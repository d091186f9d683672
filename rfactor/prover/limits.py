"""How much work a proof may take: deterministic resources, and a clock where someone is waiting.

Resources are counted, so that answers are the same on a busy machine; the clock is the user's alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

SETUP = 10_000
"""Resource units that are counted for a query beside what the solver takes: about a millisecond."""
SPLIT = 1_000
"""Resource units that are counted for a split into cases."""

MEMORY = 4000
"""Megabytes that the solver may take in a process; a query that would take more is unknown."""
PATIENCE = 300.0
"""Seconds after which a query that only resources bound is given up: the solver hangs."""


@dataclass(slots=True, eq=False)
class Purse:
    """Resource units that a whole run of queries may take."""

    left: int

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one proof. With `seconds` and `until` None the bound is deterministic."""

    rlimit: int = 20_000_000
    """Z3's resource units for one query; about ten million a second."""
    seconds: float | None = None
    """Wall-clock seconds for one query."""
    until: float | None = None
    """A `time.monotonic()` value after which nothing more is begun."""
    cases: int = 4000
    """Branches that one proof by cases may visit."""
    purse: Purse | None = None
    """What all queries together may take; None where that is not bounded."""

    def starting_now(self) -> Limits:
        """These limits with `seconds` turned into a point in time: the budget of a whole run of queries. A point that
        is there already stays: parts of a run have no more time than the whole."""
        if self.seconds is None or self.until is not None:
            return self
        return replace(self, until=time.monotonic() + self.seconds)

    def with_purse(self, units: int) -> Limits:
        """These limits, and so many resource units for a whole run of queries."""
        return replace(self, purse=Purse(units))

    def spend(self, units: int) -> None:
        """Count resource units towards those of the whole run."""
        if self.purse is not None:
            self.purse.left -= units

    @property
    def expired(self) -> bool:
        """Whether the point in time has passed, or nothing is left for the whole run."""
        if self.purse is not None and self.purse.empty:
            return True
        return self.until is not None and time.monotonic() >= self.until

    def remaining(self) -> float | None:
        """Seconds left for the next query, at least 0; None where only resources count."""
        if self.until is None:
            return self.seconds
        left = max(0.0, self.until - time.monotonic())
        return left if self.seconds is None else min(left, self.seconds)

    def at_most(self, rlimit: int | None = None, cases: int | None = None) -> Limits:
        """These limits, none larger than the ones given."""
        return replace(
            self,
            rlimit=self.rlimit if rlimit is None else min(self.rlimit, rlimit),
            cases=self.cases if cases is None else min(self.cases, cases),
        )


DEFAULT = Limits()
