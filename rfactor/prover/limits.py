"""How much work a proof may take: deterministic solver resources, and a clock where someone is waiting."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace


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

    def starting_now(self) -> Limits:
        """These limits with `seconds` turned into a point in time: the budget of a whole run of queries."""
        if self.seconds is None:
            return self
        return replace(self, until=time.monotonic() + self.seconds)

    @property
    def expired(self) -> bool:
        """Whether the point in time has passed."""
        return self.until is not None and time.monotonic() >= self.until

    def remaining(self) -> float | None:
        """Seconds left for the next query, at least 0; None where only resources count."""
        if self.until is None:
            return self.seconds
        left = max(0.0, self.until - time.monotonic())
        return left if self.seconds is None else min(left, self.seconds)

    def at_most(self, rlimit: int | None = None, seconds: float | None = None, cases: int | None = None) -> Limits:
        """These limits, none larger than the ones given."""
        return replace(
            self,
            rlimit=self.rlimit if rlimit is None else min(self.rlimit, rlimit),
            seconds=self.seconds if seconds is None else min(seconds, self.seconds or seconds),
            cases=self.cases if cases is None else min(self.cases, cases),
        )


DEFAULT = Limits()
