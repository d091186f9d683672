"""Where functions are computed and kept: what each directive makes, what it refuses, and that values stay."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, ScheduleError
from tests.compiler.pipelines import agrees, expected
from tests.compiler.test_lowering import printed

x, y, c, xo, xi, yo, yi = (hl.Var(name) for name in ("x", "y", "c", "xo", "xi", "yo", "yi"))


def stencil(rows: int = 3) -> tuple[Any, Any]:
    """A function and the sum of some of its rows."""
    a, g, f = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("g"), hl.Func("f")
    g[x, y] = a[x, y] * 2
    f[x, y] = sum((g[x, y + i] for i in range(1, rows)), g[x, y])
    return g, f


# Storage around the loop that computes


def test_rows_that_are_there_already_are_not_computed_again() -> None:
    g, f = stencil()
    g.store_root().compute_at(f, y)
    assert printed(f, "bounds") == dedent("""\
        let f.s0.x.min = f.min.0
        let f.s0.x.extent = f.extent.0
        let f.s0.y.min = f.min.1
        let f.s0.y.extent = f.extent.1
        let g.min.0 = f.min.0
        let g.extent.0 = f.extent.0
        let g.min.1 = f.min.1
        let g.extent.1 = f.extent.1 + 2
        realize g((g.min.0, g.extent.0), (g.min.1, g.extent.1)): i32, dimension 1 modulo 4
        produce f:
          for f.s0.y in (f.s0.y.min, f.s0.y.extent):
            let g.s0.x.min = f.min.0
            let g.s0.x.extent = f.extent.0
            let g.s0.y.min = select(f.s0.y > f.s0.y.min, f.s0.y + 2, f.s0.y)
            let g.s0.y.extent = f.s0.y - select(f.s0.y > f.s0.y.min, f.s0.y + 2, f.s0.y) + 3
            produce g:
              for g.s0.y in (g.s0.y.min, g.s0.y.extent):
                for g.s0.x in (g.s0.x.min, g.s0.x.extent):
                  g(g.s0.x, g.s0.y) = a(g.s0.x, g.s0.y) * 2
            for f.s0.x in (f.s0.x.min, f.s0.x.extent):
              f(f.s0.x, f.s0.y) = g(f.s0.x, f.s0.y) + g(f.s0.x, f.s0.y + 1) + g(f.s0.x, f.s0.y + 2)
        """)


def windows(f: Any) -> tuple[bool, bool]:
    """Whether a window slides in the nest, and whether storage is folded."""
    text = printed(f, "bounds")
    return bool(re.search(r" = select\(\S*\.s0\.(y|yi) > ", text)), "modulo" in text


def test_a_window_of_one_row_needs_one_row_of_storage() -> None:
    g, f = stencil(1)
    g.store_root().compute_at(f, y)
    assert "dimension 1 modulo 1" in printed(f, "bounds")


def test_nothing_is_taken_over_where_something_else_moves_or_nothing_can() -> None:
    def made(index: Any, store: Any = None, kind: str = "serial") -> Any:
        g, f = hl.Func("g"), hl.Func("f")
        g[x, y] = x + y
        f[x, y] = g[index(x, y)] + g[x, y + 1]
        g.compute_at(f, y)
        _ = g.store_root() if store is None else store(g, f)
        getattr(f, kind)(y)
        return f

    assert windows(made(lambda x, y: (x, y))) == (True, True)
    assert windows(made(lambda x, y: (x, y * 2))) == (True, False)  # a window that grows is not folded
    assert windows(made(lambda x, y: (x, -y))) == (False, False)  # goes back
    assert windows(made(lambda x, y: (x + y, y))) == (False, False)  # moves along two dimensions
    assert windows(made(lambda x, y: (x, hl.clamp(y - 1, 0, 9)))) == (True, False)
    assert windows(made(lambda x, y: (x, hl.select(y > 3, y - 4, y)))) == (False, False)  # a step back
    assert windows(made(lambda x, y: (x, y), lambda g, f: g.hoist_storage_root())) == (False, False)
    assert windows(made(lambda x, y: (x, y), lambda g, f: g.store_at(f, y))) == (False, False)


def falling(rows: int, updated: bool = False) -> tuple[Any, Any]:
    """A function and the sum of some of its rows, further down for rows further up."""
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x + 10 * y
    if updated:
        g[x, y] = g[x, y] * 3
    f[x, y] = sum((g[x, 20 + i - y] for i in range(1, rows)), g[x, 20 - y])
    return g, f


@pytest.mark.parametrize(("rows", "updated"), [(1, False), (2, True), (3, False)])
def test_a_window_may_slide_down(rows: int, updated: bool, capsys: pytest.CaptureFixture[str]) -> None:
    g, f = falling(rows, updated)
    before = expected(f, [4, 7])
    g.store_root().compute_at(f, y)
    text = printed(f, "bounds")
    assert "modulo" in text
    assert bool(re.search(r"\.y\.extent = .*select\(\S*\.s0\.y > ", text)) == (rows > 1)  # else nothing overlaps
    agrees(f, before, [4, 7])
    assert f.verify().verdict == "proven"
    g.trace_stores()
    f.realize([4, 7])
    stores = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Store")]
    assert len(stores) == (7 + rows - 1) * 4 * (1 + updated)  # each row once


def test_windows_of_windows_slide_down() -> None:
    g, h = falling(2)
    f = hl.Func("f")
    f[x, y] = h[x, y] + h[x, y + 1]
    before = expected(f, [3, 6])
    g.store_root().compute_at(f, y)
    h.store_root().compute_at(f, y)
    agrees(f, before, [3, 6])


@pytest.mark.parametrize(("wider", "slides"), [(lambda p: 1, True), (lambda p: 0, False), (lambda p: p, False)])
def test_a_window_that_two_need_slides_where_both_run_whatever_is_asked_for(
    wider: Callable[[Any], Any], slides: bool
) -> None:
    """As a function of which blurred rows are subtracted: what is blurred has at least one column more than `f`."""
    p, f, g, blurred = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.Func("g"), hl.Func("blurred")
    more = wider(p)
    g[x, y] = x * x + 7 * y
    blurred[x, y] = g[x, y - 1] + g[x, y + 1]
    f[x, y] = g[x, y] * 3 - blurred[x, y] - blurred[x + more, y]
    for value in (0, 4):
        p.set(value)
        before = expected(f, [9, 7])
        for one in (g, blurred):
            one.store_root().compute_at(f, y).vectorize(x, 4)
        assert bool(re.search(r"g\.s0\.y\.min = select\(f\.s0\.y > ", printed(f, "bounds"))) == slides
        agrees(f, before, [9, 7])
        for one in (g, blurred):
            one.compute_inline()


def test_rows_that_go_to_and_fro_are_all_computed() -> None:
    for index in (lambda y: hl.select(y > 3, 9 - y, 12 - y), lambda y: hl.i32(hl.abs(y - 3)), lambda y: y * (6 - y)):
        g, f = hl.Func("g"), hl.Func("f")
        g[x, y] = x + 10 * y
        f[x, y] = g[x, hl.clamp(index(y), -9, 20)] + g[x, hl.clamp(index(y) + 1, -9, 20)]
        before = expected(f, [3, 7])
        g.store_root().compute_at(f, y)
        agrees(f, before, [3, 7])


@pytest.mark.parametrize("columns", [False, True])
def test_rows_are_taken_over_only_where_loops_inside_ran_before(columns: bool) -> None:
    f, g, h, r = hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.RDom([(0, 20)], "r")
    r.where(r.x < y - 3)  # g has no column at first, and one more in each iteration
    f[x, y] = x * x + 3 * y
    g[x, y] = f[x if columns else 0, y] + f[x if columns else 0, y + 1] + x
    h[y] = 0
    h[y] += g[r.x, y] + g[r.x, y + 1]
    before = expected(h, [15])
    g.compute_at(h, y).reorder(y, x)
    f.store_root().compute_at(g, x)
    agrees(h, before, [15])
    assert not h.verify().refuted


def test_a_window_slides_around_loops_of_one_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x] = x * x + 3
    g[x] = f[x] + f[x - 1]
    h[x] = g[x]
    before = expected(h, [20])
    g.compute_at(h, x)
    f.store_root().compute_at(g, x).fold_storage(x, 2)
    agrees(h, before, [20])
    assert h.verify().verdict == "proven"
    f.trace_stores()
    h.realize([20])
    assert sum(line.startswith("Store") for line in capsys.readouterr().out.splitlines()) == 21


def test_a_window_does_not_slide_where_a_loop_of_one_iteration_moves_another_dimension() -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = x * x + 3 * y
    g[x] = f[x, x] + f[x, x + 1]
    h[x] = g[x]
    before = expected(h, [9])
    g.compute_at(h, x)
    f.store_root().compute_at(g, x)
    agrees(h, before, [9])
    assert not windows(h)[1]


def test_updates_that_stay_in_their_row_slide_and_others_do_not() -> None:
    for along, slides in (((lambda r: (r.x, y)), True), ((lambda r: (x, r.x)), False)):
        g, f, r = hl.Func("g"), hl.Func("f"), hl.RDom([(1, 3)], "r")
        g[x, y] = x + y
        g[along(r)] += r.x
        f[x, y] = g[x, y] + g[x + 1, y + 1]
        before = expected(f, [6, 7])
        g.store_root().compute_at(f, y)
        assert windows(f)[0] == slides
        agrees(f, before, [6, 7])


def test_storage_outside_a_parallel_loop_that_computes_is_refused() -> None:
    g, f = stencil()
    g.store_root().compute_at(f, y)
    f.parallel(y)
    with pytest.raises(ScheduleError, match=r"g is stored outside the parallel loop f\.s0\.y and computed inside it"):
        f.lowered()
    g, f = stencil()
    f.split(y, yo, yi, 4).parallel(yo)
    g.store_at(f, yo).compute_at(f, yi)
    assert windows(f) == (True, True)


def test_storage_is_around_the_loop_that_computes() -> None:
    g, f = stencil()
    g.store_at(f, x).compute_at(f, y)
    with pytest.raises(ScheduleError, match="g is stored at f, x, but computed at f, y, which is not inside that loop"):
        f.lowered()
    g, f = stencil()
    g.compute_root().store_at(f, y)
    with pytest.raises(ScheduleError, match=r"g\S* is stored at f\S*, y, but computed outside that loop"):
        f.lowered()
    g, f = stencil()
    g.store_root()
    with pytest.raises(
        ScheduleError, match=r"is scheduled store_root\(\), but is inlined.* must also call compute_root"
    ):
        f.lowered()
    g.compute_at(f, y).store_at(f, c)
    with pytest.raises(ScheduleError, match=r"g\S* is stored at f\S*, c, but f\S* has no such loop; it has x, y"):
        f.lowered()


def test_a_place_may_be_named_before_its_loop_is_there() -> None:
    yo, yi, ro = hl.Var("yo"), hl.Var("yi"), hl.RVar("ro")
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x * 10 + y
    f[x, y] = g[x, y] + g[x, y + 1]
    before = np.asarray(f.realize([9, 8])).copy()
    g.store_at(f, yo).compute_at(f, yi)
    with pytest.raises(ScheduleError, match=r"g\S* is computed at f\S*, yi, but f\S* has no such loop; it has x, y"):
        f.lowered()
    f.split(y, yo, yi, 4)
    assert np.array_equal(np.asarray(f.realize([9, 8])), before)
    g, h = hl.Func("g"), hl.Func("h")
    g[x] = x * x
    g.compute_at(h, ro)
    r = hl.RDom([(0, 10)], "r")
    h[x] = 0
    h[x] += g[r.x + x]
    h.update().split(r.x, ro, hl.RVar("ri"), 4)
    assert np.asarray(h.realize([3])).tolist() == [sum((k + d) ** 2 for k in range(10)) for d in range(3)]


def test_folding_is_as_asked_or_refused() -> None:
    g, f = stencil()
    g.store_root().compute_at(f, y).fold_storage(y, 3)
    assert "dimension 1 modulo 3" in printed(f, "bounds")
    g.fold_storage(y, 2)
    with pytest.raises(ScheduleError, match=r"fold_storage\(y, 2\) of g\S*: 3 coordinates of it are needed at a time"):
        f.lowered()
    g, f = stencil()
    g.compute_root().fold_storage(y, 4, fold_forward=False)
    assert "modulo" not in printed(f, "bounds")


def _read_at(rows: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def made(api: Any) -> Any:
        u, v, g, f = api.Var("x"), api.Var("y"), api.Func("g"), api.Func("f")
        g[u, v] = u + 10 * v
        f[u, v] = rows(g, (u, v))
        g.store_root().compute_at(f, v).fold_storage(v, 1)
        return f

    return made


def _at_each_row(api: Any) -> Any:
    u, v, g, f = api.Var("x"), api.Var("y"), api.Func("g"), api.Func("f")
    g[u, v] = u * v
    f[u, v] = g[u, v] + g[u, v + 1]
    g.compute_at(f, v).fold_storage(v, 1)
    return f


def _the_row_is_kept_for_the_next(api: Any) -> Any:
    u, v, g, f = api.Var("x"), api.Var("y"), api.Func("g"), api.Func("f")
    g[u, v] = u * v
    f[u, v] = g[u, v] + g[u + 1, v + 1]
    g.store_root().compute_at(f, u).fold_storage(v, 2).fold_storage(u, 2)
    return f


@pytest.mark.parametrize(
    "made",
    [
        _at_each_row,
        _the_row_is_kept_for_the_next,
        _read_at(lambda g, at: g[at[0], 0] + g[at[0], 1]),
    ],
)
def test_what_is_not_left_behind_is_not_folded(made: Callable[[Any], Any]) -> None:
    halide = pytest.importorskip("halide")
    ours, theirs = (np.array(made(api).realize([8, 5])) for api in (hl, halide))
    assert np.array_equal(ours, theirs)
    assert "modulo 1" not in printed(made(hl), "bounds")


def test_what_is_left_behind_on_the_way_down_is_folded() -> None:
    halide = pytest.importorskip("halide")
    made = _read_at(lambda g, at: g[at[0], 10 - at[1]])
    ours, theirs = (np.array(made(api).realize([8, 5])) for api in (hl, halide))
    assert np.array_equal(ours, theirs)
    assert "modulo 1" in printed(made(hl), "bounds")


def test_what_may_be_needed_again_is_not_folded() -> None:
    f = _read_at(lambda g, at: g[at[0], hl.select(at[1] % 3 == 0, 5, at[1])] + g[at[0], at[1]])(hl)
    with pytest.raises(ScheduleError, match=r"fold_storage\(y, 1\) of g\S*: what is needed is not known"):
        f.lowered()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_what_one_iteration_computes_and_needs_may_be_folded(count: int) -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x * 3 + y
    f[x] = g[x, x] + g[x + 1, x]
    g.store_root().compute_at(f, x).fold_storage(x, count)
    assert f"dimension 0 modulo {count}" in printed(f, "bounds")
    assert np.asarray(f.realize([10])).tolist() == [8 * k + 3 for k in range(10)]
    g.fold_storage(x, 1)
    with pytest.raises(
        ScheduleError, match=r"2 coordinates of it are needed at a time: fold_storage\(x, 2\) holds them"
    ):
        f.lowered()


def test_what_is_upsampled_twice_is_folded() -> None:
    h, g, f = hl.Func("h"), hl.Func("g"), hl.Func("f")
    h[x, y] = x * y
    g[x, y] = h[x, y // 2] + h[x, y // 2 + 1]
    f[x, y] = g[x, y // 2] + g[x, y // 2 + 1]
    h.compute_at(f, y).store_root().fold_storage(y, 3)
    g.compute_at(f, y).store_root().fold_storage(y, 2)
    assert "dimension 1 modulo 3" in printed(f, "bounds")
    rows = [sum((v // 2 + a) // 2 + b for a in (0, 1) for b in (0, 1)) for v in range(-9, 14)]
    out = hl.Buffer(hl.Int(32), [5, 23])
    out.set_min([0, -9])
    f.realize(out)
    assert np.array_equal(np.asarray(out), np.outer(rows, np.arange(5)))
    h.fold_storage(y, 2)
    with pytest.raises(ScheduleError, match=r"fold_storage\(y, 2\) of h\S*: 3 coordinates of it are needed"):
        f.lowered()


def test_what_updates_widen_is_not_folded_by_what_one_iteration_needs() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x * 3 + y
    r = hl.RDom([hl.Range(0, 5)], "r")
    g[r.x, y] += 1
    f[x] = g[x, x] + g[x + 1, x]
    g.store_root().compute_at(f, x).fold_storage(x, 2)
    with pytest.raises(ScheduleError, match=r"fold_storage\(x, 2\) of g\S*: what is needed is not known"):
        f.lowered()


def test_a_level_may_be_named_once_for_several() -> None:
    g, f = stencil()
    level = hl.LoopLevel(f, y)
    g.compute_at(level).store_at(hl.LoopLevel.root())
    assert windows(f) == (True, True)
    g.compute_at(hl.LoopLevel.root())
    assert windows(f) == (False, False)
    g.compute_at(hl.LoopLevel(f, c))
    with pytest.raises(ScheduleError, match=r"g\S* is computed at f\S*, c, but f\S* has no such loop; it has x, y"):
        f.lowered()
    with pytest.raises(ScheduleError, match="compute_at takes a function and one of its loops, or a LoopLevel"):
        g.compute_at(f)


# Boxes


def test_a_bound_makes_extents_constant() -> None:
    f = hl.Func("f")
    f[x, y, c] = x + 10 * y + 100 * c
    f.bound(c, 0, 3).reorder(c, x, y).unroll(c)
    agrees(f, expected(f, [4, 3, 3]), [4, 3, 3])
    assert "for f.s0.c" not in f.lowered()


def test_a_bound_that_does_not_hold_what_is_needed_is_an_error() -> None:
    f = hl.Func("f")
    f[x] = x
    f.bound(x, 0, 8)
    f.realize([8])
    with pytest.raises(BufferError, match=r"f in x \(from 0 to 7\) do not cover required region \(from 0 to 9\)"):
        f.realize([10])
    g, h = hl.Func("g"), hl.Func("h")
    g[x] = x * 2
    h[x] = g[x] + g[x + 3]
    g.compute_root().bound_extent(x, 8)
    agrees(h, expected(h, [5]), [5])
    with pytest.raises(BufferError, match=r"g in x \(from 0 to 7\) do not cover required region \(from 0 to 8\)"):
        h.realize([6])


@pytest.mark.parametrize("folded", [False, True])
def test_storage_may_not_exceed_its_bound(folded: bool) -> None:
    image, most = np.arange(200, dtype=np.int32).reshape(20, 10), hl.Param(hl.Int(32), "most", 8)
    for rows, fits in ((4 if folded else 12, True), (3 if folded else 11, False)):
        g, f = stencil()
        if folded:
            g.store_root().compute_at(f, y)
        else:
            g.compute_root()
        next(iter(g.references.values())).set(image)
        g.bound_storage(x, most + 1).bound_storage(y, rows)
        if fits:
            assert np.array_equal(np.array(f.realize([9, 10])), 2 * sum(image[i : i + 10, :9] for i in range(3)))
        with pytest.raises(BufferError, match=r"The explicit allocation bound \(\d+\) of dimension [xy] of g.* is too"):
            f.realize([10 if fits else 9, 10])


@pytest.mark.parametrize("tail", ["GuardWithIf", "ShiftInwards", "RoundUp", "Predicate"])
@pytest.mark.parametrize("rows", [1, 3])
def test_storage_in_a_loop_over_blocks_is_bounded_by_the_block(tail: str, rows: int) -> None:
    g, f = stencil(rows)
    yo, yi = hl.vars("yo yi")
    next(iter(g.references.values())).set(image := np.arange(400, dtype=np.int32).reshape(50, 8))
    f.split(y, yo, yi, 4, hl.TailStrategy[tail])
    g.compute_at(f, yo).bound_storage(y, 3 + rows).bound_storage(x, 8)
    meant = 2 * sum(image[i : i + 44] for i in range(rows))
    assert np.array_equal(np.array(f.realize([8, 44])), meant)
    g.bound_storage(y, 2 + rows)
    with pytest.raises(BufferError, match=rf"bound \({2 + rows}\) of dimension y of g.* region \({3 + rows}\)"):
        f.realize([8, 44])


def test_the_bound_of_storage_is_of_what_is_stored() -> None:
    g, f = stencil()
    g.bound_storage(x, 1)
    f.bound_storage(x, 1)
    next(iter(g.references.values())).set(np.ones((12, 9), np.int32))
    assert np.array(f.realize([9, 10])).tolist() == [[6] * 9] * 10  # g is inlined, f the caller's


def test_a_bound_may_be_given_at_run_time() -> None:
    a, f = hl.ImageParam(hl.Int(32), 1), hl.Func("f")
    f[x] = a[x] * 2
    p = hl.Param(hl.Int(32), "width")
    f.bound(x, 0, p)
    a.set(np.arange(8, dtype=np.int32))
    p.set(8)
    assert np.asarray(f.realize([8])).tolist() == list(range(0, 16, 2))
    p.set(7)
    with pytest.raises(BufferError, match="give a wider bound"):
        f.realize([8])


def test_aligned_boxes_begin_and_end_at_multiples() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x * 3
    f[x] = g[x + 1]
    before = expected(f, [6])
    g.compute_root().align_bounds(x, 4, 1)
    assert "let g.s0.x.min = f.min.0 // 4 * 4 + 1" in printed(f, "bounds")
    agrees(f, before, [6])
    g.align_bounds(x, 4)
    assert "g.s0.x.extent = " in printed(f, "bounds")
    agrees(f, before, [6])
    h = hl.Func("h")
    h[x] = x
    h.align_bounds(x, 4).align_extent(x, 8)
    agrees(h, expected(h, [7]), [7])


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (lambda f: f.bound(c, 0, 3), r"bound\(c\): f has no such pure variable; it has x, y"),
        (lambda f: f.bound(x, y, 3), r"bound of f\(y\): y varies while the pipeline runs"),
        (lambda f: f.align_bounds(x, 0), r"align_bounds of f: 0 must be a number, 1 or more"),
        (lambda f: f.align_storage(x, -1), r"align_storage of f: -1 must be a number, 1 or more"),
        (lambda f: f.reorder_storage(y), r"name two dimensions or more, each once"),
        (lambda f: f.reorder_storage(x, x), r"name two dimensions or more, each once"),
        (lambda f: f.reorder_storage(x, c), r"reorder_storage\(c\): f has no such pure variable"),
        (lambda f: f.set_estimate(c, 0, 3), r"set_estimate\(c\): f has no such pure variable"),
    ],
)
def test_what_is_wrong_with_a_directive_is_said(directive: Any, message: str) -> None:
    _, f = stencil()
    with pytest.raises(ScheduleError, match=message):
        directive(f)


# Layout


def test_storage_lies_as_it_is_asked_for() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x * 3 + y
    f[x, y] = g[x, y] + g[x + 1, y]
    before = expected(f, [5, 4])
    g.compute_root().reorder_storage(y, x)
    assert "innermost first (1, 0)" in printed(f, "bounds")
    assert "let g.stride.0 = " in f.lowered()
    agrees(f, before, [5, 4])
    g.align_storage(y, 16)
    assert "let g.stride.0 = (i64(max(f.extent.1, 0)) + 15) // 16 * 16" in f.lowered()
    agrees(f, before, [5, 4])


# Specialisation


@pytest.mark.parametrize("tail", list(hl.TailStrategy))
def test_every_tail_strategy_gives_the_values_or_is_refused(tail: hl.TailStrategy) -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = x
    f[x] += r.x
    before = expected(f, [11])
    f.vectorize(x, 4, tail)
    exact = tail in (hl.TailStrategy.Auto, hl.TailStrategy.GuardWithIf, hl.TailStrategy.Predicate)
    if tail is hl.TailStrategy.ShiftInwards:
        with pytest.raises(ScheduleError, match=r"f\.update\(0\): vectorize: split\(x\) .* changes each point once"):
            f.update(0).vectorize(x, 4, tail)
    else:
        f.update(0).vectorize(x, 4, tail)
    if exact:
        f.update(0).split(r.x, "ro", "ri", 3, tail)
    else:
        with pytest.raises(ScheduleError, match=r"f\.update\(0\): split\(r\.x\) .* visits each point once|once"):
            f.update(0).split(r.x, "ro", "ri", 3, tail)
    agrees(f, before, [11])


def test_tile_takes_lists_too() -> None:
    def loops(f: Any) -> list[str]:
        return [d.name for d in f.stages[0].schedule.dimensions]

    f = hl.Func("f")
    f[x, y, c] = x + y + c
    before = expected(f, [5, 4, 3])
    f.tile([x, y, c], [xo, yo, "co"], [xi, yi, "ci"], [4, 2, 2])
    assert loops(f) == ["xi", "yi", "ci", "xo", "yo", "co"]
    agrees(f, before, [5, 4, 3])
    g = hl.Func("g")
    g[x, y] = x + y
    g.tile([x, y], [xi, yi], [4, 2], hl.TailStrategy.GuardWithIf)
    assert loops(g) == ["xi", "yi", "x", "y"]
    with pytest.raises(ScheduleError, match="g: tile takes x, y, xo, yo, xi, yi, xfactor, yfactor"):
        g.tile(x, y)
    with pytest.raises(ScheduleError, match="as many outer and inner loops and factors as loops"):
        g.tile([x, y], [xi], [4, 2])


def test_a_pure_loop_may_be_fused_with_a_reduction_loop() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    f[x] = x
    f[x] = f[x] * 3 + r.x
    before = expected(f, [5])
    f.update(0).fuse(r.x, x, "t")
    agrees(f, before, [5])
    with pytest.raises(ScheduleError, match="update the same points"):
        f.update(0).parallel("t")


def test_reduction_loops_that_commute_run_in_any_order() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 5), (0, 4)], "r")
    f[x] = 7
    f[x] += r.x * r.y * x
    before = expected(f, [6])
    f.update(0).reorder(x, r.y, r.x).vectorize(x, 4)
    agrees(f, before, [6])


def test_hints_are_checked() -> None:
    _, f = stencil()
    f.never_partition(x).always_partition_all().unscheduled()
    with pytest.raises(ScheduleError, match=r"f: partition\(c\): the stage has no such loop"):
        f.partition(c, hl.Partition.Never)


def test_a_level_may_be_set_after_functions_were_placed_by_it() -> None:
    x, y, f, g, h = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    g[x, y] = x + y
    h[x, y] = g[x, y] * 2
    f[x, y] = h[x, y] + h[x, y + 1]
    level, storage = hl.LoopLevel(), hl.LoopLevel()
    g.compute_at(level)
    h.compute_at(level).store_at(storage)
    level.set(hl.LoopLevel(f, y, 0))
    storage.set(hl.LoopLevel.root())
    want = np.add.outer(np.arange(3), np.arange(4)) * 4 + 2
    assert np.asarray(f.realize([4, 3])).tolist() == want.tolist()
    assert level.stage_index() == 0
    assert g.level == hl.LoopLevel(f, y).level
    level.set(hl.LoopLevel.root())
    assert np.asarray(f.realize([4, 3])).tolist() == want.tolist()
    assert g.level == hl.LoopLevel.root().level
    with pytest.raises(ScheduleError, match="takes another LoopLevel"):
        level.set(f)
    with pytest.raises(ScheduleError, match="or a LoopLevel, not 3"):
        g.compute_at(3, y)


# Beyond the end of a loop


@pytest.mark.parametrize("kind", ["serial", "unroll", "vectorize", "parallel"])
@pytest.mark.parametrize("place", ["xi", "xo"])
def test_iterations_beyond_the_end_of_a_split_loop_ask_a_producer_for_nothing(place: str, kind: str) -> None:
    numbers = np.arange(19, dtype=np.int32)
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 2)])
    f[x] = 0
    f[x] += hl.Buffer(numbers)[x + r]
    g[x] = f[x] * 3
    g.split(x, "xo", "xi", 8, hl.TailStrategy.GuardWithIf)
    getattr(g, kind)("xi")
    f.compute_at(g, place)
    assert np.array_equal(np.array(g.realize([18])), (numbers[:-1] + numbers[1:]) * 3)


def test_a_window_slides_along_a_split_loop_up_to_its_end() -> None:
    numbers = np.arange(19 * 5, dtype=np.int32).reshape(19, 5)
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.Buffer(numbers)[x, y] * 2
    g[x, y] = f[x, y] + f[x, y + 2]
    g.split(y, "yo", "yi", 4, hl.TailStrategy.GuardWithIf)
    f.compute_at(g, "yi").store_root().fold_storage(y, 4)
    assert np.array_equal(np.array(g.realize([5, 17])), (numbers[:-2] + numbers[2:]) * 2)


@pytest.mark.parametrize("size", [32, 21])
def test_as_many_points_as_bound_extent_says_are_enough_for_the_tile_of_a_guarded_loop(size: int) -> None:
    numbers = np.arange(size * size, dtype=np.int32).reshape(size, size)

    def tiled(extent: int) -> hl.Func:
        image = hl.ImageParam(hl.Int(32), 2)
        image.set(hl.Buffer(numbers))
        f, g = hl.Func("f"), hl.Func("g")
        f[x, y] += image[hl.clamp(x, 0, size - 1), hl.clamp(y, 0, size - 1)]
        g[x, y] = f[x, y] * 2
        g.tile(x, y, "xo", "yo", "x", "y", 16, 8, hl.TailStrategy.GuardWithIf).tile("x", "y", "xi", "yi", 8, 4)
        f.compute_at(g, "x").bound_extent(x, 8).vectorize(x).bound_extent(y, extent).unroll(y)
        f.update().vectorize(x).unroll(y)
        g.bound(x, 0, image.width()).bound(y, 0, image.height())
        return g

    assert np.array_equal(np.array(tiled(4).realize([size, size])), numbers * 2)
    with pytest.raises(BufferError, match="do not cover required region"):
        tiled(3).realize([size, size])


@pytest.mark.parametrize(
    "kind", ["repeat_edge", "repeat_image", "mirror_image", "mirror_interior", "constant_exterior"]
)
def test_a_boundary_of_a_function_has_its_variables(kind: str) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + 10 * y
    around = [(0, 8), (0, 4)]
    outside = getattr(hl.BoundaryConditions, kind)(f, *([3] if kind == "constant_exterior" else []), around)
    assert [str(variable) for variable in outside.args()] == ["x", "y"]
    g[x, y] = outside[x - 3, y - 2]
    before = expected(g, [16, 9])
    outside.compute_root().vectorize(x, 4).parallel(y)
    agrees(g, before, [16, 9])


def _summed(api: Any, name: str) -> tuple[Any, Any, Any]:
    """Squares, sums of three of them of which nothing is said, and what reads those; where `api` is either module."""
    v, r = api.Var("x"), api.RDom([(0, 3)], "r")
    e, g, f = (api.Func(f"{name}_{part}") for part in "egf")
    e[v] = v * v
    g[v] = 0
    g[v] += e[v + r]
    f[v] = g[v] * 2 + g[v + 1]
    return e, g, f


def _square_sums(size: int) -> np.ndarray[Any, Any]:
    squares = np.arange(size + 3, dtype=np.int32) ** 2
    g = squares[:-2] + squares[1:-1] + squares[2:]
    return 2 * g[:size] + g[1 : size + 1]


@pytest.mark.parametrize("kind", ["vectorize", "unroll", "parallel", "serial"])
@pytest.mark.parametrize("level", ["xi", "xo"])
def test_what_is_read_through_an_unscheduled_reduction_is_computed_in_any_loop(kind: str, level: str) -> None:
    for api in (hl, pytest.importorskip("halide")):
        v, outer, inner = (api.Var(name) for name in ("x", "xo", "xi"))
        e, _, f = _summed(api, "through")
        f.split(v, outer, inner, 4, api.TailStrategy.GuardWithIf)
        getattr(f, kind)(inner)
        e.compute_at(f, {"xi": inner, "xo": outer}[level])
        assert np.array_equal(np.array(f.realize([19])), _square_sums(19))


def test_what_is_read_through_an_unscheduled_reduction_may_be_computed_inside_of_lanes() -> None:
    e, g, f = (hl.Func(f"lanes_{part}") for part in "egf")
    r = hl.RDom([(0, 3)])
    e[x] = x * x
    g[x] = 0
    g[x] += e[x + r]
    f[x, y] = g[x + y]
    before = expected(f, [6, 4])
    f.bound(x, 0, 6).reorder(y, x).vectorize(x)
    e.compute_at(f, y)
    agrees(f, before, [6, 4])
    assert np.asarray(f.realize([6, 4]))[1, 2] == 9 + 16 + 25


def test_what_is_read_outside_of_a_loop_through_an_unscheduled_reduction_is_refused() -> None:
    e, g, f = _summed(hl, "outside")
    h = hl.Func("outside_h")
    h[x] = g[x] + f[x]
    f.compute_root().split(x, xo, xi, 4).vectorize(xi)
    e.compute_at(f, xi)
    with pytest.raises(ScheduleError, match="also used outside that loop"):
        h.realize([8])
