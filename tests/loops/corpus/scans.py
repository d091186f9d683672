"""Scans: an output element a step, by append or by place, with resets, and what is refused of them."""

import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, dirty, flags, floats, ints, listed, prices, rows, text, u8, unit


@case(args(listed(ints())), "itertools.accumulate by hand", "scan", kind="append")
def prefix_sums(a):
    out = []
    s = 0
    for v in a:
        s += v
        out.append(s)
    return out


@case(args(ints()), "exclusive scan", "scan", kind="append before the update")
def exclusive_sums(a):
    out = []
    s = 0
    for v in a:
        out.append(s)
        s += v
    return out, s


@case(args(floats()), "np.cumsum by place", "scan", kind="out[i] = out[i-1] + a[i]", approx=True, least=1)
def cumsum_places(a):
    out = np.zeros(len(a))
    out[0] = a[0]
    for i in range(1, len(a)):
        out[i] = out[i - 1] + a[i]
    return out


@case(args(ints()), "offsets of lengths", "scan", kind="out[i + 1]")
def offsets(a):
    out = np.zeros(len(a) + 1, dtype=np.int64)
    for i in range(len(a)):
        out[i + 1] = out[i] + a[i]
    return out


@case(args(floats()), "running maximum", "scan", kind="running max")
def running_max(a):
    out = np.empty(len(a))
    m = -math.inf
    for i, v in enumerate(a):
        if v > m:
            m = v
        out[i] = m
    return out


@case(args(dirty(0.1)), "running maximum with NaN", "scan", kind="running max, NaN trap")
def running_max_nan(a):
    out = np.empty(len(a))
    m = -math.inf
    for i in range(len(a)):
        m = max(m, a[i])
        out[i] = m
    return out


@case(args(prices()), "finance (EMA)", "scan", kind="affine scan", approx=True, least=1)
def ema(p, alpha=0.2):
    out = [p[0]]
    e = p[0]
    for v in p[1:]:
        e = alpha * v + (1 - alpha) * e
        out.append(e)
    return out


