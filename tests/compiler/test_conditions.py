"""What loops are specialized by may be of functions of one definition."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import conditions
from rfactor.errors import AlgorithmError, ScheduleError
from tests.compiler.test_lowering import printed

x = hl.Var("x")


def _by_functions(api: Any, at: int) -> list[Any]:
    im, n, x = api.ImageParam(api.Int(32), 1, "im"), api.Param(api.Int(32), "n", at), api.Var("x")
    f, g, h, pair = api.Func("f"), api.Func("g"), api.Func("h"), api.Func("pair")
    g[x] = im[x] + n
    pair[x] = (g[x + 1] * 2, g[x] - 1)
    h[x] = pair[x][1] + api.BoundaryConditions.repeat_edge(im)[x - 9]
    f[x] = x
    f.specialize(h[n] > 6).vectorize(x, 4)
    f.specialize(im[g[0] - im[0]] == 4).unroll(x, 4)
    f.specialize_fail("neither")
    im.set(api.Buffer(np.array([1, 3, 4, 0, 4], np.int32)))
    try:
        return list(np.asarray(f.realize([8])).tolist())
    except api.HalideError as error:
        return ["neither" in str(error)]


@pytest.mark.parametrize("at", [0, 1, 2, 3, 4])
def test_a_condition_may_be_of_functions_of_one_definition(at: int) -> None:
    halide = pytest.importorskip("halide")
    found = _by_functions(hl, at)
    assert found == _by_functions(halide, at)
    assert found == ([0, 1, 2, 3, 4, 5, 6, 7] if at in (2, 4) else [True])


def test_a_condition_of_a_function_is_of_the_values_that_it_has() -> None:
    """Wherever the function is computed: it gets no more updates, and no pipeline computes it for that."""
    p, f, g = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.Func("g")
    g[x] = x + p
    g.compute_root()
    f[x] = x
    f.specialize(g[2] > 3).vectorize(x, 4)
    text = printed(f, "vectorize")
    assert "if p + 2 > 3" in text or "if p > 1" in text
    assert "g" not in {part.name for part in freeze(f).algorithm.functions}
    with pytest.raises(AlgorithmError, match="g cannot be given a new update definition"):
        g[x] += 1
    told = hl.Func("told")
    told[x] = hl.print(x)
    with pytest.raises(ScheduleError, match="told is computed, which prints or checks"):
        f.specialize(told[0] > 3)


def test_each_part_of_a_condition_is_gone_through_once() -> None:
    """Levels of a pyramid that ends early: what is asked of each is asked of all that it is made of, in both arms."""
    w = hl.Param(hl.Int(32), "w")
    size, levels = w + 0, [hl.Func("level0")]
    levels[0][x] = hl.i32(x)
    for k in range(1, 9):
        size = (size + 1) // 2
        inside = hl.BoundaryConditions.repeat_edge(levels[-1], [(0, size)])
        levels.append(hl.Func(f"level{k}"))
        levels[-1][x] = hl.select(size > 2, inside[2 * x - 1] + inside[2 * x + 2], 0)
        levels[-1].compute_root()
    total = levels[-1]
    for k in reversed(range(8)):
        f = hl.Func(f"up{k}")
        f[x] = hl.select(size > k, levels[k][x] - total[x // 2 + 1], levels[k][x])
        total = f.compute_root()
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        code = frame.f_code
        calls += event == "call" and code.co_filename == conditions.__file__ and code.co_name in ("negated", "implied")

    sys.setprofile(count)
    try:
        printed(total, "bounds")
    finally:
        sys.setprofile(None)
    assert calls < 200
