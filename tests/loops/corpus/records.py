"""Records, complex numbers and small matrices as state, lookups in tables, more of what the other files have once."""

import cmath
import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, cubes, floats, ints, listed, octets, pairs, rows, text, u8, unit, words

VOWELS = frozenset("aeiou")
SCORE = {"A": 1, "B": 3, "C": 3, "D": 2, "E": 1}
DIRECTION = {"^": (0, 1), "v": (0, -1), ">": (1, 0), "<": (-1, 0)}
KERNEL = (0.25, 0.5, 0.25)
_calls = 0
_log: list[int] = []


def _orders(rng, n):
    out = np.zeros(n, dtype=[("id", "i4"), ("qty", "i8"), ("price", "f8"), ("live", "?")])
    out["id"] = rng.integers(0, 50, n)
    out["qty"] = rng.integers(1, 100, n)
    out["price"] = np.round(rng.random(n) * 100, 2)
    out["live"] = rng.random(n) < 0.7
    return (out,)


def _signal(rng, n):
    return (np.round(rng.normal(size=n), 2) + 1j * np.round(rng.normal(size=n), 2),)


@case(_orders, "order books", kind="structured array, Boolean field")
def live_quantity(orders):
    q = 0
    n = 0
    for o in orders:
        if not o["live"]:
            continue
        q += o["qty"]
        n += 1
    return q, n


@case(_orders, "order books (dearest)", kind="structured array, argmax")
def dearest(orders):
    best = -1.0
    which = -1
    for i in range(len(orders)):
        if orders[i]["price"] > best:
            best = orders[i]["price"]
            which = orders[i]["id"]
    return which, best


@case(_orders, "fields as columns", kind="zip of fields", approx=True)
def notional(orders):
    s = 0.0
    for q, p in zip(orders["qty"], orders["price"]):
        s += q * p
    return s


@case(_orders, "quantity by id", "group", kind="structured array, place")
def quantity_by_id(orders):
    q = np.zeros(50, dtype=np.int64)
    for o in orders:
        q[o["id"]] += o["qty"]
    return q


@case(_signal, "correlation of a signal with itself", kind="complex sum of neighbours", approx=True)
def lag_one(z):
    s = 0j
    for i in range(1, len(z)):
        s += z[i] * z[i - 1].conjugate()
    return s


@case(_signal, "largest magnitude", kind="abs of complex")
def loudest(z):
    best = 0.0
    at = -1
    for i, v in enumerate(z):
        if abs(v) > best:
            best = abs(v)
            at = i
    return at


@case(args(unit(-0.5, 0.5)), "unwrapped phase", kind="complex rotation and real part", approx=True)
def rotated(angles):
    z = complex(1.0, 0.0)
    top = 0.0
    for t in angles.tolist():
        z = z * complex(math.cos(t), math.sin(t))
    return z.real, z.imag, cmath.phase(z), top


@case(args(text("^v<>")), "AoC 2015, day 3 (end point)", kind="complex or pair position, dict of tuples", expect="any")
def walked(s):
    x = y = 0
    for c in s:
        dx, dy = DIRECTION[c]
        x += dx
        y += dy
    return x, y


@case(args(text("^v<>")), "AoC 2015, day 3", "any", kind="set of positions: key is the state")
def houses(s):
    x = y = 0
    seen = {(0, 0)}
    for c in s:
        dx, dy = DIRECTION[c]
        x, y = x + dx, y + dy
        seen.add((x, y))
    return len(seen)


@case(args(text("abcdeiou")), "membership in a frozenset", kind="in a global set")
def vowel_share(s):
    v = n = 0
    for c in s:
        n += 1
        if c in VOWELS:
            v += 1
    return v / n if n else 0.0


@case(args(text("ABCDE")), "Scrabble", kind="dict lookup as data")
def scrabble(s):
    t = 0
    for i, c in enumerate(s):
        t += SCORE[c] * (2 if i % 5 == 0 else 1)
    return t


@case(args(text("ABCDEZ")), "Scrabble with a default", kind="dict.get as data", expect="any")
def scrabble_lenient(s):
    t = 0
    for c in s:
        t += SCORE.get(c, 10)
    return t


@case(args(floats()), "three-tap filter, energy", kind="global tuple, a[i-1], a[i+1]", approx=True)
def filtered_energy(x):
    e = 0.0
    for i in range(1, len(x) - 1):
        y = KERNEL[0] * x[i - 1] + KERNEL[1] * x[i] + KERNEL[2] * x[i + 1]
        e += y * y
    return e


@case(args(rows(3, ints(-9, 9))), "inner loop over data only", kind="inner for with a local sum")
def largest_norm(a):
    best = 0
    for row in a:
        n = 0
        for v in row:
            n += v * v
        if n > best:
            best = n
    return best


