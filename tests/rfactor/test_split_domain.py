"""Splits and fuses of reduction variables in the algorithm: their print, and that the points keep their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rfactor.compiler.schedule.directives import Fuse, Split, TailStrategy
from rfactor.compiler.split_domain import split_domain
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Definition, Image
from rfactor.ir.algorithm_printer import show_definition
from rfactor.ir.expr import Const, Expr
from rfactor.ir.types import BOOL, I32
from rfactor.semantics.interpreter import ImageValue, interpret
from tests.rfactor.programs import algorithm, expr, extent, function, i32, over, read, var

A = Image("a", I32, 1)


def line(update: Definition) -> str:
    return show_definition("f", update)


def summing(*loops: tuple[str, int | Expr], where: Expr | None = None) -> Definition:
    return Definition((), (expr("v", v=read(A, var("r"))),), over(*loops, where=where))


def test_a_split_guards_its_tail() -> None:
    found = split_domain(summing(("r", extent(A, 0))), (Split("r", "ro", "ri", 16),))
    assert line(found) == (
        "f() = a(ro * 16 + ri) for ro in [0, (a.extent.0 + 15) // 16) for ri in [0, 16) where ro * 16 + ri < a.extent.0"
    )


def test_a_split_that_divides_needs_no_guard() -> None:
    found = split_domain(summing(("r", 32)), (Split("r", "ro", "ri", 16),))
    assert line(found) == "f() = a(ro * 16 + ri) for ro in [0, 2) for ri in [0, 16)"


def test_guards_come_before_the_predicate_that_reads_data() -> None:
    found = split_domain(summing(("r", 30), where=expr("v > 0", v=read(A, var("r")))), (Split("r", "ro", "ri", 16),))
    assert line(found) == (
        "f() = a(ro * 16 + ri) for ro in [0, 2) for ri in [0, 16) where ro * 16 + ri < 30 and a(ro * 16 + ri) > 0"
    )


def test_splits_of_splits() -> None:
    found = split_domain(summing(("r", 30)), (Split("r", "ro", "ri", 8), Split("ri", "rm", "rn", 4)))
    assert line(found) == (
        "f() = a(ro * 8 + (rm * 4 + rn)) for ro in [0, 4) for rm in [0, 2) for rn in [0, 4) "
        "where ro * 8 + (rm * 4 + rn) < 30"
    )


def test_a_fuse_counts_pairs() -> None:
    update = Definition((), (expr("v + s", v=read(A, var("r")), s=var("s")),), over(("r", 3), ("s", extent(A, 0))))
    assert line(split_domain(update, (Fuse("r", "s", "t"),))) == (
        "f() = a(t % 3) + t // 3 for t in [0, max(a.extent.0, 0) * 3)"
    )


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (Split("r", "s", "ri", 4), "the name s is taken"),
        (Split("r", "ri", "ri", 4), "the name ri is taken"),
        (Split("r", "ro", "ri", 0), "the factor must be 1 or more"),
        (Split("r", "ro", "ri", 4, TailStrategy.ShiftInwards), "visits each point once; use GuardWithIf"),
        (Fuse("r", "t", "q"), "t must be the next loop outside r .* whose order is t, s, r"),
        (Fuse("r", "q", "p"), "q is no reduction variable of this update; it has t, s, r"),
    ],
)
def test_refusals(relation: Split | Fuse, said: str) -> None:
    with pytest.raises(ScheduleError, match=said):
        split_domain(summing(("r", 3), ("s", 3), ("t", 3)), (relation,))


def test_a_fuse_of_loops_that_were_reordered_has_the_order_of_the_schedule() -> None:
    update = Definition(
        (), (expr("r + s + t", r=var("r"), s=var("s"), t=var("t")),), over(("r", 3), ("s", 4), ("t", 5))
    )
    for order, nested in (
        (("s", "q"), "q in [0, 15) for s in [0, 4)"),
        (("q", "s"), "s in [0, 4) for q in [0, 15)"),
    ):
        made = split_domain(update, (Fuse("r", "t", "q"),), order)
        assert line(made) == f"f() = q % 3 + s + q // 3 for {nested}"


def test_relations_of_pure_variables_are_left_alone() -> None:
    update = summing(("r", 3))
    assert split_domain(update, (Split("x", "xo", "xi", 4), Fuse("xo", "y", "t"))) is update


@st.composite
def relations(draw: st.DrawFn) -> tuple[Split | Fuse, ...]:
    """Up to three relations over a domain r, s (r innermost)."""
    held = ["r", "s"]
    made: list[Split | Fuse] = []
    for step in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(held) - 1))
        if at + 1 < len(held) and draw(st.booleans()):
            made.append(Fuse(held[at], held[at + 1], f"t{step}"))
            held[at : at + 2] = [f"t{step}"]
        else:
            made.append(Split(held[at], f"o{step}", f"i{step}", draw(st.integers(1, 5))))
            held[at : at + 1] = [f"i{step}", f"o{step}"]
    return tuple(made)


@given(st.integers(-1, 6), st.integers(0, 4), st.integers(-2, 2), st.booleans(), relations())
def test_the_points_are_visited_in_the_same_order(
    r: int, s: int, low: int, odd: bool, made: tuple[Split | Fuse, ...]
) -> None:
    """A recurrence that is sensitive to order gives the same number."""
    where = expr("(r + s) % 2 == 1", r=var("r"), s=var("s")) if odd else Const(BOOL, True)
    domain = over(("r", r), ("s", s), where=where)
    domain = replace(domain, variables=tuple(replace(rv, min=i32(low)) for rv in domain.variables))
    f = function(
        "f", (), [i32(1)],
        lambda f: Definition((), (expr("a * 31 + r * 7 + s", a=f.at(()), r=var("r"), s=var("s")),), domain),
    )  # fmt: skip
    split = replace(f, updates=(split_domain(f.updates[0], made),))
    expected, found = (interpret(algorithm(g), {}, {}, {"f": ()})["f"][0] for g in (f, split))
    np.testing.assert_array_equal(found, expected)


def test_a_split_never_reads_past_the_end() -> None:
    f = function("f", (), [i32(0)], lambda f: Definition(
        (), (expr("a + v", a=f.at(()), v=read(A, var("r"))),),
        over(("r", extent(A, 0)), where=expr("v > 1", v=read(A, var("r")))),
    ))  # fmt: skip
    split = replace(f, updates=(split_domain(f.updates[0], (Split("r", "ro", "ri", 4),)),))
    a = ImageValue(np.array([1, 2, 3, 4, 5], np.int32))
    assert interpret(algorithm(split, images=[A]), {"a": a}, {}, {"f": ()})["f"][0].item() == 14
