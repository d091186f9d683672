"""Hashes, checksums, registers and polynomials: exact integers, with and without a modulus or a mask."""

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, ints, listed, octets, text, u8

PRIME = 1_000_000_007
LETTERS = b"abc xyz"
CRC_TABLE = [0] * 256
for _k in range(256):
    _c = _k
    for _ in range(8):
        _c = (_c >> 1) ^ 0xEDB88320 if _c & 1 else _c >> 1
    CRC_TABLE[_k] = _c


@case(args(octets(LETTERS)), "djb2", kind="h*33 + c, masked")
def djb2(s):
    h = 5381
    for b in s:
        h = (h * 33 + b) & 0xFFFFFFFF
    return h


@case(args(octets(LETTERS)), "djb2 with shifts", kind="(h << 5) + h, masked")
def djb2_shift(s):
    h = 5381
    for b in s:
        h = ((h << 5) + h + b) & 0xFFFFFFFF
    return h


@case(args(octets(LETTERS)), "djb2 as Python ints", "any", kind="big ints")
def djb2_unbounded(s):
    h = 5381
    for b in s:
        h = h * 33 + b
    return h


@case(args(text("abc xyz")), "sdbm", "any", kind="big ints, shifts, ord")
def sdbm(s):
    h = 0
    for c in s:
        h = ord(c) + (h << 6) + (h << 16) - h
    return h


@case(args(octets(LETTERS)), "FNV-1a", "any", kind="xor then multiply: no small operator")
def fnv1a(s):
    h = 0x811C9DC5
    for b in s:
        h = ((h ^ b) * 0x01000193) & 0xFFFFFFFF
    return h


@case(args(octets(LETTERS)), "Adler-32", kind="a then b, mod 65521")
def adler32(s):
    a, b = 1, 0
    for c in s:
        a = (a + c) % 65521
        b = (b + a) % 65521
    return (b << 16) | a


@case(args(octets(LETTERS)), "Fletcher-16", kind="two sums mod 255")
def fletcher16(s):
    lo = hi = 0
    for c in s:
        lo = (lo + c) % 255
        hi = (hi + lo) % 255
    return hi * 256 + lo


@case(args(octets(LETTERS)), "rolling hash", kind="polynomial mod prime")
def rabin(s):
    h = 0
    for b in s:
        h = (h * 257 + b) % PRIME
    return h


@case(args(octets(LETTERS)), "hash with its power", kind="hash and power mod prime")
def rabin_power(s):
    h, p = 0, 1
    for b in s:
        h = (h + b * p) % PRIME
        p = p * 31 % PRIME
    return h, p


@case(args(octets(LETTERS)), "java.lang.String.hashCode", kind="int32 from a mask")
def java_hash(s):
    h = 0
    for b in s:
        h = (31 * h + b) & 0xFFFFFFFF
    return h - 2**32 if h >= 2**31 else h


@case(args(octets(LETTERS)), "CRC-32 by table", "any", kind="table by the state: linear over GF(2)")
def crc32(s):
    c = 0xFFFFFFFF
    for b in s:
        c = CRC_TABLE[(c ^ b) & 0xFF] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


@case(args(octets(LETTERS)), "CRC-8 bit by bit", "any", kind="inner loop over the state")
def crc8(s):
    c = 0
    for b in s:
        c ^= b
        for _ in range(8):
            c = ((c << 1) ^ 0x07) & 0xFF if c & 0x80 else (c << 1) & 0xFF
    return c


@case(args(ints(0, 2**31)), "parity", kind="xor of uint64", least=0)
def xor_numbers(a):
    x = 0
    for v in a:
        x ^= v
    return x


@case(args(ints(0, 2**31)), "xor with rotation", kind="rotate and xor, masked")
def rotate_xor(a):
    h = 0
    for v in a.tolist():
        h = ((h << 5) | (h >> 27)) & 0xFFFFFFFF
        h ^= v
    return h


@case(args(ints(0, 2, np.int64)), "LFSR fed by bits", "any", kind="linear over GF(2)")
def lfsr(bits):
    s = 0xACE1
    for b in bits.tolist():
        low = s & 1
        s >>= 1
        if low:
            s ^= 0xB400
        s ^= b
    return s


@case(args(ints(0, 2**32)), "xorshift mixed with data", "any", kind="linear over GF(2), uint32")
def xorshift(a):
    s = 2463534242
    for v in a.tolist():
        s ^= (s << 13) & 0xFFFFFFFF
        s ^= s >> 17
        s ^= (s << 5) & 0xFFFFFFFF
        s ^= v
    return s


