"""Extrema: with places, ties, None first, top k, several at once."""

import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, dirty, flags, floats, ints, listed, pairs, rows, u8, words


@case(args(ints()), "Rosetta Code", kind="max(a, b)", least=1)
def largest(a):
    best = a[0]
    for v in a:
        best = max(best, v)
    return best


@case(args(ints()), "StackOverflow (max with the data first)", kind="max(v, best)", least=1)
def largest_other_order(a):
    best = a[0]
    for i in range(1, len(a)):
        best = max(a[i], best)
    return best


@case(args(floats()), "SO (float minimum from inf)", kind="inf start")
def smallest(a):
    lo = math.inf
    for v in a:
        if v < lo:
            lo = v
    return lo


@case(args(floats()), "SO (inf start, result types)", kind="float('inf')")
def smallest_named(a):
    lo = float("inf")
    for v in a.tolist():
        lo = min(lo, v)
    return lo


@case(args(ints()), "argmin, tie to the last", kind="<= ", least=1)
def argmin_last(a):
    at = 0
    for i in range(len(a)):
        if a[i] <= a[at]:
            at = i
    return at


@case(args(ints()), "SO argmax through enumerate", kind="argmax from None")
def argmax_none(a):
    at = None
    best = None
    for i, v in enumerate(a):
        if best is None or v > best:
            best, at = v, i
    return at, best


@case(args(floats()), "min and max and their places", kind="four accumulators", least=1)
def both_ends(a):
    lo = hi = a[0]
    at_lo = at_hi = 0
    for i, v in enumerate(a):
        if v < lo:
            lo, at_lo = v, i
        if v > hi:
            hi, at_hi = v, i
    return lo, at_lo, hi, at_hi


@case(args(listed(ints())), "LeetCode 414-like", kind="two largest")
def two_largest(a):
    first = second = -(10**9)
    for v in a:
        if v > first:
            second = first
            first = v
        elif v > second:
            second = v
    return first, second


@case(args(listed(ints())), "second largest, distinct", "any", kind="two largest, distinct, None")
def second_distinct(a):
    first = None
    second = None
    for v in a:
        if first is None or v > first:
            first, second = v, first
        elif v != first and (second is None or v > second):
            second = v
    return second


@case(args(ints()), "numba discourse (k smallest)", kind="array state of two", least=0)
def two_smallest(a):
    out = np.array([10**6, 10**6])
    for v in a:
        if v < out[0]:
            out[1] = out[0]
            out[0] = v
        elif v < out[1]:
            out[1] = v
    return out


@case(args(ints()), "max of three", kind="max(a, b, c)")
def max_of_neighbours(a):
    m = -(10**9)
    for i in range(2, len(a)):
        m = max(m, a[i] + a[i - 1], a[i] - a[i - 2])
    return m


@case(args(floats(), floats()), "closest pair to a point", kind="argmin of computed data")
def nearest(xs, ys, px=0.5, py=-0.25):
    best = math.inf
    at = -1
    for i in range(len(xs)):
        d = (xs[i] - px) ** 2 + (ys[i] - py) ** 2
        if d < best:
            best = d
            at = i
    return at, best


@case(args(rows(2, floats())), "bounding box", kind="four extrema")
def bounding_box(pts):
    x0 = y0 = math.inf
    x1 = y1 = -math.inf
    for x, y in pts:
        x0 = min(x0, x)
        y0 = min(y0, y)
        x1 = max(x1, x)
        y1 = max(y1, y)
    return x0, y0, x1, y1


@case(args(floats()), "largest absolute value", kind="abs")
def amplitude(a):
    m = 0.0
    for v in a:
        if abs(v) > m:
            m = abs(v)
    return m


@case(args(dirty(0.2)), "nanmax by hand", kind="NaN skipped")
def nan_max(a):
    best = -math.inf
    for v in a:
        if v != v:
            continue
        if v > best:
            best = v
    return best


@case(args(dirty(0.1)), "NaN in max", kind="NaN trap: max(best, v)")
def max_with_nan(a):
    best = -math.inf
    for v in a:
        best = max(best, v)
    return best


