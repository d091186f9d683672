"""Group-by: counts, sums, extrema, first and last, argmax by key, in dicts, Counters, sets and arrays."""

from collections import Counter, defaultdict

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, dirty, flags, floats, ints, listed, pairs, rows, text, tupled, u8, words

FRUIT = ["fig", "kiwi", "plum", "pear"]


@case(args(u8()), "image code", "group", kind="histogram, list")
def histogram_list(a):
    h = [0] * 256
    for v in a:
        h[v] += 1
    return h


@case(args(ints(0, 16), floats()), "numba discourse (bincount)", "group", kind="weights", approx=True)
def bincount(k, w):
    out = np.zeros(16)
    for i in range(len(k)):
        out[k[i]] += w[i]
    return out


@case(args(u8()), "image code (quantised)", "group", kind="key computed")
def coarse_histogram(a):
    h = np.zeros(16, dtype=np.int64)
    for v in a:
        h[v >> 4] += 1
    return h


@case(args(words(FRUIT)), "SO (count words)", "group", kind="if/else on membership")
def count_words(ws):
    d = {}
    for w in ws:
        if w in d:
            d[w] += 1
        else:
            d[w] = 1
    return d


@case(args(text("banana")), "Counter by hand", "group", kind="Counter")
def letters(s):
    c = Counter()
    for ch in s:
        c[ch] += 1
    return c


@case(args(pairs(ints(0, 6), ints())), "defaultdict(int)", "group", kind="sum by key")
def sum_by_key(items):
    d = defaultdict(int)
    for k, v in items:
        d[k] += v
    return d


@case(args(pairs(ints(0, 6), floats())), "defaultdict(float)", "group", kind="float sum by key", approx=True)
def float_sum_by_key(items):
    d = defaultdict(float)
    for k, v in items:
        d[k] += v
    return dict(d)


@case(args(pairs(ints(0, 6), ints())), "defaultdict(list)", "refuse", note="state grows: a list a key")
def lists_by_key(items):
    d = defaultdict(list)
    for k, v in items:
        d[k].append(v)
    return d


@case(args(listed(ints(0, 40))), "distinct values", "group", kind="set.add")
def distinct(a):
    seen = set()
    for v in a:
        seen.add(v)
    return seen


@case(args(listed(ints(0, 3000))), "first duplicate", "any", kind="set, return inside")
def first_duplicate(a):
    seen = set()
    for v in a:
        if v in seen:
            return v
        seen.add(v)
    return None


@case(args(listed(ints(-20, 20)), 7), "LeetCode 1", "any", kind="dict looked up at another key")
def two_sum(a, target):
    at = {}
    for i, v in enumerate(a):
        if target - v in at:
            return at[target - v], i
        at[v] = i
    return None


@case(args(pairs(ints(0, 5), ints())), "max by key", "group", kind="dict, get with a default")
def max_by_key(items):
    d = {}
    for k, v in items:
        d[k] = max(d.get(k, -(10**9)), v)
    return d


@case(args(pairs(ints(0, 5), ints())), "min by key", "group", kind="not in or smaller")
def min_by_key(items):
    d = {}
    for k, v in items:
        if k not in d or v < d[k]:
            d[k] = v
    return d


@case(args(pairs(ints(0, 5), ints())), "last by key", "group", kind="overwrite")
def last_by_key(items):
    d = {}
    for k, v in items:
        d[k] = v
    return d


@case(args(pairs(ints(0, 5), ints())), "first by key", "group", kind="setdefault or not in")
def first_by_key(items):
    d = {}
    for k, v in items:
        if k not in d:
            d[k] = v
    return d


@case(args(pairs(ints(0, 5), ints())), "setdefault", "any", kind="setdefault")
def first_by_setdefault(items):
    d = {}
    for k, v in items:
        d.setdefault(k, v)
    return d


@case(args(ints(0, 7), ints()), "xarray flox#91", "group", kind="first, arrays by key")
def first_in_group(g, v):
    first = np.full(7, -1)
    seen = np.zeros(7, dtype=bool)
    for i in range(len(g)):
        if not seen[g[i]]:
            seen[g[i]] = True
            first[g[i]] = v[i]
    return first, seen


@case(args(ints(0, 7), floats()), "pandas groupby min max", "group", kind="two arrays by key")
def range_by_group(g, v):
    lo = np.full(7, np.inf)
    hi = np.full(7, -np.inf)
    for k, x in zip(g, v):
        if x < lo[k]:
            lo[k] = x
        if x > hi[k]:
            hi[k] = x
    return lo, hi


@case(args(ints(0, 5), floats()), "pandas groupby mean", "group", kind="sum and count, Python after", approx=True)
def mean_by_group(g, v):
    s = np.zeros(5)
    n = np.zeros(5, dtype=np.int64)
    for i, k in enumerate(g):
        s[k] += v[i]
        n[k] += 1
    return s / np.maximum(n, 1)


