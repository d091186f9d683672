"""Folds at the top of a module, where other processes find them by name."""

from __future__ import annotations

import rfactor


@rfactor.fold
def total(a):
    s = 0
    for v in a:
        s += v
    return s


@rfactor.fold
def mean(a):
    s = 0.0
    for v in a:
        s += v
    return s / len(a)


@rfactor.fold
def weighted(a, b, k=2):
    s = 0.0
    for x, y in zip(a, b, strict=True):
        s += x * y * k
    return s


@rfactor.fold
def best_stretch(gains):
    cur = best = start = lo = hi = 0
    for i, v in enumerate(gains):
        cur += v
        if cur <= 0:
            cur, start = 0, i + 1
        elif cur > best:
            best, lo, hi = cur, start, i + 1
    return best, lo, hi


@rfactor.fold
def top(a):
    best, at = a[0], 0
    for i in range(1, len(a)):
        if a[i] > best:
            best, at = a[i], i
    return best, at


@rfactor.fold
def climbs(a):
    count = 0
    for i in range(1, len(a)):
        if a[i] > a[i - 1]:
            count += 1
    return count


@rfactor.fold
def changes(a):
    count, before = 0, None
    for v in a:
        if v != before:
            count += 1
        before = v
    return count


@rfactor.fold
def first_above(a, limit):
    for i, v in enumerate(a):
        if v > limit:
            return i, v
    return None


@rfactor.fold
def smallest(a):
    low = None
    for v in a:
        if low is None or v < low:
            low = v
    return low


@rfactor.fold
def running(a):
    s, out = 0, []
    for v in a:
        s += v
        out.append(s)
    return out


@rfactor.fold
def counts(a):
    found = {}
    for v in a:
        found[v] = found.get(v, 0) + 1
    return found
