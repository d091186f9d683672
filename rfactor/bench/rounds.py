"""Times of calls that take turns, so that a busy moment of the machine hits all of them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

_WARM = 6
"""As many calls say how long one takes."""
_WARM_MS = 100.0
"""Or as many as take so long."""


@dataclass(frozen=True, slots=True)
class Time:
    """Milliseconds of one call over all rounds."""

    least: float
    median: float


def in_turn(calls: Sequence[Callable[[], object]], trials: int, batch_ms: float = 0.0) -> list[Time]:
    """Each call's time over `trials` rounds after one that does not count; in a round each call runs once.

    The order is another in each round: what ran before leaves threads awake or asleep, and caches full of its data.
    With `batch_ms`, a call that is shorter runs as often in a row as takes about so long, and the mean counts. How
    often is told by the least of several: had one of two run but once in its turn, it alone would wake its threads.
    """
    number = [1] * len(calls)
    taken: list[list[float]] = [[] for _ in calls]
    for trial in range(trials + 1):
        order = list(range(len(calls)))
        Random(trial).shuffle(order)
        for i in order:
            ms = _run(calls[i], number[i])
            if trial:
                taken[i].append(ms)
            elif batch_ms > 0.0:
                number[i] = max(1, round(batch_ms / max(_warm(calls[i]), 1e-4)))
    return [Time(min(one), median(one)) for one in taken]


def sleep_soon() -> None:
    """Have a libgomp that is loaded later put idle threads to sleep after some microseconds, unless the user says how.

    By default they spin for milliseconds, on processors that who comes next is timed on.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _warm(call: Callable[[], object]) -> float:
    """The least of some calls in milliseconds, of few where they are long: the first may compile or wake threads."""
    least, left = math.inf, _WARM_MS
    for _ in range(_WARM):
        taken = _run(call, 1)
        least, left = min(least, taken), left - taken
        if left < 0.0:
            break
    return least


def _run(call: Callable[[], object], number: int) -> float:
    """The mean of `number` calls in milliseconds."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) * 1e3 / number
