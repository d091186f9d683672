"""Directives: what each allows, and what it says where it does not."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.pipeline import loop_nest
from rfactor.compiler.schedule import loops
from rfactor.compiler.schedule.directives import Dimension, Fuse, Split, StageSchedule
from rfactor.errors import BufferError, FactorError, ScheduleError

x, y, u = hl.Var("x"), hl.Var("y"), hl.Var("u")
STAGE = StageSchedule((Dimension("r", reduction=True), Dimension("x"), Dimension("y")))


def order(stage: StageSchedule) -> list[str]:
    return [d.name for d in stage.dimensions]


def column_sums() -> tuple[Any, Any]:
    f, r = hl.Func("f"), hl.RDom([(0, 8), (0, 5)], "r")
    f[x] = 0
    f[x] += r.x * x + r.y
    return f, r


def test_split_puts_the_inner_loop_inside_the_outer() -> None:
    stage = loops.split(STAGE, "x", "xo", "xi", 4)
    assert order(stage) == ["r", "xi", "xo", "y"]
    assert stage.relations == (Split("x", "xo", "xi", 4),)


def test_split_may_keep_the_name_for_its_outer_loop() -> None:
    stage = loops.split(loops.split(STAGE, "x", "x", "xi", 4), "x", "x", "xm", 2)
    assert order(stage) == ["r", "xi", "xm", "x", "y"]


def test_split_refuses_names_and_factors_that_cannot_be() -> None:
    with pytest.raises(ScheduleError, match="the name y is taken"):
        loops.split(STAGE, "x", "y", "xi", 4)
    with pytest.raises(ScheduleError, match="the factor must be a number, 1 or more"):
        loops.split(STAGE, "x", "xo", "xi", 0)
    with pytest.raises(ScheduleError, match=r"no such loop; it has y, x, r \(outermost first\)"):
        loops.split(STAGE, "z", "xo", "xi", 4)


def test_fuse_joins_two_loops() -> None:
    pure = frozenset({"x", "y"})
    stage = loops.fuse(STAGE, "x", "y", "f", pure, lambda: "no")
    assert order(stage) == ["r", "f"]
    assert stage.relations == (Fuse("x", "y", "f"),)
    mixed = loops.fuse(STAGE, "r", "x", "f", pure, lambda: "no")
    assert mixed.dimensions == (Dimension("f", reduction=True), Dimension("y"))
    assert loops.fuse(STAGE, "r", "y", "f", pure, lambda: "no").dimensions == (
        Dimension("f", reduction=True),
        Dimension("x"),
    )
    with pytest.raises(ScheduleError, match=r"fuse\(r, y\) changes the order of the reduction loops .*: no"):
        loops.fuse(STAGE, "r", "y", "f", frozenset(), lambda: "no")
    assert loops.fuse(STAGE, "r", "y", "f", frozenset(), lambda: None).dimensions[0].name == "f"


def test_a_fuse_moves_the_loop_that_may_move() -> None:
    near = loops.fuse(STAGE, "r", "y", "f", frozenset({"x", "y"}), lambda: "no")
    assert near.dimensions == (Dimension("f", reduction=True), Dimension("x"))
    around = replace(STAGE, dimensions=STAGE.dimensions[1:] + STAGE.dimensions[:1])  # innermost first: x, y, r
    assert order(loops.fuse(around, "x", "r", "f", frozenset({"x", "y"}), lambda: "no")) == ["y", "f"]


def test_a_fused_loop_runs_as_the_inner_one_did() -> None:
    def kinds(f: hl.Func) -> list[tuple[str, str]]:
        return [(d.name, d.kind) for d in f.stages[-1].schedule.dimensions]

    t, r = hl.Var("t"), hl.RDom([(1, 3)], "rows")
    for inner, outer in ((x, y), (y, x)):
        f = hl.Func("f")
        f[x, y] = x + 10 * y
        f.parallel(inner).vectorize(outer, 4).fuse(inner, outer, t)
        assert kinds(f)[0 if inner is x else 1] == ("t", "parallel")
        assert np.array_equal(f.realize([5, 6]), np.add.outer(10 * np.arange(6), np.arange(5)))
    g, rt = hl.Func("g"), hl.RVar("rt")
    g[x, y] = x + y
    g[x, r.x] += g[x, r.x - 1]
    g.update(0).reorder(x, r.x).parallel(x)
    with pytest.raises(ScheduleError, match="the fused loop would be parallel, as x is"):
        g.update(0).fuse(x, r.x, rt)
    g.update(0).serial(x).fuse(x, r.x, rt)
    assert kinds(g) == [("rt", "serial")]
    assert np.array_equal(
        np.asarray(g.realize([5, 6]))[:4], np.cumsum(np.add.outer(np.arange(4), np.arange(5)), axis=0)
    )


def test_reorder_keeps_reduction_loops_in_order_unless_they_commute() -> None:
    f, r = column_sums()
    f.update(0).reorder(x, r.x, r.y).reorder(r.y, r.x)
    assert order(f.stages[1].schedule) == ["x", "r.y", "r.x"]
    g = hl.Func("g")
    g[x] = 0
    g[x] = g[x] * 2 + r.x * r.y
    with pytest.raises(
        ScheduleError, match=r"g\.update\(0\): reorder\(r\.y, r\.x\) changes the order .* \(claim commutative\)"
    ):
        g.update(0).reorder(r.y, r.x)
    h = hl.Func("h")
    h[x] = 0
    h[r.x] = h[r.x + r.y] + 1
    with pytest.raises(ScheduleError, match=r"it reads h\(r\.x \+ r\.y\), another point"):
        h.update(0).reorder(r.y, r.x)


def test_a_reduction_loop_is_not_parallel_and_rfactor_is_suggested() -> None:
    f, r = column_sums()
    f.update(0).parallel(x)
    with pytest.raises(ScheduleError, match=r"update the same points .* use rfactor\(\[\(r\.x, v\)\]\)"):
        f.update(0).parallel(r.x)
    with pytest.raises(ScheduleError, match="use rfactor"):
        f.update(0).vectorize(r.y)


def test_a_reduction_variable_that_stands_alone_on_the_left_is_free_of_races() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 8), (0, 5)], "r")
    f[x] = 0
    f[r.x] += r.y
    f.update(0).vectorize(r.x, 4)
    g = hl.Func("g")
    g[x] = 0
    g[r.x] = g[r.x + 1] + r.y
    with pytest.raises(ScheduleError, match="use rfactor"):
        g.update(0).vectorize(r.x, 4)


ahead = hl.Param(hl.Int(32), "ahead", 2)
APART = {
    "strided": (lambda r: (r.x * 2, r.y * 2 + 1), None),
    "shifted": (lambda r: (r.x + 3, 7 - r.y), None),
    "by a parameter": (lambda r: (r.x + ahead, r.y), None),
    "skewed": (lambda r: (r.x + r.y, r.y), None),
    "even from odd": (lambda r: (r.x * 2, r.y), lambda r: (r.x * 2 + 1, r.y + 1)),
    "beyond the domain": (lambda r: (r.x, r.y), lambda r: (r.x + 8, r.y)),
    "beyond the domain, of steps": (lambda r: (r.x * 3, r.y), lambda r: (r.x * 3 + 24, r.y)),
    "from before all": (lambda r: (r.x * 2 + 1, r.y), lambda r: (hl.Expr(0), r.y)),
    "from after all": (lambda r: (7 - r.x, r.y), lambda r: (r.y + 8, r.x)),
}
MEET = {
    "folded": (lambda r: (r.x * 2 + r.y, 0), None),
    "quotients": (lambda r: (r.x / 2, 0), None),
    "the same for all": (lambda r: (hl.Expr(3), 0), None),
    "from another": (lambda r: (r.x * 2, 0), lambda r: (r.x * 2 + 4, 0)),
    "from half as far": (lambda r: (r.x * 2, 0), lambda r: (r.x, 0)),
    "one short of the domain": (lambda r: (r.x, 0), lambda r: (r.x + 7, 0)),
    "from the last": (lambda r: (r.x + 1, 0), lambda r: (hl.Expr(8), 0)),
    "from the first": (lambda r: (r.x + 1, 0), lambda r: (r.y + 1, 0)),
    "by what it holds": (lambda r: (r.x * 0 + 1, 0), lambda r: (r.x, 0)),
}


def scattered(name: str, cases: dict) -> tuple[hl.Func, hl.RDom]:
    written, read = cases[name]
    f, r = hl.Func("f"), hl.RDom([(0, 8), (0, 4)], "r")
    f[x, y] = x + 10 * y
    f[written(r)] = f[(read or written)(r)] * 2 + r.x + 100 * r.y
    return f, r


@pytest.mark.parametrize("name", APART)
def test_reduction_variables_whose_iterations_write_points_of_their_own_may_run_at_once(name: str) -> None:
    serial, _ = scattered(name, APART)
    f, r = scattered(name, APART)
    f.update(0).vectorize(r.x, 4).parallel(r.y)
    assert np.array_equal(np.array(f.realize([48, 12])), np.array(serial.realize([48, 12])))


@pytest.mark.parametrize("name", MEET)
def test_reduction_variables_whose_iterations_may_meet_keep_their_order(name: str) -> None:
    f, r = scattered(name, MEET)
    with pytest.raises(ScheduleError, match="update the same points"):
        f.update(0).parallel(r.x)
    with pytest.raises(ScheduleError, match="update the same points"):
        f.update(0).vectorize(r.x)


def binned(extent: int) -> tuple[hl.Func, hl.RDom]:
    data = hl.Buffer((np.arange(24, dtype=np.uint8) * 7 % 10).reshape(6, 4))
    f, r = hl.Func("f"), hl.RDom([(1, extent), (0, 6)], "r")
    f[x] = x
    f[hl.i32(data[r.x, r.y])] = f[r.y] * 3 + r.x
    return f, r


@pytest.mark.parametrize("extent", [0, 1])
def test_a_reduction_variable_of_one_value_runs_as_is_asked(extent: int) -> None:
    wanted = np.array(binned(extent)[0].realize([10]))
    f, r = binned(extent)
    f.update(0).vectorize(r.x, 4)
    assert np.array_equal(np.array(f.realize([10])), wanted)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f, r = binned(extent)
    f.update(0).split(r.x, ro, ri, 2).reorder(r.y, ri, ro).parallel(ro).unroll(ri)
    assert np.array_equal(np.array(f.realize([10])), wanted)
    with pytest.raises(ScheduleError, match="update the same points"):
        f.update(0).parallel(r.y)
    f, r = binned(extent)
    with pytest.raises(ScheduleError, match="update the same points"):
        f.update(0).fuse(r.x, r.y, ri).parallel(ri)
    f, r = binned(2)
    with pytest.raises(ScheduleError, match="update the same points"):
        f.update(0).vectorize(r.x, 4)


def test_what_a_pure_loop_is_split_into_is_pure() -> None:
    f, r = column_sums()
    f.update(0).split(x, "xo", "xi", 4).parallel("xo").vectorize("xi")
    f.update(0).split(r.x, "ro", "ri", 4)
    with pytest.raises(ScheduleError, match="use rfactor"):
        f.update(0).parallel("ro")


def test_tile_is_two_splits_and_a_reorder() -> None:
    f = hl.Func("f")
    f[x, y] = x + y
    f.tile(x, y, "xo", "yo", "xi", "yi", 4, 2)
    assert order(f.stages[0].schedule) == ["xi", "yi", "xo", "yo"]
    g = hl.Func("g")
    g[x, y] = x + y
    g.tile(x, y, "xi", "yi", 4, 2)
    assert order(g.stages[0].schedule) == ["xi", "yi", "x", "y"]


def test_a_function_with_updates_that_is_to_be_inlined_is_computed_where_it_would_be_by_default() -> None:
    values = []
    for place in ("", "compute_inline"):
        f, _ = column_sums()
        g = hl.Func("g")
        g[x] = f[x] + f[x + 1]
        if place:
            f.compute_at(g, x).compute_inline()
        values.append((loop_nest([g]).replace("$1", ""), np.array(g.realize([3])).tolist()))
    assert values[0] == values[1]


def test_a_producer_is_computed_around_all_its_uses() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x
    f[x] = g[x]
    r = hl.RDom([(0, 3)], "r")
    f[x] += g[r.x]
    g.compute_at(f, r.x)
    with pytest.raises(ScheduleError, match=r"also used outside that loop: .* compute_root\(\)"):
        f.lowered()
    g.compute_at(f, y)
    with pytest.raises(ScheduleError, match=r"f has no such loop; it has r\.x, x"):
        f.lowered()
    g.compute_at(f, x)
    f.split(x, "a", "b", 2)
    f.update(0).split(x, "a", "b", 2)
    with pytest.raises(ScheduleError, match=r"f has no such loop; it has a, b, r\.x"):
        f.lowered()


def test_updates_are_numbered_from_zero() -> None:
    f, _ = column_sums()
    with pytest.raises(ScheduleError, match=r"f has 1 updates, hence no update\(1\)"):
        f.update(1)


def test_a_loop_may_be_unrolled_by_a_factor_again() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = x * x
    f.unroll(x, 2).unroll(x, 3)
    assert np.array_equal(np.asarray(f.realize([13])), np.arange(13) ** 2)


def test_a_factor_may_be_known_on_entry_only() -> None:
    x, y, xo, yo, xi, yi, p = *map(hl.Var, ("x", "y", "xo", "yo", "xi", "yi")), hl.Param(hl.Int(32), "p")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * 3 + y
    g[x, y] = f[x, y] + f[x + 1, y + 2]
    r = hl.RDom([(2, 7)], "r")
    g[x, r] = g[x, r] * 2 + r
    g.tile(x, y, xo, yo, xi, yi, p, p * 2).parallel(yo)
    f.compute_at(g, xo)
    g.update().split(r.x, hl.RVar("ro"), hl.RVar("ri"), p)
    rows, columns = np.mgrid[:11, :13]
    wanted = (columns * 3 + rows) + (columns * 3 + rows + 5)
    wanted[2:9] = wanted[2:9] * 2 + rows[2:9]
    for size in (1, 4, 5, 13, 1000, 2**29, 0, -3):  # below one is one
        p.set(size)
        assert np.array_equal(np.array(g.realize([13, 11])), wanted)
    h, k = hl.Func("h"), hl.Func("k")
    h[x] = x
    with pytest.raises(ScheduleError, match="x varies while the pipeline runs"):
        h.split(x, xo, xi, x + 1)
    with pytest.raises(ScheduleError, match="the factor is an integer"):
        h.split(x, xo, xi, hl.f32(p))
    assert list(h.vectorize(x, hl.Expr(2) * 4).realize([3]).array) == [0, 1, 2]
    k[x] = x
    with pytest.raises(ScheduleError, match="not a constant"):
        k.vectorize(x, p).realize([3])


@pytest.mark.parametrize("outer", [True, False])
def test_a_loop_split_by_what_is_known_on_entry_is_factored(outer: bool) -> None:
    a, n, q = hl.ImageParam(hl.Int(32), 1, "a"), hl.Param(hl.Int(32), "n"), hl.Param(hl.Int(32), "q")
    f, r, ro, ri, u = hl.Func("f"), hl.RDom([(1, n)], "r"), hl.RVar("ro"), hl.RVar("ri"), hl.Var("u")
    f[()] = 1
    f[()] = f[()] * (3 if outer else 1) + a[r]  # the inner loop is factored where order is of no matter
    f.update().split(r.x, ro, ri, hl.max(q, a.width() // 16))
    inner = f.update().rfactor(ro if outer else ri, u)
    inner.compute_root().update().parallel(u)
    a.set(np.arange(40, dtype=np.int32) % 7)
    for size, factor in ((39, 4), (39, 39), (7, 3), (1, 1), (0, 5), (5, -3), (39, 1000)):
        n.set(size)
        q.set(factor)
        wanted = 1
        for value in np.arange(1, size + 1) % 7:
            wanted = wanted * (3 if outer else 1) + int(value)
        assert int(f.realize([]).array) == (wanted + 2**31) % 2**32 - 2**31
    q.set(2**31 - 1)
    with pytest.raises(BufferError, match="coordinates reach beyond the range of i32"):
        f.realize([])


NAMES = ["x", "y", "a", "b"]


def _after_others(tail: hl.TailStrategy) -> AbstractContextManager[None]:
    """Where a tail is refused after other splits, as in `test_tails.py`, the loop stays as it is."""
    anywhere = ("Auto", "GuardWithIf", "Predicate", "ShiftInwards")
    return nullcontext() if tail.name in anywhere else suppress(ScheduleError)


def shuffled(random: Random, stage: hl.Func | hl.Stage, tails: list[hl.TailStrategy], directives: int) -> None:
    """Splits, fuses and renames whose loops take any name that no loop has at the time."""
    for _ in range(directives):
        have = order(stage._schedule())
        old, other = random.choice(have), random.choice(have)
        free = [name for name in NAMES if name not in have or name == old]
        kind = random.choice(["split", "split", "fuse", "rename"])
        if kind == "split" and len(free) > 1:
            made = *random.sample(free, 2), random.choice([2, 3, 4]), random.choice(tails)
            with _after_others(made[-1]):
                stage.split(old, *made)
        elif kind == "fuse" and abs(have.index(old) - have.index(other)) == 1:
            inner, outer = (old, other) if have.index(old) < have.index(other) else (other, old)
            stage.fuse(inner, outer, random.choice([*free, inner, outer]))
        elif kind == "rename" and free:
            stage.rename(old, random.choice(free))


@pytest.mark.parametrize("tail", hl.TailStrategy.__members__.values())
def test_a_loop_may_have_the_name_that_another_had(tail: hl.TailStrategy) -> None:
    rows, columns = np.mgrid[:7, :13]
    for seed in range(2):
        random = Random(seed)
        f, g = hl.Func("f"), hl.Func("g")
        f[x, y] = x * 3 + y
        g[x, y] = f[x, y] + 100 * f[x + 1, y]
        g[x, y] += 10 * x + y
        shuffled(random, g, [tail], 6)
        shuffled(random, g.update(), [hl.TailStrategy.GuardWithIf if tail is hl.TailStrategy.ShiftInwards else tail], 6)
        f.compute_at(g, order(g._schedule())[-1])
        with _after_others(tail):
            g.parallel(order(g._schedule())[-1])
        with _after_others(tail):
            g.unroll(order(g._schedule())[0], 2)
        with _after_others(tail):
            g.update().vectorize(order(g.update()._schedule())[0], 4)
        found = np.array(g.realize([13, 7]))
        assert np.array_equal(found, 3 * columns + rows + 100 * (3 * columns + 3 + rows) + 10 * columns + rows), seed


@pytest.mark.parametrize("seed", range(4))
def test_a_loop_over_a_reduction_variable_may_have_the_name_that_another_had(seed: int) -> None:
    random, r = Random(seed), hl.RDom([(1, 5), (0, 9)], "r")
    f = hl.Func("f")
    f[x] = x
    f[x] = f[x] + x * r.x + r.y * r.y
    f.update().split(x, "a", "b", 4).reorder("a", "b", r.y, r.x).reorder(r.x, r.y)
    for _ in range(3):
        own = [d.name for d in f.update()._schedule().dimensions if d.reduction]
        free = [name for name in ("r.x", "r.y", "s", "t", "w") if name not in own]
        old = random.choice(own)
        f.update().split(old, *random.sample([*free, old], 2), random.choice([2, 3]))
    own = [d.name for d in f.update()._schedule().dimensions if d.reduction]
    if seed % 2:
        part = f.update().rfactor(own[-1], "u")
        part.compute_root().update().parallel("u").vectorize("a", 4)
    assert np.array(f.realize([6])).tolist() == [
        v + sum(v * i + j * j for i in range(1, 6) for j in range(9)) for v in range(6)
    ]


def test_a_loop_may_not_have_the_name_of_another_that_is_there() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 9)], "r")
    f[x] = 0
    f[x] += r.x
    for names in (("a", "a"), ("r.x", "a")):
        with pytest.raises(ScheduleError, match=f"the name {names[0]} is taken by another loop"):
            f.update().split(x, *names, 4)
    f.update().split(x, "a", "b", 4).split(r.x, "x", "t", 4)
    assert np.array(f.realize([3])).tolist() == [36] * 3
    with pytest.raises(FactorError, match="has the name of x of f: give it another"):
        f.update().rfactor("x", "u")


def test_loops_that_rfactor_leaves_run_as_they_were_asked_to() -> None:
    """But for pure loops of the intermediate: where that is computed is not known yet."""
    f, r, u = hl.Func("f"), hl.RDom([(0, 8), (0, 8), (0, 8)], "r"), hl.Var("u")
    f[x] = 0
    f[x] += x * r.x + r.y * r.z
    f.update().unroll(r.x).unroll(r.z).parallel(x).reorder(r.y, x, r.x)
    part = f.update().rfactor(r.z, u)
    assert kinds(part.update()) == [("r.y", "serial"), ("x", "serial"), ("u", "serial"), ("r.x", "unrolled")]
    assert kinds(f.update()) == [("x", "parallel"), ("r.z", "unrolled")]
    part.compute_root()
    assert np.array(f.realize([3])).tolist() == [v * 28 * 64 + 8 * 28 * 28 for v in range(3)]


def kinds(stage: Any) -> list[tuple[str, str]]:
    return [(d.name, d.kind) for d in stage._schedule().dimensions]
