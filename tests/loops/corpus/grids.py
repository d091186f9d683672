"""Nested loops: pictures, rows with their own accumulators, triangles, matrices, inner loops over data."""

import math

import numpy as np

from tests.loops.cases import case
from tests.loops.data import args, at_most, cubes, floats, ints, listed, rows, text, u8, words


@case(args(rows(6, ints())), "image code (sum of a picture)", kind="flat 2-D walk")
def grid_sum(a):
    s = 0
    h, w = a.shape
    for i in range(h):
        for j in range(w):
            s += a[i, j]
    return s


@case(args(rows(4, ints())), "nested for over rows", kind="for row in a: for v in row")
def grid_max(a):
    best = -(10**9)
    for row in a:
        for v in row:
            if v > best:
                best = v
    return best


@case(args(rows(5, ints())), "best row", kind="row accumulator, argmax of rows")
def best_row(a):
    best = -(10**9)
    at = -1
    for i in range(len(a)):
        s = 0
        for j in range(5):
            s += a[i, j]
        if s > best:
            best = s
            at = i
    return at, best


@case(args(rows(4, u8())), "image code (centre of mass)", kind="weights by place", approx=True)
def centre(img):
    m = mx = my = 0.0
    for y in range(img.shape[0]):
        for x in range(img.shape[1]):
            v = float(img[y, x])
            m += v
            mx += v * x
            my += v * y
    if m == 0:
        return None
    return mx / m, my / m


@case(args(rows(7, u8())), "image code (threshold box)", kind="four extrema of places")
def mask_box(img):
    y0 = x0 = 10**9
    y1 = x1 = -1
    for y in range(img.shape[0]):
        for x in range(img.shape[1]):
            if img[y, x] > 230:
                y0 = min(y0, y)
                y1 = max(y1, y)
                x0 = min(x0, x)
                x1 = max(x1, x)
    return y0, x0, y1, x1


@case(args(at_most(60, ints(-9, 9))), "triangle", kind="for j in range(i)")
def inversions(a):
    c = 0
    n = len(a)
    for i in range(n):
        for j in range(i + 1, n):
            if a[i] > a[j]:
                c += 1
    return c


@case(args(at_most(60, floats())), "closest pair, all pairs", kind="triangle, argmin")
def closest(a):
    best = math.inf
    pair = None
    for i in range(len(a)):
        for j in range(i):
            d = abs(a[i] - a[j])
            if d < best:
                best = d
                pair = (j, i)
    return best, pair


@case(args(at_most(50, ints(-20, 20))), "first pair with a sum", kind="return out of two loops")
def pair_with_sum(a, target=17):
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] == target:
                return i, j
    return None


@case(args(rows(8, ints(0, 2))), "widest row of ones", kind="inner run reset a row")
def widest_row(a):
    best = 0
    for row in a:
        run = 0
        for v in row:
            run = run + 1 if v else 0
            best = max(best, run)
    return best


@case(args(rows(3, ints())), "trace and off-diagonal", kind="condition on i == j")
def diagonals(a):
    h, w = a.shape
    d = off = 0
    for i in range(h):
        for j in range(w):
            if i % w == j:
                d += a[i, j]
            else:
                off += a[i, j]
    return d, off


@case(args(cubes(3, 3, u8())), "3-D walk", kind="three loops")
def cube_sum(a):
    s = 0
    for block in a:
        for row in block:
            for v in row:
                s += int(v)
    return s


@case(args(words(["abc", "hello", "", "zz top"])), "letters of words", kind="for w in words: for c in w")
def letters_in_words(ws):
    n = 0
    for w in ws:
        for c in w:
            if c in "aeiou":
                n += 1
    return n


@case(args(rows(2, ints(-9, 9))), "shoelace", kind="neighbours, wraps to the start")
def shoelace(p):
    s = 0
    n = len(p)
    for i in range(n):
        x0, y0 = p[i - 1]
        x1, y1 = p[i]
        s += x0 * y1 - x1 * y0
    return abs(s) / 2


