"""Bioinformatics, games, clocks, dates and others: automata and counters from other fields."""

import math

from tests.loops.cases import case
from tests.loops.data import args, ascending, floats, ints, listed, octets, pairs, rows, text, u8, words

PURINE = {"A": True, "G": True, "C": False, "T": False}
MASS = {"A": 71.03711, "C": 103.00919, "D": 115.02694, "E": 129.04259, "G": 57.02146}


@case(args(text("ACGT")), "Rosalind GC", kind="share of G and C", least=1)
def gc_content(s):
    gc = 0
    for c in s:
        if c == "G" or c == "C":
            gc += 1
    return 100 * gc / len(s)


@case(args(text("ACGT")), "GC skew", kind="lowest prefix with its place")
def skew_minimum(s):
    skew = low = 0
    at = 0
    for i, c in enumerate(s, start=1):
        if c == "C":
            skew -= 1
        elif c == "G":
            skew += 1
        if skew < low:
            low = skew
            at = i
    return at, low


@case(args(text("ACGT"), text("ACGT")), "transitions", kind="dict of Booleans as data, zip")
def transitions(a, b):
    ts = tv = 0
    for x, y in zip(a, b):
        if x != y:
            if PURINE[x] == PURINE[y]:
                ts += 1
            else:
                tv += 1
    return ts, tv


@case(args(text("ACDEG")), "Rosalind PRTM", kind="dict of floats as data", approx=True)
def protein_mass(s):
    m = 0.0
    for c in s:
        m += MASS[c]
    return m


@case(args(text("ACGT")), "longest homopolymer", kind="s[i] == s[i-1]")
def homopolymer(s):
    best = run = 0
    for i in range(len(s)):
        if i > 0 and s[i] == s[i - 1]:
            run += 1
        else:
            run = 1
        best = max(best, run)
    return best


@case(args(text("ACGT")), "CpG sites", kind="slice of two characters", expect="any")
def cpg(s):
    n = 0
    for i in range(len(s) - 1):
        if s[i : i + 2] == "CG":
            n += 1
    return n


@case(args(text("ATG")), "codons", kind="range by three, slice", expect="any")
def start_codons(s):
    n = 0
    for i in range(0, len(s) - 2, 3):
        if s[i : i + 3] == "ATG":
            n += 1
    return n


@case(args(octets(b"!#+5:?DI")), "FASTQ quality", kind="bytes, float of data", approx=True, least=1)
def expected_errors(q):
    e = 0.0
    for b in q:
        e += 10 ** (-(b - 33) / 10)
    return e


@case(args(octets(b"!#+5:?DI"), 20), "BWA trimming", kind="suffix maximum, break", expect="any")
def trim_point(q, limit):
    s = best = 0
    at = len(q)
    for i in range(len(q) - 1, -1, -1):
        s += limit - (q[i] - 33)
        if s < 0:
            break
        if s > best:
            best = s
            at = i
    return at


@case(args(listed(ints(0, 11))), "bowling without look-ahead", kind="frames and rolls, automaton", expect="any")
def strikes(rolls):
    frame_open = False
    first = 0
    strikes_ = spares = 0
    for r in rolls:
        if not frame_open:
            if r == 10:
                strikes_ += 1
            else:
                frame_open = True
                first = r
        else:
            if first + r == 10:
                spares += 1
            frame_open = False
    return strikes_, spares


@case(args(listed(ints(0, 2))), "tennis-like points", kind="difference, winner, return", expect="any")
def match_winner(points):
    a = b = 0
    for k, p in enumerate(points):
        if p:
            a += 1
        else:
            b += 1
        if a >= 11 and a - b >= 2:
            return "A", k
        if b >= 11 and b - a >= 2:
            return "B", k
    return None


@case(
    args(words(["rock", "paper", "scissors"]), words(["rock", "paper", "scissors"])),
    "AoC 2022, day 2",
    kind="words as data",
)
def game_score(a, b):
    order = ["rock", "paper", "scissors"]
    s = 0
    for x, y in zip(a, b):
        i, j = order.index(x), order.index(y)
        s += j + 1
        if i == j:
            s += 3
        elif (j - i) % 3 == 1:
            s += 6
    return s


@case(args(ints(-1, 2)), "life totals", kind="floor at zero, deaths")
def lives(hits):
    health = 3
    deaths = 0
    for h in hits.tolist():
        health += h
        if health <= 0:
            deaths += 1
            health = 3
        elif health > 5:
            health = 5
    return health, deaths


@case(args(listed(ints(1, 7))), "snakes and ladders without snakes", kind="position mod 40, laps")
def laps(dice):
    at = 0
    n = 0
    for d in dice:
        at += d
        if at >= 40:
            at -= 40
            n += 1
    return at, n


