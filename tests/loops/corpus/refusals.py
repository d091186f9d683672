"""Loops that are no folds: effects, chance, places by the state, states that grow, steps that are not over data."""

import heapq
import random
from collections import deque

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, at_most, floats, ints, listed, rows, size, text

R = "refuse"
_seen = 0


@case(args(listed(ints())), "print in the body", R, note="effect: print")
def chatty(a):
    s = 0
    for v in a:
        s += v
        print(s)
    return s


@case(args(listed(ints())), "random in the body", R, note="effect: random")
def sampled(a):
    random.seed(7)
    s = 0
    for v in a:
        if random.random() < 0.5:
            s += v
    return s


@case(args(listed(ints())), "reservoir sampling", R, note="effect: a generator of numbers")
def reservoir(a):
    rng = random.Random(3)
    kept = None
    for i, v in enumerate(a, 1):
        if rng.randrange(i) == 0:
            kept = v
    return kept


@case(args(listed(ints())), "heap of the largest", R, note="state grows: a heap")
def largest_by_heap(a):
    h = []
    for v in a:
        heapq.heappush(h, v)
        if len(h) > 3:
            heapq.heappop(h)
    return sorted(h)


@case(args(listed(ints())), "running median", R, note="state grows: a sorted list")
def running_median(a):
    import bisect

    kept = []
    out = []
    for v in a[:200]:
        bisect.insort(kept, v)
        out.append(kept[len(kept) // 2])
    return out


@case(args(size()), "Collatz", R, note="while on the state")
def collatz_steps(n):
    n = n % 1000 + 1
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@case(args(size()), "Euclid", R, note="while on the state")
def euclid(n):
    a, b = n + 12, n * 3 + 5
    while b:
        a, b = b, a % b
    return a


@case(args(size()), "Newton", R, note="while on the state")
def newton(n):
    x = float(n + 1)
    while abs(x * x - n) > 1e-9 * max(n, 1):
        x = 0.5 * (x + n / x)
    return x


@case(lambda rng, n: (rng.permutation(n).tolist(),), "linked list", R, note="the place depends on the state")
def jumps(nxt):
    x = 0
    for _ in range(len(nxt)):
        x = nxt[x]
    return x


@case(args(listed(ints(0, 5))), "jump by the data", R, note="the index depends on the data read at it")
def hops(a):
    i = 0
    n = 0
    while i < len(a):
        i += a[i] + 1
        n += 1
    return n


@case(args(listed(ints())), "global write", R, note="effect: a global")
def counted_globally(a):
    global _seen
    _seen = 0
    for v in a:
        _seen += v
    return _seen


@case(args(listed(ints())), "generator", R, note="yield")
def generated(a):
    s = 0
    for v in a:
        s += v
        yield s


@case(args(listed(ints())), "sieve", R, note="inner loop writes places at a step")
def sieve(a):
    n = len(a) + 2
    prime = [True] * n
    for p in range(2, n):
        if prime[p]:
            for q in range(p * p, n, p):
                prime[q] = False
    return sum(prime)


@case(args(listed(ints())), "deque as a window", R, note="state grows: a deque of the window")
def window_maximum(a):
    w = deque()
    out = []
    for i, v in enumerate(a):
        while w and w[-1][1] <= v:
            w.pop()
        w.append((i, v))
        if w[0][0] <= i - 5:
            w.popleft()
        out.append(w[0][1])
    return out


@case(args(listed(ints())), "monotone stack", R, note="state grows: a stack")
def next_greater(a):
    out = [-1] * len(a)
    stack = []
    for i, v in enumerate(a):
        while stack and a[stack[-1]] < v:
            out[stack.pop()] = v
        stack.append(i)
    return out


@case(args(listed(ints(0, 9))), "remove while walking", R, note="changes what it walks over")
def removed(a):
    for v in a:
        if v == 4:
            a.remove(v)
    return a


@case(args(at_most(64, listed(ints(-9, 9)))), "in place from neighbours", R, note="reads what it has just written")
def smoothed_in_place(a):
    for i in range(1, len(a) - 1):
        a[i] = (a[i - 1] + a[i + 1]) // 2 if a[i] % 2 else a[i]
    return a


@case(args(listed(ints(-5, 6))), "try in the body", "any", kind="try/except", note="exceptions")
def forgiving(a):
    s = 0
    for v in a:
        try:
            s += 100 // v
        except ZeroDivisionError:
            s -= 1
    return s


@case(args(text("12x")), "try of int(c)", "any", kind="try/except", note="exceptions")
def lenient_digits(s):
    t = bad = 0
    for c in s:
        try:
            t += int(c)
        except ValueError:
            bad += 1
    return t, bad


@case(args(listed(ints())), "with in the body", R, note="effect: a context manager")
def with_block(a):
    import contextlib

    s = 0
    for v in a:
        with contextlib.suppress(ZeroDivisionError):
            s += v // (v - 1)
    return s


class Meter:
    """Count the calls of its method."""

    def __init__(self):
        self.calls = 0

    def read(self, v):
        self.calls += 1
        return v + self.calls


@case(lambda rng, n: (Meter(), rng.integers(0, 9, n).tolist()), "method with an effect", R, note="unknown call")
def metered(meter, a):
    s = 0
    for v in a:
        s += meter.read(v)
    return s


@case(lambda rng, n: (iter(rng.integers(0, 9, n).tolist()),), "next() in the body", R, note="effect: next")
def by_twos(it):
    s = 0
    for v in it:
        s += v - next(it, 0)
    return s


@case(args(listed(ints(0, 50))), "quadratic in the state, ints", R, note="no small operator: the state is squared")
def squared_state(a, m=65537):
    x = 3
    for v in a:
        x = (x * x + v) % m
    return x


@case(args(listed(ints(0, 50))), "parity decides", R, note="the state decides by parity and is multiplied")
def parity_step(a):
    x = 1
    for v in a:
        x = (x // 2 if x % 2 == 0 else 3 * x + v) % 100003
    return x


@case(args(floats()), "argmax of rounded sums", R, note="rounding decides an integer")
def best_prefix(a):
    s = best = 0.0
    at = -1
    for i, v in enumerate(a):
        s += v
        if s > best:
            best = s
            at = i
    return at


@case(args(listed(ints(0, 9))), "recursion", R, note="a helper that calls itself on the state")
def recursive_step(a):
    x = 1
    for v in a:
        x = _depth(x + v)
    return x


def _depth(x):
    return x if x < 10 else _depth(x // 3 + x % 7)


@case(args(rows(2, ints(0, 30))), "union-find", R, note="places depend on the state")
def components(edges):
    parent = list(range(30))
    n = 30
    for a, b in edges.tolist():
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[a] = b
            n -= 1
    return n


@case(args(listed(ints(0, 8))), "Langton-like ant", R, note="the place depends on the state")
def ant(a):
    cells = [0] * 16
    at = 0
    for v in a:
        cells[at] ^= 1
        at = (at + (v if cells[at] else -v)) % 16
    return at, cells


@case(args(listed(ints(0, 6))), "LRU cache misses", R, note="state is an ordered list")
def lru_misses(a):
    cache = []
    miss = 0
    for v in a:
        if v in cache:
            cache.remove(v)
        else:
            miss += 1
            if len(cache) == 4:
                cache.pop(0)
        cache.append(v)
    return miss


@case(args(listed(ints())), "string built", R, note="state grows: a string")
def written(a):
    out = ""
    for v in a:
        if v % 2:
            out = out + str(v) + ","
        else:
            out = "<" + out
    return out


@case(args(ints()), "np.append", R, note="state grows: an array")
def appended(a):
    out = np.zeros(0, dtype=np.int64)
    for v in a[:50]:
        if v > 0:
            out = np.append(out, v)
    return out


@case(args(listed(ints())), "eval", R, note="unknown call")
def evaluated(a):
    s = 0
    for v in a[:50]:
        s += eval("v + 1", {"v": v})
    return s


@case(args(listed(ints())), "async", "any", kind="closure changed in the body", note="effect: nonlocal")
def nonlocal_write(a):
    calls = 0

    def seen(v):
        nonlocal calls
        calls += 1
        return v

    s = 0
    for v in a:
        s += seen(v)
    return s, calls
