"""Iterations without a new record are passed over some at a time, where nothing else changes in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.ir.nest_printer import show_nest

LANES = 8
TYPES = {np.uint8: hl.UInt(8), np.int8: hl.Int(8), np.uint16: hl.UInt(16)}


def extremum(a: Any, width: int, height: int, change: str = "<", form: str = "extremum", along: bool = False) -> Any:
    """The position of the least or greatest element, lanes of a line at once; `along` a sum."""
    f, r = hl.Func("f"), hl.RDom([(0, width), (0, height)])
    least = change in ("<", "<=")
    start, zero = a.type().max() if least else a.type().min(), hl.cast(a.type(), 0)
    f[()] = (start, hl.i32(-1), hl.i32(-1), hl.i32(-1), *((zero,) if along else ()))
    best, here = f[()][0], a[r.x, r.y]
    new = {"<": best > here, "<=": here <= best, ">": here > best, ">=": best <= here}[change]
    value = hl.select(new, here, best) if form == "select" else hl.min(best, here) if least else hl.max(here, best)
    coordinates = [(c, f[()][i + 1]) for i, c in enumerate((r.x, r.y, r.x - r.y))]
    at = [hl.select(~new, old, c) if form == "kept" else hl.select(new, c, old) for c, old in coordinates]
    f[()] = (value, *at, *((f[()][4] + here,) if along else ()))
    return f, r


def in_lanes(f: Any, r: Any) -> Any:
    xo, xi, v = hl.RVar("xo"), hl.RVar("xi"), hl.Var("v")
    f.update(0).split(r.x, xo, xi, LANES)
    line = f.update(0).rfactor([(xi, v)])
    line.compute_root().vectorize(v)
    line.update(0).vectorize(v)
    return f


def nest(f: Any) -> str:
    frozen = freeze(f)
    *_, (_, made) = passes(frozen.algorithm, frozen.schedule)
    return show_nest(made)


def blocks(f: Any) -> int:
    """How many loops of `f` pass over several iterations."""
    return nest(f).count(".several in (")


def pictures(width: int, height: int, dtype: Any) -> Any:
    rng = np.random.default_rng(3)
    low, high = (0, 256) if dtype == np.uint8 else (-5, 6)
    random = rng.integers(low, high, (height, width)).astype(dtype)
    ordered = np.sort(random.ravel()).reshape(random.shape)
    last = np.full_like(random, 4)
    last[-1, -1] = 3
    ends = [np.full_like(random, limit(np.iinfo(dtype))) for limit in (lambda i: i.min, lambda i: i.max)]
    rows = [np.full_like(random, 4) for _ in range(4)]
    for i, row in enumerate(rows):  # a record in each place of four, a better one after it
        row[i % height, :] = 3
        row[-1, i % width] = 2
    for column in (-1, 0):  # a record at one side alone
        row = np.full_like(random, 4)
        row[height // 4 :, column] = 3
        rows.append(row)
    return random, ordered, ordered[::-1, ::-1], last, 7 - last, *ends, *rows, *(7 - row for row in rows)


@pytest.mark.parametrize(
    ("width", "height", "change", "form", "type_"),
    [
        (8, 8, "<", "extremum", hl.UInt(8)),
        (8, 11, ">", "select", hl.UInt(8)),
        (75, 3, "<", "kept", hl.UInt(8)),
        (72, 2, ">", "extremum", hl.Int(16)),
        (8, 13, "<", "select", hl.Int(16)),
        (11, 9, "<", "extremum", hl.UInt(8)),  # rows of 8 and 3, which are a vector under a mask
        (11, 9, ">", "select", hl.UInt(8)),
        (11, 12, ">", "kept", hl.Int(16)),
        (5, 9, "<", "kept", hl.UInt(8)),
    ],
)
def test_the_answer_is_the_serial_one(width: int, height: int, change: str, form: str, type_: Any) -> None:
    a = hl.ImageParam(type_, 2)
    found, expected = in_lanes(*extremum(a, width, height, change, form)), extremum(a, width, height, change, form)[0]
    assert blocks(found) >= 1
    for picture in pictures(width, height, np.uint8 if type_ == hl.UInt(8) else np.int16):
        a.set(picture)
        assert [v[()] for v in found.realize()] == [v[()] for v in expected.realize()]


def test_a_number_of_iterations_that_is_known_when_it_runs() -> None:
    a, n = hl.ImageParam(hl.UInt(8), 2), hl.Param(hl.Int(32), "n")
    f, r = extremum(a, LANES, n)
    g, _ = extremum(a, LANES, n)
    in_lanes(f, r)
    assert blocks(f) == 1
    for height in (-3, *range(10), 17):
        n.set(height)
        a.set(pictures(LANES, max(height, 1), np.uint8)[0])
        assert [v[()] for v in f.realize()] == [v[()] for v in g.realize()]


@pytest.mark.parametrize("change", ["<=", ">="])
def test_equal_elements_that_are_records_are_not_rare(change: str) -> None:
    a = hl.ImageParam(hl.UInt(8), 2)
    assert blocks(in_lanes(*extremum(a, 8, 16, change))) == 0


def test_floats_are_asked_one_by_one() -> None:
    """A NaN among them is no record, and hides one."""
    a = hl.ImageParam(hl.Float(32), 2)
    f = in_lanes(*extremum(a, 8, 16, form="select"))
    assert blocks(f) == 0


def test_what_else_changes_is_not_passed_over() -> None:
    a = hl.ImageParam(hl.Int(32), 2)
    f, r = extremum(a, 8, 16, along=True)
    g, _ = extremum(a, 8, 16, along=True)
    assert blocks(in_lanes(f, r)) == 0
    a.set(pictures(8, 16, np.int32)[0])
    assert [v[()] for v in f.realize()] == [v[()] for v in g.realize()]


@pytest.mark.parametrize("height", [7, 8, 9, 35])
def test_another_function_that_changes_in_the_same_loop_is_not_passed_over(height: int) -> None:
    a, f, g = hl.ImageParam(hl.UInt(8), 2, "a"), hl.Func("f"), hl.Func("g")
    r, x, both = hl.RDom([(0, height)]), hl.Var("x"), hl.Func("both")
    f[x] = (hl.u8(255), hl.i32(-1), hl.i32(-1), hl.i32(-1))
    new = a[x, r.x] < f[x][0]
    f[x] = (hl.min(f[x][0], a[x, r.x]), *(hl.select(new, r.x + i, f[x][i + 1]) for i in range(3)))
    g[x] = (hl.u8(0), hl.u8(0))
    g[x] = (g[x][0] + g[x][1] + a[x, r.x], g[x][1] + g[x][0])
    both[x] = (f[x][1], g[x][0], g[x][1])
    both.bound(x, 0, LANES)
    for one in (f, g):
        one.compute_root()
        one.update(0).reorder(x, r.x).vectorize(x, LANES)
    g.update(0).compute_with(f.update(0), r.x)
    assert blocks(both) == 0
    data = np.random.default_rng(height).integers(0, 256, (height, LANES), np.uint8)
    first = second = np.zeros(LANES, np.uint8)
    for row in data:
        first, second = first + second + row, second + first
    a.set(hl.Buffer(data))
    at, one_sum, other = both.realize([LANES])
    assert np.array_equal(at, data.argmin(0))
    assert np.array_equal(one_sum, first)
    assert np.array_equal(other, second)


def test_few_iterations_stay_as_they_are() -> None:
    a = hl.ImageParam(hl.UInt(8), 2)
    assert blocks(in_lanes(*extremum(a, 8, 7))) == 0
    assert blocks(in_lanes(*extremum(a, 8, 8))) == 1


@pytest.mark.parametrize("dense", [True, False])
def test_what_lies_apart_is_read_once(dense: bool) -> None:
    a, f, r, v = hl.ImageParam(hl.UInt(8), 2), hl.Func("f"), hl.RDom([(0, 16)]), hl.Var("v")
    f[v] = (hl.u8(255), hl.i32(-1), hl.i32(-1))
    best, here = f[v][0], a[v, r.x] if dense else a[r.x, v]
    new = here < best
    f[v] = (hl.min(best, here), hl.select(new, r.x, f[v][1]), hl.select(new, r.x * 2, f[v][2]))
    f.compute_root().vectorize(v, 16)
    f.update(0).reorder(r.x, v).vectorize(v, 16)
    assert blocks(f) == dense


@pytest.mark.parametrize("change", ["<", ">"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16])
@pytest.mark.parametrize("length", [None, 8 * 4 * 16, 8 * 4 * 64 * 3 + 5])
def test_the_rest_is_passed_over_once_no_lane_can_have_a_record(change: str, dtype: Any, length: int | None) -> None:
    """The first of all elements that are the least of their type, in each lane somewhere."""
    a, ends = hl.ImageParam(TYPES[dtype], 1), np.iinfo(dtype)
    f, r = hl.Func("f"), hl.RDom([(0, a.width() if length is None else length)])
    f[()] = (hl.cast(a.type(), ends.max if change == "<" else ends.min), hl.i32(-1), hl.i32(-2))
    best, here = f[()][0], a[r.x]
    new = here < best if change == "<" else here > best
    value = hl.min(best, here) if change == "<" else hl.max(best, here)
    f[()] = (value, hl.select(new, r.x, f[()][1]), hl.select(new, 3 * r.x, f[()][2]))
    xo, xi, v = hl.RVar("xo"), hl.RVar("xi"), hl.Var("v")
    f.update(0).split(r.x, xo, xi, 8)
    f.update(0).rfactor([(xi, v)]).compute_root().vectorize(v).update(0).vectorize(v)
    end = ends.min if change == "<" else ends.max
    assert f"if any(x8({end}) {change} f_intm.0[" in nest(f)
    random, number = np.random.default_rng(2), 8 * 4 * 64 * 3 + 5 if length is None else length
    for many in (1, 8, 40, number):
        data = random.integers(ends.min + 1, ends.max, number, dtype=dtype)
        data[random.choice(number, many, replace=False)] = end
        for late in (0, 8 * 4 * 16 - 1, number // 2):  # only one lane may have a record there
            shifted = np.concatenate([data[late:][: number - late], np.full(late, end, dtype)])
            for given in (shifted, shifted[::-1].copy()):
                a.set(given)
                at = int(given.argmin() if change == "<" else given.argmax())
                assert [int(one[()]) for one in f.realize()] == [int(given[at]), at, 3 * at]


def test_a_wide_type_is_not_asked_whether_it_can_have_a_record() -> None:
    a, f, r = hl.ImageParam(hl.Int(32), 1), hl.Func("f"), hl.RDom([(0, 8 * 4 * 64)])
    f[()] = (hl.i32(5), hl.i32(-1), hl.i32(-2), hl.i32(-3))
    new = a[r.x] < f[()][0]
    f[()] = (hl.min(f[()][0], a[r.x]), *(hl.select(new, i * r.x, f[()][i]) for i in (1, 2, 3)))
    xo, xi, v = hl.RVar("xo"), hl.RVar("xi"), hl.Var("v")
    f.update(0).split(r.x, xo, xi, 8)
    f.update(0).rfactor([(xi, v)]).compute_root().vectorize(v).update(0).vectorize(v)
    assert ".several in" in nest(f)
    assert ".many" not in nest(f)


@pytest.mark.parametrize("height", [11, 16, 22])
def test_data_that_depend_on_what_is_kept_are_compared_once(height: int) -> None:
    """What is compared again, beside another position, may be a record."""
    a = hl.Buffer(np.random.default_rng(4).integers(0, 256, (height, 64), dtype=np.uint8))

    def places(lanes: int) -> Any:
        f, g, r, v = hl.Func("f"), hl.Func("g"), hl.RDom([(0, height)]), hl.Var("v")
        f[v] = (hl.u8(255), hl.i32(0), hl.i32(-1))
        here = a[v, r.x] - hl.u8(f[v][1])
        new = here < f[v][0]
        f[v] = (hl.min(f[v][0], here), hl.select(new, r.x, f[v][1]), hl.select(new, r.x * 2, f[v][2]))
        g[v] = hl.i32(f[v][0]) + 1000 * f[v][1] + f[v][2]
        f.compute_root()
        if lanes:
            f.update(0).reorder(r.x, v).vectorize(v, lanes)
        assert blocks(g) == (lanes > 0)
        return np.asarray(g.realize([64]))

    assert np.array_equal(places(16), places(0))
