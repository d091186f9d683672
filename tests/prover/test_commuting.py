"""Whether an operator commutes on what runs reach: a yes is proved, a no is two runs that were computed."""

from __future__ import annotations

import math
from typing import Literal

import pytest

from rfactor.ir.expr import Const, Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_tuple, parse_update
from rfactor.ir.types import BOOL, F64, I32, Type
from rfactor.prover.commuting import commutes, is_refuted
from rfactor.prover.limits import DEFAULT
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven


def answer(
    update: str, operator: str, data: str, type_: Type = I32, meaning: Meaning = Meaning.WRAP, assumes: str = ""
) -> Proven | Literal[False] | None:
    parsed = parse_update(update, type_, meaning=meaning)
    count = data.count(",") + 1
    types = dict.fromkeys([*(f"{letter}{i}" for letter in "xy" for i in range(count)), "a", "b", "i", "k"], type_)
    op = Operator(parse_tuple(operator, types, (type_,) * count), (type_,) * count, meaning)
    conditions: tuple[Expr, ...] = (parse_expr(assumes, types, BOOL),) if assumes else ()
    return commutes(op, parsed, parse_tuple(data, types, op.types), (), conditions, DEFAULT)


@pytest.mark.parametrize("meaning", list(Meaning))
def test_what_commutes_is_proved(meaning: Meaning) -> None:
    assert isinstance(answer("x + a", "x0 + y0", "a", meaning=meaning), Proven)
    assert isinstance(answer("max(x, a)", "select(x0 < y0, y0, x0)", "a", meaning=meaning), Proven)


@pytest.mark.parametrize("meaning", list(Meaning))
@pytest.mark.parametrize("type_", [I32, F64])
def test_what_does_not_commute_has_a_witness(type_: Type, meaning: Meaning) -> None:
    assert answer("select(a > 0, a, x)", "select(y0 > 0, y0, x0)", "a", type_, meaning) is False
    matrices = "x0*y0, x1*y0 + y1"
    assert answer("x*a + b", matrices, "a, b", type_, meaning) is False


def test_a_witness_is_one_of_runs_and_not_of_all_states() -> None:
    assert answer("x + k", "x0 + y0*(x0 - x0 + 1)", "k") is not False
    # With both data the same constant, the two runs are one.
    assert answer("select(x < 9, 3, 4)", "y0", "3") is not False
    assert answer("a", "y0", "a") is False


def test_what_is_assumed_of_data_is_kept_to() -> None:
    assert answer("a", "select(y0 > 5, y0, min(x0, y0))", "a") is False
    assert answer("a", "select(y0 > 5, y0, min(x0, y0))", "a", assumes="a <= 5") is not False


def test_an_infinity_among_the_data_is_calculated_with() -> None:
    infinity: Expr = Const(F64, math.inf)
    parsed = parse_update("min(x, a)", F64)
    op = Operator(parse_tuple("min(x0, y0)", {"x0": F64, "y0": F64}, (F64,)), (F64,))
    assert isinstance(commutes(op, parsed, (infinity,), (), (), DEFAULT), Proven)
    last = Operator(parse_tuple("y0", {"y0": F64}, (F64,)), (F64,))
    assert commutes(last, parsed, (infinity,), (), (), DEFAULT) is not False


def test_a_witness_alone_refutes_and_nothing_else_does() -> None:
    def refuted(update: str, operator: str, data: str, assumes: str = "") -> bool:
        parsed = parse_update(update, I32)
        types = dict.fromkeys(["x0", "y0", "a"], I32)
        op = Operator(parse_tuple(operator, types, (I32,)), (I32,), Meaning.WRAP)
        conditions = (parse_expr(assumes, types, BOOL),) if assumes else ()
        return is_refuted(op, parsed, parse_tuple(data, types, (I32,)), conditions)

    assert refuted("select(a > 0, a, x)", "select(y0 > 0, y0, x0)", "a")
    assert not refuted("select(a > 0, a, x)", "select(y0 > 0, y0, x0)", "a", "a == 5")
    assert not refuted("select(a > 0, 7, x)", "select(y0 > 0, y0, x0)", "select(a > 0, 7, 0)")
    assert not refuted("x + a", "x0 + y0", "a")
