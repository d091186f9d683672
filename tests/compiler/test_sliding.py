"""What is computed once in storage around the loops: boxes that do not move, and places that come between others."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import ScheduleError
from tests.compiler.pipelines import agrees, expected
from tests.compiler.test_lowering import printed

x, y, xo, xi = (hl.Var(name) for name in ("x", "y", "xo", "xi"))
DATA = np.random.default_rng(5).integers(-1000, 1000, 64).astype(np.int32)

Made = Callable[[bool], tuple[Any, Any]]
"""What is computed further in, and what is asked for, scheduled or not."""


def _two_points(scheduled: bool) -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    g[x] = f[0] + f[5] + x
    if scheduled:
        f.store_root().compute_at(g, x)
    return f, g


def _in_rows(scheduled: bool) -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    g[x, y] = f[0] + f[5] * y
    if scheduled:
        f.store_root().compute_at(g, x)
    return f, g


def _in_each_row(scheduled: bool) -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    g[x, y] = f[0] + f[5] * y
    if scheduled:
        f.store_at(g, y).compute_at(g, x)
    return f, g


def _rows_that_move(scheduled: bool) -> tuple[Any, Any]:
    """Rows slide with `y`, and nothing moves with `x`."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * x + y
    g[x, y] = f[0, y] + f[5, y + 1] * x
    if scheduled:
        f.store_root().compute_at(g, x)
    return f, g


def _with_updates(scheduled: bool) -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = (x, x * x)
    f[x] = (f[x][0] + 3, f[x][1] * f[x][0])
    g[x] = f[0][0] + f[5][1] + x
    if scheduled:
        f.store_root().compute_at(g, x)
    return f, g


def _histogram(scheduled: bool) -> tuple[Any, Any]:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 64)], "r")
    f[x] = 0
    f[hl.Buffer(DATA)[r.x] & 3] += 1
    g[x] = f[0] + f[3] * x
    if scheduled:
        f.store_root().compute_at(g, x)
    return f, g


def _in_cut_tiles(scheduled: bool) -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    g[x] = f[0] + f[5] + x
    if scheduled:
        g.split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf)
        f.store_root().compute_at(g, xi)
    return f, g


def _in_vectors(scheduled: bool) -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    g[x] = f[0] + f[5] + x
    if scheduled:
        g.split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf).vectorize(xi)
        f.store_root().compute_at(g, xo)
    return f, g


def _of_several(scheduled: bool) -> tuple[Any, Any]:
    """What is computed where the first iteration computes another: its window is one point of it."""
    f, k, g = hl.Func("f"), hl.Func("k"), hl.Func("g")
    f[x] = x * x
    k[x] = f[x] + f[x + 1]
    g[x] = k[0] + k[5] + x
    if scheduled:
        k.store_root().compute_at(g, x)
        f.store_root().compute_at(g, x)
    return f, g


