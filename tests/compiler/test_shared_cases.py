"""Stages share loops in the runs that no case is of, where a case of one of them is factored."""

from __future__ import annotations

from typing import Any

import pytest

import rfactor as hl
from rfactor.compiler.pipeline import loop_nest
from rfactor.errors import ScheduleError
from tests.compiler.pipelines import agrees, expected

x, y, u = hl.Var("x"), hl.Var("y"), hl.Var("u")


class Two:
    """`o = f * 1000 + g`, of sums over rows."""

    def __init__(self) -> None:
        self.p = hl.Param(hl.Int(32), "p")
        self.f, self.g, self.o = hl.Func("f"), hl.Func("g"), hl.Func("o")
        self.r = hl.RDom([(0, 8)], "r")
        self.f[x] = x
        self.f[x] += self.r.x * x
        self.g[x] = 1
        self.g[x] += self.r.x * 2 + x * x
        self.o[x, y] = self.f[x + y] * 1000 + self.g[x + 1]

    def agrees(self) -> None:
        before = []
        for value in (1, 3, 5, 9):
            self.p.set(value)
            before.append((value, expected(self.o, [6, 5])))
        for value, found in before:
            self.p.set(value)
            agrees(self.o, found, [6, 5])


@pytest.mark.parametrize("place", ["root", "at"])
@pytest.mark.parametrize("cases", ["f", "g", "fg", "nested"])
@pytest.mark.parametrize("order", [1, -1])
def test_the_runs_that_no_case_is_of_share_loops(cases: str, order: int, place: str) -> None:
    two = Two()
    for func in (two.f, two.g):
        func.compute_root() if place == "root" else func.compute_at(two.o, y)
        if func.name()[0] in cases:
            func.update(0).specialize(two.p > 4).rfactor(two.r.x, u)
            func.update(0).specialize(two.p > 2)
    if cases == "nested":
        outer = two.f.update(0).specialize(two.p > 2)
        outer.specialize(two.p > 7).rfactor(two.r.x, u)
        outer.unroll(two.r.x, 2)
    one, other = (two.f, two.g)[::order]
    one.update(0).compute_with(other.update(0), x)
    assert loop_nest([two.o]).count("for fused.x") == 1
    two.agrees()


def test_of_a_case_the_whole_stage_is_meant() -> None:
    two = Two()
    two.f.compute_root()
    two.g.compute_root().update(0).compute_with(two.f.update(0).specialize(two.p > 4), x)
    assert loop_nest([two.o]).count("for fused.x") == 2
    two.agrees()


def test_where_there_are_no_other_runs_nothing_is_shared() -> None:
    two = Two()
    two.f.compute_root().update(0).specialize(two.p > 4).rfactor(two.r.x, u)
    two.f.update(0).specialize_fail("p is small")
    two.g.compute_root().update(0).compute_with(two.f.update(0), x)
    with pytest.raises(ScheduleError, match="specialize_fail says that there are no other runs, whose loops"):
        two.o.compile_jit()
    two = Two()
    two.f.compute_root().update(0).unscheduled()
    case: Any = two.g.compute_root().update(0).compute_with(two.f.update(0), x).specialize(two.p > 4)
    case.rfactor(two.r.x, u)
    with pytest.raises(ScheduleError, match=r"of a case of g\S* too, .* give compute_with after specialize"):
        two.o.compile_jit()
