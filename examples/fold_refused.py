"""Meet a loop that is no fold: the error, the same loop allowed, and the one to write instead."""

import argparse
import random
import warnings

import numpy as np
from numpy.typing import NDArray

import rfactor as rf

argparse.ArgumentParser(description=__doc__).parse_args()


@rf.fold
def sampled(a: NDArray[np.int64], share: float) -> int:
    """Add about a share of the elements."""
    s = 0
    for v in a:
        if random.random() < share:
            s += v
    return s


@rf.fold
def sampled_with(a: NDArray[np.int64], drawn: NDArray[np.float64], share: float) -> int:
    """Add those elements whose drawn number is below a share."""
    s = 0
    for v, u in zip(a, drawn, strict=True):
        if u < share:
            s += v
    return s


a = np.arange(100_000)
try:
    sampled(a, 0.5)
except rf.FoldError as error:
    print(error)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    rf.fold(strict=False)(sampled.python)(a, 0.5)
assert told[0].category is rf.FoldWarning

drawn = np.random.default_rng(0).random(len(a))
assert sampled_with(a, drawn, 0.5) == a[drawn < 0.5].sum()
print("drawn before the loop, it is a fold")