@case(args(ints(0, 5), dirty(0.2)), "pandas nanmin by group", "group", kind="NaN skipped, continue")
def nanmin_by_group(g, v):
    lo = np.full(5, np.inf)
    for i in range(len(g)):
        if np.isnan(v[i]):
            continue
        lo[g[i]] = min(lo[g[i]], v[i])
    return lo


@case(args(ints(0, 5), ints()), "numba #group cumulative max", "any", kind="running max by key, out[i]")
def cummax_by_group(g, v):
    best = np.full(5, -(10**9))
    out = np.zeros(len(g), dtype=np.int64)
    for i in range(len(g)):
        if v[i] > best[g[i]]:
            best[g[i]] = v[i]
        out[i] = best[g[i]]
    return out


@case(args(rows(2, ints(0, 4)), ints(1, 9)), "2-D histogram", "group", kind="key is a pair of indices")
def histogram_2d(xy, w):
    h = np.zeros((4, 4), dtype=np.int64)
    for i in range(len(xy)):
        h[xy[i, 0], xy[i, 1]] += w[i]
    return h


@case(args(pairs(ints(0, 3), ints(0, 3))), "tuples as keys", "group", kind="tuple key")
def count_pairs(items):
    d = {}
    for a, b in items:
        d[a, b] = d.get((a, b), 0) + 1
    return d


@case(args(text("aabc")), "bigrams", "group", kind="tuple key of neighbours")
def bigrams(s):
    c = Counter()
    for i in range(1, len(s)):
        c[s[i - 1], s[i]] += 1
    return c


@case(args(text("ACGT")), "Rosalind (nucleotides)", "group", kind="dict with fixed keys")
def nucleotides(s):
    c = {"A": 0, "C": 0, "G": 0, "T": 0}
    for ch in s:
        c[ch] += 1
    return c


@case(args(text("ACGTN")), "KeyError at a step", "any", kind="exception of the data", raises=True)
def nucleotides_strict(s):
    c = {"A": 0, "C": 0, "G": 0, "T": 0}
    for ch in s:
        c[ch] += 1
    return c


@case(args(ints(0, 8), flags()), "count where", "group", kind="condition before the place")
def count_true(k, m):
    n = [0] * 8
    for i in range(len(k)):
        if m[i]:
            n[k[i]] += 1
    return n


@case(args(ints(0, 8), ints()), "argmin by key with first index", "group", kind="value and place")
def argmin_by_key(k, v):
    lo = np.full(8, 10**9)
    at = np.full(8, -1)
    for i in range(len(k)):
        if v[i] < lo[k[i]]:
            lo[k[i]] = v[i]
            at[k[i]] = i
    return at


@case(args(ints(-9, 9)), "counts with negative keys", "any", kind="negative indices wrap to the end")
def negative_index(a):
    h = [0] * 20
    for v in a:
        h[v] += 1
    return h


@case(args(ints(0, 12)), "IndexError at a step", "any", kind="exception of the data", raises=True)
def short_histogram(a):
    h = np.zeros(11, dtype=np.int64)
    for v in a:
        h[v] += 1
    return h


@case(args(words(FRUIT), ints(0, 9)), "parity by key", "group", kind="xor / toggle by key")
def toggles(ws, v):
    d = {}
    for w, x in zip(ws, v.tolist()):
        d[w] = d.get(w, 0) ^ x
    return d


@case(args(words(FRUIT)), "longest gap by key", "any", kind="dict of last places and a maximum")
def longest_gap(ws):
    last = {}
    gap = 0
    for i, w in enumerate(ws):
        if w in last:
            gap = max(gap, i - last[w])
        last[w] = i
    return gap


@case(args(pairs(ints(0, 4), ints())), "count and sum by key", "any", kind="pair as the value")
def pair_by_key(items):
    d = {}
    for k, v in items:
        n, s = d.get(k, (0, 0))
        d[k] = (n + 1, s + v)
    return d


@case(args(listed(ints(0, 9))), "two places in one step", "refuse", note="reads one place, writes another")
def shift_counts(a):
    h = [0] * 10
    for v in a:
        h[(v + 1) % 10] += h[v] + 1
        h[v] //= 2
    return h


@case(args(listed(ints(0, 60))), "coin change, one row", "any", kind="inner loop over the state's places")
def coin_ways(coins, total=40):
    ways = [1] + [0] * total
    for c in coins[:6]:
        for t in range(c + 1, total + 1):
            ways[t] += ways[t - c - 1]
    return ways[total]


@case(args(tupled(ints(0, 5))), "Counter methods after", "group", kind="Counter, epilogue")
def most_common(a):
    c = Counter()
    for v in a:
        c[v] += 1
    return c.most_common(2)


@case(args(ints(0, 300, np.int32)), "small counters wrap", "any", kind="uint8 counters wrap")
def uint8_counters(a):
    h = np.zeros(4, dtype=np.uint8)
    for v in a:
        h[v % 4] += 1
    return h
