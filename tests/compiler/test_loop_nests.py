"""Loops as Halide prints them: stages in shared loops, outputs that are read, windows that do not overlap."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

import rfactor as hl

Program = Callable[[Any], Any]


def two(api: Any) -> tuple[Any, ...]:
    x, y, f, g, h = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g"), api.Func("h")
    f[x, y], g[x, y] = x + y, x - y
    h[x, y] = f[x, y - 1] + g[x + 1, y]
    f.compute_root()
    g.compute_root()
    return x, y, f, g, h


def shared(api: Any) -> Any:
    _, y, f, g, h = two(api)
    g.compute_with(f, y)
    return h


def shared_inner_of_a_split(api: Any) -> Any:
    x, _, f, g, h = two(api)
    xo, xi = api.Var("xo"), api.Var("xi")
    for one in (f, g):
        one.split(x, xo, xi, 8).vectorize(xi)
    g.compute_with(f, xo)
    return h


def shared_of_known_extent(api: Any) -> Any:
    x, y, f, g, h = two(api)
    h.bound(x, 0, 8).bound(y, 0, 4)
    f.parallel(y)
    g.parallel(y).compute_with(f, y)
    return h


def shared_outputs(api: Any) -> Any:
    _, y, f, g, _ = two(api)
    g.compute_with(f, y)
    return api.Pipeline([f, g])


def one_output_reads_another(api: Any) -> Any:
    x, f, g = api.Var("x"), api.Func("f"), api.Func("g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    return api.Pipeline([f, g])


def nothing_overlaps(api: Any) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, 2 * y] + f[x + 1, 2 * y]
    f.compute_at(g, y).store_root()
    return g


def an_undefined_start(api: Any) -> Any:
    x, f = api.Var("x"), api.Func("f")
    f[x] = api.undef(api.Int(32))
    f[x] += 1
    return f


PROGRAMS = (
    shared,
    shared_inner_of_a_split,
    shared_of_known_extent,
    shared_outputs,
    one_output_reads_another,
    nothing_overlaps,
    an_undefined_start,
)


def printed(program: Any, capfd: pytest.CaptureFixture[str]) -> str:
    capfd.readouterr()
    program.print_loop_nest()
    return re.sub(r"\bv\d+\b", "v", capfd.readouterr().err)


@pytest.mark.parametrize("program", PROGRAMS)
def test_loops_are_those_of_halide(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    assert printed(program(hl), capfd) == printed(program(halide), capfd)


def test_stages_in_a_shared_loop_stand_in_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed(shared_outputs(hl), capfd) == dedent("""\
        produce f:
          produce g:
            for fused.y:
              for x:
                f(...) = ...
              for x:
                g(...) = ...
        """)


def test_what_overlaps_is_computed_once(capfd: pytest.CaptureFixture[str]) -> None:
    x, y, f, g = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + f[x, y + 1]
    f.compute_at(g, y).store_root()
    assert printed(g, capfd).count("for y:") == 2  # the first iteration computes two rows, the others one