def stores(f: Any, g: Any, size: list[int], capsys: pytest.CaptureFixture[str]) -> int:
    """How often `f` is stored to where `g` is computed."""
    f.trace_stores()
    g.realize(size)
    return sum(line.startswith("Store f") for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("made", "size", "count"),
    [
        (_two_points, [100], 6),
        (_two_points, [1], 6),
        (_in_rows, [10, 7], 6),
        (_in_each_row, [10, 7], 42),
        (_rows_that_move, [10, 7], 48),
        (_with_updates, [20], 24),
        (_histogram, [20], 68),
        (_in_cut_tiles, [21], 6),
        (_in_vectors, [21], 6),
        (_of_several, [20], 7),
    ],
)
def test_what_does_not_move_is_computed_once(
    made: Made, size: list[int], count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = expected(made(False)[1], size)
    f, g = made(True)
    agrees(g, before, size)
    assert g.verify().verdict == "proven"
    assert stores(f, g, size, capsys) == count


def test_the_first_iteration_computes_it_by_itself() -> None:
    _, g = _two_points(True)
    assert printed(g, "tidy") == dedent("""\
        allocate f.0[i32 * 6]
        produce g:
          for g.s0.x in (g.min.0, min(g.extent.0, 1)):
            produce f:
              for f.s0.x in (0, 6):
                f.0[i64(f.s0.x)] = f.s0.x * f.s0.x
            g.0[i64(g.s0.x) - i64(g.0.min.0)] = f.0[0] + f.0[5] + g.s0.x
          for g.s0.x in (g.min.0 + 1, max(g.extent.0, 1) - 1):
            g.0[i64(g.s0.x) - i64(g.0.min.0)] = f.0[0] + f.0[5] + g.s0.x
        """)


def test_a_loop_of_rows_asks_and_keeps_one_range() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * x + y
    g[x, y] = f[0, 3] + f[5, 4] + x
    f.store_root().compute_at(g, y)
    assert printed(g, "partition") == dedent("""\
        allocate f.0[i32 * 12]
        produce g:
          for g.s0.y in (g.min.1, g.extent.1):
            if g.s0.y <= g.min.1:
              produce f:
                for f.s0.y in (3, 2):
                  for f.s0.x in (0, 6):
                    f.0[i64(f.s0.x) + i64(f.s0.y) * 6 - 18] = f.s0.x * f.s0.x + f.s0.y
            for g.s0.x in (g.min.0, g.extent.0):
              g.0[i64(g.s0.x) + i64(g.s0.y) * g.0.stride.1 - i64(g.0.min.0) - i64(g.0.min.1) * g.0.stride.1] = """
                                             """f.0[0] + f.0[11] + g.s0.x
        """)  # fmt: skip


def test_the_loops_are_shown_as_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, g = _two_points(True)
    g.print_loop_nest()
    shown = capsys.readouterr().err
    assert "consume f:" in shown
    assert "if" not in shown


def test_what_moves_with_a_loop_inside_is_computed_anew() -> None:
    """Folded to two places, nothing of it is left in the next row."""
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * x
    g[x, y] = f[x] + f[x + 1] * y
    before = expected(g, [9, 4])
    f.store_root().compute_at(g, x).fold_storage(x, 2)
    assert "modulo 2" in printed(g, "bounds")
    agrees(g, before, [9, 4])
    assert g.verify().verdict == "proven"


@pytest.mark.parametrize("first_rows", [0, 1])
def test_what_runs_inside_may_not_begin_later(first_rows: int) -> None:
    """In the first rows the loop that computes has no iterations."""
    f, g, h, r = hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.RDom([(0, 20)], "r")
    r.where(r.x < y - first_rows)
    f[x] = x * x + 3
    g[x, y] = f[0] + f[5] + x
    h[y] = 0
    h[y] += g[r.x, y]
    before = expected(h, [15])
    g.compute_at(h, y)
    f.store_root().compute_at(g, x)
    agrees(h, before, [15])
    assert not h.verify().refuted


def test_loops_that_are_shared_keep_what_they_compute() -> None:
    f, k, g = hl.Func("f"), hl.Func("k"), hl.Func("g")
    f[x] = x * x
    k[x] = x + 7
    g[x] = f[0] + f[5] * k[2] + x
    before = expected(g, [9])
    f.store_root().compute_at(g, x)
    k.store_root().compute_at(g, x)
    k.compute_with(f, x)
    agrees(g, before, [9])


# Places that compute a function in turns


def _two_windows(rows: int, fixed: bool) -> tuple[Any, Any]:
    """A function that both stages of another read, some rows apart, or the first one at rows that do not move."""
    f, g, k = hl.Func("f"), hl.Func("g"), hl.Func("k")
    f[x, y] = x * x + 100 * y * y
    g[x, y] = f[x, 0] + f[x, 1] if fixed else f[x, y] + f[x, y + 1]
    g[x, y] += f[x, y + rows] * 7 + f[x, y + rows + 1] * 3
    k[x, y] = g[x, y]
    before = expected(k, [6, 9])
    g.compute_at(k, y)
    f.store_root().compute_at(g, x)
    return k, before


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5])
def test_windows_that_slide_in_turns_are_not_folded(rows: int, fixed: bool) -> None:
    k, before = _two_windows(rows, fixed)
    agrees(k, before, [6, 9])
    assert "modulo" not in printed(k, "bounds")
    if not fixed:
        assert k.verify().verdict == "proven"


