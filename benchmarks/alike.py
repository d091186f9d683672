"""The six of Table 1, or the pipelines of `benchmarks.directives` and `benchmarks.applications`, and Halide's programs
for them under one schedule, where the code counts and not memory.

python -m benchmarks.alike [NAME …] [--bits 16 20] [--trials N]      HL_NUM_THREADS=1: one thread for both
python -m benchmarks.alike --directives [NAME …] [--trials N]        names may be cut short: blur

Arrays of some sizes fit into caches; both compute over the same arrays (pipelines into one, too: where an array lies in
memory decides up to half of a time) and take turns, and a call that is short runs many times in a row. Shown are
microseconds a call, the least and the median, and Halide's time by ours. A call alone takes 1 to 2.5 of them: what the
code takes is how much longer a call over more elements is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor
from benchmarks.applications import APPLICATIONS
from benchmarks.directives import PIPELINES, Pipeline
from rfactor.bench.compare import judged
from rfactor.bench.contender import Contender
from rfactor.bench.rounds import Time, in_turn
from rfactor.bench.schedules import Schedule, chunks_and_lanes, slabs_and_lanes, strips_and_copies
from rfactor.bench.table1 import CHUNK, KEYS, Case, case
from rfactor.compiler.runtime.threads import thread_count

BITS = (14, 16, 17, 20, 24)
TRIALS = 25
SCHEDULED = {**PIPELINES, **APPLICATIONS}
BATCH_MS = 0.5


def main() -> None:
    """Print a line for each reduction and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--bits", type=int, nargs="+", default=BITS)
    parser.add_argument("--directives", action="store_true", help="other pipelines")
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(KEYS)}")
    given = parser.parse_args()
    known = list(SCHEDULED if given.directives else KEYS)
    short = given.directives
    unknown = [n for n in given.names if n not in known and not (short and any(k.startswith(n) for k in known))]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(known)}")
    print(f"threads: {thread_count()}")
    first = "pipeline" if given.directives else f"{'reduction':12}{'elements':>12}"
    print(f"{first:24}{'rfactor':>11}{'Halide':>11}{'ratio':>7}{'medians':>11}{'':>11}{'ratio':>7}")
    if given.directives:
        for name, pipeline in SCHEDULED.items():
            if not given.names or name.startswith(tuple(given.names)):
                built(name, pipeline, given.trials)
        return
    for key in given.names or KEYS:
        for bits in given.bits:
            compared(case(key, 1 << bits), given.trials)


def compared(timed: Case, trials: int) -> None:
    """Time one reduction in both."""
    import halide

    ours, own = call(timed, rfactor, lambda array: array)
    theirs, other = call(timed, halide, halide.Buffer)
    times = in_turn([ours, theirs], trials, BATCH_MS)
    said = judged(Contender("Halide", theirs, partial(tuple, other), any_tie=True), own, timed)
    shown(f"{timed.key:12}{timed.arrays[0].size:12}", times, said)


def built(name: str, pipeline: Pipeline, trials: int) -> None:
    """Time one pipeline in both."""
    import halide

    images, (dtype, shape) = pipeline.images(), pipeline.output
    output = np.zeros(shape, dtype)
    ours = pipeline.build(rfactor, *map(rfactor.Buffer, images))
    theirs = pipeline.build(halide, *map(halide.Buffer, images))
    calls = [partial(ours.realize, output), partial(theirs.realize, halide.Buffer(output))]
    own, other = (computed(call, output) for call in calls)
    times = in_turn(calls, trials, BATCH_MS)
    same = np.allclose(own, other, rtol=1e-4) if own.dtype.kind == "f" else np.array_equal(own, other)
    shown(f"{name:24}", times, "equal" if same else "ANOTHER RESULT")


def computed(call: Callable[[], object], output: NDArray[Any]) -> NDArray[Any]:
    """What `call` leaves in `output`."""
    output.fill(0)
    call()
    return output.copy()


def shown(name: str, times: list[Time], said: str) -> None:
    """Print a line: times of ours, then of Halide's."""
    a, b = times
    print(
        f"{name}{a.least * 1e3:11.2f}{b.least * 1e3:11.2f}{b.least / a.least:7.2f}"
        f"{a.median * 1e3:11.2f}{b.median * 1e3:11.2f}{b.median / a.median:7.2f}  {said}",
        flush=True,
    )


def call(timed: Case, hl: Any, wrapped: Callable[[Any], Any]) -> tuple[Callable[[], object], tuple[Any, ...]]:
    """The scheduled program, computing into arrays that are there; and those."""
    program = timed.program(hl, last=True)
    f, r = program.algorithm()
    schedule(timed, hl)(f, r)
    arrays = program.outputs()
    buffers: Any = [wrapped(array) for array in arrays]
    return partial(f.realize, buffers[0] if len(buffers) == 1 else buffers), arrays


def schedule(timed: Case, hl: Any) -> Schedule:
    """That of Table 1, with tasks for two threads where the arrays are small."""
    shape = timed.arrays[0].shape
    if timed.key == "histogram":
        return strips_and_copies(hl, max(1, shape[0] // 16), 4, 8)
    if timed.key == "argmin":
        return slabs_and_lanes(hl, max(1, shape[0] // 16), min(64, 1 << (shape[0].bit_length() - 1)))
    return chunks_and_lanes(hl, min(CHUNK, shape[0] // 2), timed.program().lanes)


if __name__ == "__main__":
    main()
