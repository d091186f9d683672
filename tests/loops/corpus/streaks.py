"""Runs, neighbours, Kadane's loop and its variants, trades: what depends on what was just before."""

import math

from tests.loops.cases import case
from tests.loops.data import args, ascending, flags, floats, ints, listed, octets, prices, text, unit


@case(args(ints()), "Bentley, Programming Pearls", kind="Kadane")
def kadane(a):
    cur = best = 0
    for v in a:
        cur = max(0, cur + v)
        best = max(best, cur)
    return best


@case(args(listed(ints())), "LeetCode 53", kind="Kadane, not empty", least=1)
def kadane_nonempty(a):
    cur = best = a[0]
    for v in a[1:]:
        cur = max(v, cur + v)
        best = max(best, cur)
    return best


@case(args(listed(ints())), "Rosetta Code (greatest subsequential sum)", kind="Kadane with positions")
def kadane_positions(a):
    best = cur = 0
    start = lo = hi = 0
    for i, v in enumerate(a):
        cur += v
        if cur < 0:
            cur = 0
            start = i + 1
        elif cur > best:
            best = cur
            lo, hi = start, i + 1
    return best, lo, hi


@case(args(ints()), "minimum subarray", kind="Kadane for minima")
def min_subarray(a):
    cur = 0
    worst = 0
    for v in a:
        cur = min(cur + v, 0)
        if cur < worst:
            worst = cur
    return worst


@case(args(ints()), "LeetCode 918 (circular)", "any", kind="two Kadanes and a sum")
def circular(a):
    total = 0
    hi = best = 0
    lo = worst = 0
    for v in a:
        hi = max(hi + v, 0)
        best = max(best, hi)
        lo = min(lo + v, 0)
        worst = min(worst, lo)
        total += v
    return max(best, total - worst)


@case(args(listed(ints(-3, 4))), "LeetCode 152", "any", kind="largest product: big ints", least=1)
def max_product(a):
    hi = lo = best = a[0]
    for v in a[1:]:
        if v < 0:
            hi, lo = lo, hi
        hi = max(v, hi * v)
        lo = min(v, lo * v)
        best = max(best, hi)
    return best


@case(args(prices()), "LeetCode 121", kind="one trade")
def one_trade(p):
    low = math.inf
    profit = 0.0
    for v in p:
        if v < low:
            low = v
        elif v - low > profit:
            profit = v - low
    return profit


@case(args(listed(ints(1, 100))), "LeetCode 122", kind="many trades, a[i-1]")
def many_trades(p):
    s = 0
    for i in range(1, len(p)):
        if p[i] > p[i - 1]:
            s += p[i] - p[i - 1]
    return s


@case(args(listed(ints(1, 100))), "LeetCode 309", kind="cooldown")
def cooldown(p):
    hold, sold, rest = -(10**6), 0, 0
    for v in p:
        hold, sold, rest = max(hold, rest - v), hold + v, max(rest, sold)
    return max(sold, rest)


@case(args(listed(ints(1, 100)), 2), "LeetCode 714", kind="fee")
def with_fee(p, fee):
    cash = 0
    hold = -(10**9)
    for v in p:
        cash = max(cash, hold + v - fee)
        hold = max(hold, cash - v)
    return cash


@case(args(listed(ints(1, 100))), "LeetCode 123", kind="two trades, four states")
def two_trades(p):
    b1 = b2 = -(10**9)
    s1 = s2 = 0
    for v in p:
        b1 = max(b1, -v)
        s1 = max(s1, b1 + v)
        b2 = max(b2, s1 - v)
        s2 = max(s2, b2 + v)
    return s2


@case(args(listed(ints(0, 100))), "LeetCode 198", kind="house robber: (max, +) matrix")
def robber(a):
    take = skip = 0
    for v in a:
        take, skip = skip + v, max(take, skip)
    return max(take, skip)


@case(args(listed(ints(0, 50))), "LeetCode 746", kind="stairs, a pair of costs")
def stairs(cost):
    one = two = 0
    for c in cost:
        one, two = two, min(one, two) + c
    return min(one, two)


@case(args(ints(0, 3)), "SO (longest run of one value)", kind="previous value, run")
def longest_equal(a):
    prev = None
    run = best = 0
    for v in a:
        if v == prev:
            run += 1
        else:
            run = 1
            prev = v
        if run > best:
            best = run
    return best


@case(args(flags(0.7)), "SO (longest streak with its place)", kind="longest run, place")
def streak_place(a):
    run = best = 0
    at = -1
    for i, v in enumerate(a):
        if v:
            run += 1
            if run > best:
                best = run
                at = i - run + 1
        else:
            run = 0
    return best, at


@case(args(ints()), "longest rise", kind="a[i] > a[i-1]")
def longest_rise(a):
    if len(a) == 0:
        return 0
    run = best = 1
    for i in range(1, len(a)):
        run = run + 1 if a[i] > a[i - 1] else 1
        best = max(best, run)
    return best


