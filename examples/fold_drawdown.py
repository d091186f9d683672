"""The greatest fall of a price from its peak, with the days: a plain loop, its operator, and a float policy."""

import argparse

import numpy as np

import rfactor as rf

argparse.ArgumentParser(description=__doc__).parse_args()


@rf.fold
def drawdown(prices):
    """Find the greatest fall from a peak before it, and the days of both."""
    peak, top = prices[0], 0
    worst, begin, end = 0.0, 0, 0
    for day, price in enumerate(prices):
        if price > peak:
            peak, top = price, day
        if peak - price > worst:
            worst, begin, end = peak - price, top, day
    return worst, begin, end


prices = 100 + np.cumsum(np.random.default_rng(1).integers(-3, 4, 1_000_000)) * 0.25
worst, begin, end = drawdown(prices)
assert (worst, begin, end) == drawdown.python(prices)
print(f"the greatest fall is {worst} from day {begin} to day {end}\n")
print(drawdown.explain())
