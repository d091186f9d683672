"""Find the greatest fall of a price from its peak, with the days: a plain loop, and what stands behind it."""

import argparse

import numpy as np
from numpy.typing import NDArray

import rfactor as rf

argparse.ArgumentParser(description=__doc__).parse_args()


@rf.fold
def drawdown(cents: NDArray[np.int64]) -> tuple[np.int64, int, int]:
    """Find the greatest fall from a peak before it, and the days of both."""
    peak, top = cents[0], 0
    worst, begin, end = np.int64(0), 0, 0
    for day, price in enumerate(cents):
        if price > peak:
            peak, top = price, day
        if peak - price > worst:
            worst, begin, end = peak - price, top, day
    return worst, begin, end


cents = 10_000 + np.cumsum(np.random.default_rng(1).integers(-30, 31, 1_000_000))  # floats would be refused: R9
worst, begin, end = drawdown(cents)
assert (worst, begin, end) == drawdown.python(cents)
print(f"the greatest fall is {worst / 100:.2f} from day {begin} to day {end}\n")
print(drawdown.explain())