def test_what_was_computed_once_is_not_folded_with_what_moves() -> None:
    f, g, k = hl.Func("f"), hl.Func("g"), hl.Func("k")
    f[x] = x * x + 7
    g[y] = f[0] + f[1]
    g[y] += f[y * y] + f[y * y + 1]
    k[y] = g[y]
    before = expected(k, [9])
    g.compute_at(k, y)
    f.store_root().compute_at(g, y)
    agrees(k, before, [9])
    f.fold_storage(x, 2)
    with pytest.raises(ScheduleError, match=r"fold_storage\(x, 2\) of f\S*: what is needed is not known"):
        k.lowered()


def test_windows_of_stages_one_after_the_other_are_folded() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * x + 100 * y * y
    g[x, y] = f[x, y] + f[x, y + 1]
    g[x, y] += f[x, y + 3] * 7 + f[x, y + 5] * 3
    before = expected(g, [6, 9])
    f.store_root().compute_at(g, y)
    assert "modulo 4" in printed(g, "bounds")
    agrees(g, before, [6, 9])


def test_what_one_place_leaves_unfinished_does_not_replace_what_is_finished() -> None:
    """The second update finishes what is needed at a place, and the first one touches more of the row."""
    f, g, k, r = hl.Func("f"), hl.Func("g"), hl.Func("k"), hl.RDom([(0, 20)], "r")
    f[x, y] = x + 100 * y
    f[r, y] += f[r + 1, y]
    f[x, y] *= 2
    g[y] = f[9, y] + f[3, y + 1]
    g[y] += f[0, y + 1]
    k[y] = g[y]
    before = expected(k, [9])
    g.compute_at(k, y)
    f.store_root().compute_at(g, y)
    agrees(k, before, [9])


def test_unfinished_points_do_not_replace_what_was_computed_once() -> None:
    f, g, k, r = hl.Func("f"), hl.Func("g"), hl.Func("k"), hl.RDom([(0, 20)], "r")
    f[x] = x
    f[r] += f[r + 1]
    f[x] *= 2
    g[y] = f[9] + f[3]
    g[y] += f[0]
    k[y] = g[y]
    before = expected(k, [9])
    g.compute_at(k, y)
    f.store_root().compute_at(g, y)
    agrees(k, before, [9])


@pytest.mark.parametrize("made", [_two_points, _in_rows, _rows_that_move])
def test_values_and_counts_are_those_of_halide(made: Made, capfd: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    u, v, f, g = halide.Var("x"), halide.Var("y"), halide.Func("f"), halide.Func("g")
    if made is _two_points:
        f[u] = u * u
        g[u] = f[0] + f[5] + u
    elif made is _in_rows:
        f[u] = u * u
        g[u, v] = f[0] + f[5] * v
    else:
        f[u, v] = u * u + v
        g[u, v] = f[0, v] + f[5, v + 1] * u
    f.store_root().compute_at(g, u)
    f.trace_stores()
    size = [10] if made is _two_points else [10, 7]
    theirs = np.array(g.realize(size))
    counted = "".join(capfd.readouterr()).count("Store f")
    ours, h = made(True)
    assert np.array_equal(np.asarray(h.realize(size)), theirs)
    ours.trace_stores()
    h.realize(size)
    mine = "".join(capfd.readouterr()).count("Store f")
    assert 0 < mine <= counted
