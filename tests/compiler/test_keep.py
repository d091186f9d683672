"""Points that a loop reads and writes in every iteration, in storage of their own."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.compiler.lower.keep import keep
from rfactor.ir.expr import Expr, Var, apply, cast
from rfactor.ir.loopnest import Broadcast, For, If, Ramp, ScalarArgument, Stmt, Store, block
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32, I64
from tests.codegen.reference import Interpreter, add, i32, i64, load, pipeline, ramp, sink, source, store, var, wide

LANES = 4
FAR: tuple[Expr, ...] = (i64(0), i64(LANES), wide("s"), add(wide("s"), i64(LANES)))
"""Two vectors of one row, and those of a row at a distance `s`."""


def summed(*starts: Expr, value: Expr | None = None, extent: Expr | None = None) -> For:
    """`f[start, …] = f[start, …] * 3 + a[r]` for each start, r in (0, 5)."""
    one = load(I32, "a", wide("r")) if value is None else value
    more = Broadcast(one, LANES)

    def step(start: Expr) -> Store:
        at = ramp(start, 1, LANES)
        tripled = apply("*", load(I32, "f", at), Broadcast(i32(3), LANES))
        return store("f", at, apply("+", tripled, more))

    return For("r", i32(0), i32(5) if extent is None else extent, "serial", block(*map(step, starts)))


def test_rows_an_unknown_distance_apart_are_kept_where_they_do_not_overlap() -> None:
    kept = keep(summed(i64(0), wide("s")))
    assert isinstance(kept, If)
    assert kept.otherwise == summed(i64(0), wide("s"))
    assert show_nest(If(kept.condition, kept.then)) == dedent("""\
        if i64(s) >= 4 or i64(s) <= -4:
          allocate f.kept[i32 * 8]
          f.kept[ramp(0, 1, 4)] = f[ramp(0, 1, 4)]
          f.kept[ramp(4, 1, 4)] = f[ramp(i64(s), 1, 4)]
          for r in (0, 5):
            f.kept[ramp(0, 1, 4)] = f.kept[ramp(0, 1, 4)] * x4(3) + x4(a[i64(r)])
            f.kept[ramp(4, 1, 4)] = f.kept[ramp(4, 1, 4)] * x4(3) + x4(a[i64(r)])
          f[ramp(0, 1, 4)] = f.kept[ramp(0, 1, 4)]
          f[ramp(i64(s), 1, 4)] = f.kept[ramp(4, 1, 4)]
        """)


def row(number: int, name: str = "f.stride.1") -> Expr:
    return apply("*", Var(I64, name), i64(number))


@pytest.mark.parametrize(
    ("starts", "asked"),
    [
        ((i64(0), Var(I64, "f.stride.1")), False),
        ((wide("m"), add(wide("m"), row(3)), add(wide("m"), add(row(-2), i64(LANES)))), False),
        ((i64(0), add(Var(I64, "f.stride.1"), Var(I64, "f.stride.2"))), False),
        ((i64(0), Var(I64, "g.stride.1")), True),
        ((i64(0), add(Var(I64, "f.stride.1"), wide("n"))), True),
        ((i64(0), apply("*", Var(I64, "f.stride.1"), wide("n"))), True),
    ],
    ids=["a row", "three", "a row and a plane", "another array's", "and more", "an unknown number"],
)
def test_rows_of_an_array_that_is_given_are_not_asked_whether_they_overlap(
    starts: tuple[Expr, ...], asked: bool
) -> None:
    """On entry no two elements of an output are one."""
    kept = keep(summed(*starts))
    assert isinstance(kept, If) == asked
    assert "f.kept" in show_nest(kept)


def test_the_points_of_all_components_are_kept() -> None:
    """One that stays in the array is stored there in every iteration: beside points of other threads, as a rule."""

    def step(buffer: str, at: Expr) -> Store:
        return store(buffer, at, apply("*", load(I32, buffer, at), load(I32, "a", wide("r"))))

    loop = For("r", i32(0), i32(5), "serial", block(*(step(f, at) for at in (i64(0), wide("s")) for f in ("f", "g"))))
    kept = keep(loop)
    assert isinstance(kept, If)
    assert show_nest(If(kept.condition, kept.then)) == dedent("""\
        if i64(s) >= 1 or i64(s) <= -1:
          allocate g.kept[i32 * 2]
          allocate f.kept[i32 * 2]
          f.kept[0] = f[0]
          f.kept[1] = f[i64(s)]
          g.kept[0] = g[0]
          g.kept[1] = g[i64(s)]
          for r in (0, 5):
            f.kept[0] = f.kept[0] * a[i64(r)]
            g.kept[0] = g.kept[0] * a[i64(r)]
            f.kept[1] = f.kept[1] * a[i64(r)]
            g.kept[1] = g.kept[1] * a[i64(r)]
          f[0] = f.kept[0]
          f[i64(s)] = f.kept[1]
          g[0] = g.kept[0]
          g[i64(s)] = g.kept[1]
        """)


@pytest.mark.parametrize(
    "loop",
    [
        summed(i64(0)),  # one point
        summed(i64(0), i64(LANES)),  # LLVM tells these apart
        summed(i64(0), i64(1), wide("s")),  # two overlap
        summed(i64(0), wide("r")),  # another one in each iteration
        summed(i64(0), cast(I64, load(I32, "a", i64(0)))),  # a point that data choose
        summed(i64(0), wide("s"), value=load(I32, "f", i64(9))),  # a point that is only read
        For("r", i32(0), i32(5), "serial", If(apply("<", var("r"), var("s")), summed(i64(0), wide("s")).body)),
    ],
    ids=range(7),
)
def test_other_loops_stay_as_they_are(loop: Stmt) -> None:
    assert keep(loop) == loop


def test_points_that_are_not_written_in_every_lane_are_left() -> None:
    at, other = ramp(i64(0), 1, LANES), ramp(wide("s"), 1, LANES)
    some = apply("<", Ramp(i32(0), i32(1), LANES), Broadcast(i32(2), LANES))
    loop = For("r", i32(0), i32(5), "serial", block(store("f", at, load(I32, "f", at), some), store("f", other, at)))
    assert keep(loop) == loop


def masked(limit: Expr, read: Expr | None = None, *starts: Expr) -> For:
    """`f[start, … if lane < limit] = f[start, … if lane < read] * 3 + a[r]` for each start."""
    lanes = Ramp(i32(0), i32(1), LANES)
    mask, other = (apply("<", lanes, Broadcast(end, LANES)) for end in (limit, limit if read is None else read))

    def step(start: Expr) -> Store:
        at = ramp(start, 1, LANES)
        tripled = apply("*", load(I32, "f", at, other), Broadcast(i32(3), LANES))
        return store("f", at, apply("+", tripled, Broadcast(load(I32, "a", wide("r")), LANES)), mask)

    return For("r", i32(0), i32(5), "serial", block(*map(step, starts or (i64(0),))))


def test_lanes_under_a_mask_that_stays_are_kept() -> None:
    assert show_nest(keep(masked(var("n")))) == dedent("""\
        allocate f.kept[i32 * 4]
        f.kept[ramp(0, 1, 4)] = f[ramp(0, 1, 4) if ramp(0, 1, 4) < x4(n)]
        for r in (0, 5):
          f.kept[ramp(0, 1, 4)] = f.kept[ramp(0, 1, 4)] * x4(3) + x4(a[i64(r)])
        f[ramp(0, 1, 4)] = f.kept[ramp(0, 1, 4)] if ramp(0, 1, 4) < x4(n)
        """)


@pytest.mark.parametrize(
    "loop",
    [
        masked(var("r")),  # other lanes in each iteration
        masked(var("n"), i32(LANES)),  # reads lanes that it does not write
        masked(cast(I32, load(I32, "f", i64(0)))),  # lanes that data choose
        masked(var("n"), None, i64(0), i64(1)),  # two overlap
        masked(var("n"), None, i64(0), wide("s")),  # two may overlap: not worth a second loop
    ],
    ids=range(5),
)
def test_lanes_under_other_masks_stay_as_they_are(loop: Stmt) -> None:
    assert keep(loop) == loop


def test_what_is_stored_where_a_kept_point_says_so_asks_the_kept_one() -> None:
    step = masked(var("n")).body
    assert isinstance(step, Store)
    f = load(I32, "f", step.index, step.predicate)
    asked = apply(">", f, Broadcast(i32(0), LANES))
    told = store("g", step.index, f, apply("and", step.predicate, asked))
    loop = For("r", i32(0), i32(5), "serial", block(step, told))
    kept = keep(loop)
    given = source("a", I32), ScalarArgument("n", I32), sink("f", I32), sink("g", I32)
    values: dict[str, Any] = {
        "a": np.array([5, -99, 7, 400, -2], np.int32), "n": 3,
        "f": np.array([1, -4, 0, 9], np.int32), "g": np.zeros(4, np.int32),
    }  # fmt: skip
    expected = values | {name: values[name].copy() for name in "fg"}
    Interpreter(pipeline(loop, *given), expected)
    compile_pipeline(pipeline(kept, *given))(values)
    for name in "fg":
        np.testing.assert_array_equal(values[name], expected[name])


@pytest.mark.parametrize("starts", [(i64(0),), (i64(0), i64(8))], ids=["one", "two"])
def test_lanes_that_a_mask_leaves_out_are_not_touched(starts: tuple[Expr, ...]) -> None:
    given = source("a", I32), ScalarArgument("s", I32), ScalarArgument("n", I32), sink("f", I32)
    kept = keep(masked(var("n"), None, *starts))
    run = compile_pipeline(pipeline(kept, *given))
    random = np.random.default_rng(1)
    for n in range(-1, LANES + 2):
        for s in (0, 1, 3, 8, 11):
            values: dict[str, Any] = {
                "a": random.integers(-9, 9, 5, np.int32), "s": s, "n": n, "f": random.integers(-9, 9, 20, np.int32),
            }  # fmt: skip
            expected = values | {"f": values["f"].copy()}
            Interpreter(pipeline(masked(var("n"), None, *starts), *given), expected)
            run(values)
            np.testing.assert_array_equal(values["f"], expected["f"], err_msg=f"{n} lanes, {s} apart")


@pytest.mark.parametrize("extent", [None, var("n")], ids=["known", "unknown"])
def test_every_distance_gives_the_same_bits(extent: Expr | None) -> None:
    """Overlapping rows too, and no iteration at all, where nothing may be touched."""
    given = source("a", I32), ScalarArgument("s", I32), ScalarArgument("n", I32), sink("f", I32)
    loop = summed(*FAR, extent=extent)
    kept = keep(loop)
    assert kept != loop
    run = compile_pipeline(pipeline(kept, *given))
    random = np.random.default_rng(0)
    for s in range(20):
        for n in (0, 1, 5):
            values: dict[str, Any] = {
                "a": random.integers(-9, 9, 5, np.int32),
                "s": s,
                "n": n,
                "f": np.arange(28, dtype=np.int32),
            }
            expected = values | {"f": np.arange(28, dtype=np.int32)}
            Interpreter(pipeline(loop, *given), expected)
            run(values)
            np.testing.assert_array_equal(values["f"], expected["f"], err_msg=f"{s} apart")


def strided(*starts: Expr, stride: Expr, extent: Expr | None = None) -> For:
    """`f[start, start + stride, …] *= a[r]` for each start, r in (0, 5)."""

    def step(start: Expr) -> Store:
        at = Ramp(start, stride, LANES)
        return store("f", at, apply("*", load(I32, "f", at), Broadcast(load(I32, "a", wide("r")), LANES)))

    return For("r", i32(0), i32(5) if extent is None else extent, "serial", block(*map(step, starts)))


def test_lanes_a_stride_apart_are_kept_side_by_side() -> None:
    assert show_nest(keep(strided(wide("m"), stride=i64(16)))) == dedent("""\
        allocate f.kept[i32 * 4]
        f.kept[ramp(0, 1, 4)] = f[ramp(i64(m), 16, 4)]
        for r in (0, 5):
          f.kept[ramp(0, 1, 4)] = f.kept[ramp(0, 1, 4)] * x4(a[i64(r)])
        f[ramp(i64(m), 16, 4)] = f.kept[ramp(0, 1, 4)]
        """)


def test_lanes_an_unknown_stride_apart_are_kept_where_they_are_several_points() -> None:
    kept = keep(strided(wide("m"), stride=wide("s")))
    assert isinstance(kept, If)
    assert str(kept.condition) == "i64(s) != 0"
    assert kept.otherwise == strided(wide("m"), stride=wide("s"))


def test_strided_lanes_are_kept_only_where_the_loop_runs() -> None:
    """Elsewhere the points may not be there."""
    kept = keep(strided(wide("m"), stride=i64(3), extent=var("n")))
    assert isinstance(kept, If)
    assert (str(kept.condition), kept.otherwise) == ("n > 0", None)


def test_strided_lanes_between_each_other_are_kept() -> None:
    assert "allocate f.kept[i32 * 8]" in show_nest(keep(strided(i64(0), i64(1), stride=i64(2))))


@pytest.mark.parametrize(
    "loop",
    [
        strided(i64(0), i64(4), stride=i64(2)),
        strided(i64(0), i64(1), stride=wide("s")),
        strided(wide("m"), stride=wide("r")),
    ],
    ids=["overlapping", "two of an unknown stride", "a stride of the loop"],
)
def test_strided_lanes_that_may_share_a_point_are_not_kept(loop: For) -> None:
    assert keep(loop) == loop


@pytest.mark.parametrize("s", [0, 1, -3, 7])
def test_strided_lanes_that_are_kept_have_the_same_answer(s: int) -> None:
    stmt = strided(i64(40), stride=wide("s"))
    given = pipeline(keep(stmt), source("a", I32), sink("f", I32), ScalarArgument("s", I32))
    a, f = np.arange(5, dtype=np.int32) + 2, np.arange(80, dtype=np.int32)
    wanted = f.copy()
    for factor in a:
        at = [40 + lane * s for lane in range(LANES)]
        wanted[at] = wanted[at] * factor
    compile_pipeline(given)({"a": a, "f": f, "s": s})
    np.testing.assert_array_equal(f, wanted)
