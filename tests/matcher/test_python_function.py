"""Lambdas and functions as updates: read from their source, of which their code is what it compiles to."""

from __future__ import annotations

import math
from math import exp

import pytest

import rfactor
from rfactor import select, u8
from rfactor.errors import ParseError

FACTOR = 31


def sums(s, n, a):
    """The sum and the number of elements."""
    return s + a, n + 1


def unpacking(acc, x):
    low, high = acc
    return min(low, x), max(high, x)


def of_several_statements(acc, x):
    y = x + 1
    return acc + y


def test_a_lambda_is_its_expression() -> None:
    answer = rfactor.check(lambda acc, x: acc*31 + x)  # fmt: skip
    assert answer.verdict == "lifted"
    assert answer.state == ("acc",)
    assert answer.update == rfactor.check("acc*31 + x", state="acc").update


def test_two_lambdas_of_one_line_are_told_apart() -> None:
    one, other = (rfactor.check(f) for f in (lambda acc, x: acc + x, lambda acc, x: max(acc, x)))
    assert [str(e) for e in (*(one.operator or ()), *(other.operator or ()))] == ["x0 + y0", "max(x0, y0)"]


def test_a_call_over_several_lines_is_read() -> None:
    answer = rfactor.check(
        lambda acc, x, k: (
            acc * k
            + (x if x > 0 and not x <= -7 else -x)
        )
    )  # fmt: skip
    assert answer.update.constants == {"k"}
    assert answer.verdict == "lifted"


def test_a_function_has_as_many_accumulators_as_values() -> None:
    answer = rfactor.check(sums, types={"a": "f32"})
    assert answer.state == ("s", "n")
    assert [str(t) for t in answer.update.types] == ["f32", "i32"]


def test_a_first_statement_may_unpack_the_state() -> None:
    answer = rfactor.check(unpacking)
    assert answer.state == ("low", "high")
    assert answer.associative


def test_state_names_other_parameters() -> None:
    answer = rfactor.check(lambda x, acc: acc*31 + x, state="acc")  # fmt: skip
    assert [str(e) for e in answer.update.components] == ["x0 * 31 + x"]
    with pytest.raises(ParseError, match="q is no parameter"):
        rfactor.check(lambda x, acc: acc + x, state="q")


def test_functions_of_the_language_are_read() -> None:
    answer = rfactor.check(
        lambda m, s, x: (max(m, x), s * exp(m - max(m, x)) + exp(x - max(m, x))),
        type="f32",
    )
    assert answer.ok
    assert rfactor.check(lambda acc, a: select(a > u8(3), max(acc, a), acc), type="u8").ok
    assert rfactor.check(lambda acc, a: acc + abs(a)).ok


def test_names_from_outside_are_refused() -> None:
    with pytest.raises(ParseError, match="FACTOR is no parameter of the lambda"):
        rfactor.check(lambda acc, x: acc*FACTOR + x)  # fmt: skip
    inner = 7
    with pytest.raises(ParseError, match="inner"):
        rfactor.check(lambda acc, x: acc*inner + x)  # fmt: skip
    with pytest.raises(ParseError, match="min is no parameter"):
        rfactor.check(lambda acc, x: acc + min)


def test_a_function_of_pythons_with_another_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParseError, match="sum in the lambda"):
        rfactor.check(lambda acc, x: sum(acc, x))
    with pytest.raises(ParseError, match="a call is of a name"):
        rfactor.check(lambda acc, x: acc + math.exp(x))
    monkeypatch.setitem(globals(), "max", lambda a, b: a)
    with pytest.raises(ParseError, match="max in the lambda"):
        rfactor.check(lambda acc, x: max(acc, x))


def test_quotients_that_python_rounds_otherwise_are_refused() -> None:
    for function in (lambda acc, x: acc % x, lambda acc, x: acc + x // -3):
        with pytest.raises(ParseError, match=r"round .* differently"):
            rfactor.check(function)
    assert rfactor.check(lambda acc, x: (acc + x) % 7, semantics="math").ok
    assert rfactor.check(lambda acc, x, k: acc + x // k, type="u32").ok


def with_default(acc, x=1):
    return acc + x


def with_others(acc, *x):
    return acc + x


def without_return(acc, x):
    acc + x


def generating(acc, x):
    return (yield acc + x)


@pytest.mark.parametrize("function", [with_default, with_others, without_return, generating, of_several_statements])
def test_what_is_not_one_return_of_plain_parameters_is_refused(function) -> None:
    with pytest.raises(ParseError):
        rfactor.check(function)


@pytest.mark.parametrize("function", [max, math.exp, rfactor.check.__call__, "".join, int])
def test_what_has_no_source_to_read_is_refused(function) -> None:
    with pytest.raises(ParseError, match="an update is a text, a lambda or a function"):
        rfactor.check(function)


def test_code_without_a_source_is_refused() -> None:
    with pytest.raises(ParseError, match="pass the update as a text"):
        rfactor.check(eval("lambda acc, x: acc + x"))


def test_a_source_that_is_not_the_codes_is_refused(tmp_path) -> None:
    file = tmp_path / "edited.py"
    file.write_text("f = lambda acc, x: acc + x\n")
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("f = lambda acc, x: max(acc, x)\n")
    with pytest.raises(ParseError, match="has changed"):
        rfactor.check(names["f"])
    file.write_text("f = lambda acc, x: acc + x\n")
    assert rfactor.check(names["f"]).associative


def test_literals_that_are_equal_and_of_other_types_are_told_apart(tmp_path) -> None:
    file = tmp_path / "floats.py"
    file.write_text("f = lambda acc, x: acc * 1 + x\n")
    names: dict = {}
    exec(compile("f = lambda acc, x: acc * 1.0 + x\n", str(file), "exec"), names)
    with pytest.raises(ParseError, match="has changed"):
        rfactor.check(names["f"], type="f32")
