"""Tail strategies that go together, and those that are refused after others, as in Halide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import ScheduleError

TAKEN = [
    ("", "split(x, xo, xi, 8, T.PredicateLoads).fuse(xi, y, t).split(t, u, w, 4)"),
    ("", "split(x, xo, xi, 8, T.PredicateStores).split(xo, u, w, 4)"),
    ("", "split(x, xo, xi, 8, T.PredicateStores).rename(xi, t).vectorize(t)"),
    ("", "split(x, xo, xi, 8).split(xi, u, w, 4, T.PredicateStores)"),
    ("u", "split(x, xo, xi, 8).split(xo, u, w, 4, T.PredicateLoads).split(u, t, z, 2)"),
    ("", "fuse(x, y, t).split(t, u, w, 4, T.PredicateLoads)"),
    ("", "split(x, xo, xi, 8).split(xi, u, w, 4, T.RoundUp)"),
    ("u", "split(x, xo, xi, 8).split(xo, t, z, 4).split(t, u, w, 2, T.RoundUp)"),
    ("u", "vectorize(x, 8).unroll(x, 2, T.RoundUp)"),
    ("u", "split(x, xo, x, 8, T.RoundUp).rename(xo, u)"),
    ("", "split(x, xo, xi, 8, T.ShiftInwardsAndBlend).parallel(y)"),
    ("", "parallel(x).split(x, xo, xi, 8, T.RoundUpAndBlend)"),
    ("", "split(x, xo, xi, 8).parallel(xo).split(xi, u, w, 4, T.RoundUpAndBlend).vectorize(u)"),
    ("", "allow_race_conditions().split(x, xo, xi, 8, T.RoundUpAndBlend).parallel(xo)"),
    ("", "split(x, xo, xi, 8, T.RoundUpAndBlend).split(y, yo, yi, 4).fuse(xi, yi, t).parallel(yo)"),
    ("", "split(x, x, xi, 8, T.RoundUpAndBlend).rename(x, u).rename(y, x).parallel(x)"),
]
_ONCE = "using PredicateLoads or PredicateStores"
_LOADS = "stemming from the inner Var of a prior split"
_ROUNDED = "could change the meaning of the algorithm"
_BLENDS = "are marked as parallel"
REFUSED = [
    *(
        ("", f"split(x, xo, xi, 8, T.{first}).split(xi, u, w, 4, T.{then})", _ONCE)
        for first in ("PredicateLoads", "PredicateStores")
        for then in ("Auto", "GuardWithIf", "Predicate", "PredicateStores", "RoundUp", "ShiftInwards")
    ),
    ("", "split(x, xo, x, 8, T.PredicateLoads).split(x, u, w, 4)", _ONCE),
    ("", "split(x, xo, xi, 8, T.PredicateLoads).rename(xi, t).split(t, u, w, 4)", _ONCE),
    ("u", "split(x, xo, xi, 8, T.PredicateStores).unroll(xi, 2)", _ONCE),
    ("", "split(x, xo, xi, 8).split(xi, u, w, 4, T.PredicateLoads)", _LOADS),
    ("u", "split(x, xo, xi, 8).fuse(xi, y, t).split(t, u, w, 4, T.PredicateLoads)", _LOADS),
    ("u", "split(x, xo, xi, 8).split(xi, u, w, 4, T.RoundUp)", _ROUNDED),
    ("u", "split(x, xo, xi, 8).rename(xi, t).split(t, u, w, 4, T.RoundUp)", _ROUNDED),
    ("u", "split(x, xo, xi, 8).split(xi, t, z, 4).split(t, u, w, 2, T.RoundUp)", _ROUNDED),
    ("u", "split(x, xo, xi, 8).specialize(f.output_buffer().width() > 3).split(xi, u, w, 2, T.RoundUp)", _ROUNDED),
    ("u", "tile(x, y, xo, yo, xi, yi, 8, 8, T.RoundUp).vectorize(xi, 4, T.RoundUp)", _ROUNDED),
    ("", "split(x, xo, xi, 8, T.ShiftInwardsAndBlend).parallel(xo)", _BLENDS),
    ("", "split(x, xo, xi, 8, T.RoundUpAndBlend).parallel(xi)", _BLENDS),
    ("", "parallel(x, 4, T.RoundUpAndBlend)", _BLENDS),
    ("u", "atomic().split(x, xo, xi, 8, T.RoundUpAndBlend).parallel(xo)", _BLENDS),
    ("", "split(x, xo, xi, 8).split(xi, u, w, 4, T.RoundUpAndBlend).parallel(xo)", _BLENDS),
    ("", "split(x, xo, xi, 8).parallel(xo).split(xi, u, w, 4, T.RoundUpAndBlend).parallel(y)", _BLENDS),
    ("", "split(x, xo, xi, 8, T.RoundUpAndBlend).fuse(xo, y, t).parallel(t)", _BLENDS),
    ("", "split(y, yo, yi, 4).fuse(x, yi, t).split(t, xo, xi, 8, T.RoundUpAndBlend).parallel(yo)", _BLENDS),
    ("", "split(x, xo, xi, 8, T.RoundUpAndBlend).specialize(f.output_buffer().width() > 3).parallel(xo)", _BLENDS),
]


def _values(api: Any, stage: str, schedule: str) -> Any:
    named = {name: api.Var(name) for name in ("x", "y", "z", "xo", "xi", "yo", "yi", "t", "u", "w")}
    x, y, f = named["x"], named["y"], api.Func("f")
    f[x, y] = x * 3 + y
    if stage:
        f[x, y] += x * x
    eval(f"stage.{schedule}", {**named, "f": f, "T": api.TailStrategy, "stage": f.update() if stage else f})
    return np.asarray(f.realize([64, 64])).tolist()


@pytest.mark.parametrize(("stage", "schedule"), TAKEN)
def test_tails_that_go_together_give_the_values(stage: str, schedule: str) -> None:
    halide = pytest.importorskip("halide")
    assert _values(hl, stage, schedule) == _values(halide, stage, schedule) == _values(hl, stage, "serial(x)")


@pytest.mark.parametrize(("stage", "schedule", "says"), REFUSED)
def test_tails_that_do_not_go_together_are_refused(stage: str, schedule: str, says: str) -> None:
    halide = pytest.importorskip("halide")
    with pytest.raises(ScheduleError, match=says):
        _values(hl, stage, schedule)
    with pytest.raises(halide.HalideError, match=says):
        _values(halide, stage, schedule)
