"""Which starts may tell data apart: none that an operator needs is left out, and those that cannot are seen."""

from __future__ import annotations

import pytest

from rfactor.ir.expr import Const, Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import parse_type
from rfactor.matcher.check import check
from rfactor.matcher.refusal.separation import Separation, promising
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY


def starts(type_: str, *values: int | float) -> list[tuple[Expr, ...]]:
    return [(Const(parse_type(type_), value),) for value in values]


@pytest.mark.parametrize(
    ("text", "type_", "good", "bad"),
    [
        ("x + a", "i32", (0, 7, -1), ()),
        ("x * a", "i32", (1, -1), (0,)),
        ("min(x, a)", "i32", (2**31 - 1,), (0, -(2**31))),
        ("min(x, a)", "f32", (float("inf"),), (0.0, float("-inf"))),
        ("x & a", "u8", (255,), (0,)),
        ("x | a", "u8", (0,), (255,)),
        ("x*2 + a", "f64", (), (0.0,)),
        # What runs of one and of two data do not show, one of three does: 0 then 1 then 1 leads where 1 led before.
        ("select(a > 0, x + 1, 0)", "i32", (), (0, 1, -1, -2)),
    ],
)
def test_starts_that_cannot_tell_data_apart_are_seen(
    text: str, type_: str, good: tuple[float, ...], bad: tuple[float, ...]
) -> None:
    separation = Separation(parse_update(text, parse_type(type_)))
    assert separation.of(starts(type_, *good)) == [True] * len(good)
    assert separation.of(starts(type_, *bad)) == [False] * len(bad)
    assert separation.of(starts(type_, *bad, *good)) == [False] * len(bad) + [True] * len(good)


def test_many_starts_are_judged_as_few_are() -> None:
    update = parse_update("min(x0, a), x1 + b")
    i32 = parse_type("i32")
    every = [(Const(i32, v), Const(i32, w)) for v in (2**31 - 1, 0, 1, -1) for w in range(8)]
    assert list(promising(update, every)) == [e for e in every if e[0] == Const(i32, 2**31 - 1)]


def test_infinite_starts_among_unbounded_integers_are_judged() -> None:
    update = parse_update("min(x, a)", meaning=Meaning.MATH)
    assert Separation(update).of([(INFINITY,), (MINUS_INFINITY,), (Const(parse_type("i32"), 0),)]) == [
        True,
        False,
        False,
    ]


def test_infinite_starts_are_kept_where_the_step_takes_none() -> None:
    update = parse_update("min(x ^ b, a)", meaning=Meaning.MATH)
    assert Separation(update).of([(INFINITY,), (MINUS_INFINITY,)]) == [True, True]


def test_rounding_tells_no_data_apart() -> None:
    # From 0 the data a and b add up to the same, and from every x up to rounding.
    update = parse_update("x + (a + b)/3.0", parse_type("f64"))
    assert Separation(update).of(starts("f64", 0.0)) == [True]


@pytest.mark.parametrize("type_", ["u8", "i8"])
def test_small_states_need_not_all_tables(type_: str) -> None:
    # Most data are one table here: those that differ come late.
    assert check("select(a > 3, (x ^ a) + 1, x)", type=type_).verdict == "not_associative"
    assert check("select(a > 3, x ^ a, x)", type=type_).verdict == "associative"
