"""Of elements that are alike a factored case of an argmin keeps the one that the serial loop keeps.

Halide 21 may keep another: it factors inner loops of one that tells where, after which another of two that are alike
comes first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl

WIDTH, HEIGHT = 9, 5
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
u, v = hl.Var("u"), hl.Var("v")
ro, ri = hl.RVar("ro"), hl.RVar("ri")


def outer(f: Any, case: Any, r: Any) -> None:
    case.rfactor(r.y, u)


def inner(f: Any, case: Any, r: Any) -> None:
    case.rfactor(r.x, u).update(0).vectorize(u, 4)


def chunks(f: Any, case: Any, r: Any) -> None:
    case.split(r.x, ro, ri, 4)
    case.rfactor([(ro, u), (r.y, v)])


def rest(f: Any, case: Any, r: Any) -> None:
    case.rfactor(r.y, u)
    f.update(0).rfactor(r.x, v)


def serial(better: Callable[[Any, Any], Any], new_first: bool, data: np.ndarray[Any, Any]) -> list[int]:
    """The definition, in plain Python."""
    best, x, y = 2, -1, -1
    for row in range(HEIGHT):
        for column in range(WIDTH):
            value = int(data[row, column])
            if (column * 3 + row) % 4 != 1 and (better(value, best) if new_first else better(best, value)):
                best, x, y = value, column, row
    return [best, x, y]


@pytest.mark.parametrize("schedule", [outer, inner, chunks, rest])
@pytest.mark.parametrize("new_first", [True, False])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_factored_case_keeps_the_element_of_the_serial_loop(
    relation: str, new_first: bool, schedule: Callable[[Any, Any, Any], None]
) -> None:
    better = RELATIONS[relation]
    a, p = hl.ImageParam(hl.UInt(8), 2, "a"), hl.Param(hl.Int(32), "p")
    r, f = hl.RDom([(0, WIDTH), (0, HEIGHT)], "r"), hl.Func("f")
    r.where((r.x * 3 + r.y) % 4 != 1)
    f[()] = (hl.u8(2), hl.i32(-1), hl.i32(-1))
    value, best = a[r.x, r.y], [f[()][part] for part in range(3)]
    taken = better(value, best[0]) if new_first else better(best[0], value)
    f[()] = tuple(hl.select(taken, new, old) for new, old in zip((value, r.x, r.y), best, strict=True))
    schedule(f, f.update(0).specialize(p > 3), r)
    for seed in range(6):
        data = np.random.default_rng(seed).integers(1, 4, (HEIGHT, WIDTH)).astype(np.uint8)
        a.set(data)
        for given in (0, 9):
            p.set(given)
            assert [int(part[()]) for part in f.realize()] == serial(better, new_first, data)
