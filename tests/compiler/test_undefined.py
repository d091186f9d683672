"""What is calculated with an inlined function that is undefined in part is undefined there: arrays are left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import ScheduleError

x, u = hl.Var("x"), hl.Var("u")
INT = hl.Int(32)
DATA = np.arange(64, dtype=np.int32) * 37 % 101


def from_three() -> hl.Func:
    """x where x > 2."""
    f = hl.Func("f")
    f[x] = hl.select(x > 2, x, hl.undef(INT))
    return f


def large() -> hl.Func:
    """The data above 40."""
    f, data = hl.Func("f"), hl.Buffer(DATA)
    f[x] = hl.select(data[x] > 40, data[x], hl.undef(INT))
    return f


def pure(value: Callable[[hl.Func], Any]) -> hl.Func:
    f, g = from_three(), hl.Func("g")
    g[x] = value(f)
    return g


def through_another() -> hl.Func:
    f, h = from_three(), hl.Func("h")
    h[x] = f[x + 1] * 2
    return pure(lambda _: h[x] + f[x])


def of_everything() -> hl.Func:
    f = hl.Func("f")
    f[x] = hl.undef(INT)
    return pure(lambda _: hl.select(x > 2, x, f[x]))


def updated(start: Any, value: Callable[[hl.Func, hl.Func], Any], at: Any = x, where: Any = None) -> hl.Func:
    f, g = from_three(), hl.Func("g")
    g[x] = start
    g[at(f) if callable(at) else at] = value(f, g)
    return g


def where_a_predicate_is() -> hl.Func:
    f, g, r = from_three(), hl.Func("g"), hl.RDom([(0, 6)])
    r.where(f[r.x] > 3)
    g[x] = 0
    g[r.x] = 5
    return g


def where_an_index_is() -> hl.Func:
    f, g, r = from_three(), hl.Func("g"), hl.RDom([(0, 6)])
    g[x] = 0
    g[hl.clamp(f[r.x] - 2, 0, 5)] += r.x
    return g


def at_an_undefined_index(
    index: Callable[[Any], Any], value: Callable[[hl.Func, Any], Any], extent: int = 6
) -> Callable[[], hl.Func]:
    def program() -> hl.Func:
        g, r = hl.Func("g"), hl.RDom([(0, extent)])
        g[x] = x
        at = index(r.x)
        g[at] = value(g, at)
        return g

    return program


def of_several_at_an_undefined_index() -> hl.Func:
    g, r, nothing = hl.Func("g"), hl.RDom([(0, 6)]), hl.undef(INT)
    r.where(r.x > 1)
    g[x] = 0
    g[hl.scatter([hl.select(r.x < 4, r.x, nothing), 5])] = hl.gather([r.x, g[5] + 1])
    return g


def along_a_row_at_an_undefined_index() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, u] = 0
    f[x, hl.select(x > 3, 0, hl.undef(INT))] = 8
    g[x] = f[x, 0]
    f.compute_root()
    return g


def summed() -> hl.Func:
    f, g, r = from_three(), hl.Func("g"), hl.RDom([(0, 3)])
    g[x] = hl.sum(f[x + r.x])
    return g


def scattered() -> hl.Func:
    f, g = from_three(), hl.Func("g")
    g[x] = 0
    g[hl.scatter([4, 5])] = f[hl.gather([2 + 3, 4])]
    return g


KEPT = None
PROGRAMS: dict[str, tuple[Callable[[], hl.Func], list[list[int | None]]]] = {
    "an operand": (lambda: pure(lambda f: f[x] + 1), [[KEPT, KEPT, KEPT, 4, 5, 6]]),
    "an arm": (lambda: pure(lambda f: hl.select(x % 2 == 0, f[x], 100)), [[KEPT, 100, KEPT, 100, 4, 100]]),
    "a condition": (lambda: pure(lambda f: hl.select(f[x] > 3, 1, 2)), [[KEPT, KEPT, KEPT, 2, 1, 1]]),
    "condition and arm": (lambda: pure(lambda f: hl.select(f[x] > 3, f[x], 9)), [[KEPT, KEPT, KEPT, 9, 4, 5]]),
    "two calls": (lambda: pure(lambda f: hl.max(f[x], f[x + 1])), [[KEPT, KEPT, KEPT, 4, 5, 6]]),
    "through another": (through_another, [[KEPT, KEPT, KEPT, 11, 14, 17]]),
    "undefined everywhere": (of_everything, [[KEPT, KEPT, KEPT, 3, 4, 5]]),
    "a tuple": (
        lambda: pure(lambda f: (f[x], f[x] + 1)),
        [[KEPT, KEPT, KEPT, 3, 4, 5], [KEPT, KEPT, KEPT, 4, 5, 6]],
    ),
    "an update": (lambda: updated(8, lambda f, g: f[x] + g[x]), [[8, 8, 8, 11, 12, 13]]),
    "a component left as it is": (
        lambda: updated((x, x), lambda f, g: (f[x] + 1, hl.undef(INT))),
        [[0, 1, 2, 4, 5, 6], [0, 1, 2, 3, 4, 5]],
    ),
    "a predicate": (where_a_predicate_is, [[0, 0, 0, 0, 5, 5]]),
    "an index": (where_an_index_is, [[0, 3, 4, 5, 0, 0]]),
    "an index that is so itself": (
        at_an_undefined_index(lambda r: hl.select(r % 2 == 0, r, hl.undef(INT)) + 1, lambda g, at: g[at] + 10, 5),
        [[0, 11, 2, 13, 4, 15]],
    ),
    "an index that would be outside": (
        at_an_undefined_index(lambda r: hl.select(r < 3, r + 2, hl.undef(INT)), lambda g, at: 7, 1000),
        [[0, 1, 7, 7, 7, 5]],
    ),
    "an index everywhere": (at_an_undefined_index(lambda r: hl.undef(INT), lambda g, at: 9), [[0, 1, 2, 3, 4, 5]]),
    "an index among several": (of_several_at_an_undefined_index, [[0, 0, 2, 3, 0, 2]]),
    "an index beside a variable": (along_a_row_at_an_undefined_index, [[0, 0, 0, 0, 8, 8]]),
    "a sum": (summed, [[0, 3, 7, 12, 15, 18]]),
    "several points": (scattered, [[0, 0, 0, 0, 5, 4]]),
}


@pytest.mark.parametrize(
    ("name", "wide"), [*((n, False) for n in PROGRAMS), *((n, True) for n in ("an operand", "a tuple", "two calls"))]
)
def test_what_is_calculated_with_an_inlined_function_is_undefined_where_it_is(name: str, wide: bool) -> None:
    program, meant = PROGRAMS[name]
    g = program()
    if wide:
        g.vectorize(x, 4)
    arrays = [np.full(6, 7, np.int32) for _ in meant]
    g.realize([hl.Buffer(array) for array in arrays] if len(arrays) > 1 else hl.Buffer(arrays[0]))
    assert [a.tolist() for a in arrays] == [[7 if v is None else v for v in values] for values in meant]


def test_nothing_is_read_where_a_predicate_is_undefined() -> None:
    small, g, r = hl.Buffer(np.arange(4, dtype=np.int32)), hl.Func("g"), hl.RDom([(0, 10)])
    f = hl.Func("f")
    f[x] = hl.select(small[x] > 1, small[x], hl.undef(INT))
    r.where((r.x < 4) & (f[hl.unsafe_promise_clamped(r.x, 0, 3)] < 3))
    g[x] = 0
    g[r.x] = 5
    assert list(g.realize([5])) == [0, 0, 5, 0, 0]


def reduced(update: Callable[[Any, Any], Any], start: int, factor: bool) -> hl.Func:
    f, g, r = large(), hl.Func("g"), hl.RDom([(0, 64)])
    g[x] = start
    g[x] = update(g[x], f[r.x])
    if factor:
        ro, ri = hl.RVar("ro"), hl.RVar("ri")
        g.update().split(r.x, ro, ri, 8)
        g.update().rfactor(ro, u).compute_root().update().parallel(u)
    return g


@pytest.mark.parametrize(
    ("update", "start", "meant"),
    [
        (lambda s, a: s + a, 0, int(DATA[DATA > 40].sum())),
        (hl.min, 1000, int(DATA[DATA > 40].min())),
        (lambda s, a: hl.select(a > 50, s + 1, s), 0, int((DATA > 50).sum())),
    ],
)
def test_a_reduction_passes_over_what_is_undefined_whether_it_is_factored_or_not(
    update: Callable[[Any, Any], Any], start: int, meant: int
) -> None:
    for factor in (False, True):
        assert list(reduced(update, start, factor).realize([1])) == [meant]


def test_what_would_start_undefined_is_refused() -> None:
    for affine, refused in ((False, "has updates, and would start undefined in part"), (True, "Conditionally-undef")):
        if affine:
            g = reduced(lambda s, a: s * 3 + a, 0, factor=True)  # of coefficients, one is there for every element
        else:
            f, g, r = large(), hl.Func("g"), hl.RDom([(1, 63)])
            g[x] = 0
            g[r.x] = g[r.x - 1] + f[r.x]
            g.update().parallel_scan(r.x)
        with pytest.raises(hl.HalideError, match=refused):
            g.realize([64] if not affine else [1])
    f, g = from_three(), hl.Func("g")
    g[x] = (f[x], x)
    with pytest.raises(hl.HalideError, match="of what is inlined into it: compute_root"):
        g.realize([4])
    f.compute_root()
    assert [list(one) for one in g.realize([5])] == [[0, 0, 0, 3, 4], [0, 1, 2, 3, 4]]


def test_what_is_undefined_after_inlining_is_verified_where_it_is_defined() -> None:
    assert pure(lambda f: f[x] + 1).verify().verdict == "proven"
    assert where_an_index_is().verify().verdict == "proven"


def test_a_slice_without_a_defined_element_is_merged_by_no_operator_without_a_right_identity() -> None:
    f, g, r = large(), hl.Func("g"), hl.RDom([(0, 64)])
    g[x] = -1
    g[x] = f[r.x]
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    g.update().split(r.x, ro, ri, 8)
    with pytest.raises(ScheduleError, match=r"undefined in part: a slice may have no defined element"):
        g.update().rfactor(ro, u)


def test_an_update_that_is_undefined_everywhere_does_nothing() -> None:
    r, data = hl.RDom([(0, 3)], "r"), hl.Buffer(DATA)
    for value in (hl.undef(INT) + r.x, hl.select(data[hl.clamp(r.x, hl.undef(INT), 6)] != 0, 3, 4)):
        f = hl.Func()
        f[()] = 7
        f[()] = f[()] | value
        assert np.asarray(f.realize()) == 7