@case(
    args(cubes(2, 2, ints(0, 3)), 1009), "chain of 2x2 matrices as nested lists", kind="nested list state", expect="any"
)
def chain_lists(ms, p):
    acc = [[1, 0], [0, 1]]
    for m in ms.tolist():
        acc = [
            [(acc[0][0] * m[0][0] + acc[0][1] * m[1][0]) % p, (acc[0][0] * m[0][1] + acc[0][1] * m[1][1]) % p],
            [(acc[1][0] * m[0][0] + acc[1][1] * m[1][0]) % p, (acc[1][0] * m[0][1] + acc[1][1] * m[1][1]) % p],
        ]
    return acc


@case(args(cubes(2, 2, ints(0, 2))), "acc = acc @ m", "any", kind="matrix product of NumPy")
def chain_numpy(ms):
    acc = np.eye(2, dtype=np.int64)
    for m in ms:
        acc = acc @ m
    return acc


@case(args(listed(ints())), "min and max as a pair in an array", kind="np array state")
def extent(a):
    r = np.array([10**6, -(10**6)])
    for v in a:
        if v < r[0]:
            r[0] = v
        if v > r[1]:
            r[1] = v
    return r


@case(args(ints(0, 4)), "counts in a fixed array by if", kind="fixed places of an array")
def tally(a):
    n = np.zeros(3, dtype=np.int64)
    for v in a:
        if v == 0:
            n[0] += 1
        elif v == 1:
            n[1] += 1
        else:
            n[2] += v
    return n


@case(args(listed(ints(0, 100))), "walrus with divmod", kind="walrus, divmod")
def digits_by_walrus(a):
    s = 0
    for v in a:
        if (q := v // 10) != (r := v % 10):
            s += q * r
        else:
            a_, b_ = divmod(v, 7)
            s -= a_ + b_
    return s


@case(args(listed(ints())), "closure over a constant", kind="closure constant")
def scaled(a):
    k = 3
    shift = lambda v: v * k + 1
    s = m = 0
    for v in a:
        w = shift(v)
        s += w
        m = max(m, w)
    return s, m


@case(args(listed(ints())), "global counter", "refuse", note="effect: a global")
def counted_calls(a):
    global _calls
    before = _calls
    for v in a:
        if v > 0:
            _calls += 1
    return _calls - before


@case(args(listed(ints())), "global list", "refuse", note="effect: a global list grows")
def logged(a):
    _log.clear()
    s = 0
    for v in a:
        s += v
        if v > 40:
            _log.append(s)
    return s, list(_log)


@case(args(listed(ints())), "generator of a window", "refuse", note="yield")
def steps(a):
    last = None
    for v in a:
        if last is not None:
            yield v - last
        last = v


@case(
    args(listed(ints(0, 20)), listed(ints(0, 20))),
    "merge of sorted lists",
    "refuse",
    note="places depend on the data seen",
)
def merged(a, b):
    a, b = sorted(a), sorted(b)
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    return out + a[i:] + b[j:]


@case(args(listed(ints(0, 9))), "writes to its argument", "any", kind="out argument is the input")
def zeroed(a):
    s = 0
    for i in range(len(a)):
        s += a[i]
        a[i] = 0
    return s


@case(args(u8(), u8()), "writes to a second array", "any", kind="in-place output argument")
def thresholded(src, dst):
    n = 0
    for i in range(len(src)):
        if src[i] > 127:
            dst[i] = 255
            n += 1
        else:
            dst[i] = 0
    return n


@case(args(words(["a=1", "b=22", "c"])), "key=value lines", "any", kind="partition, int of text")
def config_sum(lines):
    s = bad = 0
    for line in lines:
        _, sign, value = line.partition("=")
        if sign:
            s += int(value)
        else:
            bad += 1
    return s, bad


@case(args(octets(b"\x00\x01\x7f\x80\xff")), "varints", "any", kind="shift grows, restarts")
def varint_sum(data):
    total = value = shift = 0
    for b in data:
        value |= (b & 0x7F) << shift
        if b & 0x80:
            shift += 7
        else:
            total += value
            value = shift = 0
    return total


@case(args(octets(b"\x00\x01\x7f\x80\xff")), "COBS-like zero runs", kind="run and state in bytes")
def zero_runs(data):
    runs = longest = cur = 0
    for b in data:
        if b == 0:
            if cur == 0:
                runs += 1
            cur += 1
            longest = max(longest, cur)
        else:
            cur = 0
    return runs, longest


@case(args(pairs(ints(0, 5), ints(0, 100))), "argmax by key in dicts", "group", kind="two dicts a key")
def best_by_key(items):
    best = {}
    at = {}
    for i, (k, v) in enumerate(items):
        if k not in best or v > best[k]:
            best[k] = v
            at[k] = i
    return best, at


@case(args(text("ab c")), "words by length", "any", kind="count by the state at a separator")
def word_lengths(s):
    counts = {}
    n = 0
    for c in s + " ":
        if c == " ":
            if n:
                counts[n] = counts.get(n, 0) + 1
            n = 0
        else:
            n += 1
    return counts
