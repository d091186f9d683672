"""What the iteration before has stored is kept beside the array, and has the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from tests.compiler.test_lowering import printed

x, y = hl.Var("x"), hl.Var("y")
SOURCE = np.random.default_rng(3).random((23, 41)).astype(np.float32)
grains = hl.Buffer(SOURCE, "grains")


def along() -> Any:
    """A recursive filter along rows."""
    f, r = hl.Func("f"), hl.RDom([(1, 40)], "r")
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x - 1, y] * 0.5 + grains[r.x, y]
    return f


def down() -> Any:
    """Running sums of columns, in vectors."""
    f, r = hl.Func("f"), hl.RDom([(1, 22)], "r")
    f[x, y] = grains[x, y]
    f[x, r.x] += f[x, r.x - 1]
    f.update(0).vectorize(x, 8)
    return f


def backwards() -> Any:
    """A recursive filter from the other end."""
    f, r = hl.Func("f"), hl.RDom([(1, 40)], "r")
    f[x, y] = grains[x, y]
    f[40 - r.x, y] = f[41 - r.x, y] * 0.25 + f[40 - r.x, y]
    return f


def twice() -> Any:
    """What the iteration before has stored, and what the one before that has."""
    f, r = hl.Func("f"), hl.RDom([(2, 39)], "r")
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x - 1, y] - f[r.x - 2, y] * f[r.x - 1, y]
    return f


def sized() -> Any:
    """As many steps as a parameter says."""
    f, r = hl.Func("f"), hl.RDom([(1, hl.Param(hl.Int(32), "steps", 9))], "r")
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x - 1, y] * 0.5 + grains[r.x, y]
    return f


def ahead() -> Any:
    """What a later iteration is to store."""
    f, r = hl.Func("f"), hl.RDom([(0, 40)], "r")
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x + 1, y] * 0.5 + grains[r.x, y]
    return f


def rare() -> Any:
    """Iterations that data choose."""
    f, r = hl.Func("f"), hl.RDom([(1, 40)], "r")
    r.where(grains[r.x, 0] > 0.5)
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x - 1, y] * 0.5 + grains[r.x, y]
    return f


def two_apart() -> Any:
    """What the iteration before the one before has stored."""
    f, r = hl.Func("f"), hl.RDom([(2, 39)], "r")
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x - 2, y] * 0.5 + grains[r.x, y]
    return f


def serial(name: str) -> np.ndarray:
    """The values that the definition says."""
    f, half, quarter = SOURCE.copy(), np.float32(0.5), np.float32(0.25)
    for at in range(1, 41):
        if name == "along" or (name == "sized" and at < 10):
            f[:, at] = f[:, at - 1] * half + SOURCE[:, at]
        elif name == "down" and at < 23:
            f[at] += f[at - 1]
        elif name == "backwards":
            f[:, 40 - at] = f[:, 41 - at] * quarter + f[:, 40 - at]
        elif name == "twice" and at > 1:
            f[:, at] = f[:, at - 1] - f[:, at - 2] * f[:, at - 1]
        elif name == "ahead":
            f[:, at - 1] = f[:, at] * half + SOURCE[:, at - 1]
        elif name == "rare" and SOURCE[0, at] > half:
            f[:, at] = f[:, at - 1] * half + SOURCE[:, at]
        elif name == "two_apart" and at > 1:
            f[:, at] = f[:, at - 2] * half + SOURCE[:, at]
    return f


@pytest.mark.parametrize("make", [along, down, backwards, twice, sized])
def test_what_was_stored_is_kept(make: Callable[[], Any]) -> None:
    f = make()
    assert ".previous[" in printed(f, "final")
    assert np.asarray(f.realize([41, 23])).tobytes() == serial(make.__name__).tobytes()


@pytest.mark.parametrize("make", [ahead, rare, two_apart])
def test_what_the_iteration_before_did_not_store_is_read(make: Callable[[], Any]) -> None:
    f = make()
    assert ".previous[" not in printed(f, "final")
    assert np.asarray(f.realize([41, 23])).tobytes() == serial(make.__name__).tobytes()


def test_one_load_stands_before_the_loop() -> None:
    lines = [line.strip() for line in printed(along(), "final").splitlines() if ".s1" in line]
    first, loop, kept, stored = lines[-4:]
    assert first.startswith("f.s1.r.x.previous[0] = f.0[")
    assert loop == "for f.s1.r.x in (1, 40):"
    assert kept.startswith("f.s1.r.x.previous[0] = f.s1.r.x.previous[0] * 0.5 + grains[")
    assert stored.endswith(" = f.s1.r.x.previous[0]")


@pytest.mark.parametrize("steps", [-3, 0, 1, 40])
def test_nothing_is_read_for_no_steps(steps: int) -> None:
    count = hl.Param(hl.Int(32), "count", steps)
    f, r, out = hl.Func("f"), hl.RDom([(1, count)], "r"), SOURCE.copy()
    f[x, y] = grains[x, y]
    f[r.x, y] = f[r.x - 1, y] * 0.5 + grains[r.x, y]
    for at in range(1, steps + 1):
        out[:, at] = out[:, at - 1] * np.float32(0.5) + SOURCE[:, at]
    assert np.asarray(f.realize([41, 23])).tobytes() == out.tobytes()
