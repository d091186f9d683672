"""Time folds beside Numba's serial loops and plain Python: `python -m benchmarks.folds`.

Each loop is called in turn as a fold and as Numba's, in one run, and the least time of several calls is told. Plain
Python runs 100,000 elements, and its time is scaled. What is written to is made anew for each call, untimed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import rfactor as rf
from benchmarks.fold_loops import LOOPS, Loop, agree, arguments, own
from rfactor.loops.run import threads

SMALL = 100_000
"""Elements that plain Python is timed on."""


@dataclass
class Timed:
    """Hold the times of a loop, in milliseconds for so many elements as were asked for."""

    name: str
    python: float
    numba: float | None
    fold: float
    first: float
    """Of the first call of the fold: reading, proving, compiling, running."""
    how: str

    @property
    def ratio(self) -> float | None:
        """Give Numba's time as so many times the fold's."""
        return None if self.numba is None else self.numba / self.fold


def _least(call: Callable[..., Any], args: tuple[Any, ...], best: float) -> float:
    given = own(args)
    start = time.perf_counter()
    call(*given)
    return min(best, (time.perf_counter() - start) * 1e3)


def timed(loop: Loop, size: int, rounds: int) -> Timed:
    """Time one loop, and check that all three give the same."""
    import numba

    few = arguments(loop, SMALL)
    python = _least(loop.function, few, math.inf) * size / SMALL
    args = arguments(loop, size)
    fold = rf.fold(loop.function)
    given = own(args)
    start = time.perf_counter()
    result = fold(*given)
    first = (time.perf_counter() - start) * 1e3
    if not agree(fold(*own(few)), loop.function(*own(few)), loop.approx):
        raise SystemExit(f"{loop.function.__name__}: the fold is wrong")
    compiled: Any = numba.njit(loop.function)
    try:
        if not agree(compiled(*own(args)), result, loop.approx):
            raise SystemExit(f"{loop.function.__name__}: the fold and Numba differ")
    except numba.core.errors.NumbaError:
        compiled = None
    folded = beside = math.inf
    for _ in range(rounds):
        folded = _least(fold, args, folded)
        if compiled is not None:
            beside = _least(compiled, args, beside)
    how = fold.outcomes.get(0, "Python")
    return Timed(loop.function.__name__, python, None if compiled is None else beside, folded, first, how)


def geomean(values: list[float]) -> float:
    """Give the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def machine() -> str:
    """Say on what it was measured."""
    import numba

    return f"{platform.machine()}, {threads()} threads, Python {platform.python_version()}, Numba {numba.__version__}"


def measured(size: int, rounds: int, tell: Callable[[str], None] = lambda text: None) -> list[Timed]:
    """Time all loops."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for loop in LOOPS:
            row = timed(loop, size, rounds)
            found.append(row)
            tell(_line(row))
    return found


def _line(t: Timed) -> str:
    numba = f"{t.numba:9.2f} {t.ratio:6.2f}x" if t.numba is not None else f"{'-':>9} {'-':>7}"
    return f"{t.name:22} {t.fold:9.2f} {numba} {t.python:10.0f} {t.python / t.fold:8.0f}x {t.first:9.0f}  {t.how}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000_000, help="elements")
    parser.add_argument("--rounds", type=int, default=5, help="calls, of which the fastest counts")
    parser.add_argument("--json", type=Path, help="also write the times to a file")
    options = parser.parse_args()
    os.environ.setdefault("RFACTOR_CACHE", "0")  # the first call is to be one
    print(machine())
    print(f"{'milliseconds':22} {'fold':>9} {'Numba':>9} {'ratio':>7} {'Python':>10} {'ratio':>9} {'first':>9}")
    found = measured(options.size, options.rounds, lambda text: print(text, flush=True))
    ratios = [t.ratio for t in found if t.ratio is not None]
    print(f"beside Numba: geometric mean {geomean(ratios):.2f}x of {len(ratios)}, least {min(ratios):.2f}x")
    print(f"beside Python: geometric mean {geomean([t.python / t.fold for t in found]):.0f}x")
    firsts = sorted(t.first for t in found)
    print(f"first call: median {firsts[len(firsts) // 2]:.0f} ms, longest {firsts[-1]:.0f} ms")
    if options.json:
        options.json.write_text(json.dumps([asdict(t) for t in found], indent=1))


if __name__ == "__main__":
    main()
