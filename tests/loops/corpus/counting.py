"""Sums, products and counts: conditions, steps, several accumulators, generator expressions over data."""

import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, cubes, flags, floats, ints, listed, octets, pairs, rows, u8, unit, words

WEIGHTS = (1, 3, 1, 3)


@case(args(floats()), "numba docs (parallel reduction)", kind="sum", approx=True)
def weighted_total(a):
    s = 0.0
    for i, v in enumerate(a, start=1):
        s += v * i
    return s


@case(args(floats(), floats()), "BLAS by hand", kind="zip", approx=True)
def dot(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    return s


@case(args(listed(ints(1, 1000))), "Project Euler 1", kind="or, sum of ints")
def multiples_of_3_or_5(a):
    s = 0
    for v in a:
        if v % 3 == 0 or v % 5 == 0:
            s += v
    return s


@case(lambda rng, n: (n,), "Project Euler 6", kind="range(n), two sums, Python after")
def square_difference(n):
    plain = 0
    squares = 0
    for k in range(1, n + 1):
        plain += k
        squares += k**2
    return plain**2 - squares


@case(args(ints()), "NumPy forum (three counters)", kind="if/elif/else")
def signs(a):
    neg = zero = pos = 0
    for v in a:
        if v < 0:
            neg += 1
        elif v == 0:
            zero += 1
        else:
            pos += 1
    return neg, zero, pos


@case(args(ints()), "StackOverflow (even minus odd places)", kind="index parity")
def alternating(a):
    s = 0
    for i in range(len(a)):
        if i % 2 == 0:
            s += a[i]
        else:
            s -= a[i]
    return s


@case(args(ints()), "StackOverflow (slices)", kind="a[::2]")
def every_other(a):
    s = 0
    for v in a[::2]:
        s += v
    return s


@case(args(ints()), "StackOverflow (skip the header)", kind="a[1:]")
def without_first(a):
    s = 0
    c = 0
    for v in a[1:]:
        s += v
        c += 1
    return s, c


@case(args(ints()), "StackOverflow (walk backwards)", kind="range with a negative step", least=0)
def back_by_two(a):
    s = 0
    for i in range(len(a) - 1, -1, -2):
        s = s + a[i] * 2
    return s


@case(args(flags()), "pandas (share of True)", kind="bool sum")
def trues(a):
    n = 0
    for v in a:
        n += v
    return n


@case(args(listed(flags())), "Python ints of bools", kind="bool sum, list")
def trues_in_list(a):
    n = 0
    for v in a:
        n += v
    return n


@case(args(octets(b"the quick brown fox")), "K&R wc", kind="bytes, count")
def vowels(s):
    c = 0
    for b in s:
        if b in b"aeiou":
            c += 1
    return c


@case(args(unit(0.1, 1.0)), "likelihoods", kind="math.log", approx=True)
def log_likelihood(p):
    s = 0.0
    for v in p:
        s += math.log(v)
    return s


@case(args(floats(1.0)), "numba issue (softmax denominators)", kind="math.exp", approx=True)
def exp_sum(a):
    s = 0.0
    for v in a:
        s += math.exp(-abs(v))
    return s


@case(args(rows(3, floats())), "MD code (kinetic energy)", kind="row unpacking", approx=True)
def kinetic(vs):
    e = 0.0
    for x, y, z in vs:
        e += 0.5 * (x * x + y * y + z * z)
    return e


@case(args(pairs(ints(1, 20), ints(1, 100))), "Rosetta Code (total of an order)", kind="list of pairs")
def order_total(lines):
    total = 0
    count = 0
    for quantity, price in lines:
        total += quantity * price
        count += quantity
    return total, count


@case(args(unit(0.2, 1.2)), "Rosetta Code (Pythagorean means)", kind="sum, product, reciprocal", approx=True, least=1)
def three_means(a):
    s = 0.0
    p = 1.0
    r = 0.0
    for v in a:
        s += v
        p *= v
        r += 1.0 / v
    n = len(a)
    return s / n, p ** (1.0 / n), n / r


@case(args(ints()), "two loops with Python between", kind="two loops", approx=True, least=1)
def spread(a):
    s = 0
    for v in a:
        s += v
    mean = s / len(a)
    d = 0.0
    for v in a:
        d += abs(v - mean)
    return d / len(a)


@case(args(floats()), "StackOverflow (variance in two passes)", kind="two loops", approx=True, least=1)
def variance_two_passes(x):
    n = len(x)
    total = 0.0
    for i in range(n):
        total += x[i]
    mean = total / n
    sq = 0.0
    for i in range(n):
        diff = x[i] - mean
        sq += diff * diff
    return mean, sq / n


@case(args(cubes(2, 4, ints())), "inner loop that is data only", kind="sum() in the body")
def sum_of_max_rows(blocks):
    s = 0
    for block in blocks:
        m = block[0]
        s += sum(int(v) for v in m) + max(int(v) for v in block[1])
    return s


@case(args(rows(5, ints())), "any/all in the body", kind="any over a row")
def rows_with_negative(a):
    c = 0
    d = 0
    for row in a:
        if any(v < -40 for v in row):
            c += 1
        if all(v > -40 for v in row):
            d += 1
    return c, d


@case(args(words(["red", "green", "blue", "cyan"])), "lists of words", kind="str ==, len")
def long_words(ws):
    c = 0
    letters = 0
    for w in ws:
        if w != "red":
            c += 1
        letters += len(w)
    return c, letters


@case(args(listed(ints())), "Rosetta Code (while loop)", kind="while")
def while_sum(a):
    i = 0
    s = 0
    while i < len(a):
        s += a[i]
        i += 1
    return s, i


@case(args(listed(ints())), "Rosetta Code (countdown)", kind="while, reversed")
def while_back(a):
    i = len(a) - 1
    s = 0
    while i >= 0:
        if a[i] > 0:
            s += a[i] * i
        i -= 1
    return s


@case(args(ints(0, 2**20)), "bit twiddling", kind="bit_count by divmod of data")
def low_digits(a):
    s = 0
    for v in a:
        q, r = divmod(v, 10)
        s += r + q % 10
    return s


@case(args(ints()), "conditional expression", kind="x if c else y")
def clipped_sum(a):
    s = 0
    for v in a:
        s += v if v > 0 else 0
    return s


@case(args(ints()), "chained comparison", kind="lo <= v < hi")
def in_range(a, lo=-10, hi=25):
    c = 0
    for v in a:
        if lo <= v < hi:
            c += 1
    return c


@case(args(ints(), ints()), "helper of data", kind="helper, inlined")
def taxi(a, b):
    s = 0
    for x, y in zip(a, b):
        s += _distance(x, y)
    return s


def _distance(x, y):
    d = x - y
    if d < 0:
        return -d
    return d


@case(args(listed(ints(0, 10))), "checksums (EAN)", kind="global tuple as data")
def weighted_digits(ds):
    s = 0
    for i, d in enumerate(ds):
        s += d * WEIGHTS[i % 4]
    return s


@case(args(ints()), "lambda of data", kind="lambda")
def lambda_sum(a):
    f = lambda v: v * v - 3
    s = 0
    for v in a:
        s += f(v)
    return s


def _polynomial(c0, c1):
    def value(v):
        return c0 + c1 * v

    return value


_line = _polynomial(4, -3)


@case(args(ints()), "closure of data", kind="closure")
def closure_sum(a):
    s = 0
    for v in a:
        s += _line(v)
    return s


@case(args(u8(), u8()), "image code (sum of absolute differences)", kind="int() of uint8")
def sad(a, b):
    s = 0
    for x, y in zip(a, b):
        s += abs(int(x) - int(y))
    return s


@case(args(u8(), u8()), "image code (PSNR)", kind="float() of uint8, math after", approx=True, least=1)
def psnr(a, b):
    s = 0.0
    for i in range(len(a)):
        d = float(a[i]) - float(b[i])
        s += d * d
    mse = s / len(a)
    return 10 * math.log10(255 * 255 / mse) if mse else math.inf


@case(args(ints(0, 2**40)), "popcount", kind="bin(v).count")
def ones(a):
    c = 0
    for v in a.tolist():
        c += bin(v).count("1")
    return c


@case(args(ints()), "walrus", kind="walrus")
def walrus_sum(a):
    s = 0
    for v in a:
        if (w := v * 2 - 5) > 0:
            s += w
    return s


@case(args(listed(ints(0, 3)), listed(ints())), "enumerate(zip)", kind="enumerate(zip)")
def selected(kinds, values):
    s = 0
    for i, (k, v) in enumerate(zip(kinds, values)):
        if k == 1:
            s += v
        elif k == 2:
            s -= i
    return s


@case(args(ints(), np.int64(0)), "np.int64 start", kind="NumPy scalar start")
def numpy_start(a, s):
    for v in a:
        s += v
    return s


@case(args(listed(ints())), "reversed(list)", kind="reversed")
def reversed_dot(a):
    s = 0
    k = 1
    for v in reversed(a):
        s += k * v
        k += 1
    return s
