"""Traps: unbounded ints, floors of negatives, result types, overflow, exceptions at a step, mixed ints and floats."""

import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, dirty, flags, floats, ints, listed, one_of, size, text, u8, unit


@case(args(listed(ints(-(2**62), 2**62))), "Python sum leaves int64", "any", kind="big ints")
def big_sum(a):
    s = 0
    for v in a:
        s += v
    return s


@case(args(ints(-(2**62), 2**62)), "np.int64 sum wraps", kind="wraps at 64 bits")
def wrapping_sum(a):
    s = np.int64(0)
    for v in a:
        s += v
    return s


@case(args(ints(-(2**62), 2**62)), "0 + np.int64 is np.int64", kind="int start, wraps")
def mixed_sum(a):
    s = 0
    for v in a:
        s += v
    return s


@case(args(ints(-(2**30), 2**30, np.int32)), "int32 sum", kind="wraps at 32 bits")
def int32_sum(a):
    s = 0
    for v in a:
        s += v
    return s


@case(args(ints(-(2**30), 2**30, np.int32)), "int32 data, int64 start", kind="promotion")
def int32_into_int64(a):
    s = np.int64(7)
    for v in a:
        s += v
    return s


@case(args(ints(-100, 100, np.int8)), "int8 product by a constant", kind="int8 wraps in the data")
def int8_doubled(a):
    m = -(10**6)
    for v in a:
        w = v * 2
        if w > m:
            m = w
    return m


@case(args(u8(), u8()), "uint8 difference wraps", kind="data wraps: 3 - 5 is 254", least=0)
def uint8_differences(a, b):
    s = np.int64(0)
    for x, y in zip(a, b):
        s += x - y
    return s


@case(args(ints(0, 2**63, np.uint64)), "uint64 xor and sum", kind="uint64 wraps", least=0)
def uint64_mix(a):
    s = np.uint64(0)
    x = np.uint64(0)
    for v in a:
        s += v
        x ^= v
    return s, x


@case(args(listed(ints(-50, 50)), one_of(-7, -3, -1, 2, 5)), "floor division of negatives", kind="// and % of the data")
def floored(a, d):
    s = t = 0
    for v in a:
        s += v // d
        t += v % d
    return s, t


@case(
    args(listed(ints(-50, 50)), one_of(-11, 7, 1)),
    "state mod a constant",
    kind="% with a negative divisor",
    expect="any",
)
def clock(a, m):
    x = 0
    for v in a:
        x = (x + v) % m
    return x


@case(args(listed(ints(-5, 6))), "division by zero at a step", "any", kind="ZeroDivisionError", raises=True)
def integer_quotients(a):
    s = 0
    for v in a:
        s += 100 // v
    return s


@case(args(listed(ints(-5, 6))), "float division by zero at a step", "any", kind="ZeroDivisionError", raises=True)
def reciprocals(a):
    s = 0.0
    for v in a:
        s += 1 / v
    return s


@case(args(listed(ints(0, 100)), 0), "modulus zero", "any", kind="ZeroDivisionError, constant", raises=True)
def sum_mod(a, m):
    s = 0
    for v in a:
        s = (s + v) % m
    return s


@case(args(listed(ints()), size()), "IndexError at the last step", "any", kind="IndexError", raises=True)
def one_too_far(a, n):
    s = 0
    for i in range(n):
        s += a[i + 1]
    return s


@case(args(listed(ints())), "a[i-1] at zero is the last element", kind="negative index wraps")
def ring_changes(a):
    c = 0
    for i in range(len(a)):
        if a[i] != a[i - 1]:
            c += 1
    return c


@case(args(floats()), "int() of floats", kind="truncation")
def truncated(a):
    s = 0
    for v in a:
        s += int(v)
    return s


@case(args(dirty(0.02, (float("nan"), 1.0))), "int(nan) at a step", "any", kind="ValueError", raises=True)
def truncated_nan(a):
    s = 0
    for v in a:
        s += int(v)
    return s


@case(args(dirty(0.02, (float("inf"), 1.0))), "int(inf) at a step", "any", kind="OverflowError", raises=True)
def truncated_inf(a):
    s = 0
    for v in a:
        s += int(v * 2)
    return s


@case(args(listed(unit(-3, 3))), "round", kind="round half to even")
def rounded(a):
    s = 0
    for v in a:
        s += round(v * 2)
    return s


@case(args(floats()), "math.floor and ceil", kind="ints of floats")
def floors_and_ceils(a):
    lo = hi = 0
    for v in a:
        lo += math.floor(v)
        hi += math.ceil(v)
    return lo, hi


