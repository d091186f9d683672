"""What is kept beside records is stored in a branch, where that pays; answers stay those of the serial loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.ir.nest_printer import show_nest

WIDTH, HEIGHT = 35, 9


def extremum(a: Any, change: str, form: str, lanes: int, kept: Any = None) -> Any:
    """The position of the least or greatest element, the lanes of a line at once where `lanes` is not 0.

    The elements are of the type of `a`, or cast to `kept`.
    """
    f, r = hl.Func("f"), hl.RDom([(0, WIDTH), (0, HEIGHT)])
    least = change in ("<", "<=")
    type_ = a.type() if kept is None else kept
    f[()] = (hl.cast(type_, 100 if least else 0), hl.i32(-1), hl.i32(-1))
    best, here = f[()][0], hl.cast(type_, a[r.x, r.y])
    new = {"<": here < best, "<=": best >= here, ">": best < here, ">=": here >= best}[change]
    if form == "select":
        value = hl.select(new, here, best)
    else:
        value = hl.min(best, here) if least else hl.max(here, best)
    if form == "kept":
        f[()] = (value, hl.select(~new, f[()][1], r.x), hl.select(~new, f[()][2], r.y))
    else:
        f[()] = (value, hl.select(new, r.x, f[()][1]), hl.select(new, r.y, f[()][2]))
    if lanes:
        xo, xi, v = hl.RVar("xo"), hl.RVar("xi"), hl.Var("v")
        f.update(0).split(r.x, xo, xi, lanes)
        line = f.update(0).rfactor([(xi, v)])
        line.compute_root().vectorize(v)
        line.update(0).vectorize(v)
    return f


def branches(f: Any) -> int:
    frozen = freeze(f)
    *_, (_, nest) = passes(frozen.algorithm, frozen.schedule)
    return show_nest(nest).count("if any(")


def pictures(dtype: Any) -> Any:
    rng = np.random.default_rng(5)
    random = rng.integers(0, 100, (HEIGHT, WIDTH)).astype(dtype)
    ordered = np.sort(random.ravel()).reshape(random.shape)
    last = np.full_like(random, 50)
    last[-1, -1] = 3
    return random, ordered, ordered[::-1, ::-1], np.full_like(random, 7), last, 100 - last


@pytest.mark.parametrize("change", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("form", ["extremum", "select", "kept"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_the_answer_is_the_serial_one(change: str, form: str, dtype: Any) -> None:
    a = hl.ImageParam(hl.UInt(8) if dtype == np.uint8 else hl.Int(16), 2)
    found, expected = extremum(a, change, form, 16), extremum(a, change, form, 0)
    assert branches(found) == (2 if change in ("<", ">") or dtype != np.uint8 else 0)  # 32 elements, and 3 under a mask
    assert branches(expected) == 0
    for picture in pictures(dtype):
        a.set(picture)
        assert [v[()] for v in found.realize()] == [v[()] for v in expected.realize()]


@pytest.mark.parametrize("change", ["<=", ">="])
def test_elements_that_equal_a_record_are_chosen_without_a_branch_where_many_do(change: str) -> None:
    """Of few values, in many lanes, in whatever they are kept."""
    for lanes in (8, 16, 32):
        assert (branches(extremum(hl.ImageParam(hl.Int(8), 2), change, "extremum", lanes)) == 0) == (lanes > 8)
        assert branches(extremum(hl.ImageParam(hl.UInt(16), 2), change, "extremum", lanes)) == 2
    for form in ("extremum", "select", "kept"):
        assert branches(extremum(hl.ImageParam(hl.UInt(8), 2), change, form, 16, hl.Int(16))) == 0


def test_little_beside_a_record_is_chosen_without_a_branch() -> None:
    """Two i32 beside an i64 take as much room as the record."""
    assert branches(extremum(hl.ImageParam(hl.Int(64), 2), "<", "extremum", 16)) == 0
    assert branches(extremum(hl.ImageParam(hl.Int(8), 2), "<", "extremum", 16)) >= 1


@pytest.mark.parametrize("condition", ["other", "worse"])
def test_a_condition_that_often_holds_is_no_record(condition: str) -> None:
    a, f, g, r, v = hl.Buffer(pictures(np.uint8)[0]), hl.Func("f"), hl.Func("g"), hl.RDom([(0, HEIGHT)]), hl.Var("v")
    f[v] = (hl.u8(255), hl.i32(-1), hl.i32(-1))
    best, here = f[v][0], a[v, r.x]
    often = {"other": here < hl.u8(50), "worse": here > best}[condition]
    f[v] = (hl.min(best, here), hl.select(often, r.x, f[v][1]), hl.select(often, r.x * 2, f[v][2]))
    g[v] = f[v][1] + f[v][2]
    f.compute_root().vectorize(v, 16)
    f.update(0).vectorize(v, 16)
    found = np.asarray(g.realize([WIDTH]))
    assert branches(g) == 0
    f.update(0).serial(v)
    assert np.array_equal(found, np.asarray(g.realize([WIDTH])))
