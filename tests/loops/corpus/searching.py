"""Searches: any, all, first, last, the first prefix beyond a limit, loops that end early, for…else."""

import math

from tests.loops.cases import case
from tests.loops.data import args, dirty, flags, floats, ints, listed, octets, pairs, size, text, u8, unit


@case(args(flags(0.01)), "any by hand", kind="any, return")
def any_true(a):
    for v in a:
        if v:
            return True
    return False


@case(args(flags(0.99)), "all by hand", kind="all, return")
def all_true(a):
    for v in a:
        if not v:
            return False
    return True


@case(args(floats(), 20.0), "SO (first index above)", kind="for…else with break")
def first_else(a, limit):
    for i, v in enumerate(a):
        if v > limit:
            break
    else:
        return -1
    return i


@case(args(listed(ints()), 7), "linear search", kind="return the index")
def index_of(a, x):
    for i in range(len(a)):
        if a[i] == x:
            return i
    return -1


@case(args(listed(ints()), 7), "linear search from the end", kind="reversed range, return")
def last_index_of(a, x):
    for i in range(len(a) - 1, -1, -1):
        if a[i] == x:
            return i
    return None


@case(args(ints(), 40), "last index without a break", kind="last")
def last_above(a, k):
    at = -1
    for i, v in enumerate(a):
        if v > k:
            at = i
    return at


@case(args(listed(ints(0, 20)), 500), "first prefix beyond a limit", kind="search over a scan")
def first_prefix(a, limit):
    s = 0
    for i, v in enumerate(a):
        s += v
        if s > limit:
            return i
    return -1


@case(args(listed(ints(-20, 22)), 60), "first prefix beyond, with break", kind="search over a scan, negatives")
def first_prefix_break(a, limit):
    s = 0
    at = -1
    for i in range(len(a)):
        s += a[i]
        if s > limit:
            at = i
            break
    return at, s


@case(args(text("()(")), "AoC 2015, day 1", kind="first position below zero")
def basement(s):
    floor = 0
    for i, c in enumerate(s, 1):
        if c == "(":
            floor -= 1
        else:
            floor += 1
        if floor == 3:
            return i
    return None


@case(args(listed(ints(0, 30))), "while with a condition on the data", kind="while i < n and cond(a[i])")
def leading_small(a):
    i = 0
    while i < len(a) and a[i] < 28:
        i += 1
    return i


@case(args(text("   ab")), "lstrip by hand", kind="while on a string")
def indent(s):
    i = 0
    width = 0
    while i < len(s) and s[i] in " \t":
        width += 8 if s[i] == "\t" else 1
        i += 1
    return width


@case(args(listed(ints(0, 30))), "rstrip by hand", kind="while from the end")
def trailing_zeros(a):
    i = len(a) - 1
    c = 0
    while i >= 0 and a[i] < 15:
        c += 1
        i -= 1
    return c


@case(args(listed(ints(0, 1000)), listed(ints(0, 1000))), "strcmp", kind="first difference")
def compare(a, b):
    for x, y in zip(a, b):
        if x != y:
            return -1 if x < y else 1
    return 0


@case(args(octets(b"abc"), octets(b"abc")), "Hamming distance", kind="count of differences, zip")
def hamming(a, b):
    d = 0
    for x, y in zip(a, b):
        if x != y:
            d += 1
    return d


@case(args(text("abcba")), "palindrome", kind="s[i] against s[n-1-i]")
def palindrome(s):
    n = len(s)
    for i in range(n // 2):
        if s[i] != s[n - 1 - i]:
            return False
    return True


@case(args(size()), "is a number prime", kind="range to a root, return")
def is_prime(n):
    if n < 2:
        return False
    for d in range(2, math.isqrt(n) + 1):
        if n % d == 0:
            return False
    return True


@case(args(size()), "divisors", kind="condition on range(n), step")
def proper_divisors(n):
    s = 0
    for d in range(1, n // 2 + 1):
        if n % d == 0:
            s += d
    return s, s == n


@case(args(listed(ints(-50, 50))), "stop at the sentinel", kind="break and count after")
def before_sentinel(a):
    s = c = 0
    for v in a:
        if v == 13:
            break
        if v % 2:
            continue
        s += v
        c += 1
    return s, c


@case(args(listed(ints())), "value at the break is used after", kind="loop variable after the loop")
def stopped_at(a):
    v = None
    for v in a:
        if v > 45:
            break
    return v


@case(args(unit(), 0.999), "first and count of tries", kind="break with two counters")
def tries(a, p):
    n = 0
    found = False
    for v in a:
        n += 1
        if v > p:
            found = True
            break
    return n, found


@case(args(dirty(0.05)), "is there a NaN", kind="v != v")
def has_nan(a):
    for v in a:
        if v != v:
            return True
    return False


@case(args(pairs(ints(0, 20), ints(0, 20))), "key lookup in a list of pairs", kind="return data")
def lookup(items, key=11):
    for k, v in items:
        if k == key:
            return v
    return None


@case(args(ints()), "and/or values", kind="x or y")
def first_nonzero(a):
    x = 0
    for v in a:
        x = x or v
    return x


@case(args(listed(ints(-2, 50))), "and values", kind="x and y")
def last_if_all(a):
    x = 1
    for v in a:
        x = x and v
    return x


@case(args(u8()), "longest prefix with distinct steps", kind="flag instead of break")
def prefix_ascending(a):
    n = 0
    going = True
    for i in range(1, len(a)):
        if a[i] < a[i - 1]:
            going = False
        if going:
            n += 1
    return n


@case(args(ints(), 100), "third hit", kind="count to k, return")
def third_above(a, limit=100, k=3):
    hits = 0
    for i, v in enumerate(a):
        if 3 * v > limit:
            hits += 1
            if hits == k:
                return i
    return -1


@case(args(floats()), "crossing of a mean", kind="two loops, the second ends early", approx=False)
def first_above_middle(a):
    lo, hi = math.inf, -math.inf
    for v in a:
        lo = min(lo, v)
        hi = max(hi, v)
    mid = (lo + hi) / 2
    for i, v in enumerate(a):
        if v > mid:
            return i
    return -1


@case(args(listed(ints(0, 3)), listed(ints(0, 3))), "subsequence", "any", kind="index moved by the state")
def is_subsequence(a, b):
    j = 0
    for v in b:
        if j < len(a) and a[j] == v:
            j += 1
    return j == len(a)


@case(args(listed(ints(0, 100)), 37), "binary search", "refuse", note="halves an interval: not a walk over data")
def binary_search(a, x):
    a = sorted(a)
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo
