"""Division that rounds down: floors of floors are one floor, and what is equal in normal form is equal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, F64, I32
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.limits import Limits

NAMES = ("a", "b", "m", "n")
TYPES = dict.fromkeys(NAMES, I32)
QUICK = Limits(cases=200)


def proved(left: str, right: str, *assumed: str, meaning: Meaning = Meaning.MATH) -> bool:
    sides = [(parse_expr(text, TYPES, I32),) for text in (left, right)]
    known = tuple(parse_expr(text, TYPES, BOOL) for text in assumed)
    return prove_by_cases(sides[0], sides[1], meaning, known, QUICK) is not None


@pytest.mark.parametrize(
    ("left", "right", "assumed"),
    [
        ("a // 3 // 5", "a // 15", ()),
        ("(a // 3 + b) // 5", "(a + 3*b) // 15", ()),
        ("(a + 13) // 10", "1 + (a + 3) // 10", ()),
        ("a // -4", "-(a // 4)", ()),
        ("(-(a // 4)) // 5", "(3 - a) // 20", ()),
        ("(b - a // 4) // 2", "(4*b + 3 - a) // 8", ()),
        ("(a >> 3) // 2", "a >> 4", ()),
        ("(a // m + b) // n", "(a + b*m) // (m*n)", ("0 < m", "0 < n")),
        ("(a % 60 + b) // 60", "(a + b) // 60 - a // 60", ()),
        ("(a % 60) // 12", "a // 12 - 5*(a // 60)", ()),
    ],
)
def test_equal_ones(left: str, right: str, assumed: tuple[str, ...]) -> None:
    assert proved(f"0 - ({left})", f"0 - ({right})", *assumed)


@pytest.mark.parametrize(
    ("left", "right", "assumed"),
    [
        ("(a // m + b) // n", "(a + b*m) // (m*n)", ("0 < n",)),  # not for m below zero
        ("(a // m + b) // n", "(a + b*m) // (m*n)", ("0 < m",)),
        ("(2*(a // 3)) // 4", "(2*a) // 12", ()),
        ("-(a // 4)", "-a // 4", ()),
        ("(a + b) // 10", "a // 10 + b // 10", ()),
        ("(a % 50 + b) // 60", "(a + b) // 60 - a // 60", ()),
        ("(a % 60) // 7", "a // 7", ()),
    ],
)
def test_others(left: str, right: str, assumed: tuple[str, ...]) -> None:
    assert not proved(left, right, *assumed)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("floor(a + floor(b))", "floor(a) + floor(b)", True),
        ("floor(a - 3.0*ceil(b) + 2.5)", "2.0 - 3.0*ceil(b) + floor(a + 0.5)", True),
        ("ceil(a)", "-floor(-a)", True),
        ("floor(a - floor(a) + b)", "floor(a + b) - floor(a)", True),
        ("floor(f64(n) + a)", "f64(n) + floor(a)", True),
        ("floor(a + b)", "floor(a) + floor(b)", False),
        ("floor(a + 0.5*floor(b))", "floor(a) + 0.5*floor(b)", False),
        ("floor(2.0*a)", "2.0*floor(a)", False),
        ("ceil(a)", "floor(a) + 1.0", False),
        ("floor(a/floor(b))", "floor(a)/floor(b)", False),
    ],
)
def test_of_reals_what_is_an_integer_comes_out(left: str, right: str, equal: bool) -> None:
    one, other = (parse_expr(text, {"a": F64, "b": F64, "n": I32}, F64) for text in (left, right))
    assert (prove_by_cases((one,), (other,), Meaning.WRAP, (), QUICK) is not None) == equal


def test_where_sums_wrap_nothing_is_taken_out() -> None:
    assert not proved("(a + 13) // 10", "1 + (a + 3) // 10", meaning=Meaning.WRAP)


TREES = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(("//", "%")), st.sampled_from(("2", "3", "-4", "6", "m"))).map(
            lambda t: f"({' '.join(t)})"
        ),
        st.tuples(inner, st.sampled_from("+-"), st.sampled_from(("a", "b", "7", "12"))).map(
            lambda t: f"({' '.join(t)})"
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(TREES, TREES, st.lists(st.integers(-40, 40), min_size=4, max_size=4))
def test_a_yes_holds_everywhere(left: str, right: str, point: list[int]) -> None:
    env = dict(zip(NAMES, point, strict=True))
    split = (f"({left} + a) // 6", f"({left} + a) // 2 // 3")
    outside = (f"a + 12*({left})", f"(6*({left}) + a // 2)*2 + a % 2")
    rest = (f"({left} % 6 + {right}) // 3", f"({left} + {right}) // 3 - ({left}) // 6 * 2")
    for one, other in ((left, right), split, outside, rest):
        if point[2] > 0 and proved(one, other, "0 < m"):
            values = [evaluate_scalar(parse_expr(t, TYPES, I32), env, Meaning.MATH) for t in (one, other)]
            assert values[0] == values[1]
