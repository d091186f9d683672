"""The dress of Python: helpers, closures, several loops, unpacking, walrus, while, match, early returns."""

from operator import add

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, flags, ints, listed, octets, pairs, rows, tupled

LIMIT = 25
TABLE = np.array([3, 1, 4, 1, 5, 9, 2, 6])


@case(args(listed(ints(0, 8))), "global array as data", kind="lookup in a global array", least=0)
def looked_up(a):
    s = np.int64(0)
    for v in a:
        s += TABLE[v]
    return s


def _clip(v):
    return min(max(v, -LIMIT), LIMIT)


def _larger(v, w):
    if v > w:
        return v
    return w


@case(args(ints()), "helper on the state", kind="helper of the state, inlined")
def saturating(a):
    s = 0
    for v in a:
        s = _clip(s + v)
    return s


@case(args(ints()), "helper with two returns", kind="helper of the state, branches")
def helper_max(a):
    m = 0
    for v in a:
        m = _larger(m, v)
    return m


@case(args(listed(ints())), "operator.add", "any", kind="function of a library on the state")
def operator_sum(a):
    s = 0
    for v in a:
        s = add(s, v)
    return s


@case(args(listed(ints())), "function defined inside", "any", kind="inner def over the state")
def inner_function(a):
    def step(s, v):
        return s + 2 * v if v > 0 else s

    s = 0
    for v in a:
        s = step(s, v)
    return s


@case(args(listed(ints())), "parallel assignment", kind="a, b = b, a + v")
def swapped(a):
    x = y = 0
    for v in a:
        x, y = y, x
        x += v
    return x, y


@case(args(listed(ints())), "chained assignment", kind="x = y = …")
def chained(a):
    x = y = 0
    for v in a:
        if v > 40:
            x = y = v
        else:
            y -= 1
    return x, y


@case(args(listed(ints())), "tuple state", "any", kind="one tuple as the state")
def tuple_state(a):
    s = (0, -(10**9))
    for v in a:
        s = (s[0] + v, max(s[1], v))
    return s


@case(args(listed(ints())), "dict state", "any", kind="dict with fixed string keys as state")
def dict_state(a):
    st = {"n": 0, "sum": 0, "max": None}
    for v in a:
        st["n"] += 1
        st["sum"] += v
        if st["max"] is None or v > st["max"]:
            st["max"] = v
    return st


@case(args(listed(ints())), "walrus in while", "any", kind="walrus, while")
def walrus_while(a):
    i = s = 0
    while (n := len(a) - i) > 0:
        s += a[i] * (n % 3)
        i += 1
    return s


@case(args(listed(ints())), "while with a step of two", kind="while i + 1 < n")
def pairs_by_while(a):
    i = 0
    s = 0
    while i + 1 < len(a):
        s += a[i] * a[i + 1]
        i += 2
    return s


@case(args(listed(ints())), "while True with break", "any", kind="while True")
def while_true(a):
    i = 0
    s = 0
    while True:
        if i >= len(a):
            break
        s += a[i]
        i += 1
    return s


@case(args(listed(ints())), "for over range(n)[::-1]", "any", kind="range sliced")
def sliced_range(a):
    s = 0
    for i in range(len(a))[::-1]:
        s = s + i * a[i]
    return s


@case(args(listed(ints()), listed(ints())), "zip of slices", kind="zip(a, a[1:])")
def neighbours(a, b):
    s = 0
    for x, y in zip(a, b[1:]):
        s += x * y
    return s


@case(args(listed(ints())), "zip(a, a[1:])", kind="neighbours by zip")
def descents(a):
    c = 0
    for x, y in zip(a, a[1:]):
        if y < x:
            c += 1
    return c


@case(args(pairs(ints(0, 5), ints())), "nested unpacking", kind="for i, (k, v) in enumerate")
def nested_unpacking(items):
    s = 0
    last = -1
    for i, (k, v) in enumerate(items):
        if k == 3:
            s += v
            last = i
    return s, last


@case(args(rows(4, ints())), "starred unpacking", "any", kind="first, *rest")
def starred(a):
    s = 0
    for first, *rest in a.tolist():
        s += first * len(rest) - rest[0]
    return s


@case(args(listed(ints())), "three loops and Python between", kind="three loops", approx=True)
def standardised(a):
    if not a:
        return None
    lo = hi = a[0]
    for v in a:
        lo = min(lo, v)
        hi = max(hi, v)
    width = hi - lo or 1
    s = 0.0
    for v in a:
        s += (v - lo) / width
    mean = s / len(a)
    above = 0
    for v in a:
        if (v - lo) / width > 0.5:
            above += 1
    return mean, above


@case(args(listed(ints()), flags(0.5)), "branch outside the loop", "any", kind="loop under an if")
def loop_under_if(a, m):
    if len(m) and m[0]:
        s = 0
        for v in a:
            s += v
    else:
        s = 1
        for v in a:
            s ^= v
    return s


@case(args(listed(ints())), "early return before the loop", kind="return before")
def guarded(a):
    if not a:
        return "empty"
    s = 0
    for v in a:
        s += v
    return s


@case(args(listed(ints())), "nothing is returned", "any", kind="no result: the loop has no effect")
def no_result(a):
    s = 0
    for v in a:
        s += v


@case(args(listed(ints())), "variables first bound in the body", kind="temporaries, used after the loop", least=1)
def bound_inside(a):
    s = 0
    for v in a:
        t = v * 3
        s += t
    return s, t, v


@case(args(listed(ints(0, 3)), listed(ints())), "match", "any", kind="match on the data")
def matched(kinds, values):
    s = 0
    for k, v in zip(kinds, values):
        match k:
            case 0:
                s += v
            case 1:
                s -= v
            case _:
                pass
    return s


@case(args(listed(ints(0, 50))), "comprehension before, loop, comprehension after", kind="prologue and epilogue")
def dressed(a):
    evens = [v for v in a if v % 2 == 0]
    s = 0
    for v in evens:
        s += v
    return [s, len(evens), sum(evens) == s]


@case(args(listed(ints()), "x"), "keyword and string arguments", kind="arguments that the loop does not use")
def labelled(a, name, *, scale=2):
    s = 0
    for v in a:
        s += v * scale
    return f"{name}={s}"


@case(args(tupled(ints())), "nested helper of data and state", kind="min(max())")
def nested_calls(a):
    lo, hi = 0, 0
    for v in a:
        lo = min(lo, max(v, -30))
        hi = max(hi, min(v, 30))
    return lo, hi


@case(args(listed(ints())), "continue in the middle", kind="continue, several exits")
def several_exits(a):
    s = n = 0
    for v in a:
        if v < -40:
            continue
        n += 1
        if v % 3 == 0:
            s += v
            continue
        s -= 1
        if v == 49:
            break
    else:
        n = -n
    return s, n


@case(args(listed(ints())), "assert", "any", kind="assert inside")
def asserted(a):
    s = 0
    for v in a:
        assert v > -1000
        s += v
    return s


@case(args(listed(ints())), "raise inside", "any", kind="raise inside", raises=True)
def raised(a):
    s = 0
    for v in a:
        if v == 42:
            raise ValueError(f"no {v}")
        s += v
    return s


@case(args(octets(b"abc")), "memoryview", kind="memoryview of bytes")
def viewed(s):
    t = 0
    for b in memoryview(s):
        t += b
    return t
