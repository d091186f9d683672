"""Warnings of schedules are Halide's, and loops are shown as it shows them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl

_FORGOTTEN = "Warning: Update definition {} of function {} has not been scheduled, even though some other definitions"


def _inlined(api: Any, given: Callable[[Any, Any], object]) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    f[x, y] = 0
    given(f, api)
    g[x] = f[x, x]
    return g


_OF_INLINED: list[Callable[[Any, Any], object]] = [
    lambda f, api: f.bound(api.Var("x"), 0, 127),
    lambda f, api: f.align_bounds(api.Var("y"), 4, 1),
    lambda f, api: f.split(api.Var("x"), api.Var("xo"), api.Var("xi"), 4),
    lambda f, api: f.split(api.Var("x"), api.Var("o"), api.Var("i"), 4).fuse(api.Var("i"), api.Var("y"), api.Var("t")),
    lambda f, api: f.rename(api.Var("x"), api.Var("u")),
    lambda f, api: f.reorder(api.Var("y"), api.Var("x")),
]


@pytest.mark.parametrize("given", _OF_INLINED)
def test_what_an_inlined_function_cannot_have_is_told_as_halide_does(
    given: Callable[[Any, Any], object], capsys: pytest.CaptureFixture[str]
) -> None:
    halide = pytest.importorskip("halide")
    told = []
    for api in (hl, halide):
        error = ""
        try:
            _inlined(api, given).realize([4])
        except api.HalideError as raised:
            error = str(raised).strip()
        lines = dict.fromkeys(re.sub(r"\$\d+", "", capsys.readouterr().out).splitlines())  # Halide says all twice
        told.append((list(lines), re.sub(r"\$\d+", "", error)))
    (ours, refused), (theirs, refusal) = told
    assert ours == theirs
    assert refused.startswith(refusal)
    assert bool(refused) == bool(refusal)


def test_updates_that_may_have_been_forgotten_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = 0
    f[x] += 1
    f[x] += 2
    f.vectorize(x, 4)
    f.update(0).unscheduled()
    f.realize([8])
    f.realize([9])
    out = capsys.readouterr().out
    assert out.startswith(_FORGOTTEN.format(1, f.name()))
    assert out.count("Warning") == 1
    f.update(1).parallel(x)
    f.realize([8])
    assert capsys.readouterr().out == ""


def test_directives_on_the_function_are_none_on_a_stage(capsys: pytest.CaptureFixture[str]) -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    f[x] = 0
    f[x] += 1
    f.compute_root().bound(x, 0, 8)
    g[x] = f[x]
    g.realize([8])
    assert capsys.readouterr().out == ""
    f.unroll(x, 2)
    g.realize([8])
    assert _FORGOTTEN.format(0, f.name()) in capsys.readouterr().out


def test_factored_updates_are_scheduled(capsys: pytest.CaptureFixture[str]) -> None:
    x, u, f, r = hl.Var("x"), hl.Var("u"), hl.Func("f"), hl.RDom([(0, 8)], "r")
    f[x] = 0
    f[x] += r.x
    inner = f.update().rfactor(r.x, u)
    inner.compute_root().vectorize(x, 4)
    f.parallel(x)
    f.realize([8])
    assert capsys.readouterr().out == ""


def _tiles(api: Any) -> Any:
    x, y, xo, yo, xi, yi, t = (api.Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi", "t"))
    f = api.Func("f")
    f[x, y] = x + y
    return f.tile(x, y, xo, yo, xi, yi, 4, 8).fuse(xo, yo, t).parallel(t).vectorize(xi, 2).unroll(yi)


def _bounded(api: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f$3")
    f[x, y] = x + y
    return f.bound(x, 0, 16).bound(y, 2, 1).vectorize(x, 8)


def _renamed(api: Any) -> Any:
    x, y, u, yo, f = api.Var("x"), api.Var("y"), api.Var("u"), api.Var("yo"), api.Func("f")
    f[x, y] = x + y
    return f.rename(x, u).split(u, yo, u, 3).unroll(y, 2)


def _reductions(api: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(0, 10), (2, 20)], "r")
    r.where(r.x > r.y)
    f[x, y] = x + y
    f[x, y] += r.x * r.y
    f.update().split(r.x, api.RVar("ro"), api.RVar("ri"), 3).reorder(x, r.y).vectorize(x, 4)
    f[x, 0] = 1
    return f


def _placed(api: Any) -> Any:
    x, y, yo, yi = (api.Var(name) for name in ("x", "y", "yo", "yi"))
    f, g, h = api.Func("f"), api.Func("g"), api.Func("h")
    h[x, y] = x
    g[x, y] = x + y
    f[x, y] = g[x, y] + g[x + 1, y] + h[x, y]
    h.store_root().compute_at(f, yo)
    g.compute_at(f, yi)
    f.split(y, yo, yi, 4)
    return f


def _specialized(api: Any) -> Any:
    x, f, p = api.Var("x"), api.Func("f"), api.Param(api.Int(32), "p", 1)
    f[x] = x
    f.specialize(p > 3).vectorize(x, 4)
    f.specialize(p == 1).parallel(x)
    return f


@pytest.mark.parametrize("make", [_tiles, _bounded, _renamed, _reductions, _placed, _specialized])
def test_loops_are_shown_as_halide_does(make: Callable[[Any], Any], capfd: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    shown = []
    for api in (hl, halide):
        make(api).print_loop_nest()
        text = re.sub(r"(?<=\.)[vr]\d+\b", "unnamed", capfd.readouterr().err)
        shown.append(re.sub(r"\b([fgh])_\d+\b", r"\1", text))  # names alive elsewhere are numbered
    assert shown[0] == shown[1]


_HIDDEN = 'Warning: In update definition {} of Func "f":\nUpdate definition completely hides earlier definitions,'


def test_an_update_that_hides_what_was_defined_before_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    x, y, f, r = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.RDom([(0, 3)], "r")
    f[x, y] = x
    f[x, y] += 1
    f[x, 3] = 1
    f[x, x] = 1
    f[r.x, y] = 1
    f[x, y] = hl.select(x > 2, 3, hl.undef(hl.Int(32)))  # keeps what is there
    assert capsys.readouterr().out == ""
    f[x, y] = hl.sum(hl.RDom([(0, 3)]).x)
    told = capsys.readouterr().out
    assert told.startswith(_HIDDEN.format(5).replace('"f"', f'"{f.name()}"'))
    assert told.count("Warning") == 1


def test_definitions_of_derivatives_are_not_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    x, f, loss = hl.Var("x"), hl.Func("f"), hl.Func("loss")
    p = hl.Param(hl.Float(32), "p")
    f[x] = p * p
    loss[()] = f[3]
    hl.propagate_adjoints(loss)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("extent", [3, 4])
def test_a_check_that_always_fails_is_told_once_when_code_is_made(
    extent: int, capsys: pytest.CaptureFixture[str]
) -> None:
    halide = pytest.importorskip("halide")
    told, refused = [], []
    for api in (hl, halide):
        x, f, g = api.Var("x"), api.Func("f"), api.Func("g")
        f[x] = x
        g[x] = f[x]
        f.compute_root().bound_extent(x, extent)
        g.bound(x, 0, 4)
        for _ in range(2):
            try:
                g.realize([4])
            except api.HalideError as raised:
                refused.append(str(raised))
        told.append(capsys.readouterr().out.splitlines())
    first = "Warning: This pipeline is guaranteed to fail an assertion at runtime: "
    assert (told[0][:1] == told[1][:1] == [first]) is (extent < 4)
    assert len(refused) == (4 if extent < 4 else 0)
    assert told[0][1:] == refused[:1]


@pytest.mark.parametrize("name", ["round", "floor"])
def test_gradients_that_are_dropped_are_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    told = []
    for api in (hl, halide):
        x, f, loss, p = api.Var("x"), api.Func("f"), api.Func("loss"), api.Param(api.Float(32), "p", 2.25)
        f[x] = getattr(api, name)(p * 2) + p
        loss[()] = f[3] + getattr(api, name)(f[2])
        assert float(np.asarray(api.propagate_adjoints(loss)[p].realize([]))) == 1
        told.append(list(dict.fromkeys(capsys.readouterr().out.splitlines())))
    assert told[0] == told[1] == ["Warning: Dropping gradients at call to round"] * (name == "round")


def _twice_together(api: Any) -> None:
    x, y = api.Var("x"), api.Var("y")
    f, g = api.Func("f"), api.Func("g")
    f[x, y], g[x, y] = x, y
    g.compute_with(f, y)
    g.compute_with(f, x)


def _prefetched(name: str) -> Callable[[Any], None]:
    def program(api: Any) -> None:
        x, y, yo, yi = (api.Var(v) for v in ("x", "y", "yo", "yi"))
        f, g, h = api.Func("f"), api.Func("g"), api.Func("h")
        f[x, y] = x + y
        h[x, y] = f[x, y]
        g[x, y] = 3 + h[x, y]
        f.compute_root()
        h.compute_root()
        g.split(y, yo, yi, 2).prefetch({"f": f, "h": h}[name], yi, yo, 8)
        g.realize([4, 4])

    return program


_TOLD: list[tuple[Callable[[Any], Any], int]] = [
    (lambda api: api.abs(api.u16(api.Var("x"))), 1),
    (lambda api: api.abs(api.i16(api.Var("x"))), 0),
    (_twice_together, 1),
    (_prefetched("f"), 1),
    (_prefetched("h"), 0),
]


@pytest.mark.parametrize(("program", "lines"), _TOLD)
def test_what_has_no_effect_is_told_as_halide_tells_it(
    program: Callable[[Any], object], lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    halide = pytest.importorskip("halide")
    told = []
    for api in (hl, halide):
        program(api)
        told.append(list(dict.fromkeys(re.sub(r"\$\d+", "", capsys.readouterr().out).splitlines())))
    assert told[0] == told[1]
    assert len(told[0]) == lines


@pytest.mark.parametrize("number", [0.1, 1e300, -2.5, 0.75, float("inf"), float("nan"), 1 / 3])
def test_numbers_that_f32_does_not_hold_are_told_at_the_users_line(number: float) -> None:
    halide = pytest.importorskip("halide")
    told: list[list[tuple[type[Warning], str]]] = []
    for api in (hl, halide):
        x, f = api.Var("x"), api.Func("f")
        f[x] = api.f64(0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f[x] = f[x] + number
            api.max(number, x)
            api.f64(number) + api.f32(number)
            x + 1
        told.append([(one.category, str(one.message)) for one in caught])
        assert all(one.filename == __file__ for one in caught)
    assert told[0] == told[1]
    assert len(told[0]) == (2 if number in (0.1, 1e300, 1 / 3) else 0)