@case(args(ints(0, 86400)), "clock with carry", kind="seconds, minutes: divmod of the state", expect="any")
def clock_total(durations):
    h = m = s = 0
    for d in durations.tolist():
        s += d % 60
        m += d // 60 % 60 + s // 60
        s %= 60
        h += d // 3600 + m // 60
        m %= 60
    return h, m, s


@case(args(ascending(ints(0, 5000))), "sessions of a log", kind="gap to the last event")
def sessions(t, gap=30):
    n = 0
    last = None
    longest = 0
    start = 0
    for v in t.tolist():
        if last is None or v - last > gap:
            n += 1
            start = v
        longest = max(longest, v - start)
        last = v
    return n, longest


@case(args(rows(2, ints(0, 100))), "merged intervals", kind="covered length, sorted before")
def covered(intervals):
    s = 0
    end = -1
    for lo, hi in sorted((min(p), max(p)) for p in intervals.tolist()):
        if hi > end:
            s += hi - max(lo, end)
            end = hi
    return s


@case(args(pairs(ints(0, 1000), ints(0, 50))), "activity selection", kind="greedy: the last end", expect="any")
def activities(items):
    end = -1
    n = 0
    for start, length in sorted(items, key=lambda p: p[0] + p[1]):
        if start >= end:
            n += 1
            end = start + length
    return n


@case(args(listed(ints(1, 40)), 100), "bins, next fit", "any", kind="clamped restart: automaton of 100 states")
def next_fit(sizes, cap):
    bins = 1
    room = cap
    for s in sizes:
        if s > room:
            bins += 1
            room = cap
        room -= s
    return bins


@case(args(listed(ints(0, 3))), "lemonade change", "any", kind="counters with early return")
def lemonade(bills):
    five = ten = 0
    for b in bills:
        if b == 0:
            five += 1
        elif b == 1:
            if not five:
                return False
            five -= 1
            ten += 1
        elif ten and five:
            ten -= 1
            five -= 1
        elif five >= 3:
            five -= 3
        else:
            return False
    return True


@case(args(listed(ints(0, 10))), "candies, one direction", kind="run of rises, summed")
def candies(r):
    s = run = 0
    for i in range(len(r)):
        if i and r[i] > r[i - 1]:
            run += 1
        else:
            run = 1
        s += run
    return s


@case(args(rows(2, floats())), "convex corner signs", kind="cross product of neighbours, two flags")
def convex(p):
    pos = neg = False
    for i in range(2, len(p)):
        ax, ay = p[i - 1] - p[i - 2]
        bx, by = p[i] - p[i - 1]
        z = ax * by - ay * bx
        if z > 0:
            pos = True
        if z < 0:
            neg = True
    return not (pos and neg)


@case(args(rows(2, floats())), "Graham scan", "refuse", note="state grows: a stack of points")
def hull(p):
    out = []
    for x, y in sorted(map(tuple, p.tolist())):
        while len(out) > 1 and (out[-1][0] - out[-2][0]) * (y - out[-2][1]) <= (out[-1][1] - out[-2][1]) * (
            x - out[-2][0]
        ):
            out.pop()
        out.append((x, y))
    return out


@case(args(u8(), u8()), "alpha blending", kind="data only, // 255, max", least=0)
def brightest_blend(a, b, alpha=77):
    best = 0
    for x, y in zip(a.tolist(), b.tolist()):
        v = (alpha * x + (255 - alpha) * y) // 255
        best = max(best, v)
    return best


@case(args(floats()), "spikes in a signal", kind="refractory counter")
def spikes(a, limit=6.0, dead=3):
    wait = 0
    n = 0
    for v in a:
        if wait > 0:
            wait -= 1
        elif v > limit:
            n += 1
            wait = dead
    return n


@case(args(floats()), "debounce", kind="counter saturates, state flips")
def debounced(a, need=2):
    level = False
    count = 0
    flips = 0
    for v in a:
        raw = v > 0
        if raw == level:
            count = 0
        else:
            count += 1
            if count > need:
                level = raw
                count = 0
                flips += 1
    return flips


@case(args(ints(-3, 4)), "PNG Paeth of zero", kind="sum of abs after a wrap")
def filter_cost(a):
    s = 0
    for i in range(1, len(a)):
        d = (int(a[i]) - int(a[i - 1])) & 255
        s += d if d < 128 else 256 - d
    return s


@case(args(floats(0.5)), "leaky neuron", kind="affine with a reset: floats decide", expect="any")
def neuron(a):
    v = 0.0
    fired = 0
    for x in a:
        v = v * 0.9 + x
        if v > 1.0:
            fired += 1
            v = 0.0
    return fired


@case(args(listed(floats())), "sign of a product", kind="parity of negatives, zero")
def sign_of_product(a):
    sign = 1
    for v in a:
        if v == 0:
            return 0
        if math.copysign(1, v) < 0:
            sign = -sign
    return sign
