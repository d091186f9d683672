"""Bounds of indices are no wider than they need be, and hold at the ends of the types."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import affine, passes
from rfactor.compiler.lower.ends import Interval
from rfactor.compiler.lower.interval import Intervals
from rfactor.compiler.lower.scope import Definition, LoopRange, Scope
from rfactor.errors import BufferError, ScheduleError
from rfactor.ir.expr import Expr, Var, apply, select
from rfactor.ir.types import I32
from tests.compiler.pipelines import agrees, computed, expected, same

MOST = 2**31 - 1
x, y = hl.Var("x"), hl.Var("y")


@pytest.mark.parametrize(
    ("index", "size", "held"),
    [
        (lambda x: hl.select(x < 0, 0, hl.select(x > 9, 9, x)), 14, 10),
        (lambda x: hl.select((x >= 3) & (x < 8), x - 3, 0), 20, 5),
        (lambda x: hl.select((x < 3) | (x > 7), 0, x - 3), 20, 5),
        (lambda x: x - x // 4 * 4, 33, 4),
        (lambda x: (x + 3) // 4 * 4 - x, 33, 4),
        (lambda x: x // 8 * 8 + x % 8, 16, 16),
        (lambda x: (2 * x) % 6 + (2 * x) // 6 * 6, 8, 15),
        (lambda x: hl.max(x, 3), 33, 33),
        (lambda x: hl.min(x * 2, x + 20), 33, 53),
        (lambda x: hl.clamp(x * x - 2, 0, x), 33, 33),
        (lambda x: hl.i32(hl.abs(3 - x)), 33, 30),
        (lambda x: x * x, 7, 37),
        (lambda x: x << 1, 33, 65),
        (lambda x: hl.select(x % 2 == 0, x, 0), 33, 33),
        (lambda x: hl.i32(hl.i64(x)), 33, 33),
        (lambda x: hl.i32(hl.f32(x) * 0.5), 33, 17),
    ],
)
def test_a_read_asks_for_what_it_reads(index: Callable[[Any], Any], size: int, held: int) -> None:
    a = np.arange(100, 100 + held, dtype=np.int32)
    f = hl.Func("f")
    f[x] = hl.Buffer(a)[index(x)]
    before = expected(f, [size])
    f.vectorize(x, 4)
    assert same(before[0], computed(f, [size])[0])
    short = hl.Func("short")
    short[x] = hl.Buffer(a[:-1])[index(x)]
    with pytest.raises(BufferError, match="is read from"):
        short.vectorize(x, 4).realize([size])
    g = hl.Func("g")
    g[x] = hl.Buffer(a[:-1])[index(x)]
    with pytest.raises(BufferError, match="is read from"):
        g.realize([size])


@pytest.mark.parametrize("value", [MOST, MOST - 1, 50, 0, -1])
@pytest.mark.parametrize("condition", [lambda r, p: r.x <= p, lambda r, p: p >= r.x, lambda r, p: -r.x >= -p])
def test_a_guard_up_to_the_greatest_number_stops_nothing(value: int, condition: Callable[[Any, Any], Any]) -> None:
    p, f, r = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.RDom([(0, 100)], "r")
    p.set(value)
    r.where(condition(r, p))
    f[()] = 0
    f[()] += r.x * 0 + 1
    assert computed(f, [])[0] == expected(f, [])[0] == min(value + 1, 100)


def test_a_guard_whose_own_arithmetic_wraps_is_an_error() -> None:
    p, f, r = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.RDom([(0, 100)], "r")
    r.where(r.x < p + 1)
    f[()] = 0
    f[()] += r.x * 0 + 1
    p.set(MOST - 1)
    assert f.realize()[()] == 100
    p.set(MOST)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize()


def test_a_condition_of_a_specialization_whose_arithmetic_wraps_is_an_error() -> None:
    p, q, f = hl.Param(hl.Int(32), "p"), hl.Param(hl.Int(32), "q"), hl.Func("f")
    condition = (p + 1 > p) | (q > 3)
    f[x] = hl.select(condition, 1, 2)
    f.specialize(condition).vectorize(x, 4)
    q.set(0)
    p.set(5)
    assert np.asarray(f.realize([5])).tolist() == [1] * 5
    p.set(MOST)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize([5])


def test_many_functions_at_one_loop_are_bounded_in_little_time() -> None:
    """What each asks of those before it, only where its loops run, is not followed into every choice of the others."""
    x, xo, xi = hl.Var("x"), hl.Var("xo"), hl.Var("xi")
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), [hl.Func(f"f{i}") for i in range(10)]
    f[0][x] = a[x]
    f[1][x] = a[x // 2] + f[0][x]
    for one, two, three in zip(f, f[1:], f[2:], strict=False):
        three[x] = one[x + 1] + two[x // 2 + 1] + one[x]
    f[-1].split(x, xo, xi, 64).vectorize(xi, 8)
    for each in f[:-1]:
        each.compute_at(f[-1], xo).vectorize(x, 8)
    frozen = freeze(f[-1])
    start = time.process_time()
    for _ in passes(frozen.algorithm, frozen.schedule):
        pass
    assert time.process_time() - start < 5


def test_a_producer_that_two_consumers_read_in_one_vector_is_vectorized() -> None:
    a, n, g, h, f, out = hl.ImageParam(hl.Int(32), 2, "a"), hl.Param(hl.Int(32), "n", 3), *map(hl.Func, "ghft")
    r = hl.RDom([(0, n)])
    g[x, y] = hl.BoundaryConditions.repeat_edge(a)[x, y] * 3
    h[x] = hl.sum(g[x, r])
    f[x, y] = g[x, y] * h[x]
    out[x, y] = f[x, y] + f[x + 1, y]
    a.set(np.arange(77, dtype=np.int32).reshape(7, 11) % 13)
    before = {size: expected(out, [size, 2]) for size in (1, 7, 9)}
    f.compute_root().reorder(y, x).vectorize(x, 8)
    g.compute_at(f, x).vectorize(x)  # as long as a vector of f; where n is 0, h reads nothing of it
    h.compute_at(f, x).vectorize(x)
    for size, values in before.items():
        agrees(out, values, [size, 2])
    n.set(0)
    agrees(out, [np.zeros((2, 9), np.int32)], [9, 2])


def test_a_producer_that_many_updates_read_in_one_vector_is_vectorized() -> None:
    a, v, g, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("v"), hl.Func("g"), hl.Func("f")
    k = hl.Var("k")
    a.set(np.arange(60, dtype=np.int32) * 5 % 17)
    v[k, x] = a[4 * x + k] - k
    g[k, x] = hl.undef(hl.Int(32))
    for i in range(4):  # temporaries at negative coordinates, each computed of those before
        g[-1 - i, x] = v[i, x] * (i + 1) + (g[-i, x] if i else 0)
        g[i, x] = g[-1 - i, x] + v[3 - i, x]
    f[x] = g[0, x] + 2 * g[1, x] + 3 * g[2, x] + 5 * g[3, x]
    before = {size: expected(f, [size]) for size in (1, 8, 13)}
    f.vectorize(x, 8)
    v.compute_at(f, x).vectorize(x).unroll(k)  # as long as a vector of f
    g.compute_at(f, x).vectorize(x)
    for i in range(g.num_update_definitions()):
        g.update(i).vectorize(x)
    for size, values in before.items():
        agrees(f, values, [size])


def test_a_producer_that_nothing_bounds_is_not_vectorized() -> None:
    n, g, f = hl.Param(hl.Int(32), "n", 5), hl.Func("g"), hl.Func("f")
    g[x] = x * 3
    f[x] = g[x] + hl.select(n > 3, g[x + n], 0)
    f.vectorize(x, 8)
    g.compute_at(f, x).vectorize(x)
    with pytest.raises(ScheduleError, match=r"s0.x cannot be vectorized: its extent .*s0.x.extent is not a constant"):
        f.realize([20])


def test_what_is_known_of_sliding_windows_around_a_stage_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found, sums = [0], Intervals._sum

    def counted(self: Intervals, expr: Expr) -> Interval:
        found[0] += 1
        return sums(self, expr)

    a = hl.ImageParam(hl.Int(16), 2, "a")
    stages = [hl.Func(f"g{i}") for i in range(8)]
    stages[0][x, y] = a[x, y]
    for i in range(1, len(stages)):
        f, p, q = stages[i], stages[i - 1], stages[max(i - 3, 0)]
        f[x, y] = p[x - 1, y - 1] + p[x + 1, y + 1] - q[x, y]
    for f in stages[:-1]:
        f.store_root().compute_at(stages[-1], y).vectorize(x, 8)
    monkeypatch.setattr(Intervals, "_sum", counted)
    frozen = freeze(stages[-1])
    next(body for name, body in passes(frozen.algorithm, frozen.schedule) if name == "bounds")
    assert found[0] < 2200  # 1,500; 3,300 where each place begins anew


def test_what_was_found_of_a_name_before_it_is_defined_counts_no_more() -> None:
    name, level = Var(I32, "f.s0.x.min"), 0
    outside = Intervals(Scope(), level)
    assert outside.of(name) == (name, name)
    defined = Scope(1, {"f.s0.x.min": Definition(1, affine.integer(7))})
    seven = affine.integer(7)
    assert Intervals(defined, level, around=outside).of(name) == (seven, seven)


def test_a_quotient_of_a_sum_whose_constant_i32_does_not_hold_is_bounded_otherwise() -> None:
    m, k, n = (Var(I32, name) for name in "mkn")
    extent = affine.add(affine.minimum(affine.plus(m, 2147483000), k), affine.integer(1000))
    within = Scope(1, {"v": LoopRange(1, affine.integer(0), extent)})
    ends = Intervals(within, 0).of(apply("//", Var(I32, "v"), apply("max", n, affine.integer(0))))
    assert None not in ends


def test_of_a_choice_inside_one_with_its_condition_one_arm_counts() -> None:
    v, limit = Var(I32, "v"), affine.integer(3)
    above, below = apply(">", v, limit), apply("<=", v, limit)
    within = Scope(1, {"v": LoopRange(1, affine.integer(0), affine.integer(10))})
    inner = select(above, v, affine.integer(-50))
    ends = Intervals(within, 0).of(select(above, inner, affine.integer(4)))
    assert ends == (affine.integer(4), affine.integer(9))
    ends = Intervals(within, 0).of(select(below, inner, affine.integer(4)))
    assert ends == (affine.integer(-50), affine.integer(4))


@pytest.mark.parametrize("count", [4, 8, 9, 14])
def test_many_conditions_on_split_loops_take_no_time_that_doubles_with_each(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    under = Intervals._under

    def counted(self: Intervals, *given: Any, **named: Any) -> Any:
        nonlocal looked
        looked += 1
        return under(self, *given, **named)

    monkeypatch.setattr(Intervals, "_under", counted)
    data = np.arange(35, dtype=np.int32).reshape(5, 7)
    a, p, v, f = hl.ImageParam(hl.Int(32), 2), hl.Param(hl.Int(32), "limit", 2), hl.Var("x"), hl.Func("conditioned")
    r = hl.RDom([(0, a.width()), (0, a.height())], "r")
    for i in range(count):
        r.where(r.x * (i % 3 + 1) - r.y * (i % 2) + i < p + 7 * i)
    f[v] = 0
    f[v] += a[r.x, r.y]
    xo, xi, yo, yi = (hl.RVar(name) for name in ("xo", "xi", "yo", "yi"))
    f.update().split(r.x, xo, xi, 4).split(r.y, yo, yi, 3).unroll(xi).reorder(v, xi, xo, yi, yo)
    a.set(hl.Buffer(data))
    y, x = np.mgrid[:5, :7]
    held = np.all([x * (i % 3 + 1) - y * (i % 2) + i < 2 + 7 * i for i in range(count)], axis=0)
    assert np.asarray(f.realize([3])).tolist() == [int(data[held].sum())] * 3
    assert looked < 1000 * count
