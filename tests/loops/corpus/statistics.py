"""Statistics, signals, finance, physics: moments, complex numbers, records, filters without output."""

import cmath
import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, dirty, flags, floats, ints, listed, pairs, prices, rows, unit


@case(args(floats()), "Welford 1962", kind="mean and M2: projective update", expect="any", approx=True)
def welford(x):
    n = 0
    mean = m2 = 0.0
    for v in x:
        n += 1
        d = v - mean
        mean += d / n
        m2 += d * (v - mean)
    return n, mean, m2


@case(args(floats()), "moments by sums", kind="four sums", approx=True)
def raw_moments(x):
    n = 0
    s1 = s2 = s3 = 0.0
    for v in x:
        n += 1
        s1 += v
        s2 += v * v
        s3 += v**3
    return n, s1, s2, s3


@case(args(floats(), floats()), "SO (least squares by hand)", kind="five sums, Python after", approx=True, least=2)
def least_squares(x, y):
    n = len(x)
    sx = sy = sxx = sxy = 0.0
    for i in range(n):
        sx += x[i]
        sy += y[i]
        sxx += x[i] * x[i]
        sxy += x[i] * y[i]
    slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    return slope, (sy - slope * sx) / n


@case(args(floats(), floats()), "pandas (covariance, online)", "any", kind="online covariance", approx=True)
def covariance(x, y):
    mx = my = c = 0.0
    n = 0
    for a, b in zip(x, y):
        n += 1
        dx = a - mx
        mx += dx / n
        my += (b - my) / n
        c += dx * (b - my)
    return c


@case(args(dirty(0.2, (float("nan"),))), "nanmean", kind="continue on NaN", approx=True)
def nan_mean(a):
    s = 0.0
    n = 0
    for v in a:
        if np.isnan(v):
            continue
        s += v
        n += 1
    return s / n if n else math.nan


@case(args(floats(8.0, np.float32)), "float32 sum", kind="np.float32 sum from 0", approx=True)
def sum32(a):
    s = np.float32(0)
    for v in a:
        s += v
    return s


@case(args(floats(8.0, np.float32)), "float32 data, Python float start", kind="0.0 + float32 is float32", approx=True)
def mean32(a):
    s = 0.0
    for v in a:
        s = s + v * v
    return s


@case(args(unit(0.1, 1.1)), "geometric mean", kind="product", approx=True)
def product(a):
    p = 1.0
    for v in a:
        p *= v
    return p


@case(args(unit(0.0, 6.28)), "circular mean", kind="complex accumulator", approx=True)
def circular_mean(angles):
    z = 0j
    for t in angles:
        z += complex(math.cos(t), math.sin(t))
    return z


@case(args(unit(0.0, 6.28)), "phasor product", kind="complex product", approx=True)
def phasor(angles):
    z = 1 + 0j
    for t in angles.tolist():
        z *= cmath.exp(1j * t)
    return z


@case(args(floats(), 0.3), "Goertzel / DFT bin", kind="complex sum with the index", approx=True)
def dft_bin(x, w):
    re = im = 0.0
    for k in range(len(x)):
        re += x[k] * math.cos(w * k)
        im -= x[k] * math.sin(w * k)
    return re, im


@case(args(floats(), 0.3), "Goertzel", kind="second-order recurrence", approx=True)
def goertzel(x, w):
    c = 2 * math.cos(w)
    s1 = s2 = 0.0
    for v in x:
        s1, s2 = v + c * s1 - s2, s1
    return s1 * s1 + s2 * s2 - c * s1 * s2


@case(
    lambda rng, n: (np.round(rng.normal(size=n), 2) + 1j * np.round(rng.normal(size=n), 2),),
    "complex arrays",
    kind="complex128 elements",
    approx=True,
)
def complex_energy(z):
    e = 0.0
    s = 0
    for v in z:
        e += v.real * v.real + v.imag * v.imag
        s += v
    return e, s


@case(args(unit(0, 2)), "EMA's last value", kind="affine with constants", approx=True)
def last_ema(a, alpha=0.1):
    e = 0.0
    for v in a:
        e = (1 - alpha) * e + alpha * v
    return e


@case(args(unit(0, 2)), "EMA from the first element", kind="None first, affine", approx=True)
def last_ema_none(a, alpha=0.1):
    e = None
    for v in a:
        if e is None:
            e = v
        else:
            e += alpha * (v - e)
    return e


