"""Time against size, on one thread and on several: where lanes pay, and where threads do.

Every number of threads has a process of its own: Halide, Numba, OpenMP and BLAS are told theirs when they start.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import rfactor
from rfactor.bench.compare import OURS, SERIAL, own
from rfactor.bench.peers import PEERS
from rfactor.bench.schedules import copies_alone, lanes_alone
from rfactor.bench.table1 import case

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
        width = case.arrays[0].shape[-1]

    lanes = min(64, 1 << (width.bit_length() - 1))
    alone = copies_alone(rfactor, 4) if case.key == "histogram" else lanes_alone(rfactor, lanes)
    mine = [(SERIAL, None), (LANES, alone)] if own_alone else []
    contenders = []
    for name, schedule in (*mine, (OURS, program.schedule)):
        function, domain = program.algorithm()
        if schedule is not None:
            schedule(function, domain)
        contenders.append(own(name, function, program))
    contenders += [one for peer in peers for one in PEERS[peer].contenders(case) if "serial" not in one.name]
    return [one.name for one in contenders], [one.run for one in contenders]


if __name__ == "__main__":
    print(json.dumps(_here(*json.loads(sys.argv[1]))))
