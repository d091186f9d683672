"""Guards that stand in several loops of one name, each with a range of its own, as stages that share a loop make them;
and guards whose worst case is known inside of the loop alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from tests.compiler.pipelines import agrees, expected

x, y = hl.Var("x"), hl.Var("y")


def shared(condition: Any, read: Any, height: int, **given: Any) -> tuple[Any, Any]:
    """`h`, whose update is under a condition, computed for `a` and for `b` in the loop that they share."""
    a, b, h, out = (hl.Func(name) for name in ("a", "b", "h", "out"))
    q = hl.RDom([(0, 3)], "q")
    q.where(condition)
    h[x, y] = 1
    h[x, y] = h[x, y] * 2 + q.x
    a[x, y] = h[x, y] + 1
    b[x, y] = h[read, y] * 3
    out[x, y] = a[x, y] + b[x, y]
    for each in (a, b, out):
        each.bound(x, 0, 8).bound(y, 0, height)
    before = expected(out, [8, height])
    a.compute_root()
    b.compute_root()
    h.compute_at(a, y)
    h.update(0).reorder(x, q.x)
    if given.get("stored"):
        h.store_root()
    getattr(h.update(0), given.get("how", "vectorize"))(x)
    b.compute_with(a, y)
    return out, before


@pytest.mark.parametrize("how", ["vectorize", "unroll", "serial"])
@pytest.mark.parametrize("read", [x + y, x + y * 2, x + 14], ids=str)
def test_a_guard_is_left_where_one_of_its_loops_has_no_worst_case(read: Any, how: str) -> None:
    p = hl.Param(hl.Int(32), "same_names_p", 40)
    out, before = shared(y + x < p, read, 30, how=how)
    agrees(out, before, [8, 30])


def test_what_data_say_of_one_loop_is_not_said_of_another() -> None:
    """The sum with data stays in i32 for the first of the two, and wraps in the second."""
    image = hl.ImageParam(hl.Int(32), 1, "same_names_i")
    image.set(hl.Buffer(np.array([2**31 - 1 - 9, -(2**31) + 30], np.int32)))
    out, before = shared(image[0] + y + x < image[1], x + 14, 3, stored=True)
    agrees(out, before, [8, 3])


@pytest.mark.parametrize("how", ["vectorize", "unroll"])
def test_a_worst_case_that_is_known_in_the_loop_alone_tells_nothing_before_it(how: str) -> None:
    p = hl.Param(hl.Int(32), "same_names_r", 40)
    a, h, q = hl.Func("a"), hl.Func("h"), hl.RDom([(0, 3)], "q")
    q.where(y + x < p)
    h[x, y] = 1
    h[x, y] = h[x, y] * 2 + q.x
    a[x, y] = h[x + y * 2, y] + 1
    a.bound(x, 0, 8).bound(y, 0, 30)
    before = expected(a, [8, 30])
    h.compute_at(a, y)
    getattr(h.update(0).reorder(x, q.x), how)(x)
    agrees(a, before, [8, 30])