@case(args(prices(), ints(1, 50)), "VWAP", kind="two sums, Python after", approx=True)
def vwap(p, q):
    pv = 0.0
    v = 0
    for x, y in zip(p, q):
        pv += x * y
        v += y
    return pv / v if v else None


@case(args(listed(ints(-300, 400)), 0.01), "loan with payments", kind="affine, a rate", approx=True)
def balance(payments, rate):
    b = 1000.0
    for p in payments[:200]:
        b = b * (1 + rate) - p
    return b


@case(args(listed(unit(0.0, 0.2))), "compound interest", kind="product of 1 + r", approx=True)
def compound(rates):
    v = 1.0
    for r in rates[:100]:
        v *= 1 + r
    return v


@case(args(unit(0.01, 0.99)), "log-sum-exp, stable", "any", kind="rescaled sum", approx=True)
def log_sum_exp(a):
    m = -math.inf
    s = 0.0
    for v in a.tolist():
        if v > m:
            s = s * math.exp(m - v) + 1.0
            m = v
        else:
            s += math.exp(v - m)
    return m + math.log(s) if s else -math.inf


@case(args(floats(1.0), ints(0, 100)), "softmax of attention", "any", kind="online softmax", approx=True)
def online_softmax(score, value):
    m, d, o = -math.inf, 0.0, 0.0
    for x, v in zip(score.tolist(), value.tolist()):
        new = max(m, x)
        scale = math.exp(m - new)
        d = d * scale + math.exp(x - new)
        o = o * scale + math.exp(x - new) * v
        m = new
    return o / d if d else 0.0


@case(args(floats()), "Kahan summation", "any", kind="compensated: reassociation is what it must not see", approx=True)
def kahan(a):
    s = c = 0.0
    for v in a:
        y = v - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


def _records(rng, n):
    out = np.zeros(n, dtype=[("t", "i8"), ("price", "f8"), ("side", "u1")])
    out["t"] = np.arange(n) * 3
    out["price"] = np.round(rng.random(n) * 10, 2)
    out["side"] = rng.integers(0, 2, n)
    return (out,)


@case(_records, "tick data", kind="structured array, branch")
def last_trades(ticks):
    bid = ask = 0.0
    n = 0
    for k in range(len(ticks)):
        if ticks[k]["side"] == 0:
            bid = max(bid, ticks[k]["price"])
        else:
            ask = max(ask, ticks[k]["price"])
            n += 1
    return bid, ask, n


@case(_records, "tick data, rows", kind="structured rows", approx=True)
def time_weighted(ticks):
    s = 0.0
    last = 0
    for row in ticks:
        s += row["price"] * (row["t"] - last)
        last = row["t"]
    return s


@case(args(rows(3, floats()), unit(0.5, 2.0)), "centre of mass", kind="small array state", approx=True)
def centre_of_mass(x, m):
    c = [0.0, 0.0, 0.0]
    total = 0.0
    for i in range(len(m)):
        c[0] += m[i] * x[i, 0]
        c[1] += m[i] * x[i, 1]
        c[2] += m[i] * x[i, 2]
        total += m[i]
    return c, total


@case(args(floats()), "Euler steps", kind="two affine states", approx=True)
def spring(forces, dt=0.01, k=2.0):
    x, v = 1.0, 0.0
    for f in forces:
        v += (f - k * x) * dt
        x += v * dt
    return x, v


@case(args(unit(-1, 1)), "logistic map with data", "refuse", note="quadratic in the state")
def logistic(a):
    x = 0.3
    for v in a:
        x = 3.5 * x * (1 - x) + 0.001 * v
    return x


@case(args(floats(1.0)), "running mean by sqrt", "refuse", note="nonlinear in the state")
def damped(a):
    x = 1.0
    for v in a:
        x = math.sqrt(abs(x + v)) + 0.1
    return x


@case(args(flags(0.5)), "odds", kind="count and ratio")
def hit_rate(a):
    hit = n = 0
    for v in a:
        n += 1
        if v:
            hit += 1
    return hit / n if n else 0.0


@case(args(pairs(unit(), flags(0.5))), "Brier score", kind="conditional data", approx=True)
def brier(items):
    s = 0.0
    for p, y in items:
        s += (p - (1.0 if y else 0.0)) ** 2
    return s / max(len(items), 1)


@case(args(floats()), "float sum, then an int of it", "refuse", note="rounding decides an integer")
def int_of_sum(a):
    s = 0.0
    ups = 0
    for v in a:
        s += v * 0.1
        if s > 1.0:
            ups += 1
    return ups
