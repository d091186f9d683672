"""Traces: the lines are those of Halide, and values stay what they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl

Made = tuple[Any, list[int]]


def stencil(api: Any) -> Made:
    x, f, g = api.Var("x"), api.Func("f"), api.Func("g")
    image = api.ImageParam(api.UInt(8), 1, "image")
    image.set(api.Buffer(np.array([1, 2, 3, 4, 250], np.uint8)))
    g[x] = api.f32(image[x]) * 0.5
    f[x] = g[x] + g[x + 1]
    r = api.RDom([(0, 2)])
    f[r.x] += 1.0
    g.compute_root()
    image.trace_loads()
    for func in (f, g):
        func.trace_loads()
        func.trace_stores()
        func.trace_realizations()
    return f, [2]


def inner(api: Any) -> Made:
    x, y, f, g, h = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g"), api.Func("h")
    g[x, y] = (x * 2 + y, api.u8(1))
    h[x] = g[x, 0][0]
    f[x] = h[x] + api.i32(g[x, 1][1])
    g.compute_at(f, x)
    for func in (g, h):
        func.trace_realizations()
        func.trace_loads()
    h.trace_stores()
    return f, [3]


def conditions(api: Any) -> Made:
    x, f = api.Var("x"), api.Func("f")
    f[x] = x > 0
    f[x] = ~f[x]
    f.trace_realizations()
    f.trace_stores()
    return f, [2]


def a_point(api: Any) -> Made:
    f = api.Func("f")
    f[()] = api.f64(3.5)
    f.trace_realizations()
    f.trace_stores()
    return f, []


def stages(api: Any) -> Made:
    x, f, g = api.Var("x"), api.Func("f"), api.Func("g")
    g[x] = x
    g[0] = 7
    f[x] = g[x] + 1
    g.compute_root().trace_realizations()
    return f, [4]


def lanes(api: Any) -> Made:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    image = api.ImageParam(api.Float(64), 1, "image")
    image.set(api.Buffer(np.arange(9, dtype=np.float64)))
    g[x, y] = (api.u16(x + y), image[x + y] * 0.25)
    f[x, y] = g[x, y][1] + g[y, y][0]
    f[x, y] += 1
    g.compute_at(f, y).vectorize(x, 4)
    f.vectorize(x, 4).update().vectorize(x, 2)
    for func in (f, g):
        func.trace_loads()
        func.trace_stores()
    image.trace_loads()
    return f, [4, 2]


def tagged(api: Any) -> Made:
    x, y, f, g, silent = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g"), api.Func("silent")
    silent[x] = x
    g[x] = api.i64(silent[x] - 3)
    f[x, y] = (g[x] + g[x + y], x > 1)
    silent.compute_root().add_trace_tag("not told: nothing of it is")
    g.compute_at(f, y).add_trace_tag("{one}")
    g.add_trace_tag("two").trace_loads()
    f.add_trace_tag("of the output").trace_realizations()
    return f, [3, 2]


def written(make: Callable[[Any], Made], api: Any, capfd: pytest.CaptureFixture[str]) -> tuple[list[str], list[Any]]:
    f, sizes = make(api)
    capfd.readouterr()
    values = np.asarray(f.realize(sizes)).tolist()
    out, err = capfd.readouterr()
    told = re.sub(r"[$_]\d+(?=\.\d+\()", "", out + err)  # the name that is left where another test's Func has `f`
    return told.splitlines(), values


@pytest.mark.parametrize("make", [stencil, inner, conditions, a_point, stages, lanes, tagged])
def test_lines_are_those_of_halide(make: Callable[[Any], Made], capfd: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    assert written(make, hl, capfd) == written(make, halide, capfd)


def test_a_trace_in_full(capfd: pytest.CaptureFixture[str]) -> None:
    lines, values = written(inner, hl, capfd)
    assert values == [1, 3, 5]
    assert lines[:10] == [
        "Begin pipeline f.0()",
        'Tag g.0() tag = "func_type_and_dim: 2 0 32 1 1 8 1 2 0 3 0 2"',
        "Begin realization g.0(0, 1, 0, 2)",
        "Produce g.0(0, 1, 0, 2)",
        "End produce g.0(0, 1, 0, 2)",
        "Consume g.0(0, 1, 0, 2)",
        "Load g.0(0, 0) = 0",
        "Load g.1(0, 1) = 1",
        "End consume g.0(0, 1, 0, 2)",
        "End realization g.0(0, 1, 0, 2)",
    ]
    assert lines[-1] == "End pipeline f.0()"


def _apart(line: str) -> list[str]:
    """A line about lanes as one about each."""
    lanes = [found.split(", ") for found in re.findall(r"<(.*?)>", line)]
    return [re.sub("<.*?>", "{}", line).format(*lane) for lane in zip(*lanes, strict=True)] if lanes else [line]


@pytest.mark.parametrize("kind", ["vectors", "threads", "unrolled"])
def test_every_lane_and_thread_tells_its_own(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    g[x] = x * x
    f[x] = g[x] + 1
    g.compute_root().trace_loads()
    f.trace_stores()
    if kind == "vectors":
        f.vectorize(x, 4)
    elif kind == "threads":
        f.parallel(x)
    else:
        f.unroll(x, 3)
    assert np.asarray(f.realize([11])).tolist() == [i * i + 1 for i in range(11)]
    lines = capsys.readouterr().out.splitlines()
    wanted = [f"Load g.0({i}) = {i * i}" for i in range(11)] + [f"Store f.0({i}) = {i * i + 1}" for i in range(11)]
    if kind == "vectors":  # a load in one line; the tail's lanes each in their own
        assert "Load g.0(<4, 5, 6, 7>) = <16, 25, 36, 49>" in lines
        lines = [line for one in lines for line in _apart(one)]
    assert sorted(lines[3:-1]) == sorted(wanted)


def test_atomic_updates_are_traced(capsys: pytest.CaptureFixture[str]) -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 8)], "r")
    f[()] = 0
    f[()] += r.x
    f.update().atomic().vectorize(r.x, 4)
    f.trace_stores()
    assert int(np.asarray(f.realize())) == 28
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("Store")] == [
        f"Store f.0() = {total}" for total in (0, 0, 1, 3, 6, 10, 15, 21, 28)
    ]


def test_one_is_traced_and_its_like_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    x = hl.Var("x")
    funcs = []
    for traced in (True, False, True):
        f = hl.Func("like")
        f[x] = x + 5
        if traced:
            f.trace_stores()
        f.realize([1])
        out = capsys.readouterr().out
        assert (f"Store {f.name()}.0(0) = 5" in out) == traced == bool(out)
        funcs.append(f)


def test_tracing_is_noticed_after_a_first_run(capsys: pytest.CaptureFixture[str]) -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = x
    f.realize([1])
    f.trace_stores()
    f.realize([1])
    assert capsys.readouterr().out.splitlines() == [
        "Begin pipeline f.0()",
        'Tag f.0() tag = "func_type_and_dim: 1 0 32 1 1 0 1"',
        "Store f.0(0) = 0",
        "End pipeline f.0()",
    ]
    assert "Store" not in hl.Pipeline(f).lowered().split("write")[0]


def test_what_is_inlined_has_no_storage_to_tell_of(capsys: pytest.CaptureFixture[str]) -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    g[x] = x
    f[x] = g[x]
    g.trace_loads()
    g.trace_stores()
    g.trace_realizations()
    f.realize([2])
    assert capsys.readouterr().out == ""


def test_the_loops_are_shown_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    f, _ = stages(hl)
    f.print_loop_nest()
    traced = capsys.readouterr().err
    assert "produce g:" in traced
    assert traced.count("consume") == 1


def test_a_pipeline_has_no_trace_of_its_own() -> None:
    assert not hasattr(hl.Pipeline, "trace_stores")
    assert not hasattr(conditions(hl)[0].output_buffer(), "trace_loads")
