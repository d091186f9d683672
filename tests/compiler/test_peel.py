"""The first iteration of a loop that slides windows runs by itself, where all loops inside are short after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen import statements
from rfactor.compiler.language.freeze import frozen
from rfactor.compiler.lower import passes
from rfactor.ir.loopnest import For
from rfactor.ir.statements import walk_nest

x, y, xo, xi = hl.Var("x"), hl.Var("y"), hl.Var("xo"), hl.Var("xi")
DATA = np.random.default_rng(7).integers(-1000, 1000, (70, 90)).astype(np.int32)


def loops(f: Any, name: str) -> list[list[str]]:
    """The loops inside of each loop over `name`, once they are peeled."""
    frozen_ = frozen([f])
    nest = dict(passes(frozen_.algorithm, frozen_.schedule))["tidy"]
    found = [part for part in walk_nest(nest) if isinstance(part, For) and part.name == name]
    return [[part.name for part in walk_nest(one.body) if isinstance(part, For)] for one in found]


def chain(stages: int, scheduled: bool = True) -> Any:
    """Sums of neighbours of sums of neighbours, each stage computed as its window moves."""
    image, made = hl.Buffer(DATA.reshape(-1)), [hl.Func("s0")]
    made[0][x] = image[x]
    for k in range(1, stages + 1):
        made.append(hl.Func(f"s{k}"))
        made[k][x] = made[k - 1][x] * k + made[k - 1][x + 1]
    for one in made[:-1] if scheduled else ():
        one.store_root().compute_at(made[-1], x)
    return made[-1]


def across(scheduled: bool) -> Any:
    """Windows along the inner dimension of rows, of a stage with an update over a domain."""
    image, r = hl.Buffer(DATA), hl.RDom([(0, 3)], "r")
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x, y] = (image[x, y], x)
    f[x, y] = (f[x, y][0] * 2 + y, f[x, y][1] + 1)
    g[x, y] = 0
    g[x, y] += f[x + r, y][0] - f[x, y + r][1]
    h[x, y] = g[x, y] + g[x + 4, y] * 3
    if scheduled:
        f.store_at(h, y).compute_at(h, x)
        g.store_at(h, y).compute_at(h, x)
    return h


def down(scheduled: bool) -> Any:
    """A window that moves down, in steps of two, in tiles whose last one is cut."""
    image, f, g = hl.Buffer(DATA), hl.Func("f"), hl.Func("g")
    f[x, y] = image[x, y] * x
    g[x, y] = f[80 - 2 * x, y] + f[82 - 2 * x, y] + f[84 - 2 * x, y]
    if scheduled:
        g.split(x, xo, xi, 8, hl.TailStrategy.GuardWithIf)
        f.store_at(g, xo).compute_at(g, xi)
    return g


@pytest.mark.parametrize("stages", [1, 2, 6])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_chains_have_the_values_of_the_plain_program(stages: int, size: int) -> None:
    assert np.array_equal(chain(stages).realize([size]), chain(stages, False).realize([size]))


@pytest.mark.parametrize("program", [across, down])
@pytest.mark.parametrize("size", [[1, 1], [2, 5], [37, 21]])
def test_windows_have_the_values_of_the_plain_program(program: Any, size: list[int]) -> None:
    assert np.array_equal(program(True).realize(size), program(False).realize(size))


def test_after_the_first_iteration_there_are_no_loops_inside() -> None:
    first, rest = loops(chain(3), "s3.s0.x")
    assert first == ["s0.s0.x", "s1.s0.x", "s2.s0.x"]
    assert rest == []
    first, rest = loops(across(True), "h.s0.x")
    assert first == ["f.s0.y", "f.s0.x", "f.s1.y", "f.s1.x", "g.s0.x", "g.s1.x", "g.s1.r.x"]
    assert rest == ["f.s0.y", "f.s1.y", "g.s1.r.x"]


def test_rows_that_slide_keep_one_range() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * y
    g[x, y] = f[x, y] + f[x, y + 1]
    f.store_root().compute_at(g, y)
    assert loops(g, "g.s0.y") == [["f.s0.y", "f.s0.x", "g.s0.x"]]


def test_llvm_leaves_the_loops_of_the_first_iteration_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """They run once: it made vectors of each, and took as long for them as for all else."""
    left: list[Any] = []
    monkeypatch.setattr(statements, "leave_alone", left.append)
    chain(4).realize([77])
    assert len(left) == 5  # that itself, and those of four stages inside
