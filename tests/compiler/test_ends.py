"""Loops near the ends of i32: counted right, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError, Error

LEAST, MOST = -(2**31), 2**31 - 1
ro, ri, t, u, x = hl.RVar("ro"), hl.RVar("ri"), hl.RVar("t"), hl.Var("u"), hl.Var("x")


def count(*bounds: Any) -> tuple[Any, Any]:
    """How many odd numbers the outermost dimension holds, for each of the others."""
    r, f = hl.RDom(list(bounds), "r"), hl.Func("f")
    f[()] = hl.i64(0)
    f[()] += hl.i64(r[len(bounds) - 1] & 1)
    return f, r


@pytest.mark.parametrize("factored", [False, True])
def test_a_split_of_the_longest_loop_visits_all_of_it(factored: bool) -> None:
    f, r = count((0, MOST))
    f.update(0).split(r.x, ro, ri, 1 << 16)
    if factored:
        f.update(0).rfactor([(ro, u)]).update(0).parallel(u)
    assert f.realize()[()] == MOST // 2


def test_loops_that_would_count_beyond_i32_are_refused() -> None:
    f, r = count((0, MOST))
    with pytest.raises(Error, match="beyond the range of i32"):
        f.update(0).split(r.x, ro, ri, 3).rfactor([(ro, u)])
    for factored in (False, True):
        f, r = count((0, 1 << 16), (0, 1 << 16))
        stage = f.update(0).fuse(r.x, r.y, t)
        with pytest.raises(Error, match="beyond the range of i32"):
            _ = stage.rfactor([(t, u)]) if factored else f.realize()


@pytest.mark.parametrize("loops", ["split", "unrolled", "fused", "fused from outside", "factored", "factored twice"])
def test_a_domain_that_reaches_beyond_i32_is_refused_whatever_becomes_of_its_loops(loops: str) -> None:
    first, f = hl.Param(hl.Int(32), "first"), hl.Func("f")
    r = hl.RDom([(first, 8), (0, 3)], "r")
    f[()] = hl.i64(0)
    f[()] += hl.i64(r.x)
    if loops == "split":
        f.update(0).split(r.x, ro, ri, 4)
    elif loops == "unrolled":
        f.update(0).unroll(r.x, 2)
    elif loops.startswith("factored"):
        intermediate = f.update(0).split(r.x, ro, ri, 4).rfactor(ri, u)
        if loops == "factored twice":
            f.update(0).split(ri, t, "inside", 2).rfactor(t, x)
        intermediate.compute_root()
    else:
        f.update(0).fuse(*((r.x, r.y) if loops == "fused" else (r.y, r.x)), t)
    first.set(MOST - 7)
    assert f.realize()[()] == 3 * sum(range(MOST - 7, MOST + 1))
    for number in (MOST - 6, MOST):
        first.set(number)
        with pytest.raises(BufferError, match=r"the domain of r\.x in an update of f.*beyond the range of i32"):
            f.realize()


@pytest.mark.parametrize("sizes", [(1 << 16, 1 << 15), (1 << 16, 1 << 16), (1 << 16, -(1 << 15) - 1)])
def test_a_product_of_extents_that_are_given_is_not_taken_for_what_wraps(sizes: tuple[int, int]) -> None:
    n, m = hl.Param(hl.Int(32), "n"), hl.Param(hl.Int(32), "m")
    f, r = count((0, n), (0, m))
    f.update(0).fuse(r.x, r.y, t)
    n.set(6)
    m.set(5)
    assert f.realize()[()] == 6 * 2
    n.set(sizes[0])
    m.set(sizes[1])
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize()


@pytest.mark.parametrize("inner", [False, True])
def test_a_loop_that_two_outputs_share_is_no_longer_than_i32_holds(inner: bool) -> None:
    f, g, y = hl.Func("f"), hl.Func("g"), hl.Var("y")
    f[x, y] = x * 3 + y
    g[x, y] = x + 1 - y
    g.compute_with(f, x if inner else y)
    for least, fits in ((-MOST - 1, False), (MOST - 3000, True)):
        parts = hl.Buffer(hl.Int(32), [4, 2]), hl.Buffer(hl.Int(32), [4, 2])
        for part, low in zip(parts, (least, MOST - 9), strict=True):
            part.set_min([low, 0] if inner else [0, low])
        if fits:
            hl.Pipeline([f, g]).realize(parts)
            assert np.asarray(parts[1])[1, 3] == (MOST - 9 + 3 + 1 - 1 if inner else 3 + 1 - (MOST - 8))
        else:
            with pytest.raises(BufferError, match="beyond the range of i32"):
                hl.Pipeline([f, g]).realize(parts)


def test_a_loop_that_ends_beyond_i32_is_refused() -> None:
    with pytest.raises(Error, match="beyond the range of i32"):
        count((MOST - 10, 20))[0].realize()
    p = hl.Param(hl.Int(32), "p")
    f, _ = count((p, 20))
    p.set(MOST - 20)
    assert f.realize()[()] == 10
    p.set(MOST - 10)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize()


def test_an_array_ends_within_i32() -> None:
    f, out = hl.Func("f"), hl.Buffer(np.zeros(8, np.int32))
    f[x] = x
    out.set_min([MOST - 8])
    f.realize(out)
    assert np.asarray(out).tolist() == list(range(MOST - 8, MOST))
    out.set_min([MOST - 7])
    with pytest.raises(BufferError, match="coordinates are i32"):
        f.realize(out)


@pytest.mark.parametrize("least", [MOST - 7, MOST - 40])
def test_a_quotient_near_the_end_of_i32_is_right_or_refused(least: int) -> None:
    """Bounds have x//3 up to (least + extent + 2)//3 - 1, and that sum is greater than every x."""
    f, third, same = hl.Func("f"), hl.Func("third"), hl.Func("same")
    f[x] = x * 7 + 1
    third[x], same[x] = f[x // 3], f[x]
    f.compute_root()
    parts = hl.Buffer(hl.Int(32), [6]), hl.Buffer(hl.Int(32), [4])
    for part, low in zip(parts, (least, least // 3), strict=True):
        part.set_min([low])
    if least + 8 > MOST:
        with pytest.raises(BufferError, match="beyond the range of i32"):
            hl.Pipeline([third, same]).realize(parts)
    else:
        hl.Pipeline([third, same]).realize(parts)
        wanted = (np.arange(least, least + 6) // 3 * 7 + 1).astype(np.int32)
        np.testing.assert_array_equal(parts[0], wanted)


def test_the_bounds_of_a_quotient_are_proven_beside_others() -> None:
    f, third, same = hl.Func("f"), hl.Func("third"), hl.Func("same")
    f[x] = x * 7 + 1
    third[x], same[x] = f[x // 3], f[x]
    f.compute_root()
    assert hl.Pipeline([third, same]).verify().verdict == "proven"


@pytest.mark.parametrize("index", [lambda v: (v - 1) // 3, lambda v: (v - 1) % 5, lambda v: hl.min(v - 1, v)])
def test_what_a_coordinate_is_computed_of_is_within_i32(index: Callable[[hl.Expr], hl.Expr]) -> None:
    """x - 1 wraps at the least x, where a value has the bits of that and `(x + 2)//3 - 1` has not."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * 7 + 1
    g[x] = f[index(x)]
    f.compute_root()
    out = hl.Buffer(hl.Int(32), [6])
    for least in (LEAST + 1, LEAST):
        out.set_min([least])
        if least == LEAST:
            with pytest.raises(BufferError, match="beyond the range of i32"):
                g.realize(out)
        else:
            g.realize(out)
            inlined, other = hl.Func("inlined"), hl.Buffer(hl.Int(32), [6])
            inlined[x] = index(x) * 7 + 1
            other.set_min([least])
            inlined.realize(other)
            np.testing.assert_array_equal(out, other)


@pytest.mark.parametrize("where", ["written", "guarded"])
def test_what_a_point_of_a_domain_makes_of_itself_is_within_i32(where: str) -> None:
    def counts(least: int) -> list[int]:
        h, r = hl.Func("h"), hl.RDom([(least, 6)], "r")
        third = (r.x - 1) // 3
        h[x] = 0
        if where == "guarded":
            r.where(third < -5)
        h[hl.clamp(third, -1, 1) if where == "written" else 0] += r.x * 0 + 1
        return np.asarray(h.realize([1])).tolist() if where == "guarded" else _from(h, -1, 3)

    assert counts(LEAST + 1) == ([6] if where == "guarded" else [6, 0, 0])
    with pytest.raises(AlgorithmError, match=r"r\.x - 1 is part of a coordinate"):
        counts(LEAST)


def test_what_the_extent_of_a_domain_is_computed_of_is_within_i32() -> None:
    count, h = hl.Param(hl.Int(32), "count"), hl.Func("h")
    r = hl.RDom([(0, hl.min((count - 1) // 3 - (LEAST + 1) // 3, 5))], "r")
    h[()] = 0
    h[()] += r.x * 0 + 1
    for value, points in ((LEAST + 1, 0), (LEAST + 13, 4), (0, 5)):
        count.set(value)
        assert int(np.asarray(h.realize([]))) == points
    count.set(LEAST)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        h.realize([])


def _from(f: hl.Func, least: int, count: int) -> list[int]:
    out = hl.Buffer(hl.Int(32), [count])
    out.set_min([least])
    f.realize(out)
    return np.asarray(out).tolist()


def test_whether_an_input_is_read_at_all_is_asked_without_wrapping() -> None:
    """A check takes a box for empty where its last coordinate, rounded up to whole vectors, wraps below its first."""
    b, f, g, h, y = hl.Buffer(np.zeros((9, 64), np.int32), "b"), hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.Var("y")
    f[x, y] = b[x, y] + 1
    g[x, y] = f[x, y] + f[x + 2, y]
    h[x, y] = g[x, y] + g[x + 2, y]
    h.vectorize(x, 16)
    for inner in (f, g):
        inner.compute_at(h, y).vectorize(x, 16)
    assert h.verify().verdict == "proven"
    for least in range(MOST - 22, MOST - 12):
        out = hl.Buffer(hl.Int(32), [1, 1])
        out.set_min([least, 0])
        with pytest.raises(BufferError, match=r"beyond the range of i32|input b is read from 214748\d+ to 214748\d+ "):
            h.realize(out)


@pytest.mark.parametrize(
    ("index", "value", "verdict"),
    [
        (lambda v, w: hl.halving_add(v, w), lambda v, w: (v + w) >> 1, "proven"),
        (lambda v, w: hl.rounding_halving_add(v, w) * 3 + 1, lambda v, w: ((v + w + 1) >> 1) * 3 + 1, "proven"),
        (lambda v, w: hl.halving_add(w, v) // 4, lambda v, w: ((v + w) >> 1) // 4, "proven"),
        (lambda v, w: hl.clamp((v & w) + (v >> w), -1, 3), lambda v, w: np.clip((v & w) + (v >> w), -1, 3), "unknown"),
    ],
)
def test_means_lie_between_and_what_is_clamped_may_be_anything(index: Any, value: Any, verdict: str) -> None:
    f, g, p = hl.Func("f"), hl.Func("g"), hl.Param(hl.Int(32), "p", 3)
    f[x] = x * 7 + 1
    f.compute_root()
    g[x] = f[index(x, p)]
    assert _from(g, -9, 20) == (value(np.arange(-9, 11), 3) * 7 + 1).tolist()
    assert g.verify().verdict == verdict


def test_a_quotient_of_what_nothing_bounds_is_refused() -> None:
    f, g, p = hl.Func("f"), hl.Func("g"), hl.Param(hl.Int(32), "p", 3)
    f[x] = x * 7 + 1
    f.compute_root()
    g[x] = f[hl.clamp(((x & p) + (x >> p)) // 3, 0, 7)]
    with pytest.raises(AlgorithmError, match="nothing keeps it within the range of i32"):
        g.realize([4])


DATA = np.array([2**31 - 1, -(2**31), 3, 0], np.int32)
"""Data whose sums and products wrap around."""


@pytest.mark.parametrize(
    "index",
    [
        lambda d: hl.max(d, 0) + 1,
        lambda d: 3 - hl.min(d, 1),
        lambda d: hl.max(d, 1) * 2,
        lambda d: (hl.max(d, 1) + 1) // 2,
        lambda d: hl.i32(hl.u16(d)) + 2147483640,
        lambda d: hl.i32(hl.u16(d)) - 2147483647 - 2,
        lambda d: hl.max(d, 0) + hl.min(d, 7) + 1,
    ],
)
def test_what_is_computed_of_data_may_wrap_inside_a_clamp(index: Callable[[hl.Expr], hl.Expr]) -> None:
    """A sum that may pass one end of i32 is bounded at neither: the other end is where it comes back."""
    data, plain, f = hl.ImageParam(hl.Int(32), 1, "data"), hl.Func("plain"), hl.Func("f")
    data.set(hl.Buffer(DATA))
    plain[x] = hl.i32(x)
    f[x] = plain[hl.clamp(index(data[x]), -5, 4)]
    expected = np.array(f.realize([4]))
    plain.compute_root()
    assert np.array_equal(np.array(f.realize([4])), expected)

    r = hl.RDom([(0, 4)], "r")
    written, out = hl.Func("written"), hl.Func("out")
    written[x] = 0
    written[hl.clamp(index(data[r.x]), -5, 4)] += 1
    out[x] = written[hl.clamp(x, 0, 1)]  # the storage holds what is written, too
    written.compute_root()
    counts = np.bincount(expected + 5, minlength=10)
    assert list(np.array(out.realize([2]))) == list(counts[5:7])
