"""The programs in examples/, plain and scheduled, beside the same programs in Halide: ratios of one run.

python -m benchmarks.examples [--trials N] [NAME …]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from math import exp, log

import numpy as np

from rfactor.bench.rounds import in_turn
from tests.examples.programs import PROGRAMS, inputs, load

ROWS, COLUMNS = 1024, 1536
MATRIX = 512, 512


def main() -> None:
    """Print one line a program; times are milliseconds, the least of all trials, in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=15)
    parser.add_argument("names", nargs="*", default=PROGRAMS)
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in PROGRAMS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(PROGRAMS)}")
    warnings.simplefilter("ignore")
    print(f"{'':16}{'compile':>9}{'Halide':>8}{'plain':>9}{'Halide':>9}{'scheduled':>11}{'Halide':>9}{'ratio':>7}")
    ratios = []
    for name in given.names:
        arrays = inputs(name, *(MATRIX if name == "matrix_product" else (ROWS, COLUMNS)))
        calls: list[Callable[[], object]] = []
        compiled: list[float] = []
        for scheduled in (False, True):
            for language in ("rfactor", "halide"):
                function, sizes = load(name, language)["build"](*arrays, scheduled=scheduled)
                start = time.process_time()
                function.compile_jit()
                compiled.append((time.process_time() - start) * 1e3)
                calls.append(into(function, function.realize(sizes)))
        plain, halide_plain, ours, halide_s = (one.least for one in in_turn(calls, given.trials))
        ratios.append(ours / halide_s)
        times = f"{plain:9.2f}{halide_plain:9.2f}{ours:11.2f}{halide_s:9.2f}{ratios[-1]:7.2f}"
        print(f"{name:16}{compiled[2]:9.0f}{compiled[3]:8.0f}{times}")
    print(f"geometric mean of the ratios: {exp(np.mean([log(ratio) for ratio in ratios])):.2f}")


def into(function: object, array: object) -> Callable[[], object]:
    """Compute into an array that is there."""
    return lambda: function.realize(array)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
