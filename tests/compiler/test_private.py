"""Functions that are computed in the iterations of a loop in threads or lanes, as inline reductions are."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from tests.compiler.test_lowering import printed

x, y, xo, xi = (hl.Var(name) for name in ("x", "y", "xo", "xi"))
a = hl.Buffer(np.random.default_rng(0).integers(0, 99, (40, 60)).astype(np.uint8), "strewn")


def loops(f: Any) -> str:
    """The nest of `f`."""
    return printed(f, "nest")


def window() -> Any:
    """The smallest of three values."""
    f = hl.Func("f")
    f[x, y] = hl.minimum(a[x + hl.RDom([(0, 3)], "r").x, y], hl.Func("needed"))
    return f


def test_what_is_needed_at_one_point_is_computed_in_lanes() -> None:
    f = window()
    f.bound(x, 0, 32).vectorize(x, 16)
    assert printed(f, "vectorize") == dedent("""\
        produce f:
          for f.s0.y in (f.min.1, f.extent.1):
            for f.s0.x in (0, 2):
              allocate needed.0[u8 * 16]
              produce needed:
                needed.0[ramp(0, 1, 16)] = x16(255)
                for needed.s1.r.x in (0, 3):
                  needed.0[ramp(0, 1, 16)] = min(needed.0[ramp(0, 1, 16)], \
strewn[ramp(i64(f.s0.x * 16) + i64(needed.s1.r.x) \
+ i64(f.s0.y) * strewn.stride.1 - i64(strewn.min.0) - i64(strewn.min.1) * strewn.stride.1, 1, 16)])
              f.0[ramp(i64(f.s0.x) * 16 + i64(f.s0.y) * f.0.stride.1 - i64(f.0.min.0) - i64(f.0.min.1) \
* f.0.stride.1, 1, 16)] = needed.0[ramp(0, 1, 16)]
        """)


def scheduled(make: Callable[[Any], None]) -> Any:
    f = window()
    make(f)
    return f


@pytest.mark.parametrize(
    ("make", "inside"),
    [
        (lambda f: f.parallel(y), True),
        (lambda f: f.split(x, xo, xi, 8).vectorize(xi), True),
        (lambda f: f.specialize(f.output_buffer().width() > 8).parallel(y), True),
        (lambda f: f.unroll(x, 2), False),
        (lambda f: None, False),
    ],
)
def test_it_follows_into_loops_that_run_at_once(make: Callable[[Any], None], inside: bool) -> None:
    text = loops(scheduled(make))
    assert ("realize needed(" not in text.splitlines()[0]) == inside


def of_a_row() -> Any:
    """Needed at a point by a whole column: computed there it would be computed again and again."""
    f = hl.Func("f")
    f[x, y] = a[x, y] - hl.minimum(a[x, hl.RDom([(0, 9)], "r").x], hl.Func("needed"))
    return f


def of_neighbours() -> Any:
    f, m = hl.Func("f"), hl.Func("needed")
    m[x, y] = a[x, y]
    m[x, y] += a[x, y + 1]
    f[x, y] = m[x, y] + m[x + 1, y]
    return f


def of_two() -> Any:
    f, g, m = hl.Func("f"), hl.Func("g"), hl.Func("needed")
    m[x, y] = a[x, y]
    m[x, y] += a[x, y + 1]
    g[x, y] = m[x, y] * 2
    g.compute_root()
    f[x, y] = m[x, y] + g[x, y]
    return f


def with_loops_of_its_own() -> Any:
    f, m = hl.Func("f"), hl.Func("needed")
    m[x, y] = a[x, y]
    m[x, y] += a[x, y + 1]
    m.vectorize(x, 4)
    f[x, y] = m[x, y]
    return f


def histogram() -> Any:
    """Each of its points takes the loop over all of them."""
    f, m = hl.Func("f"), hl.Func("needed")
    m[x, y] = 0
    m[a[hl.RDom([(0, 32)], "r").x, y], y] += 1
    f[x, y] = m[x, y]
    return f


def one_cell() -> Any:
    f, m = hl.Func("f"), hl.Func("needed")
    m[x, y] = a[x, y]
    m[0, y] = m[1, y] + 1
    f[x, y] = m[x, y]
    return f


def around_a_window() -> Any:
    """What slides along its loops has none to slide along at a point, and would be shared by the threads."""
    f, m, g, r = hl.Func("f"), hl.Func("needed"), hl.Func("g"), hl.RDom([(0, 3)], "r")
    g[x, y] = a[x, y] + 1
    m[x, y] = hl.u8(0)
    m[x, y] += g[x, y + r.x]
    f[x, y] = m[x, y]
    g.store_root().compute_at(m, y)
    return f


APART = [of_a_row, of_neighbours, of_two, with_loops_of_its_own, histogram, one_cell, around_a_window]


@pytest.mark.parametrize("make", APART)
def test_what_would_be_computed_again_stays_at_the_root(make: Callable[[], Any]) -> None:
    f = make()
    f.vectorize(x, 8).parallel(y)
    assert "realize needed(" in loops(f).partition("for ")[0]


def squares() -> Any:
    """Two components, of which one is the place of the other."""
    f, best = hl.Func("f"), hl.argmin((a[x + hl.RDom([(0, 5)], "r").x, y] - 50) ** 2)
    f[x, y] = best[0] + best[1]
    return f


def ragged() -> Any:
    """Not all lanes run at all."""
    f, r = hl.Func("f"), hl.RDom([(0, 4)], "r")
    r.where(r.x <= (x + y) % 4)
    f[x, y] = hl.sum(hl.i32(a[x + r.x, y]))
    return f


def sums_of_sums() -> Any:
    f, g, r, s = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 3)], "r"), hl.RDom([(0, 2)], "s")
    g[x, y] = hl.sum(hl.i32(a[x + r.x, y]))
    f[x, y] = hl.maximum(g[x, y + s.x]) * hl.minimum(a[x, y + s.x])
    return f


def added() -> Any:
    """An update uses it."""
    f = hl.Func("f")
    f[x, y] = hl.f32(1)
    f[x, y] += hl.sum(hl.f32(a[x, y + hl.RDom([(0, 3)], "r").x]) * hl.f32(0.1))
    return f


def wider() -> Any:
    """Each lane has a box of its own, of several points."""
    f, m, r = hl.Func("f"), hl.Func("needed"), hl.RDom([(0, 3)], "r")
    m[x, y] = hl.i32(a[x, y])
    m[x, y] += a[x + r.x, y]
    f[x, y] = m[x, y] + m[x + 2, y] * 3
    m.compute_at(f, xi)
    return f


def of_data() -> Any:
    """Data say how many iterations there are."""
    f, r = hl.Func("f"), hl.RDom([(0, hl.i32(a[0, 0]) % 7)], "r")
    f[x, y] = hl.sum(hl.i32(a[x + r.x, y]))
    return f


def clamped() -> Any:
    """Some vectors are within the clamp, some are not, and some partly."""
    f, r = hl.Func("f"), hl.RDom([(-2, 5), (0, 2)], "r")
    f[x, y] = hl.sum(hl.i32(a[hl.clamp(x + r.x, 0, 20), y + r.y]))
    return f


def test_clamps_are_seen_through_where_a_coordinate_has_a_name() -> None:
    f = clamped()
    f.vectorize(x, 8)
    first, inside, *ends = [line for line in printed(f, "final").splitlines() if "strewn[" in line]
    assert "max(" not in inside
    assert all("strewn[i64x8(max(" in end for end in (first, *ends))


@pytest.mark.parametrize("make", [window, squares, ragged, sums_of_sums, added, wider, of_data, clamped])
@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("size", [(1, 1), (16, 2), (37, 3)])
def test_lanes_give_the_same_bits(make: Callable[[], Any], lanes: int, size: tuple[int, int]) -> None:
    plain, f = make(), make()
    for g in (plain, f):
        for stage in (g, g.update(0)) if g.num_update_definitions() else (g,):
            stage.split(x, xo, xi, lanes)
            if g is f:
                stage.vectorize(xi).parallel(y)
    assert "for f.s0.xi in" not in printed(f, "vectorize")
    result, serial = np.asarray(f.realize(size)), np.asarray(plain.realize(size))
    assert result.tobytes() == serial.tobytes()


def test_a_loop_in_threads_inside_runs_in_lanes_too() -> None:
    f = hl.Func("f")
    f[x, y] = hl.i32(a[x, y]) * 2
    f.bound(x, 0, 8).reorder(y, x).vectorize(x).parallel(y)
    assert "ramp(" in printed(f, "vectorize")
    np.testing.assert_array_equal(np.asarray(f.realize([8, 20])), np.asarray(a)[:20, :8] * np.int32(2))


def beside(needs: Callable[[Any, Any], Any], summed: bool = True) -> Any:
    """What `needs` reads of `needed`, which sums three points of what is computed in the rows of `f`."""
    f, m, g, r = hl.Func("f"), hl.Func("needed"), hl.Func("g"), hl.RDom([(-1, 3)], "r")
    g[x, y] = hl.i32(a[x, y]) * 3
    m[x, y] = hl.i32(0)
    if summed:
        m[x, y] += g[x + r.x, y]
    else:
        m[g[r.x + 1, y] % 8, y] += 1
    f[x, y] = needs(m, g)
    g.compute_at(f, y)
    return f


def of_a_window() -> Any:
    return beside(lambda m, g: m[x, y] * 2 - g[x, y])


def in_two_stages() -> Any:
    """Each at a point of its own."""
    f = beside(lambda m, g: m[x, y])
    f[x, y] += f[x, y] // 2
    return f


def of_its_neighbours() -> Any:
    return beside(lambda m, g: m[x - 1, y] + m[x + 1, y])


def of_a_line() -> Any:
    """All lanes need the same point."""
    return beside(lambda m, g: m[1, y] + g[x, y])


def counts() -> Any:
    return beside(lambda m, g: m[x % 8, y] + g[x, y], summed=False)


@pytest.mark.parametrize("size", [(16, 1), (37, 3)])
@pytest.mark.parametrize(
    ("make", "in_lanes"),
    [(of_a_window, True), (in_two_stages, True), (of_its_neighbours, False), (of_a_line, False), (counts, False)],
)
def test_what_must_be_computed_in_loops_is_in_lanes_where_each_lane_needs_one_point(
    make: Callable[[], Any], in_lanes: bool, size: tuple[int, int]
) -> None:
    f, plain = make(), make()
    f.vectorize(x, 8)
    loop, _, inside = loops(f).partition("vectorized for ")
    assert ("realize needed(" in inside) == in_lanes
    assert ("realize needed(" in loop) != in_lanes
    results = []
    for one in (f, plain):
        moved = hl.Func("moved")
        moved[x, y] = one[x + 2, y]  # reads begin left of the point
        one.compute_root()
        results.append(np.asarray(moved.realize(size)))
    result, expected = results
    assert result.tobytes() == expected.tobytes()


def in_its_lanes(needs: Callable[[Any, Any], Any]) -> Any:
    """What is computed in each lane of `f` sums, and what it sums must be computed in the rows of `f`."""
    f, own, needed, rows, r = (hl.Func("f"), hl.Func("own"), hl.Func("needed"), hl.Func("rows"), hl.RDom([(0, 3)], "r"))
    rows[x, y] = hl.i32(a[x, y]) * 3
    needed[x, y] = hl.f32(0)
    needed[x, y] += hl.f32(rows[x + r.x, y]) / 7
    own[x, y] = needs(needed, x)
    f[x, y] = own[x, y] + 1
    f.split(x, xo, xi, 8).vectorize(xi)
    rows.compute_at(f, y)
    own.compute_at(f, xi)
    return f


@pytest.mark.parametrize(
    ("needs", "in_lanes"),
    [
        (lambda needed, x: needed[x, y], True),
        (lambda needed, x: needed[2 * x + 1, y] * 2, True),
        (lambda needed, x: needed[x, y] + needed[x + 1, y], False),
        (lambda needed, x: needed[3, y], False),  # all lanes need the same point
    ],
)
def test_what_is_computed_in_lanes_is_so_with_what_it_alone_needs(
    needs: Callable[[Any, Any], Any], in_lanes: bool
) -> None:
    f, plain = in_its_lanes(needs), hl.Func("plain")
    text = loops(f)
    assert ("realize needed(" in text.partition("vectorized for ")[2]) == in_lanes
    if in_lanes:
        assert "needed.0[ramp(0, 1, 8)]" in printed(f, "final")
        assert "for f.s0.xi in" not in printed(f, "final")
    other = in_its_lanes(needs)
    other.serial(xi)
    plain[x, y] = other[x, y]
    other.compute_root()
    for size in ((1, 1), (16, 1), (23, 3)):
        assert np.asarray(f.realize(size)).tobytes() == np.asarray(plain.realize(size)).tobytes()


def apart(step: int, make: Callable[[Any], None]) -> Any:
    """Needed at points that lie `step` apart."""
    f, needed = hl.Func("f"), hl.Func("needed")
    needed[x, y] = hl.u8(0)
    needed[x, y] += a[x + hl.RDom([(0, 3)], "r").x, y]
    f[x, y] = needed[x * step + 1, 7 - y]
    make(f)
    return f


@pytest.mark.parametrize(
    ("step", "make", "inside"),
    [
        (2, lambda f: None, True),  # at the root it would be computed between them too
        (-3, lambda f: None, True),
        (1, lambda f: None, False),
        (1, lambda f: f.parallel(y), True),
        (2, lambda f: f.vectorize(x, 4), True),
        (0, lambda f: f.parallel(y), False),  # all iterations need the same point
    ],
)
def test_points_of_their_own_are_computed_where_they_are_needed(
    step: int, make: Callable[[Any], None], inside: bool
) -> None:
    f = apart(step, make)
    assert ("realize needed(" not in loops(f).splitlines()[0]) == inside
    held = np.array(a)
    out = hl.Buffer(hl.UInt(8), [7, 8])
    out.set_min([-6 if step < 0 else 0, 0])
    f.realize(out)
    columns = [column * step + 1 for column in range(out.dim(0).min(), out.dim(0).max() + 1)]
    sums = held[:, :-2] + held[:, 1:-1] + held[:, 2:]
    assert (np.array(out) == sums[7::-1][:, columns]).all()


def at_one_point_of_two(second: Callable[[Any], Any]) -> Any:
    """Two points are needed in each iteration, or one in several."""
    f, needed = hl.Func("f"), hl.Func("needed")
    needed[x, y] = hl.u8(0)
    needed[x, y] += a[x + hl.RDom([(0, 3)], "r").x, y]
    f[x, y] = second(needed)
    f.parallel(y)
    return f


@pytest.mark.parametrize(
    "second",
    [
        lambda g: g[2 * x, y] + g[2 * x + 1, y],
        lambda g: g[2 * x, 3 * x],
        lambda g: g[2 * x + y, y],
        lambda g: g[x / 2, y],
        lambda g: g[hl.i32(a[x, y]) % 9 + x * 0, y],
    ],
)
def test_points_that_others_need_are_computed_once(second: Callable[[Any], Any]) -> None:
    assert "realize needed(" in loops(at_one_point_of_two(second)).splitlines()[0]
