"""Folds in engines against what the engine takes by itself: `python -m benchmarks.folds_engines`.

Ratios of the least times of one run: Dask, against `(x + k).sum()` over the same chunks; Parquet, against reading the
column alone; states that merge, against one call.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rfactor


@rfactor.fold
def best_stretch(gains: Any) -> Any:
    """Find the run of elements with the greatest sum: the sum, where it begins, where it ends."""
    cur = best = start = lo = hi = 0
    for i, v in enumerate(gains):
        cur += v
        if cur <= 0:
            cur, start = 0, i + 1
        elif cur > best:
            best, lo, hi = cur, start, i + 1
    return best, lo, hi


@rfactor.fold
def total(a: Any) -> Any:
    """Sum up floats."""
    s = 0.0
    for v in a:
        s += v
    return s


def least(*calls: Callable[[], Any], times: int = 7) -> list[float]:
    """The least time of each of several calls, which take turns."""
    found = [float("inf")] * len(calls)
    for _ in range(times):
        for k, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            found[k] = min(found[k], time.perf_counter() - begun)
    return found


def told(name: str, own: float, other: float, bar: float) -> None:
    """Print a ratio and its bar."""
    print(f"{name:44} {own * 1e3:8.1f} ms {other * 1e3:8.1f} ms  {own / other:5.2f}  (at most {bar})")


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=20_000_000)
    n = parser.parse_args().elements
    rng = np.random.default_rng(0)
    gains, floats = rng.integers(-500, 501, n), rng.normal(size=n)
    print(f"{n:,} elements{'':30} fold       other  ratio")

    import dask.array as da

    x = da.from_array(gains, chunks=n // 16)
    y = da.from_array(floats, chunks=n // 16)
    for name, fold, array in (("best_stretch", best_stretch, x), ("total", total, y)):
        begun = time.perf_counter()
        fold.dask(array).compute(scheduler="threads")
        first = time.perf_counter() - begun
        own, other = least(
            lambda: fold.dask(array).compute(scheduler="threads"),  # noqa: B023
            lambda: (array + 3).sum().compute(scheduler="threads"),  # noqa: B023
        )
        told(f"{name}.dask(x), (x + k).sum()  [first {first * 1e3:.0f} ms]", own, other, 1.2)

    import pyarrow as pa
    from pyarrow import parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        pq.write_table(pa.table({"gains": gains, "a": floats}), path, row_group_size=1 << 20)

        def read(column: str) -> None:
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                file.read_row_group(group, [column])

        for name, fold, column in (("best_stretch", best_stretch, "gains"), ("total", total, "a")):
            fold.parquet(path)

            def kept() -> None:
                state = Path(folder) / "run.state"
                state.unlink(missing_ok=True)
                fold.parquet(path, state=state)  # noqa: B023

            own, with_state, other = least(lambda: fold.parquet(path), kept, lambda: read(column))  # noqa: B023
            told(f"{name}.parquet, reading", own, other, 1.1)
            told(f"{name}.parquet(state=), reading", with_state, other, 1.1)

    for name, fold, values in (("best_stretch", best_stretch, gains), ("total", total, floats)):
        parts = np.array_split(values, 16)
        own, other = least(
            lambda: type(fold.partial(parts[0])).merge(map(fold.partial, parts)).result(),  # noqa: B023
            lambda: fold(values),  # noqa: B023
        )
        told(f"{name}: 16 states merged, one call", own, other, 2.0)
        own, other = least(lambda: fold.stream(parts), lambda: fold(values))  # noqa: B023
        told(f"{name}.stream of 16 chunks, one call", own, other, 1.2)


if __name__ == "__main__":
    main()
