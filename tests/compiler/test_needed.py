"""What programs read of an image is no more than Halide says, and no less than they read: guards narrow it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.pipeline import lowered
from rfactor.errors import AlgorithmError

Box = tuple[int, int]
"""Least coordinate and how many there are."""
BYTES, WORDS, NUMBERS = np.arange(64, dtype=np.uint8) * 5, np.arange(64, dtype=np.uint16) * 500, np.arange(64) * 7 % 40


class Given:
    """What the programs are made of, in one of the two packages."""

    def __init__(self, api: Any, p: int, q: int) -> None:
        self.x, self.f = api.Var("x"), api.Func("f")
        self.im = api.ImageParam(api.Int(32), 1)
        self.b, self.w, self.n = (api.Buffer(held) for held in (BYTES, WORDS, NUMBERS.astype(np.int32)))
        self.p, self.q = api.Param(api.Int(32), "p", p), api.Param(api.Int(32), "q", q)


Index = Callable[[Any, Given], Any]
READ: dict[str, tuple[Index, Box]] = {
    "quotient by less than 0": (lambda h, c: c.x // -3, (-3, 4)),
    "quotient by a parameter": (lambda h, c: c.x // c.p, (0, 4)),
    "quotient by data": (lambda h, c: (c.x - 4) // (h.i32(c.b[c.x]) + 1), (-4, 10)),
    "quotient by anything": (lambda h, c: (c.x - 4) // c.n[c.x], (-5, 11)),
    "quotient by a coordinate": (lambda h, c: -20 // (c.x % 4 + 1), (-20, 16)),
    "remainder": (lambda h, c: c.x % 4, (0, 4)),
    "remainder by anything": (lambda h, c: h.clamp(c.x, 0, 7) % c.n[c.x], (0, 8)),
    "what a remainder leaves": (lambda h, c: c.x - c.x % 4, (0, 9)),
    "shift left": (lambda h, c: c.x << 1, (0, 19)),
    "shift left by data": (lambda h, c: c.x << h.i32(c.b[c.x] & 3), (0, 73)),
    "shift left by a parameter": (lambda h, c: c.x << (c.p % 4), (0, 73)),
    "shift right by a parameter": (lambda h, c: c.x >> (c.p % 8), (0, 2)),
    "shift right by data": (lambda h, c: (c.x - 3) >> h.i32(c.b[c.x] & 7), (-3, 10)),
    "shift right by any byte": (lambda h, c: c.x >> c.b[c.x], (0, 10)),
    "shift right by a coordinate": (lambda h, c: (c.x + c.p) >> (c.x % 4), (0, 13)),
    "the sign": (lambda h, c: (c.x - 3) >> 31, (-1, 2)),
    "a power of two": (lambda h, c: h.i32(1) << h.i32(c.b[c.x] % 5), (1, 16)),
    "and": (lambda h, c: c.n[c.x] & 15, (0, 16)),
    "and of a coordinate": (lambda h, c: h.clamp(c.x, 0, 30) & c.p, (0, 10)),
    "or": (lambda h, c: h.i32(c.b[c.x] | 15), (15, 241)),
    "not": (lambda h, c: ~c.x + 20, (10, 10)),
    "a byte": (lambda h, c: h.i32(c.b[c.x]), (0, 256)),
    "bytes that wrap around": (lambda h, c: h.i32(c.b[c.x] + c.b[c.x + 1]), (0, 256)),
    "leading zeros": (lambda h, c: h.i32(h.count_leading_zeros(c.w[c.x] >> 8)), (8, 9)),
    "bits": (lambda h, c: h.i32(h.popcount(c.b[c.x])), (0, 9)),
    "distance": (lambda h, c: h.i32(h.absd(c.w[c.x] >> 8, c.w[c.x + 1] >> 9)), (0, 256)),
    "distance of coordinates": (lambda h, c: h.i32(h.absd(c.x, c.p)), (0, 7)),
    "magnitude": (lambda h, c: h.i32(h.abs(c.x - 5)), (0, 6)),
    "lerp": (lambda h, c: h.i32(h.lerp(c.b[c.x], h.u8(20), c.b[c.x + 1])), (0, 256)),
    "clamp": (lambda h, c: h.clamp(c.n[c.x], 0, c.p), (0, 4)),
    "likely": (lambda h, c: h.clamp(h.likely(c.x - 2), 0, h.likely_if_innermost(7)), (0, 8)),
    "choice of a parameter": (lambda h, c: h.select(c.p > 2, c.x, c.x + 100), (0, 10)),
    "other choice of a parameter": (lambda h, c: h.select(c.p < 2, c.x, c.x + 100), (100, 10)),
    "choice": (lambda h, c: h.select(c.x < 5, c.x, 20 - c.x), (0, 16)),
    "choice of data": (lambda h, c: h.select(c.b[c.x] > 7, c.x, c.x + 4), (0, 14)),
    "what is never chosen": (lambda h, c: h.select(c.x < 5, h.select(c.x > 6, 1000, c.x), c.x), (0, 10)),
    "mux": (lambda h, c: h.mux(c.x % 3, [c.x, 2, c.x * 2]), (0, 19)),
    "table": (lambda h, c: c.n[h.i32(c.b[c.x]) % 16] % 8, (0, 8)),
    "float": (lambda h, c: h.i32(h.f32(c.x) * h.f32(0.5)), (0, 5)),
}  # fmt: skip
"""Indices for ten `x`, with the box that is read where p is 3 and q is 20."""
WHERE: dict[str, tuple[Callable[[Any, Given, Any], Any], Callable[[Any, Any], Any], Box]] = {
    "below": (lambda h, c, r: r.x < c.q - 3, lambda h, r: r.x, (0, 17)),
    "half": (lambda h, c, r: 2 * r.x < 15, lambda h, r: r.x, (0, 8)),
    "half of a parameter": (lambda h, c, r: r.x * 2 < c.q, lambda h, r: r.x, (0, 10)),
    "quotient": (lambda h, c, r: r.x // 4 < 2, lambda h, r: r.x, (0, 8)),
    "quotient from": (lambda h, c, r: r.x // 4 >= 2, lambda h, r: r.x, (8, 22)),
    "shift": (lambda h, c, r: (r.x >> 1) < 5, lambda h, r: r.x, (0, 10)),
    "max": (lambda h, c, r: h.max(r.x, 3) < 8, lambda h, r: r.x, (0, 8)),
    "min": (lambda h, c, r: h.min(r.x, c.q) >= 8, lambda h, r: r.x, (8, 22)),
    "or": (lambda h, c, r: (r.x < 3) | (r.x < 8), lambda h, r: r.x, (0, 8)),
    "or of parameters": (lambda h, c, r: (r.x < c.p) | (r.x < c.q), lambda h, r: r.x, (0, 20)),
    "or of ranges": (lambda h, c, r: (r.x < 3) | ((r.x > 5) & (r.x < 8)), lambda h, r: r.x, (0, 8)),
    "choice": (lambda h, c, r: h.select(c.p > 2, r.x < 5, r.x < 9), lambda h, r: r.x, (0, 9)),
    "equal": (lambda h, c, r: r.x == 7, lambda h, r: r.x, (7, 1)),
    "never": (lambda h, c, r: r.x < -5, lambda h, r: r.x, (0, 0)),
    "no run": (lambda h, c, r: c.p > 3, lambda h, r: r.x, (0, 0)),
    "this run": (lambda h, c, r: c.p > 2, lambda h, r: r.x, (0, 30)),
    "no run or few": (lambda h, c, r: (c.p > 3) | (r.x < 7), lambda h, r: r.x, (0, 30)),
    "triangle": (lambda h, c, r: r.x <= r.y, lambda h, r: r.x, (0, 10)),
    "two that differ": (lambda h, c, r: r.x + r.y < 5, lambda h, r: r.x * 10 + r.y, (0, 41)),
    "a product": (lambda h, c, r: c.p * r.x < 9, lambda h, r: r.x, (0, 30)),
    "width": (lambda h, c, r: r.x < c.b.width() - 50, lambda h, r: r.x * 2, (0, 27)),
}  # fmt: skip
"""Predicates of sums over 30 by 10 points, with the index that is read, and the box."""


def indexed(api: Any, name: str) -> Given:
    given = Given(api, 3, 20)
    given.f[given.x] = given.im[READ[name][0](api, given)]
    return given


def summed(api: Any, name: str) -> Given:
    given, r = Given(api, 3, 20), api.RDom([(0, 30), (0, 10)], "r")
    where, index, _ = WHERE[name]
    r.where(where(api, given, r))
    given.f[()] = 0
    given.f[()] = given.f[()] + given.im[index(api, r)]
    return given


def specialized(api: Any, p: int) -> Given:
    given, r = Given(api, p, 20), api.RDom([(0, 20)], "r")
    r.where(api.select(given.p > 2, r.x < 4, r.x < 8))
    given.f[given.x] = 0
    given.f[given.x] += given.im[api.select(given.p > 2, r.x, r.x + 50)]
    given.f.update().specialize(given.p > 2)
    return given


def box(given: Given, sizes: list[int]) -> Box:
    given.f.infer_input_bounds(sizes)
    held = given.im.get()
    return held.dim(0).min(), held.dim(0).extent()


def programs() -> Iterator[tuple[Callable[[Any, str], Given], str, list[int], Box]]:
    yield from ((indexed, name, [10], wanted) for name, (_, wanted) in READ.items())
    yield from ((summed, name, [], wanted) for name, (_, _, wanted) in WHERE.items())
    yield from ((lambda api, p: specialized(api, int(p)), str(p), [5], w) for p, w in ((3, (0, 4)), (1, (50, 8))))


@pytest.mark.parametrize(("program", "name", "sizes", "wanted"), list(programs()))
def test_an_image_needs_to_hold(program: Callable[[Any, str], Given], name: str, sizes: list[int], wanted: Box) -> None:
    given = program(hl, name)
    assert box(given, sizes) == wanted
    given.f.realize(sizes)  # all that is read is there


def test_no_image_needs_to_hold_what_it_need_not_in_halide() -> None:
    halide = pytest.importorskip("halide")
    few = {"half", "quotient", "max", "or", "no run", "two that differ", "3", "1"}
    for program, name, sizes, (low, count) in programs():
        if name not in few:
            continue
        least, extent = box(program(halide, name), sizes)
        assert not count or (least <= low and low + count <= least + extent), name


GUARDS: list[tuple[Callable[[Any], list[Any]], list[Box]]] = [
    (lambda r: [2 * r.x + 30 < r.y, r.y >= 100 - r.x], [(1, 34), (66, 34)]),
    (lambda r: [2 * r.x + 30 < r.y], [(0, 35), (31, 69)]),
    (lambda r: [r.y < 50, r.x < r.y], [(0, 49), (1, 49)]),
    (lambda r: [r.x + r.y < 30, r.x > 3 * r.y], [(1, 29), (0, 10)]),
]


@pytest.mark.parametrize(("guards", "wanted"), GUARDS)
def test_guards_bound_one_another(guards: Callable[[Any], list[Any]], wanted: list[Box]) -> None:
    image, f, r = hl.ImageParam(hl.Int(32), 2), hl.Func("f"), hl.RDom([(0, 100), (0, 100)])
    for guard in guards(r):
        r.where(guard)
    f[()] = 0
    f[()] += image[r.x, r.y]
    f.infer_input_bounds([])
    held = [(image.get().dim(d).min(), image.get().dim(d).extent()) for d in (0, 1)]
    assert held == wanted
    image.get().fill(1)
    i, j = np.mgrid[:100, :100]
    point = SimpleNamespace(x=i, y=j)
    assert np.asarray(f.realize()) == np.logical_and.reduce(guards(point)).sum()


def test_many_guards_take_no_time() -> None:
    image, f, r = hl.ImageParam(hl.Int(32), 1), hl.Func("f"), hl.RDom([(0, 40)] * 5)
    places = range(5)
    for k in places[1:]:
        r.where(r[k - 1] < r[k])
    for i, k in combinations(places, 2):
        r.where(r[i] + 2 * r[k] < 60 + i + k)
    f[()] = 0
    f[()] += image[r[0] + r[4]]
    started = time.process_time()
    f.infer_input_bounds([])
    assert time.process_time() - started < 2
    assert image.get().dim(0).min() <= 4
    assert image.get().dim(0).max() >= 18 + 22


@pytest.mark.parametrize("count", [lambda c: c.p, lambda c: c.n[c.x]])
@pytest.mark.parametrize("left", [True, False])
def test_a_shift_by_anything_is_refused(count: Callable[[Given], Any], left: bool) -> None:
    given = Given(hl, 3, 20)
    given.f[given.x] = given.im[given.x << count(given) if left else given.x >> count(given)]
    with pytest.raises(AlgorithmError, match="nothing bounds that index"):
        lowered((given.f,))


@pytest.mark.parametrize("moved", [False, True])
def test_nested_choices_are_bounded_in_little_time(moved: bool) -> None:
    given, index = Given(hl, 3, 20), hl.Expr(hl.Var("x"))
    for i in range(16):
        limit = hl.Param(hl.Int(32)) if moved else 10 * i + 10
        index = hl.select(given.x < limit, hl.clamp(index, 0, 100 + i), index * 2 - i)
    given.f[given.x] = given.im[hl.clamp(index, 0, 1000)]
    started = time.process_time()
    lowered((given.f,))
    assert time.process_time() - started < 3
