"""Hold twenty loops as people write them, with data: benchmarks/folds.py times them, docs/gallery.md shows them."""

# ruff: noqa: B905, SIM110
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Rng = np.random.Generator
Function = Callable[..., Any]


@dataclass(frozen=True)
class Loop:
    """Hold a plain function and what it is called with."""

    title: str
    function: Function
    data: Callable[[Rng, int], tuple[Any, ...]]
    approx: bool = False
    """True where sums of floats may round otherwise."""


def total(a):
    s = 0
    for v in a:
        s += v
    return s


def dot(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    return s


def spread(a):
    low = high = a[0]
    for v in a:
        if v < low:
            low = v
        elif v > high:
            high = v
    return low, high


def highest_at(a):
    best = a[0]
    at = 0
    for i, v in enumerate(a):
        if v > best:
            best, at = v, i
    return best, at


def second_highest(a):
    first = second = -(10**9)
    for v in a:
        if v > first:
            first, second = v, first
        elif v > second:
            second = v
    return second


def share_above(a, limit):
    n = 0
    for v in a:
        if v > limit:
            n += 1
    return n / len(a)


def moments(a):
    s = q = 0.0
    for v in a:
        s += v
        q += v * v
    return s / len(a), q / len(a) - (s / len(a)) ** 2


def best_stretch(gains):
    cur = best = start = lo = hi = 0
    for i, v in enumerate(gains):
        cur += v
        if cur <= 0:
            cur, start = 0, i + 1
        elif cur > best:
            best, lo, hi = cur, start, i + 1
    return best, lo, hi


def max_drawdown(prices):
    peak = prices[0]
    worst = 0.0
    for p in prices:
        if p > peak:
            peak = p
        if peak - p > worst:
            worst = peak - p
    return worst


def longest_streak(a):
    run = longest = 0
    for v in a:
        if v > 0:
            run += 1
            longest = max(longest, run)
        else:
            run = 0
    return longest


def words(text):
    n = 0
    inside = False
    for c in text:
        if c == 32:
            inside = False
        elif not inside:
            inside = True
            n += 1
    return n


def commas_outside_quotes(text):
    inside = False
    n = 0
    for c in text:
        if c == 34:
            inside = not inside
        elif c == 44 and not inside:
            n += 1
    return n


def is_sorted(a):
    for i in range(1, len(a)):
        if a[i - 1] > a[i]:
            return False
    return True


def polynomial_hash(text):
    h = 7
    for c in text:
        h = (h * 31 + int(c)) & 0xFFFFFFFF
    return h


def smoothed(a):
    x = 0.0
    for v in a:
        x = 0.9 * x + 0.1 * v
    return x


def alternating(a):
    s = 0
    for i in range(len(a)):
        if i % 2 == 0:
            s += a[i]
        else:
            s -= a[i]
    return s


def histogram(a, counts):
    for v in a:
        counts[v] += 1
    return counts


def highest_by_key(keys, values, best):
    for k, v in zip(keys, values):
        if v > best[k]:
            best[k] = v
    return best


def running(a, out):
    s = 0
    for i in range(len(a)):
        s += a[i]
        out[i] = s
    return out


def energy(image):
    s = 0.0
    for row in image:
        for v in row:
            s += v * v
    return s


def _ints(rng: Rng, n: int) -> Any:
    return rng.integers(-9, 10, n)


def _normal(rng: Rng, n: int) -> Any:
    return rng.normal(size=n)


def _text(rng: Rng, n: int) -> Any:
    return rng.choice(np.frombuffer(b'abcdefg  ,"', np.uint8), n)


LOOPS = (
    Loop("Sum of integers", total, lambda r, n: (_ints(r, n),)),
    Loop("Dot product", dot, lambda r, n: (_normal(r, n), _normal(r, n)), True),
    Loop("Least and greatest, with elif", spread, lambda r, n: (_ints(r, n),)),
    Loop("Greatest, and where it is first", highest_at, lambda r, n: (_normal(r, n),)),
    Loop("Second greatest", second_highest, lambda r, n: (r.integers(0, 10**9, n),)),
    Loop("Share above a limit", share_above, lambda r, n: (_normal(r, n), 0.5)),
    Loop("Mean and variance", moments, lambda r, n: (_normal(r, n),), True),
    Loop("Stretch of greatest gain, with its ends", best_stretch, lambda r, n: (_ints(r, n),)),
    Loop("Greatest drawdown", max_drawdown, lambda r, n: (100 + 0.01 * np.cumsum(_normal(r, n)),)),
    Loop("Longest streak", longest_streak, lambda r, n: (_ints(r, n),)),
    Loop("Words of a text", words, lambda r, n: (_text(r, n),)),
    Loop("Commas outside of quotes", commas_outside_quotes, lambda r, n: (_text(r, n),)),
    Loop("Is it sorted?", is_sorted, lambda r, n: (np.arange(n),)),
    Loop("Polynomial hash", polynomial_hash, lambda r, n: (_text(r, n),)),
    Loop("Exponential smoothing", smoothed, lambda r, n: (_normal(r, n),), True),
    Loop("Alternating sum", alternating, lambda r, n: (_ints(r, n),)),
    Loop("Histogram", histogram, lambda r, n: (r.integers(0, 256, n, dtype=np.uint8), np.zeros(256, np.int64))),
    Loop(
        "Greatest by key",
        highest_by_key,
        lambda r, n: (r.integers(0, 1000, n), _ints(r, n), np.full(1000, -(10**9))),
    ),
    Loop("Running sum", running, lambda r, n: (_ints(r, n), np.zeros(n, np.int64))),
    Loop("Energy of an image", energy, lambda r, n: (_normal(r, n).reshape(-1, 100),), True),
)


def arguments(loop: Loop, n: int) -> tuple[Any, ...]:
    """Make the arguments of a loop, the same at each call."""
    return loop.data(np.random.default_rng(7), n)


def own(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy the arrays of a call, as some are written to."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def agree(a: Any, b: Any, approx: bool) -> bool:
    """Tell if two results are the same, or close where sums of floats round."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(agree(x, y, approx) for x, y in zip(a, b, strict=True))
    if approx:
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))
    return bool(np.array_equal(a, b))