@case(args(rows(2, floats())), "length of a path", kind="math.hypot of neighbours", approx=True)
def path_length(p):
    s = 0.0
    for i in range(1, len(p)):
        s += math.hypot(p[i][0] - p[i - 1][0], p[i][1] - p[i - 1][1])
    return s


@case(args(rows(4, floats(1.0))), "ray casting", kind="flag flips on data", note="point in polygon")
def inside(edges, px=0.1, py=0.2):
    odd = False
    for x0, y0, x1, y1 in edges:
        if (y0 > py) != (y1 > py) and px < (x1 - x0) * (py - y0) / (y1 - y0) + x0:
            odd = not odd
    return odd


@case(args(cubes(2, 2, floats(0.4))), "chain of rotations", kind="2x2 product, tuples", approx=True)
def matrix_product(ms):
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    for (p, q), (r, s) in ms:
        a, b, c, d = a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s
    return a, b, c, d


@case(args(cubes(2, 2, ints(0, 5))), "tropical matrices", kind="(min, +) product, lists", expect="any")
def shortest(ms):
    v = [0, 10**6]
    for m in ms:
        v = [min(v[0] + int(m[0, 0]), v[1] + int(m[1, 0])), min(v[0] + int(m[0, 1]), v[1] + int(m[1, 1]))]
    return v


@case(args(rows(3, ints(0, 100))), "paint houses", kind="three states", least=0)
def paint(costs):
    r = g = b = 0
    for x, y, z in costs:
        r, g, b = min(g, b) + x, min(r, b) + y, min(r, g) + z
    return min(r, g, b)


@case(args(rows(6, ints(0, 2))), "checker sum", kind="(i + j) % 2")
def checker(a):
    s = 0
    for i in range(len(a)):
        for j in range(6):
            if (i + j) % 2:
                s -= a[i][j]
            else:
                s += a[i][j]
    return s


@case(args(rows(5, u8())), "image code (histogram of a picture)", "group", kind="flat walk, place")
def picture_histogram(img):
    h = np.zeros(256, dtype=np.int64)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            h[img[i, j]] += 1
    return h


@case(args(rows(4, ints())), "column sums", "any", kind="array of accumulators by column")
def column_sums(a):
    s = np.zeros(4, dtype=np.int64)
    for row in a:
        for j in range(4):
            s[j] += row[j]
    return s


@case(args(rows(4, floats())), "row + row", "any", kind="array accumulator, whole-row operations", approx=True)
def mean_row(a):
    s = np.zeros(4)
    n = 0
    for row in a:
        s += row
        n += 1
    return s / max(n, 1)


@case(args(rows(3, ints(0, 50))), "minimum path in a strip", "any", kind="DP over a row of three")
def strip_path(a):
    d = [0, 0, 0]
    for row in a:
        d = [
            min(d[0], d[1]) + row[0],
            min(d[0], d[1], d[2]) + row[1],
            min(d[1], d[2]) + row[2],
        ]
    return min(d)


@case(
    args(at_most(12, text("abc")), at_most(12, text("abc"))),
    "edit distance",
    "refuse",
    note="a row as long as the data",
)
def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


@case(args(at_most(40, listed(ints(0, 30)))), "insertion sort", "refuse", note="moves the data it reads")
def insertion_sort(a):
    for i in range(1, len(a)):
        j = i
        while j > 0 and a[j - 1] > a[j]:
            a[j - 1], a[j] = a[j], a[j - 1]
            j -= 1
    return a


@case(args(at_most(40, ints(0, 9))), "longest rising subsequence", "refuse", note="reads all earlier states")
def rising_subsequence(a):
    best = [1] * len(a)
    for i in range(len(a)):
        for j in range(i):
            if a[j] < a[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return max(best, default=0)


@case(args(rows(4, ints())), "break of the inner loop only", "any", kind="inner break, data only")
def leading_positives(a):
    c = 0
    for row in a:
        for v in row:
            if v < 0:
                break
            c += 1
    return c
