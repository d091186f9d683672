"""`fma(a, b, c)` is `a*b + c` over the reals, for every claim; what its rounding decides is not claimed."""

from __future__ import annotations

import pytest

import rfactor as hl
from rfactor.ir.printer import show
from rfactor.matcher.obligations import obligations_of
from rfactor.prover.limits import Limits

FLOATS = dict.fromkeys("abcd", "f32")


@pytest.mark.parametrize(("text", "plain"), [
    ("fma(a, b, x)", "a*b + x"),
    ("fma(k, x, b)", "k*x + b"),
    ("fma(x, b, 0.0)", "x*b"),
    ("fma(a, a, fma(b, b, x))", "a*a + (b*b + x)"),
    ("max(x, fma(a, b, c))", "max(x, a*b + c)"),
    ("fma(x, x, c)", "x*x + c"),
    ("fma(a, -x, x*a)", "a*-x + x*a"),
    ("fma(a, b, x0), x1 + x0", "a*b + x0, x1 + x0"),
])  # fmt: skip
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_updates_are_answered_as_products_and_sums(text: str, plain: str, type_: str) -> None:
    answer, other = hl.check(text, type=type_, const=("k",)), hl.check(plain, type=type_, const=("k",))
    assert answer.verdict == other.verdict
    assert (answer.operator, answer.identity, answer.lift) == (other.operator, other.identity, other.lift)
    assert ", ".join(map(show, answer.update.components)).startswith(text[:4]), "it is told as it was written"


def test_a_yes_is_proved_of_the_update_as_it_is_written() -> None:
    answer = hl.check("fma(a, b, x)", type="f32")
    assert answer.verdict == "associative"
    assert obligations_of(answer, Limits(seconds=10))


@pytest.mark.parametrize(("text", "types"), [
    # Alike over the reals, and so one choice there.
    ("select(fma(a, b, c) > d, x + 1, select(a*b + c > d, x*x, x + 1))", FLOATS),
    ("select(fma(a, b, c) == a*b + c, x + 1, x*x)", FLOATS),
])  # fmt: skip
def test_what_one_rounding_decides_is_not_what_two_decide(text: str, types: dict[str, str]) -> None:
    answer = hl.check(text, type="i32", types=types)
    assert answer.verdict not in ("associative", "lifted")


def test_an_integer_that_depends_on_the_rounding_is_told() -> None:
    types = {"x1": "i32", "i": "i32"}
    answer = hl.check(
        "fma(a, b, x0), select(fma(a, b, x0) > x2, i, x1), max(x2, fma(a, b, x0))", type="f32", types=types
    )
    assert answer.rounded is not None
    assert answer.rounded[0] == 1


def test_a_greatest_value_and_where_it_is_are_the_same_in_any_order() -> None:
    """Whatever function of the data the value is."""
    text = "max(x0, fma(a, b, c)), select(fma(a, b, c) > x0, i, x1)"
    answer = hl.check(text, type="f32", types={"x1": "i32", "i": "i32"})
    assert answer.verdict == "associative"
    assert answer.rounded is None


def test_integers_are_told_what_to_write() -> None:
    with pytest.raises(hl.Error, match="fma takes f32 or f64, not i32"):
        hl.check("fma(a, b, x)", type="i32")
