"""Integers are exact whatever floats decide of them: NaN, infinities and rounding are no surprise to an answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.cli.claims import check_claim
from rfactor.cli.operators import laws, parse_operator
from rfactor.errors import FactorError
from rfactor.ir.update import Update
from rfactor.matcher import recognize
from rfactor.matcher.check import check
from rfactor.matcher.refusal.instance import Refutation
from rfactor.matcher.refusal.refute import refute
from rfactor.prover.limits import Limits


@pytest.mark.parametrize(
    ("update", "types", "operator", "data"),
    [
        ("x + select(a == a, 1, 0)", {"a": "f32"}, "x0 + y0", "select(a == a, 1, 0)"),
        ("x + select(abs(a) < inf, 1, 0)", {"a": "f32"}, "x0 + y0", "select(abs(a) < inf, 1, 0)"),
        ("x + select(a - a == 0.0, 1, 0)", {"a": "f64"}, "x0 + y0", "select(a - a == 0.0, 1, 0)"),
        ("max(x, i32(a * 255.0))", {"a": "f32"}, "max(x0, y0)", "i32(a * 255.0)"),
        ("select(a == a, x + a, x)", {"x": "f32"}, "x0 + y0", "select(a == a, a, 0.0)"),
        ("x + select(abs(a) == inf, 1.0, 0.0)", {"x": "f32"}, "x0 + y0", "select(abs(a) == inf, 1.0, 0.0)"),
        ("x and a <= b", {"x": "bool", "a": "f32", "b": "f32"}, "x0 and y0", "a <= b"),
        ("select(f32(x) < f32(a), a, x)", {"x": "i16", "a": "i16"}, "select(f32(x0) < f32(y0), y0, x0)", "a"),
        ("select(f32(a) > 3.5, max(x, a), x)", {"x": "u8"}, "max(x0, y0)", "select(3.5 < f32(a), a, 0)"),
        ("u8(f32(x) + f32(a))", {"x": "u8"}, "select(255 - y0 < x0, 255, x0 + y0)", "u8(f32(a))"),
    ],
)  # fmt: skip
def test_what_floats_decide_is_data(update: str, types: dict[str, str], operator: str, data: str) -> None:
    answer = check(update, type=types.get("x", "i32"), types={n: t for n, t in types.items() if n != "x"})
    assert answer.operator is not None
    assert answer.data is not None
    assert (answer.verdict, str(answer.operator[0]), str(answer.data[0])) == ("associative", operator, data)


@pytest.mark.parametrize(
    "update",
    [
        "select(a > 0.0, max(x0, a), x0), select(a > 0.0 and a > x0, i, x1)",
        "select(b > 0.0 and a > x0, a, x0), select(b > 0.0 and a > x0, i, x1)",
    ],
)
def test_floats_that_integers_are_made_of_are_chosen_by_the_same_decisions(update: str) -> None:
    types = {"a": "f32", "b": "f32", "x0": "f32", "i": "i32", "x1": "i32"}
    assert check(update, types=types).verdict == "associative"


@pytest.mark.parametrize(
    ("update", "data", "code"),
    [
        ("x + select(a == a, 1, 0)", "1", 3),
        ("x + select(a == a, 1, 0)", "select(a == a, 1, 0)", 0),
        ("x + select(a + 1.0 > a, 1, 0)", "1", 3),
        ("x + select(a < b, 1, 0)", "select(b > a, 1, 0)", 0),
    ],
)
def test_a_claim_about_real_numbers_alone_is_not_proved(update: str, data: str, code: int) -> None:
    claim = {"update": update, "types": {"a": "f32", "b": "f32"}, "operator": ["x0 + y0"], "data": [data]}
    assert check_claim(json.dumps(claim | {"identity": ["0"]}), 5.0, as_json=True) == code


@pytest.mark.parametrize(
    ("update", "type_", "types"),
    [
        ("select(a + 1.0 > a, x + 1, x*x)", "i32", {"a": "f32"}),
        ("select(a < b, x + 1, select(a >= b, x + 1, x*x))", "i32", {"a": "f32", "b": "f32"}),
        ("select(a == a, x + 1, x*x)", "i32", {"a": "f32"}),
        ("select(a * 0.0 == 0.0, x + 1, x*x)", "i32", {"a": "f32"}),
        ("select(f16(x) < f16(a), a, x)", "u16", {}),
        ("select(bf16(x) < bf16(a), a, x)", "u16", {}),
        ("select(f32(x) < f32(a), a, x)", "i32", {}),
        ("select(f64(x) < f64(a), a, x)", "i64", {}),
        ("select(f32(x) + 16777216.0 < f32(a) + 16777216.0, a, x)", "i16", {}),
        ("select(f32(f64(x)) < f32(f64(a)), a, x)", "i32", {}),
        ("select(x == x, x, a)", "f32", {}),
        ("select(f(f32(x)) < f(f32(a)), a, x)", "i32", {}),
    ],
)
def test_what_holds_of_real_numbers_alone_is_no_yes(update: str, type_: str, types: dict[str, str]) -> None:
    assert check(update, type=type_, types=types, timeout=2.0).verdict in ("unknown", "not_associative")


@pytest.mark.parametrize(("condition", "commutative"), [("a > 1.0 and a < 0.0", None), ("a > 1.0", False)])
def test_an_operator_is_not_said_to_depend_on_an_order_that_floats_never_show(
    condition: str, commutative: bool | None
) -> None:
    answer = check(f"select({condition}, i, x)", types={"a": "f32"})
    assert (answer.verdict, answer.commutative) == ("lifted", commutative)
    assert ("not_commutative" in {proof.claim for proof in answer.proofs}) == (commutative is False)


def test_rounded_integers_are_not_compared_as_they_are() -> None:
    from rfactor.ir.parser import parse_expr
    from rfactor.ir.types import I16, I32, Type
    from rfactor.prover.equality import prove_equal
    from rfactor.prover.verdict import Proven

    def commutes(type_: Type) -> bool:
        names = {"x": type_, "y": type_}
        one = parse_expr("select(f32(x) < f32(y), y, x)", names, type_)
        other = parse_expr("select(f32(y) < f32(x), x, y)", names, type_)
        return isinstance(prove_equal((one,), (other,)), Proven)

    assert commutes(I16)
    assert not commutes(I32)


def test_a_scan_of_what_is_a_number_has_the_serial_values() -> None:
    values = np.arange(40, dtype=np.float32)
    values[::3] = np.nan
    a, r, x = hl.Buffer(values), hl.RDom([(1, 39)]), hl.Var("x")
    count = hl.Func("count")
    count[x] = 0
    count[r] = count[r - 1] + hl.select(hl.is_nan(a[r]), 0, 1)
    count.update(0).parallel_scan(r.x, 8)
    assert np.array_equal(np.array(count.realize([40])), np.cumsum(~np.isnan(values)))


def test_a_choice_that_floats_are_too_large_for_is_not_factored() -> None:
    a, r, u = hl.Buffer(np.full(40, 1e20, np.float32)), hl.RDom([(0, 40)]), hl.Var("u")
    f = hl.Func("f")
    f[()] = 3
    f[()] = hl.select(a[r] + 1.0 > a[r], f[()] + 1, f[()] * f[()])
    with pytest.raises(FactorError, match="may be NaN, infinite or rounded"):
        f.update(0).rfactor([(r.x, u)])


@pytest.mark.parametrize(("type_", "verdict"), [("i16", "associative"), ("i32", "unknown")])
def test_an_operator_that_compares_rounded_integers_is_not_known(type_: str, verdict: str) -> None:
    settings = {"type": type_, "semantics": "wrap"}
    assert laws(parse_operator("select(f32(x) < f32(y), y, x)", settings), Limits(seconds=5.0))["verdict"] == verdict


def test_a_refutation_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    refuted: list[Update] = []

    def counted(update: Update, *rest: Any, **named: Any) -> Refutation | None:
        refuted.append(update)
        return refute(update, *rest, **named)

    monkeypatch.setattr(recognize, "refute", counted)
    recognize.forget()
    types = {"x0": "f32", "a": "f32", "x1": "i32"}
    assert check("x0 + a, x1 + select(a > 0.25 and x0 > 1.25, 1, 0)", types=types).verdict == "not_associative"
    assert len(refuted) == 1
