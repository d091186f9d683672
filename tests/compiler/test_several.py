"""Updates that write several points at once: everything is read before, under every schedule that is legal."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError, ScheduleError, TypeMismatch
from tests.compiler.pipelines import computed, expected, same

x, y, xo, xi = hl.vars("x y xo xi")


def swapped() -> tuple[Any, Any]:
    """Columns 0 to 4 of a table in reverse: pairs of them change places."""
    f, r = hl.Func("f"), hl.RDom([(0, 2)], "r")
    f[x, y] = x * 7 + y * y
    f[x, hl.scatter([r.x, 4 - r.x])] = f[x, hl.gather([4 - r.x, r.x])]
    return f, r


SCHEDULES = {
    "vectorized": lambda f, r: f.update(0).vectorize(x, 8),
    "a tail": lambda f, r: f.update(0).split(x, xo, xi, 4).vectorize(xi).reorder(xi, r.x, xo),
    "parallel": lambda f, r: f.update(0).parallel(x),
    "unrolled": lambda f, r: f.update(0).unroll(r.x),
    "another order": lambda f, r: f.update(0).reorder(r.x, x),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_all_is_read_before_anything_is_written_under_every_schedule(name: str) -> None:
    f, r = swapped()
    before = expected(f, [13, 6])
    SCHEDULES[name](f, r)
    (after,) = computed(f, [13, 6])
    assert same(before[0], after)
    table = np.arange(13) * 7 + (np.arange(6) ** 2)[:, None]
    assert np.array_equal(after, table[[4, 3, 2, 1, 0, 5]])
    g = hl.Func("g")
    g[x, y] = f[x, y + 1] + 1
    f.compute_at(g, y)
    assert np.array_equal(computed(g, [13, 4])[0], table[[3, 2, 1, 0]] + 1)


def test_a_sorting_network_of_swaps_sorts() -> None:
    rows = np.array([[Random(i * 20 + j).randrange(100) for j in range(11)] for i in range(6)], np.int16)
    given, f = hl.Buffer(rows), hl.Func("f")
    r = hl.RDom([(0, 5), (0, 11)], "r")
    f[x, y] = given[x, y]
    i = r.x * 2 + r.y % 2
    a, b = f[i, y], f[i + 1, y]
    f[hl.scatter([i, i + 1]), y] = hl.gather([hl.min(a, b), hl.max(a, b)])
    f.update(0).reorder(y, r.x, r.y).vectorize(y, 4)
    assert np.array_equal(computed(f, [11, 6])[0], np.sort(rows, axis=1))


def test_a_part_may_be_left_as_it_is() -> None:
    f = hl.Func("f")
    f[x] = x
    f[hl.scatter([0, 2])] = hl.select(f[2] > hl.gather([1, 7]), 5, hl.undef(hl.Int(32)))
    assert list(f.realize([4])) == list(expected(f, [4])[0]) == [5, 1, 2, 3]


def test_a_point_outside_the_array_is_found_on_entry() -> None:
    f, p = hl.Func("f"), hl.Param(hl.Int(32), "p")
    f[x] = x
    f[hl.scatter([0, p])] = 9
    p.set(3)
    assert list(f.realize([4])) == [9, 1, 2, 9]
    p.set(4)
    with pytest.raises(BufferError, match="from 0 to 4"):
        f.realize(np.zeros(4, np.int32))
    assert list(f.realize([4])) == [9, 1, 2, 3]


def test_loops_that_meet_stay_serial_and_several_points_are_no_reduction() -> None:
    for directive in ("parallel", "vectorize"):
        f, r = swapped()
        with pytest.raises(ScheduleError, match=r"update the same points one after the other"):
            getattr(f.update(0), directive)(r.x)
    f, r = swapped()
    with pytest.raises(ScheduleError, match=r"writes several points at once \(scatter\)"):
        f.update(0).atomic().parallel(r.x)
    h, u = hl.Func("h"), hl.Var("u")
    h[x] = 0
    h[hl.scatter([0, 1])] += r.x
    with pytest.raises(hl.HalideError, match="writes several points at once"):
        h.update(0).rfactor(r.x, u)
    with pytest.raises(hl.HalideError, match="several"):
        h.update(0).parallel_scan(r.x)


def test_what_is_given_is_checked() -> None:
    f = hl.Func("f")
    with pytest.raises(AlgorithmError, match="first defined at several"):
        f[hl.scatter([0, 1])] = 3
    f[x] = x
    with pytest.raises(AlgorithmError, match="lists of 2 and 3 points"):
        f[hl.scatter([0, 1])] = hl.gather([1, 2, 3])
    with pytest.raises(AlgorithmError, match='Undefined variable "x" in definition of Func "f"'):
        f[hl.scatter([x, x + 1])] = 3
    given: tuple[Any, ...] = ([], 3, "ab")
    for wrong in given:
        with pytest.raises(TypeMismatch, match="takes a list of expressions"):
            hl.scatter(wrong)
    g, r = hl.Func("g"), hl.RDom([(0, 3)], "r")
    r.where(hl.gather([r.x, 1]) > 0)
    g[x] = x
    g[hl.scatter([0, 1])] += r.x
    with pytest.raises(AlgorithmError, match="a domain takes no gather or scatter"):
        g.realize([4])
