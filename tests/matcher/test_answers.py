"""Answers in a user's hands: no truth value, what they print, and their operator on numbers and arrays."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from click.testing import CliRunner

import rfactor
from rfactor.cli.check import check as command

UPDATES = ("x + a", "max(x + a, b)", "(x + a) >> 1", "min(x0, a), select(x0 < a, x1, i)")


@pytest.mark.parametrize("text", UPDATES)
def test_an_answer_has_no_truth_value(text: str) -> None:
    answer = rfactor.check(text)
    for asked in (bool, lambda one: one and 1, lambda one: not one):
        with pytest.raises(TypeError, match=r"\.associative .*\.ok"):
            asked(answer)


def test_verdicts_as_truth_values() -> None:
    told = [rfactor.check(text) for text in ("x + a", "x*a + b", "(x + a) >> 1")]
    assert [answer.associative for answer in told] == [True, False, False]
    assert [answer.ok for answer in told] == [True, True, False]


@pytest.mark.parametrize("text", UPDATES)
def test_print_is_what_the_command_prints(text: str) -> None:
    def without_times(said: str) -> str:
        return said.partition("proved")[0].rstrip()

    assert without_times(str(rfactor.check(text))) == without_times(CliRunner().invoke(command, [text]).stdout)


def test_notebooks_show_a_table_of_plain_text() -> None:
    shown = rfactor.check("select(x < a, a, x)")._repr_html_()
    assert shown.count("<table>") == shown.count("</table>") == 1
    assert "select(x &lt; a, a, x)" in shown
    assert "x < a" not in shown


def test_the_operator_takes_numbers_tuples_and_arrays() -> None:
    answer = rfactor.check("min(x0, a), select(x0 < a, x1, i)", types={"a": "u8"})
    assert answer.combine((7, 1), (3, 2)) == (3, 2)
    assert answer.combine((7, 1), (7, 2)) == (7, 2)
    low, at = answer.combine((np.array([7, 2], np.uint8), np.array([1, 1], np.int32)), (3, 2))
    assert (low.dtype, at.dtype) == (np.uint8, np.int32)
    assert (low.tolist(), at.tolist()) == ([3, 2], [2, 1])
    assert answer.element(a=np.arange(3, dtype=np.uint8), i=5)[1].tolist() == [5, 5, 5]


def test_numbers_are_of_the_types_of_the_answer() -> None:
    assert rfactor.check("x + a").combine(2**31 - 1, 1) == -(2**31)
    assert rfactor.check("x + a", semantics="math").combine(2**40, 1) == 2**40 + 1
    assert rfactor.check("x + a", type="f32").combine(0.1, 0.0) == float(np.float32(0.1))
    assert isinstance(rfactor.check("x + a").combine(1, 2), int)
    assert isinstance(rfactor.check("x + a").combine(np.int32(1), 2), np.int32)


@pytest.mark.parametrize(
    ("text", "type_", "semantics"),
    [("x + a", "i32", "wrap"), ("x*31 + a", "u8", "wrap"), ("max(x + a, b)", "i32", "math"), ("x*k + a", "i32", "wrap"),
     ("x0 + a, max(x1, x0 + a)", "i32", "math")],
)  # fmt: skip
def test_elements_combined_in_any_grouping_act_as_the_serial_loop(text: str, type_: str, semantics: str) -> None:
    answer = rfactor.check(text, type=type_, semantics=semantics)
    random = np.random.default_rng(0)
    names = [var.name for var in answer.update.data]
    steps = [{name: int(random.integers(0, 9)) for name in names} for _ in range(7)]
    constants = dict.fromkeys(answer.update.constants, 3)
    elements = [answer.element(**step, **constants) for step in steps]
    whole = functools.reduce(answer.combine, elements)
    left = functools.reduce(answer.combine, elements[:3])
    right = functools.reduce(answer.combine, elements[3:])
    assert answer.combine(left, right) == whole
    start = 5 if len(answer.update.types) == 1 else (5,) * len(answer.update.types)
    state = start
    for element in elements:
        state = answer.apply(state, element)
    assert answer.apply(start, whole) == state


def test_an_answer_without_an_operator_says_why() -> None:
    answer = rfactor.check("(x + a) >> 1")
    for asked in (lambda: answer.combine(1, 2), lambda: answer.element(a=1), lambda: answer.apply(1, 2)):
        with pytest.raises(rfactor.Error, match="no operator on this state exists"):
            asked()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda answer: answer.combine((1, 2), 3), "1 part .u8., not 2"),
        (lambda answer: answer.combine(300, 3), "whose range is 0 to 255"),
        (lambda answer: answer.combine(np.array([1, 300], np.int32), 3), "whose range is 0 to 255"),
        (lambda answer: answer.combine(1.5, 3), "is u8, and not 1.5"),
        (lambda answer: answer.combine("1", 3), "is a number"),
        (lambda answer: answer.combine(np.array([1, 2], np.uint8), np.array([1, 2, 3], np.uint8)), "different shapes"),
        (lambda answer: answer.element(), "a value is needed for a"),
        (lambda answer: answer.element(a=1, b=2), "no value is read of b; names are a"),
    ],
)
def test_what_is_no_value_of_a_state_is_refused(call, message: str) -> None:
    with pytest.raises(rfactor.Error, match=message):
        call(rfactor.check("x + a", type="u8"))


def test_a_function_of_no_known_name_has_no_value() -> None:
    with pytest.raises(rfactor.Error, match="h may be any function"):
        rfactor.check("select(h(a) > h(x), a, x)").combine(1, 2)