@case(args(octets(b"01")), "LeetCode 485", kind="bytes, run")
def most_ones(s):
    c = m = 0
    for b in s:
        c = c + 1 if b == 49 else 0
        m = max(m, c)
    return m


@case(args(text("HT")), "coin throws", kind="str, run of H, count of starts")
def head_runs(s):
    prev = "T"
    runs = 0
    for c in s:
        if c == "H" and prev != "H":
            runs += 1
        prev = c
    return runs


@case(args(ints(0, 4)), "pandas (value changes)", kind="a[i] != a[i-1]")
def changes(a):
    c = 0
    for i in range(1, len(a)):
        if a[i] != a[i - 1]:
            c += 1
    return c


@case(args(ints()), "peaks", kind="a[i-2], a[i-1], a[i]")
def peaks(a):
    c = 0
    last = -1
    for i in range(2, len(a)):
        if a[i - 2] < a[i - 1] > a[i]:
            c += 1
            last = i - 1
    return c, last


@case(args(ascending(ints())), "is it sorted", kind="all, flag")
def is_sorted(a):
    ok = True
    for i in range(1, len(a)):
        if a[i] < a[i - 1]:
            ok = False
    return ok


@case(args(ints()), "is it sorted, early exit", kind="return inside")
def is_sorted_early(a):
    for i in range(1, len(a)):
        if a[i - 1] > a[i]:
            return False
    return True


@case(args(ints()), "total variation", kind="previous in a variable")
def total_variation(a):
    if len(a) < 1:
        return 0
    prev = a[0]
    s = 0
    for v in a[1:]:
        s += abs(v - prev)
        prev = v
    return s


@case(args(unit(0.9, 1.1)), "max drawdown of returns", kind="product and prefix max", expect="any", approx=True)
def drawdown_of_returns(r):
    wealth = peak = 1.0
    worst = 0.0
    for v in r:
        wealth *= v
        if wealth > peak:
            peak = wealth
        worst = max(worst, 1 - wealth / peak)
    return worst


@case(args(ints()), "flags of two sorts", kind="last seen of two kinds")
def last_gap(a):
    last = -1
    gap = 0
    for i, v in enumerate(a):
        if v % 7 == 0:
            if last >= 0:
                gap = max(gap, i - last)
            last = i
    return gap


@case(args(listed(ints(0, 9))), "LeetCode 42 (two passes from arrays)", "any", kind="prefix max, append, two loops")
def water(h):
    left = []
    m = 0
    for v in h:
        m = max(m, v)
        left.append(m)
    m = 0
    s = 0
    for i in range(len(h) - 1, -1, -1):
        m = max(m, h[i])
        s += min(m, left[i]) - h[i]
    return s


@case(args(listed(ints(0, 9))), "LeetCode 42 (two pointers)", "refuse", note="which end moves depends on the state")
def water_pointers(h):
    i, j = 0, len(h) - 1
    lo = hi = s = 0
    while i < j:
        if h[i] < h[j]:
            lo = max(lo, h[i])
            s += lo - h[i]
            i += 1
        else:
            hi = max(hi, h[j])
            s += hi - h[j]
            j -= 1
    return s


@case(args(listed(ints(0, 3))), "Boyer and Moore", "any", kind="majority vote")
def majority(a):
    cand = None
    count = 0
    for v in a:
        if count == 0:
            cand = v
            count = 1
        elif v == cand:
            count += 1
        else:
            count -= 1
    return cand


@case(args(floats()), "hysteresis", kind="state between two limits")
def schmitt_trigger(a, lo=-4.0, hi=4.0):
    on = False
    ups = 0
    for v in a:
        if not on and v > hi:
            on = True
            ups += 1
        elif on and v < lo:
            on = False
    return ups, on


@case(args(ints(-5, 9), 20), "tank with walls", kind="clamp to [0, cap]")
def tank(a, cap):
    level = 0
    for v in a:
        level = min(max(level + v, 0), cap)
    return level


@case(args(listed(ints(-5, 9)), 20), "tank with walls and overflow", kind="clamp, spilled sum", expect="any")
def tank_spills(a, cap):
    level = 0
    spilled = 0
    for v in a:
        level += v
        if level > cap:
            spilled += level - cap
            level = cap
        elif level < 0:
            level = 0
    return level, spilled


@case(args(listed(ints(-9, 9))), "lowest balance", kind="prefix sum, its minimum")
def lowest_balance(a):
    s = 0
    low = 0
    for v in a:
        s += v
        low = min(low, s)
    return s, low


@case(args(listed(ints(-9, 9))), "LeetCode 134 (gas station)", kind="start after the lowest prefix")
def gas(a):
    total = tank = start = 0
    for i, v in enumerate(a):
        total += v
        tank += v
        if tank < 0:
            start = i + 1
            tank = 0
    return start if total >= 0 else -1


@case(args(listed(ints(0, 5))), "LeetCode 55 (jump game)", kind="reach, early return")
def can_reach(a):
    reach = 0
    for i, v in enumerate(a):
        if i > reach:
            return False
        reach = max(reach, i + v)
    return True
