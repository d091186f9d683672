"""Directives that mean nothing where a function is computed: refused as Halide refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import ScheduleError, TypeMismatch

x, y, xo, xi = map(hl.Var, ("x", "y", "xo", "xi"))
STRATEGIES = list(hl.PrefetchBoundStrategy.__members__.values())


def two() -> tuple[Any, Any]:
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = x + 10 * y
    f[x, y] = g[x, y] * 2
    return g, f


def values(f: Any) -> list[list[int]]:
    return np.array(f.realize([5, 3])).tolist()


PLAIN = [[2 * a + 20 * b for a in range(5)] for b in range(3)]
INLINED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "vectorize": (lambda g: g.vectorize(x, 4), r"Cannot vectorize dimension x\.v0 of function g because"),
    "parallel": (lambda g: g.parallel(y), "Cannot parallelize dimension y of function g because"),
    "unroll": (lambda g: g.unroll(y), "Cannot unroll dimension y of function g because"),
    "specialize": (
        lambda g: g.specialize(hl.Param(hl.Int(32), "p", 3) > 2),
        "Function g is scheduled inline, so it must",
    ),
    "specialize_fail": (lambda g: g.specialize_fail("no"), "Function g is scheduled inline, so it must"),
    "memoize": (lambda g: g.memoize(), "Cannot memoize function g because the function is scheduled inline"),
    "compute_with": (lambda g: g.compute_with(two()[0], y), r"Invalid compute_with: g\.s0 is scheduled inline"),
    "store_root": (
        lambda g: g.store_root(),
        r"scheduled store_root\(\), but is inlined.* call compute_root or compute_at",
    ),
    "store_at": (lambda g: g.store_at(two()[1], y), r"scheduled store_at\(\), but is inlined.* also call compute_at"),
    "hoist_storage_root": (lambda g: g.hoist_storage_root(), r"scheduled hoist_storage_root\(\), but is inlined"),
    "hoist_storage": (lambda g: g.hoist_storage(two()[1], y), r"scheduled hoist_storage\(\), but is inlined"),
}


@pytest.mark.parametrize("name", INLINED)
def test_what_is_inlined_has_no_loops_and_no_storage(name: str) -> None:
    directive, message = INLINED[name]
    g, f = two()
    directive(g)
    with pytest.raises(ScheduleError, match=message):
        f.realize([5, 3])
    g.compute_inline()  # what was stored is inlined again; what is said of its loops stays
    if "store" in message or "hoist" in message:
        assert values(f) == PLAIN


def test_an_order_of_loops_is_no_harm() -> None:
    g, f = two()
    g.reorder(y, x).serial(x).reorder_storage(y, x).parallel(y).serial(y)
    assert values(f) == PLAIN


def test_an_output_is_stored_by_the_caller_and_not_kept() -> None:
    _, f = two()
    assert values(f.store_root()) == PLAIN
    with pytest.raises(ScheduleError, match="Can't compile Pipeline with memoized output Func: f"):
        f.memoize().realize([5, 3])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_prefetch_is_of_the_loop_that_has_the_name_in_the_end(strategy: Any) -> None:
    im = hl.ImageParam(hl.Int(32), 2, "im")
    im.set(hl.Buffer(np.zeros((3, 5), np.int32)))
    ahead = hl.Param(hl.Int(32), "ahead", 2)
    for change in (
        lambda f: f.split(x, xo, xi, 4),
        lambda f: f.split(y, xo, xi, 2),
        lambda f: f.fuse(x, y, xo),
        lambda f: f.rename(y, xo),
    ):
        g, f = two()
        f[x, y] += im[x, y]
        g.compute_root()
        for stage in (f, f.update()):
            stage.prefetch(im, xo, xo, ahead, strategy).prefetch(g, y, y, 2, strategy)
            change(stage)
        assert values(f) == PLAIN


def test_what_is_fetched_is_there_in_a_loop_of_the_stage() -> None:
    g, f = two()
    g.compute_at(f, y)
    f.prefetch(g, x, y)
    assert values(f) == PLAIN
    f.prefetch(g, y, y)
    with pytest.raises(ScheduleError, match='Prefetch to buffer "g" which has not been allocated'):
        f.realize([5, 3])
    g.compute_root()
    assert values(f) == PLAIN
    f.prefetch(g, y, x)
    with pytest.raises(ScheduleError, match="Prefetch 'from' variable 'x' could not be found in an active loop"):
        f.realize([5, 3])
    f.prefetch(g, y, y)  # of one function in one loop, the last counts
    assert values(f) == PLAIN
    f.prefetch(hl.Func("h"), x, x)
    with pytest.raises(ScheduleError, match=r"prefetch\(h\): this pipeline has no h"):
        f.realize([5, 3])
    with pytest.raises(ScheduleError, match="x varies while the pipeline runs"):
        f.prefetch(g, x, x, x)
    with pytest.raises(TypeMismatch, match="takes a PrefetchBoundStrategy"):
        f.prefetch(g, x, x, 2, 1)