@case(lambda rng, n: (n, 12345), "LCG", kind="affine mod 2**31, no data")
def lcg(n, seed):
    x = seed
    for _ in range(n):
        x = (1103515245 * x + 12345) % 2**31
    return x


@case(args(text("0123456789")), "Luhn", kind="reversed, enumerate, data only")
def luhn(s):
    total = 0
    for i, c in enumerate(reversed(s)):
        d = int(c)
        if i % 2 == 1:
            d *= 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0


@case(args(text("0123456789")), "Luhn with a flag", kind="flag flips")
def luhn_flag(s):
    total = 0
    double = False
    for c in s[::-1]:
        d = ord(c) - 48
        if double:
            d = d * 2 - 9 if d > 4 else d * 2
        total += d
        double = not double
    return total % 10


@case(args(text("0123456789X-")), "ISBN-10", kind="continue, weight is a counter")
def isbn10(s):
    w = 10
    total = 0
    for c in s:
        if c == "-":
            continue
        total += w * (10 if c == "X" else int(c))
        w -= 1
    return total % 11


@case(args(listed(ints(0, 10))), "ISBN-13", kind="weights by index")
def isbn13(ds):
    s = 0
    for i, d in enumerate(ds):
        s += d if i % 2 == 0 else 3 * d
    return (10 - s % 10) % 10


@case(args(listed(ints(-9, 10)), 2), "Horner", "any", kind="big ints")
def horner(cs, x):
    v = 0
    for c in cs:
        v = v * x + c
    return v


@case(args(ints(-9, 10), 3), "Horner in np.int64", kind="wraps at 64 bits", least=0)
def horner_wrapping(cs, x):
    v = np.int64(0)
    for c in cs:
        v = v * x + c
    return v


@case(lambda rng, n: (min(n, 300),), "factorial", "any", kind="big ints, no data")
def factorial(n):
    p = 1
    for k in range(2, n + 1):
        p *= k
    return p


@case(lambda rng, n: (n, 1_000_003), "factorial mod m", kind="product mod m")
def factorial_mod(n, m):
    p = 1
    for k in range(2, n + 1):
        p = p * k % m
    return p


@case(lambda rng, n: (min(n, 400),), "Fibonacci", "any", kind="big ints, pair")
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@case(lambda rng, n: (n, 10**9 + 7), "Fibonacci mod m", kind="pair mod m")
def fibonacci_mod(n, m):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % m
    return a


@case(args(listed(ints(1, 9))), "continued fraction", "any", kind="big ints, 2x2 matrix")
def continued_fraction(terms):
    p0, q0, p1, q1 = 0, 1, 1, 0
    for t in terms:
        p0, p1 = p1, t * p1 + p0
        q0, q1 = q1, t * q1 + q0
    return p1, q1


@case(args(listed(ints(1, 9))), "continued fraction mod m", kind="2x2 matrix mod m")
def continuant_mod(terms, m=99991):
    a, b, c, d = 1, 0, 0, 1
    for t in terms:
        a, b = (a * t + b) % m, a
        c, d = (c * t + d) % m, c
    return a, b, c, d


@case(args(listed(ints(1, 2**40))), "gcd", "any", kind="math.gcd of the state")
def gcd_all(a):
    import math

    g = 0
    for v in a:
        g = math.gcd(g, v)
    return g


@case(args(u8()), "checksum that wraps", kind="uint8 sum wraps", note="s = 0; s += uint8 is uint8")
def uint8_sum(a):
    s = 0
    for v in a:
        s += v
    return s


@case(args(u8()), "IP checksum", kind="ones' complement fold", expect="any")
def ip_checksum(a):
    s = 0
    for v in a.tolist():
        s += v
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


@case(args(u8()), "Pearson hashing", "any", kind="table by the state: no small operator")
def pearson(a):
    table = [(k * 167 + 13) % 256 for k in range(256)]
    h = 0
    for b in a.tolist():
        h = table[h ^ b]
    return h


@case(args(text("01")), "Gray code to binary", kind="xor of the prefix, append", expect="scan")
def gray_to_bits(s):
    b = 0
    out = []
    for c in s:
        b ^= int(c)
        out.append(b)
    return out


@case(args(listed(ints(0, 2))), "Lucas sequence by bits", "any", kind="squares the state mod m")
def power_by_bits(bits, x=7, m=10007):
    r = 1
    for b in bits:
        r = r * r % m
        if b:
            r = r * x % m
    return r
