"""`require` of what is computed: it fails where a value that is computed is refused, whatever the schedule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, FactorError
from tests.compiler.pipelines import computed, expected, same

x, y = hl.vars("x y")
TABLE = np.arange(200, dtype=np.int32).reshape(10, 20)


def doubled(refused: int) -> Any:
    """Twice the element at each point; `refused` may be none of them."""
    table, f = hl.Buffer(TABLE, name="table"), hl.Func("f")
    f[x, y] = hl.require(table[x, y] != refused, table[x, y] * 2, "found {", table[x, y], "} at", x, y, x == y)
    return f


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "serial": lambda f: f,
    "vectorized, with a tail": lambda f: f.vectorize(x, 8),
    "parallel": lambda f: f.parallel(y),
    "both": lambda f: f.vectorize(x, 4).parallel(y),
    "unrolled": lambda f: f.unroll(x, 2),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("inside", [False, True])
def test_a_value_that_is_refused_fails_under_every_schedule(name: str, inside: bool) -> None:
    def made(refused: int) -> Any:
        f = doubled(refused)
        SCHEDULES[name](f)
        if not inside:
            return f
        g = hl.Func("g")
        g[x, y] = f[x, y] * 1
        f.compute_root()
        return g

    told = r"Requirement Failed: \(false\) found \{ 45 \} at 5 2 False \(it is required that table\S*\(x, y\) != 45\)"
    f = made(45)
    for _ in range(2):
        with pytest.raises(BufferError, match=told):
            f.realize([19, 5])
    # What nobody asks for is not computed, and refused by nobody.
    assert same(computed(f, [19, 2])[0], TABLE[:2, :19] * 2)
    assert same(computed(made(-1), [19, 5])[0], TABLE[:5, :19] * 2)


def test_the_interpreter_fails_too() -> None:
    with pytest.raises(BufferError, match=r"found \{ 45 \} at 5 2 False"):
        expected(doubled(45), [20, 5])
    assert same(expected(doubled(45), [20, 2])[0], TABLE[:2] * 2)


def test_what_is_accumulated_may_be_required_of_in_order() -> None:
    def total(api: Any, limit: int) -> Any:
        f, r = api.Func("f"), api.RDom([(0, 10)], "r")
        f[()] = 0
        f[()] = api.require(f[()] < limit, f[()] + r.x)
        return f

    assert int(np.array(total(hl, 40).realize([]))) == 45
    with pytest.raises(BufferError, match=r"f\S*\(\) < 36"):
        total(hl, 36).realize([])
    halide = pytest.importorskip("halide")
    assert int(np.array(total(halide, 40).realize([]))) == 45
    with pytest.raises(halide.HalideError):
        total(halide, 36).realize([])


def test_a_reduction_that_requires_on_the_way_is_not_factored() -> None:
    f, r, u = hl.Func("f"), hl.RDom([(0, 10)], "r"), hl.Var("u")
    f[()] = 0
    f[()] += hl.require(f[()] >= 0, r.x)
    with pytest.raises(FactorError, match="requires something on the way"):
        f.update(0).rfactor(r.x, u)


def test_a_compiled_file_says_what_was_refused(tmp_path: Path) -> None:
    name = str(tmp_path / "doubled")
    doubled(45).compile_to_file(name, [], "doubled")
    assert "it is required that table" in Path(f"{name}.h").read_text()


def test_an_update_that_is_refused_ran_once() -> None:
    """A failing call is made again only where nothing was done before it failed."""
    f, x = hl.Func("f"), hl.Var("x")
    a, r = hl.Buffer(np.array([1, 2, -3, 4], np.int32)), hl.RDom([(0, 4)])
    f[x] = hl.undef(hl.Int(32))
    f[r.x] = f[r.x] + hl.require(a[r.x] > 0, 1, "negative")
    out = np.zeros(4, np.int32)
    for times in (1, 2):
        with pytest.raises(hl.HalideError, match="negative"):
            f.realize(out)
        assert out[[0, 1]].tolist() == [times, times]
