"""Time against size, on one thread and on several: where lanes pay, and where threads do.

Every number of threads has a process of its own: Halide, Numba, OpenMP and BLAS are told theirs when they start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import rfactor
from rfactor.bench.compare import AUTO, OURS, SERIAL, own
from rfactor.bench.peers import PEERS
from rfactor.bench.rounds import in_turn
from rfactor.bench.schedules import copies_alone, lanes_alone
from rfactor.bench.table1 import KEYS, Case, case
from rfactor.compiler.runtime.threads import thread_count

LEAST, MOST, STEP = 1 << 8, 1 << 28, 4
OCTETS = 1 << 30
"""Bytes of the arrays of one reduction, at most."""
LANES = "rfactor, one core"
"""Vector lanes (or copies of the histogram) on one core: what to take below the size where threads pay."""
BATCH_MS = 0.3
THREADS = ("RFACTOR_NUM_THREADS", "HL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ARRAYS = {"maximum": 4, "dot": 8, "complex": 8, "histogram": 1, "argmin": 1, "sink": 4}
"""Bytes that a reduction reads for an element."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One contender on some threads: milliseconds, the least, by elements."""

    reduction: str
    name: str
    threads: int
    points: dict[int, float]


@dataclass(frozen=True, slots=True)
class Scaling:
    """All curves of a run."""

    curves: tuple[Curve, ...]

    def of(self, reduction: str, name: str, threads: int) -> dict[int, float]:
        """The points of one curve; none where it did not run."""
        for curve in self.curves:
            if (curve.reduction, curve.name, curve.threads) == (reduction, name, threads):
                return curve.points
        return {}

    def crossover(self, reduction: str) -> int | None:
        """The least size from which on the factored program on all threads is faster than every own one on one core."""
        most = max(curve.threads for curve in self.curves)
        parallel = self.of(reduction, OURS, most)
        alone = [self.of(reduction, name, most) for name in (SERIAL, LANES)]
        found = None
        for size in sorted(parallel, reverse=True):
            if parallel[size] > min(points[size] for points in alone if size in points):
                break
            found = size
        return found

    def lines(self) -> Iterator[str]:
        """For people: nanoseconds an element at each size, and where threads begin to pay."""
        for reduction in dict.fromkeys(curve.reduction for curve in self.curves):
            its = [curve for curve in self.curves if curve.reduction == reduction]
            sizes = sorted({size for curve in its for size in curve.points})
            yield f"{reduction}: nanoseconds an element"
            yield f"{'elements':>32}" + "".join(f"{f'2^{size.bit_length() - 1}':>9}" for size in sizes)
            for curve in its:
                told = (curve.points.get(size) for size in sizes)
                shown = ("-" if ms is None else f"{ms * 1e6 / size:.3g}" for ms, size in zip(told, sizes, strict=True))
                name = f"{curve.name}, {curve.threads} thread{'s' * (curve.threads > 1)}"
                yield f"{name:>32}" + "".join(f"{one:>9}" for one in shown)
            at = self.crossover(reduction)
            yield f"threads pay from {f'2^{at.bit_length() - 1} elements on' if at else 'no size on that was tried'}"
            yield ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: sizes are strings there."""
        reductions = dict.fromkeys(curve.reduction for curve in self.curves)
        return {
            "curves": [
                {
                    "reduction": c.reduction, "name": c.name, "threads": c.threads,
                    "ms": {str(size): ms for size, ms in c.points.items()},
                }
                for c in self.curves
            ],
            "crossover": {reduction: self.crossover(reduction) for reduction in reductions},
        }  # fmt: skip


def scale(
    most: int | None = None,
    trials: int = 5,
    peers: Sequence[str] = tuple(PEERS),
    reductions: Sequence[str] = KEYS,
    *,
    told: Callable[[str], None] = lambda what: None,
) -> Scaling:
    """Sizes from 2^8 in steps of 4 up to `most` (2^28), as far as arrays stay below 2 GiB; 1 thread and all."""
    sizes, size = [], LEAST
    while size <= (most or MOST):
        sizes.append(size)
        size *= STEP
    found: list[Curve] = []
    for threads in dict.fromkeys((1, thread_count())):
        told(f"{len(sizes)} sizes on {threads} thread{'s' * (threads > 1)}")
        environment = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
        asked = json.dumps([sizes, trials, list(peers), list(reductions), threads == thread_count()])
        done = subprocess.run(
            [sys.executable, "-m", __name__, asked], env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        for reduction, name, points in json.loads(done.stdout):
            found.append(Curve(reduction, name, threads, {int(size): ms for size, ms in points.items()}))
    return Scaling(tuple(found))


def _here(
    sizes: Sequence[int], trials: int, peers: Sequence[str], reductions: Sequence[str], own_alone: bool
) -> list[tuple[str, str, dict[int, float]]]:
    """The curves of this process: reduction, name, points."""
    from rfactor.bench.compare import present

    versions, _ = present(peers)
    found: dict[tuple[str, str], dict[int, float]] = {}
    for size in sizes:
        for key in reductions:
            if size * ARRAYS[key] <= OCTETS:
                names, calls = _field(case(key, size), tuple(versions), own_alone)
                for name, time in zip(names, in_turn(calls, trials, BATCH_MS), strict=True):
                    found.setdefault((key, name), {})[size] = time.least
    return [(reduction, name, points) for (reduction, name), points in found.items()]


def _field(case: Case, peers: Sequence[str], own_alone: bool) -> tuple[list[str], list[Callable[[], object]]]:
    """Names and calls; what needs no threads of ours is among them with `own_alone`."""
    program = case.program()
    lanes = min(program.lanes, 1 << (case.arrays[0].shape[-1].bit_length() - 1))
    alone = copies_alone(rfactor, 4) if case.key == "histogram" else lanes_alone(rfactor, lanes)
    mine = [(SERIAL, None), (LANES, alone)] if own_alone else []
    contenders = []
    for name, schedule in (*mine, (OURS, program.schedule), (AUTO, None)):
        function, domain = program.algorithm()
        if name == AUTO:
            function.update(0).auto_rfactor()
        if schedule is not None:
            schedule(function, domain)
        contenders.append(own(name, function, program))
    contenders += [one for peer in peers for one in PEERS[peer].contenders(case) if "serial" not in one.name]
    return [one.name for one in contenders], [one.run for one in contenders]


if __name__ == "__main__":
    print(json.dumps(_here(*json.loads(sys.argv[1]))))