@case(args(dirty(0.1)), "NaN in max, other order", kind="NaN trap: max(v, best)")
def max_with_nan_first(a):
    best = 0.0
    for v in a:
        best = max(v, best)
    return best


@case(args(dirty(0.3, (-0.0, 0.0))), "signed zeros", kind="-0.0 trap", least=0)
def min_with_zeros(a):
    lo = 5.0
    for v in a:
        if v < lo:
            lo = v
    return lo


@case(args(dirty(0.5, (-0.0, 0.0))), "signed zeros, ties to the last", kind="-0.0 trap, <=")
def max_with_zeros(a):
    hi = -3.0
    for v in a:
        hi = v if v >= hi else hi
    return hi


@case(args(dirty(0.1)), "argmax where NaN is there", kind="NaN trap, argmax", least=1)
def argmax_nan(a):
    at = 0
    best = a[0]
    for i in range(1, len(a)):
        if not a[i] <= best:
            best = a[i]
            at = i
    return at


@case(args(u8()), "image code (contrast)", kind="uint8 extrema keep uint8", least=1)
def contrast(a):
    lo = a[0]
    hi = a[0]
    for v in a:
        if v < lo:
            lo = v
        if v > hi:
            hi = v
    return lo, hi


@case(args(floats(8.0, np.float32)), "float32 maximum", kind="np.float32 stays", least=1)
def max32(a):
    m = a[0]
    for v in a[1:]:
        if v > m:
            m = v
    return m


@case(args(pairs(ints(0, 30), ints())), "best by a key", kind="pair state")
def best_pair(items):
    best = (-1, 0)
    for k, v in items:
        if k > best[0]:
            best = (k, v)
    return best


@case(args(pairs(ints(0, 9), ints(0, 9))), "tuples are compared", "any", kind="tuple comparison")
def largest_tuple(items):
    best = (-1, -1)
    for it in items:
        if it > best:
            best = it
    return best


@case(args(words(["pear", "fig", "apple", "kiwi", "plum"])), "longest word", "any", kind="string chosen by its length")
def longest_word(ws):
    best = ""
    for w in ws:
        if len(w) > len(best):
            best = w
    return best


@case(args(ints()), "largest difference", kind="prefix min", least=1)
def largest_rise(a):
    lo = a[0]
    rise = 0
    for v in a:
        if v - lo > rise:
            rise = v - lo
        if v < lo:
            lo = v
    return rise


@case(args(ints()), "SO (min and max as pair in a list)", kind="small list")
def list_range(a):
    r = [10**9, -(10**9)]
    for v in a:
        r[0] = min(r[0], v)
        r[1] = max(r[1], v)
    return r


@case(args(ints(), flags(0.4)), "masked minimum", kind="None first, mask")
def masked_min(a, mask):
    lo = None
    for v, m in zip(a, mask):
        if not m:
            continue
        if lo is None:
            lo = v
        else:
            lo = min(lo, v)
    return lo


@case(args(ints()), "count of the maximum", kind="max with its count")
def count_of_max(a):
    best = -(10**9)
    c = 0
    for v in a:
        if v > best:
            best = v
            c = 1
        elif v == best:
            c += 1
    return best, c


@case(args(ints()), "records in a sequence", kind="prefix max, counted")
def records(a):
    best = -(10**9)
    c = 0
    for v in a:
        if v > best:
            best = v
            c += 1
    return c


@case(args(listed(ints())), "a[at] compared", "any", kind="the state is an index of the data", least=1)
def argmax_by_index(a):
    at = 0
    for i in range(1, len(a)):
        if a[i] > a[at]:
            at = i
    return at


@case(args(listed(ints(-9, 9))), "maximum product of three", "any", kind="top 3 and bottom 2", least=3)
def product_of_three(a):
    a1 = a2 = a3 = -(10**6)
    b1 = b2 = 10**6
    for v in a:
        if v > a1:
            a1, a2, a3 = v, a1, a2
        elif v > a2:
            a2, a3 = v, a2
        elif v > a3:
            a3 = v
        if v < b1:
            b1, b2 = v, b1
        elif v < b2:
            b2 = v
    return max(a1 * a2 * a3, a1 * b1 * b2)
