"""Iterators, dicts, sets and objects as data, strings as constants."""

import math

from tests.loops.cases import case
from tests.loops.data import args, floats, text, words

SCALE = 0.5


@case(lambda rng, n: (iter(rng.integers(0, 9, n).tolist()),), "an iterator", "any", kind="an iterator as the data")
def from_iterator(it):
    s = 0
    for v in it:
        s += v
    return s


@case(
    lambda rng, n: (dict(zip(range(n), rng.integers(0, 9, n).tolist())),),
    "dict.items",
    "any",
    kind="for k, v in d.items()",
)
def over_items(d):
    s = 0
    for k, v in d.items():
        s += k * v
    return s


@case(lambda rng, n: (set(rng.integers(0, 99, n).tolist()),), "over a set", "any", kind="order of a set")
def over_set(values):
    s = 0
    for v in values:
        s ^= v * v
    return s


@case(args(floats()), "generator expression after", kind="sum of a generator outside", approx=True)
def mixed_styles(a):
    m = -math.inf
    for v in a:
        m = max(m, v * SCALE)
    return sum(1 for v in a if v * SCALE == m), m


class Account:
    """Hold a rate and a balance."""

    def __init__(self, rate):
        self.rate = rate
        self.total = 0


@case(
    lambda rng, n: (Account(3), rng.integers(0, 9, n).tolist()), "attributes", "any", kind="attribute read and written"
)
def paid(account, a):
    for v in a:
        account.total += v * account.rate
    return account.total


@case(lambda rng, n: (Account(3), rng.integers(0, 9, n).tolist()), "attribute read", kind="attribute as a constant")
def rated(account, a):
    s = 0
    for v in a:
        s += v * account.rate
    return s


@case(args(words(["up", "down", "forward 5"])), "string methods", "any", kind="startswith, split, int")
def submarine(ws):
    depth = x = 0
    for w in ws:
        if w.startswith("forward"):
            x += int(w.split()[1])
        elif w == "up":
            depth -= 1
        else:
            depth += 1
    return x * depth


@case(args(text("ab"), "b"), "string argument compared", kind="constant string")
def count_of(s, c):
    n = 0
    for x in s:
        if x == c:
            n += 1
    return n
