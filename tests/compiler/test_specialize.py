"""Loops of their own for runs in which a condition holds."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.lower.skip import only_needed
from rfactor.compiler.lower.tidy import tidy
from rfactor.compiler.pipeline import loop_nest
from rfactor.errors import BufferError, ScheduleError
from rfactor.ir.expr import apply, cast
from rfactor.ir.loopnest import For, If, Let, Produce, block
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I64
from tests.codegen.reference import i32, store, var
from tests.compiler.pipelines import agrees, expected
from tests.compiler.test_lowering import printed

x, y, c = (hl.Var(name) for name in ("x", "y", "c"))


def test_loops_of_their_own_for_runs_in_which_a_condition_holds() -> None:
    a, p, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Param(hl.Int(32), "p"), hl.Func("f")
    f[x] = hl.select(p > 3, a[x] * 2, a[x])
    f.specialize(p > 3).vectorize(x, 4)
    f.specialize(a.width() >= 8).unroll(x, 2)
    f.specialize(p > 3).parallel("x")
    assert loop_nest([f]) == dedent("""\
        produce f:
          parallel x.x:
            vectorized x.v0 in [0, 3]:
              f(...) = ...
          for x.x:
            unrolled x.v1 in [0, 1]:
              f(...) = ...
          for x:
            f(...) = ...
        """)
    assert "a(f.s0.x * 4 + f.s0.x.vectorize + f.s0.x.min)" in printed(f, "nest")
    assert "select(p > 3" not in printed(f, "nest")  # where it is known whether p > 3, nothing asks for it
    for size in (3, 9):
        for value in (2, 4):
            a.set(np.arange(size, dtype=np.int32))
            p.set(value)
            agrees(f, expected(f, [size]), [size])


def test_a_producer_is_computed_in_every_specialization_that_uses_it() -> None:
    p, g, f = hl.Param(hl.Int(32), "p"), hl.Func("g"), hl.Func("f")
    g[x, y] = x + 2 * y
    f[x, y] = g[x, y] + g[x + 1, y + 1]
    p.set(4)
    before = expected(f, [5, 6])
    f.specialize(p > 3).vectorize(x, 4)
    g.compute_at(f, y).store_root()
    for value in (2, 4):
        p.set(value)
        agrees(f, before, [5, 6])


def chosen(capsys: pytest.CaptureFixture[str], schedule: str) -> dict[int, set[str]]:
    """Which functions are computed where p is 1 and 5: h is of f where p > 3, of g of k elsewhere, and of e in both."""
    p, names = hl.Param(hl.Int(32), "p"), ("e", "f", "g", "k", "h")
    e, f, g, k, h = map(hl.Func, names)
    for function, letter in ((e, "e"), (f, "f"), (k, "k")):
        function[x, y] = hl.print(x + 10 * y, letter)
    g[x, y] = hl.print(k[x, y] + k[x, y + 1], "g")
    h[x, y] = hl.select(p > 3, f[x, y] + e[x, y], g[x, y] - e[x, y]) + y
    for producer in (e, f, g, k):
        producer.compute_root()
    if schedule == "windows":
        k.store_root().compute_at(g, y)
    elif schedule == "together":
        f.compute_with(g, y)
    elif schedule == "of an update":
        h[x, y] += f[x, y]
        h.update().unscheduled()
    if schedule != "apart":
        special = h.specialize(p > 3)
        if schedule == "in parallel":
            special.vectorize(x, 4).parallel(y)
    found = {}
    for value in (1, 5):
        p.set(value)
        before = expected(h, [6, 3])
        capsys.readouterr()
        agrees(h, before, [6, 3])
        found[value] = {line.split()[1] for line in capsys.readouterr().out.splitlines()}
    return found


@pytest.mark.parametrize("schedule", ["plain", "in parallel", "apart"])
def test_what_a_run_does_not_read_is_not_computed(capsys: pytest.CaptureFixture[str], schedule: str) -> None:
    assert chosen(capsys, schedule) == {1: {"e", "g", "k"}, 5: {"e", "f"}}


def test_what_a_run_may_read_is_computed(capsys: pytest.CaptureFixture[str]) -> None:
    everything = {"e", "f", "g", "k"}
    assert chosen(capsys, "together") == {1: everything, 5: everything}
    assert chosen(capsys, "of an update") == {1: everything, 5: {"e", "f"}}
    assert chosen(capsys, "windows") == {1: {"e", "g", "k"}, 5: {"e", "f"}}


def summed(p: hl.Param, reads: list[hl.Func]) -> hl.Expr:
    return sum((hl.select(p > at, read[x, y], 0) for at, read in enumerate(reads)), hl.cast(hl.Int(32), 0))


ARMS = {
    "one of them": lambda p, g: hl.select(p == 0, g[0][x, y], p == 1, g[1][x, y], p == 2, g[2][x, y], g[3][x, y]),
    "some": lambda p, g: summed(p, g[:3]),
    "in one": lambda p, g: hl.select(p > 1, hl.select(p > 2, g[2][x, y], g[1][x, y]) + g[3][x, y], g[0][x, y] * 2),
    "of both": lambda p, g: hl.select(p > 1, g[0][x, y] + g[1][x, y], g[1][x, y]) + hl.select(p > 2, g[2][x, y], 7),
    "of points": lambda p, g: hl.select((p > 1) | (x > 2), g[0][x, y], g[1][x, y]),
    "of values": lambda p, g: hl.select(hl.print(p) > 1, g[0][x, y], g[1][x, y]),
}
READ = {
    "one of them": ["0", "1", "2", "3"],
    "some": ["", "0", "01", "012"],
    "in one": ["0", "0", "13", "23"],
    "of both": ["1", "1", "01", "012"],
    "of points": ["01", "01", "0", "0"],
    "of values": ["01"] * 4,
}


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize("arms", ARMS)
def test_what_no_arm_of_a_run_reads_is_not_computed(
    capsys: pytest.CaptureFixture[str], arms: str, update: bool
) -> None:
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f")
    producers = [hl.Func(letter) for letter in "0123"]
    for place, g in enumerate(producers):
        g[x, y] = hl.print_when((x == 1) & (y == 1), x + 10 * y + 100 * place, g.name())
        g.compute_root()
    f[x, y] = ARMS[arms](p, producers)
    if update:
        f[x, y] += ARMS[arms](p, producers)
        f.update().vectorize(x, 4)
    for value in range(4):
        p.set(value)
        before = expected(f, [6, 3])
        capsys.readouterr()
        agrees(f, before, [6, 3])
        lines = {line.split()[1] for line in capsys.readouterr().out.splitlines() if len(line.split()) > 1}
        assert "".join(sorted(lines)) == READ[arms][value]


def _rows(f: Any, c: Any) -> Any:
    return {
        "of rows": lambda: hl.select(y > 1, f[x, y], 7),
        "of points": lambda: hl.select((x > 1) & (y > 1), f[x, y], 7),
        "not of rows": lambda: hl.select(~((y < 2) | (x < 1)), f[x, y] + f[x, y + 1], c[x, y]),
        "nested": lambda: hl.select(y > 1, hl.select(y < 3, f[x, y], 2), 7),
        "twice": lambda: hl.select(y > 1, f[x, y], 7) + hl.select(y % 2 == 0, f[x, y], 1),
        "of data": lambda: hl.select(c[x, y] > 2, f[x, y], 7),
        "of another": lambda: c[hl.select(y > 1, f[x, y] % 3, 0), y],
        "always": lambda: f[x, y] + hl.select(y > 1, f[x, y], 7),
    }


_COMPUTED = {
    "of rows": "23", "of points": "23", "not of rows": "234", "nested": "2", "twice": "023", "of data": "0123",
    "of another": "23", "always": "0123",
}  # fmt: skip
"""The rows of f."""


@pytest.mark.parametrize("schedule", ["serial", "split", "vectorized", "windows", "update"])
@pytest.mark.parametrize("arms", _COMPUTED)
def test_what_an_iteration_does_not_read_is_not_computed_in_it(
    capsys: pytest.CaptureFixture[str], arms: str, schedule: str
) -> None:
    f, g, h = hl.Func("f"), hl.Func("c"), hl.Func("h")
    f[x, y] = hl.print_when(x == 1, x * 10 + y, y, "row")
    g[x, y] = x - y
    g.compute_root()
    h[x, y] = 0
    if schedule == "update":
        h[x, y] += _rows(f, g)[arms]()
        h.update(0).parallel(y)
    else:
        h = hl.Func("h")
        h[x, y] = _rows(f, g)[arms]()
    before = expected(h, [5, 4])
    if schedule == "split":
        h.split(y, hl.Var("yo"), hl.Var("yi"), 3)
        f.compute_at(h, "yi")
    else:
        f.compute_at(h, y)
    if schedule == "windows":
        f.store_root()
    elif schedule == "vectorized":
        h.vectorize(x, 4)
    capsys.readouterr()
    agrees(h, before, [5, 4])
    rows = {line.split()[1] for line in capsys.readouterr().out.splitlines() if line.endswith("row")}
    assert rows == set(
        _COMPUTED[arms] if schedule != "windows" else _COMPUTED["always"] + "4" * (arms == "not of rows")
    )


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("p > 73", "p > 50"),
        ("p == 80", "p != 7"),
        ("(p > 73) | (q < 4)", "(p > 73) | (q < 4)"),
        ("(p > 73) & (q != 2)", "(p >= 0) & (q != 2)"),
        ("hl.logical_not(p <= 73)", "p > 73"),
    ],
)
def test_what_a_condition_says_of_others_is_known(condition: str, asked: str) -> None:
    image, f = hl.ImageParam(hl.Int(32), 2), hl.Func("f")
    p, q = hl.Param(hl.Int(32), 80), hl.Param(hl.Int(32), 5)
    given = {"p": p, "q": q, "hl": hl}
    f[x] = hl.select(eval(asked, given), image[x, 0], image[0, x])
    f.specialize(eval(condition, given))
    f.infer_input_bounds([10])
    assert (image.get().width(), image.get().height()) == (10, 1)
    image.set(hl.Buffer(np.arange(100, dtype=np.int32).reshape(10, 10)))
    for value in (80, 74, 73, 60, 50, 0, 7):
        p.set(value)
        row = eval(asked, {"p": value, "q": 5, "hl": _Logic})
        assert np.asarray(f.realize([10])).tolist() == [k if row else 10 * k for k in range(10)]


class _Logic:
    @staticmethod
    def logical_not(value: bool) -> bool:
        return not value


def test_a_stage_becomes_a_few_nests_of_loops() -> None:
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f")
    producers = [hl.Func(f"g{place}") for place in range(12)]
    for place, g in enumerate(producers):
        g[x, y] = x + y * place
        g.compute_root()
    f[x, y] = summed(p, producers)
    assert printed(f, "nest").count("f(f.s0.x") == 8
    p.set(11)
    agrees(f, expected(f, [4, 3]), [4, 3])


def test_a_run_that_no_specialization_fits_stops() -> None:
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f")
    f[x] = x + p
    f.specialize(p == 3).vectorize(x, 4)
    f.specialize_fail("p is {3}")
    p.set(3)
    assert np.asarray(f.realize([5])).tolist() == [3, 4, 5, 6, 7]
    p.set(4)
    with pytest.raises(BufferError, match=r"p is \{3\}"):
        f.realize([5])
    with pytest.raises(ScheduleError, match="specialize after specialize_fail"):
        f.specialize(p == 4)


def test_a_condition_is_known_before_anything_runs() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x + y
    g[x, y] += 1
    f[x, y] = g[x, y] + g[x, y + 1]
    with pytest.raises(ScheduleError, match=r"f: specialize\(x > 3\): x varies while the pipeline runs"):
        f.specialize(x > 3)
    with pytest.raises(
        ScheduleError, match=r"f: specialize\(.*\): g\(0, 0\) .*before g is computed, which has updates"
    ):
        f.specialize(g[0, 0] > 3)
    with pytest.raises(ScheduleError, match="the condition is i32, not bool"):
        f.specialize(hl.Param(hl.Int(32), "p"))
    assert f.infer_arguments() == []


def test_a_condition_that_is_refused_leaves_functions_as_they_were() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x
    f[x] = x
    for refused in (g[x] > 3, g[0] + 1):
        with pytest.raises(ScheduleError):
            f.specialize(refused)
    g[x] += 1
    assert np.asarray(g.realize([3])).tolist() == [1, 2, 3]
    h = hl.Func("h")
    h[x] = x
    f.specialize(h[0] > 3)
    with pytest.raises(hl.HalideError, match="h cannot be given a new update definition"):
        h[x] += 1


def _by_values(api: Any, first: int, factor: int) -> Any:
    im, table = api.ImageParam(api.Int(32), 1, "im"), api.ImageParam(api.UInt(8), 2, "table")
    x, f, g, n = api.Var("x"), api.Func("f"), api.Func("g"), api.Param(api.Int(32), "n", 1)
    f[x] = im[x] * 2
    f[x] += api.select(im[im.dim(0).min()] > 3, 100, 7)
    g[x] = f[x] + 1
    f.compute_root().specialize(im[im.dim(0).min()] > 3).vectorize(x, 4)
    f.update().specialize(table[n, 1] == factor).vectorize(x, 4)
    f.update().specialize(im[table[n, 0]] > 3).unroll(x, 4)
    f.update().specialize(table[n, 1] == factor).parallel(x)
    im.set(api.Buffer(np.arange(10, dtype=np.int32) + first))
    table.set(api.Buffer(np.array([[5, 2], [factor, 3]], dtype=np.uint8)))
    g.print_loop_nest()
    return np.asarray(g.realize([9])).tolist()


@pytest.mark.parametrize(("first", "factor"), [(0, 4), (4, 3), (5, 0), (2, 3)])
def test_a_condition_may_be_of_what_images_hold(first: int, factor: int, capfd: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    values, loops = [], []
    for api in (hl, halide):
        values.append(_by_values(api, first, factor))
        loops.append(re.sub(r"(?<=\.)[vr]\d+\b", "unnamed", capfd.readouterr().err))
    assert values[0] == values[1]
    assert loops[0] == loops[1]


def test_what_a_condition_reads_is_there_or_refused() -> None:
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    f[x] = x
    f.specialize(a[4] == 0).vectorize(x, 4)
    a.set(np.zeros(5, np.int32))
    assert np.asarray(f.realize([3])).tolist() == [0, 1, 2]
    a.set(np.zeros(4, np.int32))
    with pytest.raises(BufferError, match="a is read from 4 to 4 in dimension 0, but it holds 0 to 3"):
        f.realize([3])
    for varies in (a[x] > 3, a[hl.RDom([(0, 3)]).x] > 3):
        with pytest.raises(ScheduleError, match="reads data at a point that varies with"):
            f.specialize(varies)
    g = hl.Func("g")
    g[x] = x
    g[x] += 1
    with pytest.raises(ScheduleError, match="compute g in a pipeline of its own, and give the result as a Param"):
        f.specialize(a[g[0]] > 3)


def test_loops_for_arrays_of_one_layout() -> None:
    a, f = hl.ImageParam(hl.UInt(8), 3, "a"), hl.Func("f")
    f[x, y, c] = a[x, y, c] + hl.u8(c)
    out = f.output_buffer()
    for one in (a, out):
        one.dim(0).set_stride(hl.Expr())
    f.specialize((a.dim(0).stride() == 1) & (out.dim(0).stride() == 1)).vectorize(x, 8)
    packed = f.specialize((out.dim(0).stride() == 3) & (out.dim(2).min() == 0) & (out.dim(2).extent() == 3))
    packed.reorder(c, x, y).unroll(c)
    f.specialize_fail("neither planar nor packed")
    assert printed(f, "vectorize").count("for f.s0.c in") == 1  # none where its extent is known to be 3
    data = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
    planar, woven = hl.Buffer(hl.UInt(8), [5, 4, 3]), hl.Buffer.make_interleaved(hl.UInt(8), 5, 4, 3)
    a.set(data)
    for result in (planar, woven):
        f.realize(result)
        assert np.array_equal(np.asarray(result), (data + np.arange(3, dtype=np.uint8)[:, None, None]))


@pytest.mark.parametrize("directive", ["unroll", "vectorize"])
def test_a_loop_over_what_two_outputs_need_is_straight_where_both_boxes_are_known(directive: str) -> None:
    """What is known of a box replaces its ends in what was computed of them before."""
    inner, one, other = hl.Func("inner"), hl.Func("one"), hl.Func("other")
    inner[x, y, c] = x + 10 * y + 100 * c
    one[x, y, c] = inner[x, y, c]
    other[x, y, c] = inner[x, y, c] * 2
    channels = [f.output_buffer().dim(2) for f in (one, other)]
    first, second = ((channel.extent() == 3) & (channel.min() == 0) for channel in channels)
    getattr(inner.compute_root().specialize(first & second), directive)(c)
    pipeline = hl.Pipeline([one, other])
    for extent in (3, 2):
        found = pipeline.realize([4, 2, extent])
        k, j, i = np.indices((extent, 2, 4))
        assert np.array_equal(np.asarray(found[0]), i + 10 * j + 100 * k)
        assert np.array_equal(np.asarray(found[1]), 2 * (i + 10 * j + 100 * k))


def test_a_condition_on_the_box_of_what_is_no_output_is_refused() -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x
    f[x] = g[x]
    g.compute_root().specialize(g.output_buffer().dim(0).stride() == 1)
    with pytest.raises(ScheduleError, match="over the box of g, which is no output of this pipeline"):
        f.realize([4])
    g.realize([4])


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_condition_on_the_box_of_an_inner_function_is_refused(elsewhere: bool, factored: bool) -> None:
    """Of one that is in another pipeline, too, and of a case that is factored."""
    g, f, other, r = hl.Func("inner"), hl.Func("outer"), hl.Func("elsewhere"), hl.RDom([(0, 9), (0, 9)])
    g[x] = 0
    g[x] += x * r.x + r.y
    f[x] = g[x] + 1
    other[x] = x
    g.compute_root()
    case = g.update(0).specialize((other if elsewhere else g).output_buffer().width() > 3)
    if factored:
        case.rfactor(r.y, hl.Var("u"))
    with pytest.raises(ScheduleError, match=f"over the box of {'elsewhere' if elsewhere else 'inner'}, which is no"):
        f.realize([4])


def test_loops_for_what_iterations_read_are_few_however_many_functions_there_are() -> None:
    producers = [hl.Func(f"p{i}") for i in range(10)]
    h, value = hl.Func("h"), hl.i32(0)
    for i, producer in enumerate(producers):
        producer[x, y] = x * i + y
        value = hl.select(y == i, producer[x, y], value)
    h[x, y] = value
    before = expected(h, [3, 12])
    for producer in producers:
        producer.compute_at(h, y)
    assert printed(h, "tidy").count("for h.s0.x in") == 8
    agrees(h, before, [3, 12])


def test_what_is_needed_in_some_runs_is_looked_for_until_it_is_found() -> None:
    """A function without storage in other runs may not be computed in them."""
    here, inside = Produce("f", block()), For("y", i32(0), i32(3), "serial", Produce("g", block()))
    some = apply(">", var("p"), i32(3))
    assert only_needed(block(here, inside), {"f": some}) == block(If(some, here), inside)
    with pytest.raises(AssertionError, match="g is not computed outside of all loops"):
        only_needed(block(here, inside), {"f": some, "g": some})


def test_what_has_one_value_in_a_run_is_that_value() -> None:
    """Also where it is divided by, and in extents of what is computed in it: its storage is of constant size then."""
    a, n, step = hl.ImageParam(hl.Int(32), 1, "a"), hl.Param(hl.Int(32), "n"), hl.Param(hl.Int(32), "step")
    r = hl.RDom([(0, n)], "r")
    rows, f = hl.Func("rows"), hl.Func("f")
    rows[x] = a[x] * 3
    f[x] = 0
    f[x] += rows[x // step + r.x]
    f.update().specialize((n == 3) & (step == 1))
    rows.compute_at(f, x)
    text = printed(f, "tidy")
    special = text.split("if n == 3 and step == 1:\n")[1].split("else:")[0]
    assert "for f.s1.r.x in (0, 3):" in special
    assert "for rows.s0.x in (f.s1.x, 3):" in special
    assert "// step" not in special
    assert "// step" in text.split("else:")[1]
    data = np.arange(40, dtype=np.int32)
    a.set(hl.Buffer(data))
    for count, by in ((3, 1), (3, 2), (4, 1), (1, 3)):
        n.set(count)
        step.set(by)
        wanted = [sum(data[i // by + k] * 3 for k in range(count)) for i in range(30)]
        assert list(f.realize([30])) == wanted


def test_a_name_of_one_value_that_is_bound_again_is_another() -> None:
    """A variable in a branch that says what it is, and one of that name in it; iterations and lanes stay apart."""
    asked = apply("==", var("n"), i32(3))
    inside = If(asked, store("f", cast(I64, var("n")), var("n")))
    assert "f[3] = 3" in show_nest(tidy(inside))
    asked_elsewhere = apply("==", var("m"), i32(3))
    bound = Let("m", apply("*", var("k"), var("k")), store("f", cast(I64, var("k")), var("m")))
    assert "= m" in show_nest(tidy(If(asked_elsewhere, bound)))
    counted = For("m", i32(0), var("k"), "serial", store("f", cast(I64, var("m")), var("m")))
    assert "f[i64(m)] = m" in show_nest(tidy(If(asked_elsewhere, counted)))
    lanes = For(
        "v", i32(0), i32(8), "vectorized", If(apply("==", var("v"), i32(3)), store("f", cast(I64, var("v")), i32(1)))
    )
    assert "f[i64(v)] = 1" in show_nest(tidy(lanes))
