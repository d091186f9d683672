"""Whole tiles have loops of their own, whose extents are constant; the rest is guarded as before."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.compiler.lower.partition import partition
from rfactor.ir.expr import apply
from rfactor.ir.loopnest import For, If, Stmt, block
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32
from tests.codegen.reference import add, i32, load, store, times, var, wide

x, y, xi, yi, c = (hl.Var(name) for name in ("x", "y", "xi", "yi", "c"))


def loops(func: Any) -> list[str]:
    """The loops after partitioning, but for those of lanes, and what parallel ones ask."""
    frozen = freeze(func)
    text = show_nest(dict(passes(frozen.algorithm, frozen.schedule))["partition"])
    wanted = re.compile(r"(parallel for|for|if .*\.s\d\.\w+ < min|else)\b")
    return [line.strip() for line in text.splitlines() if wanted.match(line.strip())]


def blurred(a: Any, height: int = 32) -> Any:
    """Rows within tiles of 32 columns, both in vectors of 8."""
    rows, f = hl.Func("rows"), hl.Func("f")
    rows[x, y] = a[x, y] + a[x + 1, y] * 3
    f[x, y] = rows[x, y] + rows[x, y + 1] * 5
    f.tile(x, y, xi, yi, 32, height).vectorize(xi, 8)
    rows.compute_at(f, x).vectorize(x, 8)
    return f


def test_whole_tiles_have_loops_of_constant_extents() -> None:
    f = blurred(hl.ImageParam(hl.Int(32), 2, "a"))
    text = loops(f)
    whole = next(place for place, line in enumerate(text) if line == "for f.s0.x in (0, f.s0.x.tiles):")
    rest = next(place for place, line in enumerate(text) if line.startswith("for f.s0.x in (f.s0.x.tiles, "))
    inside = text[whole:rest]
    assert "for rows.s0.x in (0, 4):" in inside
    assert "for f.s0.xi in (0, 4):" in inside
    assert not any(".tail" in line for line in inside)
    assert any("f.s0.xi.tail" in line for line in text[rest:])


def test_a_parallel_loop_asks_whether_its_tile_is_whole() -> None:
    a, f, r = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f"), hl.RDom([(0, 50)], "r")
    f[x] = 0
    f[x] += a[x, r.x]
    f.update(0).split(x, x, xi, 32).reorder(xi, r.x, x).vectorize(xi, 8).parallel(x)
    text = loops(f)
    asked = next(place for place, line in enumerate(text) if line.startswith("if f.s1.x < "))
    assert text[asked + 1 : asked + 3] == ["for f.s1.r.x in (0, 50):", "for f.s1.xi in (0, 4):"]
    assert text.count("for f.s1.xi in (0, 4):") == 1
    assert any("f.s1.xi.tail" in line for line in text[asked:])


def test_long_loops_in_tiles_and_tiles_of_clamped_coordinates_stay_together() -> None:
    a, f, g = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f"), hl.Func("g")
    f[x] = a[x] * 2
    f.split(x, x, xi, 1024).vectorize(xi, 8)
    assert not any(".tiles" in line for line in loops(f))
    inside = hl.BoundaryConditions.repeat_edge(a)
    g[x] = inside[x - 1] + inside[x + 1]
    g.split(x, x, xi, 32).vectorize(xi, 8)
    assert not any(".tiles" in line for line in loops(g))


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("height", [4, 32])
@pytest.mark.parametrize("width", [1, 7, 31, 32, 33, 40, 63, 64, 96, 101])
@pytest.mark.parametrize("low", [0, -5])
def test_every_size_has_the_values(width: int, height: int, low: int, parallel: bool) -> None:
    rows = 2 * height + 3 if height == 4 else 35
    data = np.random.default_rng(width).integers(-99, 99, (rows + 1, width + 1), np.int32)
    a = hl.Buffer(data.copy())
    a.set_min([low, low])
    f = blurred(a, height)
    if parallel:
        f.parallel(y)
    output = hl.Buffer(hl.Int(32), [width, rows])
    output.set_min([low, low])
    f.realize(output)
    across = data[:, :-1] + data[:, 1:] * 3
    assert np.array_equal(np.asarray(output), across[:-1] + across[1:] * 5)


def test_channels_of_a_few_vectors_in_tiles_of_a_few_columns_have_the_values() -> None:
    random = np.random.default_rng(3)
    for width, channels in ((1, 16), (6, 11), (9, 16), (8, 3)):
        data = random.integers(0, 9, (5, width, channels), np.int32)
        a, f, out, k = hl.Buffer(data.copy()), hl.Func("f"), hl.Func("out"), hl.RDom([(0, 4)], "k")
        f[c, x, y] = 0
        f[c, x, y] += a[c, x, y] * (k.x + x)
        out[c, x, y] = f[c, x, y] + 1
        out.split(x, x, xi, 4).reorder(c, xi, x, y).vectorize(c, 8).parallel(y)
        f.compute_at(out, x).vectorize(c, 8).unroll(x)
        f.update(0).reorder(c, x, k.x).vectorize(c, 8).unroll(c, 2).unroll(x)
        expected = data * (6 + 4 * np.arange(width, dtype=np.int32))[None, :, None] + 1
        assert np.array_equal(np.asarray(out.realize([channels, width, 5])), expected)


def strip(extent: Any) -> Stmt:
    """Vectors of 8 in a loop `xi`, each lane guarded."""
    at = add(times(var("x"), 32), times(var("xi"), 8), var("v"))
    kept = If(
        apply("<", at, var("n")), store("b", add(times(wide("x"), 32), wide("v")), load(I32, "a", wide("v"))), None
    )
    return For("xi", i32(0), extent, "serial", For("v", i32(0), i32(8), "vectorized", kept))


def test_a_guard_that_stands_in_another_loop_too_is_left() -> None:
    def apart(*strips: Stmt) -> bool:
        nest = For("x", i32(0), var("m"), "serial", block(*strips))
        return ".tiles" in show_nest(partition(nest, {}))

    assert apart(strip(i32(4)))
    assert apart(strip(i32(4)), strip(i32(3)))
    assert not apart(strip(i32(4)), strip(var("k")))
    assert not apart(strip(i32(32)))