@case(args(listed(floats())), "int or float by the data", "any", kind="the type depends on the data", approx=True)
def int_until_float(a):
    s = 0
    for v in a:
        if v > 5:
            s += v
        else:
            s += 1
    return s


@case(args(listed(ints())), "int sum that becomes float at the end", kind="/ of ints after", least=1)
def mean_of_ints(a):
    s = 0
    for v in a:
        s += v
    return s / len(a)


@case(args(listed(ints(1, 9))), "float accumulator of ints", kind="0.0 start, ints added")
def float_of_ints(a):
    s = 0.0
    for v in a:
        s += v
    return s


@case(args(listed(ints(1, 40))), "halves are exact", kind="/ by two", approx=True)
def halves(a):
    s = 0
    for v in a:
        s += v / 2
    return s


@case(args(listed(ints(2**53, 2**53 + 64))), "ints beyond 2**53 to float", kind="float(int)", approx=True)
def beyond_53(a):
    s = 0.0
    for v in a:
        s += float(v)
    return s


@case(args(listed(ints(-40, 40))), "max of ints and floats", "any", kind="max(0.5, int) keeps the type")
def mixed_max(a):
    m = 0.5
    for v in a:
        m = max(m, v)
    return m


@case(args(dirty(0.2, (-0.0, 0.0))), "sum of negative zeros", kind="-0.0 start", approx=True)
def negative_zero_sum(a):
    s = -0.0
    for v in a:
        s += v
    return s


@case(args(listed(flags())), "bool state", kind="and/or/xor of bools")
def bools(a):
    every, some, odd = True, False, False
    for v in a:
        every = every and v
        some = some or v
        odd = odd != v
    return every, some, odd


@case(args(flags()), "np.bool_ state", kind="& and | of np.bool_", least=0)
def numpy_bools(a):
    every, some = True, False
    for v in a:
        every &= v
        some |= v
    return every, some


@case(args(listed(ints(0, 70))), "1 << v", "any", kind="big ints of shifts")
def bit_set(a):
    s = 0
    for v in a:
        s |= 1 << v
    return s


@case(args(ints(0, 60)), "mask of seen values", kind="|= 1 << v in int64", expect="any")
def seen_mask(a):
    s = 0
    for v in a.tolist():
        s |= 1 << v
    return s.bit_count()


@case(args(listed(ints(-(2**40), 2**40))), "squares leave int64", "any", kind="big ints in the data")
def big_squares(a):
    s = 0
    for v in a:
        s += v * v
    return s


@case(args(listed(ints(-9, 9)), 2**63), "big constant", "any", kind="a constant that int64 does not hold")
def plus_big(a, c):
    s = c
    for v in a:
        s += v
    return s


@case(lambda rng, n: ([10**30 + int(v) for v in rng.integers(0, 9, n)],), "big data", "any", kind="data beyond int64")
def big_data(a):
    m = 0
    for v in a:
        if v > m:
            m = v
    return m


@case(args(listed(ints(-4, 5))), "pow of the data", kind="pow(x, 2), x**3")
def powers(a):
    s = 0
    for v in a:
        s += pow(v, 2) - v**3
    return s


@case(args(listed(ints(-4, 5))), "negative exponents", "any", kind="2**v is int or float")
def two_to(a):
    s = 0
    for v in a:
        s += 2**v
    return s


@case(args(listed(ints())), "abs and unary minus", kind="abs, -v, ~v")
def unary(a):
    s = 0
    for v in a:
        s += abs(v) - -v + ~v
    return s


@case(args(unit(0.0, 1.0)), "overflow to inf", kind="inf in a sum", expect="any", approx=True)
def overflowing(a):
    s = 0.0
    for v in a:
        s += v * 1e308
    return s


@case(args(dirty(0.02, (float("inf"), -float("inf")))), "inf - inf", "any", kind="NaN out of infinities", approx=True)
def infinities(a):
    s = 0.0
    for v in a:
        s += v
    return s


@case(args(text("0123456789"), 9), "digital root", kind="state in base 9")
def digital_root(s, b):
    r = 0
    for c in s:
        r += int(c)
        if r > b:
            r -= b
    return r


@case(args(text("12a")), "int('a') at a step", "any", kind="ValueError of int(c)", raises=True)
def strict_digits(s):
    t = 0
    for c in s:
        t += int(c)
    return t


@case(args(floats()), "the start is an argument", "any", kind="start value None as an argument", approx=True)
def with_start(a, s=None):
    for v in a:
        s = v if s is None else s + v
    return s


@case(args(listed(ints())), "exact mean by divmod", kind="divmod after the loop", least=1)
def exact_mean(a):
    s = n = 0
    for v in a:
        s += v
        n += 1
    return divmod(s, n)