@case(args(floats()), "one-pole filter", "scan", kind="y[i] = a*y[i-1] + b*x[i]", approx=True)
def one_pole(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.9 * y[i - 1] + 0.1 * x[i]
    return y


@case(args(floats()), "biquad", "scan", kind="y[i-1], y[i-2]", approx=True)
def biquad(x):
    y = np.zeros(len(x))
    for i in range(2, len(x)):
        y[i] = 0.3 * x[i] + 0.2 * x[i - 1] + 0.5 * y[i - 1] - 0.25 * y[i - 2]
    return y


@case(args(dirty(0.3, (float("nan"),))), "pandas ffill", "scan", kind="last value that is not NaN")
def forward_fill(a):
    out = np.empty(len(a))
    last = np.nan
    for i in range(len(a)):
        if not np.isnan(a[i]):
            last = a[i]
        out[i] = last
    return out


@case(args(dirty(0.3, (float("nan"),))), "pandas bfill", "scan", kind="backwards")
def backward_fill(a):
    out = np.empty(len(a))
    nxt = np.nan
    for i in range(len(a) - 1, -1, -1):
        if not math.isnan(a[i]):
            nxt = a[i]
        out[i] = nxt
    return out


@case(args(flags(0.7)), "pandas (consecutive True)", "scan", kind="reset")
def streak_lengths(a):
    out = []
    run = 0
    for v in a:
        run = run + 1 if v else 0
        out.append(run)
    return out


@case(args(flags(0.3)), "segment numbers", "scan", kind="count of starts")
def segment_ids(starts):
    out = np.zeros(len(starts), dtype=np.int32)
    k = 0
    for i in range(len(starts)):
        if starts[i]:
            k += 1
        out[i] = k
    return out


@case(args(ints(), flags(0.2)), "segmented sum", "scan", kind="sum restarts at a flag")
def segmented_sums(a, starts):
    out = np.zeros(len(a), dtype=np.int64)
    s = 0
    for i in range(len(a)):
        if starts[i]:
            s = 0
        s += a[i]
        out[i] = s
    return out


@case(args(listed(ints(0, 10))), "LeetCode 1480, in place", "any", kind="mutates what it reads")
def running_sum_in_place(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a


@case(args(floats()), "np.diff by hand", "scan", kind="no state: a map of neighbours")
def differences(a):
    out = np.zeros(max(len(a) - 1, 0))
    for i in range(1, len(a)):
        out[i - 1] = a[i] - a[i - 1]
    return out


@case(args(unit(0.99, 1.01)), "wealth index", "scan", kind="running product", approx=True)
def wealth(r):
    w = 1.0
    out = []
    for v in r:
        w *= v
        out.append(w)
    return out


@case(args(prices()), "drawdown series", "scan", kind="function of the state is put out")
def drawdowns(p):
    out = np.zeros(len(p))
    peak = 0.0
    for i, v in enumerate(p):
        peak = max(peak, v)
        out[i] = 1 - v / peak
    return out


@case(args(listed(ints(-9, 9)), 10), "clamped walk", "scan", kind="clamp")
def clamped_walk(a, cap):
    x = 0
    out = []
    for v in a:
        x = max(0, min(cap, x + v))
        out.append(x)
    return out


@case(args(listed(ints())), "conditional append", "any", note="state grows under a condition: a compaction")
def positives(a):
    out = []
    for v in a:
        if v > 0:
            out.append(v)
    return out


@case(args(ints(0, 5)), "two outputs", "scan", kind="two outputs a step")
def sums_and_maxima(a):
    sums, tops = [], []
    s, m = 0, -1
    for v in a:
        s += v
        m = max(m, v)
        sums.append(s)
        tops.append(m)
    return sums, tops


@case(args(u8()), "delta decoding", "scan", kind="uint8 wraps")
def delta_decode(d):
    out = np.zeros(len(d), dtype=np.uint8)
    x = np.uint8(0)
    for i in range(len(d)):
        x = x + d[i]
        out[i] = x
    return out


@case(args(u8()), "ADPCM-like", "scan", kind="clamp of a difference")
def adpcm(codes):
    out = np.zeros(len(codes), dtype=np.int32)
    x = 0
    for i, c in enumerate(codes.tolist()):
        x = min(max(x + (c - 128) * 8, -32768), 32767)
        out[i] = x
    return out


@case(args(text("ab")), "running count in a string", "scan", kind="str to list")
def balance_of_letters(s):
    out = []
    k = 0
    for c in s:
        k += 1 if c == "a" else -1
        out.append(k)
    return out


@case(args(rows(3, ints())), "row sums", "scan", kind="row accumulators reset a row")
def row_sums(a):
    out = []
    for row in a:
        s = 0
        for v in row:
            s += v
        out.append(s)
    return out


@case(args(rows(4, ints())), "integral image row by row", "any", kind="out[i, j], row accumulator")
def row_prefix(a):
    h, w = a.shape
    out = np.zeros((h, w), dtype=np.int64)
    for i in range(h):
        s = 0
        for j in range(w):
            s += a[i, j]
            out[i, j] = s
    return out


@case(args(rows(4, ints())), "integral image", "any", kind="out[i-1, j] + row")
def integral_image(a):
    h, w = a.shape
    out = np.zeros((h + 1, w + 1), dtype=np.int64)
    for i in range(h):
        s = 0
        for j in range(w):
            s += a[i, j]
            out[i + 1, j + 1] = out[i, j + 1] + s
    return out


@case(args(floats()), "exponential smoothing from None", "scan", kind="None first", approx=True)
def smoothed(a):
    s = None
    out = []
    for v in a:
        s = v if s is None else 0.5 * s + 0.5 * v
        out.append(s)
    return out


@case(args(listed(ints(0, 2))), "toggle", "scan", kind="bool scan")
def toggled(a):
    on = False
    out = []
    for v in a:
        if v:
            on = not on
        out.append(on)
    return out


@case(args(listed(ints())), "the list is only read back at the end", "any", kind="append, out[-1]")
def sums_by_last(a):
    out = [0]
    for v in a:
        out.append(out[-1] + v)
    return out


@case(args(listed(ints(1, 30))), "Josephus, growing from one", kind="mod of the step's number", expect="any")
def josephus(ks):
    at = 0
    for n, k in enumerate(ks, 1):
        at = (at + k) % n
    return at
