"""Coordinates that clamps, remainders and casts do not change are known to be so, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rfactor as hl
from rfactor.compiler.schedule.ranges import unclamped
from rfactor.errors import ScheduleError
from rfactor.ir import expr as ir
from rfactor.ir.evaluate import evaluate
from rfactor.ir.types import I32

_TYPES = [hl.u8, hl.i8, hl.u16, hl.i16, hl.u32, hl.i64, hl.i32]


def _coordinates(depth: int) -> st.SearchStrategy[Any]:
    leaf = st.sampled_from([hl.Var("a"), hl.Var("b")]) | st.integers(-300, 300).map(hl.i32)
    if depth == 0:
        return leaf
    part = _coordinates(depth - 1)
    ends = st.integers(-300, 300)
    return st.one_of(
        leaf,
        st.builds(lambda v, low, size: hl.clamp(v, low, low + size), part, ends, st.integers(0, 600)),
        st.builds(lambda v, m: v % m, part, st.sampled_from([1, 2, 7, 100, 256, -3, 0])),
        st.builds(lambda v, m: v // m, part, st.sampled_from([1, 2, 7, -3, 0])),
        st.builds(lambda v, t: hl.i32(t(v)), part, st.sampled_from(_TYPES)),
        st.builds(lambda v, w, t: hl.i32(t(v) + t(w)), part, part, st.sampled_from(_TYPES)),
        st.builds(lambda v, w, t: hl.i32(t(v) * t(w)), part, part, st.sampled_from(_TYPES)),
        st.builds(lambda v, w: v - w, part, part),
        st.builds(hl.min, part, part),
        st.builds(hl.max, part, part),
        st.builds(lambda v, w: hl.select(v < w, v, w), part, part),
    )


@given(_coordinates(3), st.integers(-40, 280), st.integers(0, 300), st.integers(-3, 3), st.integers(0, 4))
def test_the_value_stays(coordinate: Any, a: int, size: int, b: int, other: int) -> None:
    node = coordinate.node
    found = unclamped(node, {"a": (a, a + size), "b": (b, b + other)})
    assert found.type == I32
    env = {"a": np.arange(a, a + size + 1, dtype=np.int32)[:, None], "b": np.arange(b, b + other + 1, dtype=np.int32)}
    assert np.array_equal(np.broadcast_arrays(evaluate(node, env), evaluate(found, env))[1], evaluate(node, env))


def test_a_cast_that_wraps_may_be_below_0() -> None:
    for kept, told in ((hl.u32, "max(min(i32(u32(a)), 1), 0)"), (hl.u16, "min(i32(u16(a)), 1)")):
        assert str(unclamped(hl.clamp(hl.i32(kept(hl.Var("a"))), 0, 1).node, {"a": (-1, -1)})) == told


_A = hl.Var("a")
_PLAIN = [
    (hl.clamp(_A, 0, 255), True),
    (hl.clamp(_A, 1, 255), False),
    (hl.clamp(_A, 0, 254), False),
    (_A % 256, True),
    (_A % 255, False),
    (hl.i32(hl.u8(_A)), True),
    (hl.i32(hl.i8(_A)), False),
    (hl.i32(hl.u8(_A) + 1), False),
    (hl.i32(hl.u16(_A) + 1) - 1, True),
    (hl.i32(hl.i64(_A) * 2**22), True),
    (hl.i32(hl.i64(_A) * 2**24), False),
    (hl.max(hl.min(_A, 300), -3) + 4, True),
]


@pytest.mark.parametrize(("coordinate", "plain"), _PLAIN)
def test_what_changes_nothing_goes(coordinate: Any, plain: bool) -> None:
    found = unclamped(coordinate.node, {"a": (0, 255)})
    nested = [n for n in ir.walk(found) if isinstance(n, ir.Op) and n.op in ("min", "max", "%", "cast")]
    assert (not nested) == plain


@pytest.mark.parametrize("directive", ["parallel", "vectorize"])
@pytest.mark.parametrize(
    ("point", "free"),
    [
        ("hl.clamp(r.y, 0, 255)", True),
        ("hl.clamp(r.y + 1, 0, 256)", True),
        ("hl.clamp(r.y, 0, 254)", False),
        ("hl.clamp(r.y, 1, 256)", False),
        ("r.y % 256", True),
        ("r.y % 128", False),
        ("255 - hl.clamp(r.y, -5, 300)", True),
        ("hl.clamp(r.x + r.y, 0, 300)", False),
        ("hl.clamp(r.x + 4 * r.y, 0, 3000)", False),
        ("hl.clamp(r.y // 2, 0, 3000)", False),
    ],
)
def test_iterations_run_at_once_where_the_clamp_does_nothing(directive: str, point: str, free: bool) -> None:
    answers = []
    for schedule in (False, True):
        h, r = hl.Func("h"), hl.RDom([(0, 4), (0, 256)])
        h[hl.Var("x")] = 0
        h[eval(point, {"hl": hl, "r": r})] += r.x * 3 + r.y
        if schedule:
            given = (r.y, 8) if directive == "vectorize" else (r.y,)
            if not free:
                with pytest.raises(
                    ScheduleError, match=rf"{directive}\({r.y}\): its iterations update the same points"
                ):
                    getattr(h.update(), directive)(*given)
                return
            if directive == "vectorize":
                h.update().reorder(r.y, r.x)
            getattr(h.update(), directive)(*given)
        answers.append(np.array(h.realize([300])))
    serial, scheduled = answers
    assert np.array_equal(serial, scheduled)


def test_a_domain_of_unknown_size_says_nothing() -> None:
    h, n = hl.Func("h"), hl.Param(hl.Int(32), "n", 256)
    r = hl.RDom([(0, 4), (0, n)], "r")
    h[hl.Var("x")] = 0
    h[hl.clamp(r.y, 0, 255)] += r.x
    with pytest.raises(ScheduleError, match="its iterations update the same points"):
        h.update().parallel(r.y)
