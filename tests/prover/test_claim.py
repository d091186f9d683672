"""The discharger believes nobody: true claims are proved, each false part is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_tuple, parse_update
from rfactor.ir.types import BOOL, F64, I32
from rfactor.prover.claim import Claim, Discharged, Failed, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.infinity import MINUS_INFINITY
from rfactor.prover.verdict import Refuted

PAIR = {f"{letter}{i}": I32 for letter in "xy" for i in range(2)}
DATA = {"a": I32, "b": I32, "i": I32}


def plain(update: str, operator: str, identity: str | None, data: str, meaning: Meaning = Meaning.WRAP) -> Claim:
    parsed = parse_update(update, meaning=meaning)
    types = parsed.types
    return Claim(
        parsed,
        parse_tuple(operator, PAIR, types),
        None if identity is None else parse_tuple(identity, {}, types),
        parse_tuple(data, DATA, types),
    )


SUM = plain("x + a", "x0 + y0", "0", "a")


def test_a_true_claim_is_proved_in_every_part() -> None:
    result = discharge(SUM)
    assert isinstance(result, Discharged)
    assert {name for name, _ in result.proofs} == {
        "step", "associative", "left_identity", "right_identity", "commutative",
    }  # fmt: skip
    assert result.identity_kind == "two-sided"
    assert result.commutative is True


@pytest.mark.parametrize(
    ("claim", "failing"),
    [
        (plain("x + a", "x0 + y0", "0", "a + 1"), "step"),
        (plain("x - a", "x0 - y0", "0", "a"), "associative"),
        (plain("x + a", "x0 + y0 + 0*x0", "1", "a"), None),
    ],
)
def test_a_false_part_is_named_with_a_counterexample(claim: Claim, failing: str | None) -> None:
    result = discharge(claim)
    if failing is None:  # the identity alone is wrong: what is left is an operator without one
        assert isinstance(result, Discharged)
        assert result.identity_kind == "none"
        assert result.claim.identity is None
    else:
        assert isinstance(result, Failed)
        assert result.name == failing
        assert isinstance(result.verdict, Refuted)


def test_ties_decide_the_side_of_the_identity() -> None:
    strict = plain("min(x0, a), select(x0 < a, x1, i)", "min(x0, y0), select(x0 < y0, x1, y1)", "2147483647, 0", "a, i")
    result = discharge(strict)
    assert isinstance(result, Discharged)
    assert result.identity_kind == "left"
    assert result.commutative is False
    loose = plain(
        "min(x0, a), select(x0 <= a, x1, i)",
        "min(x0, y0), select(x0 <= y0, x1, y1)",
        "2147483647, 0",
        "a, select(a >= 2147483647, 0, i)",
    )
    result = discharge(loose)
    assert isinstance(result, Discharged)
    assert result.identity_kind == "two-sided"
    assert result.claim.invariant  # (MAX, i) with i other than 0 is never reached, and that is said


def test_loose_argmin_with_the_bare_index_as_datum_has_no_left_identity() -> None:
    wrong = plain(
        "min(x0, a), select(x0 <= a, x1, i)", "min(x0, y0), select(x0 <= y0, x1, y1)", "2147483647, 0", "a, i"
    )
    result = discharge(wrong)
    assert isinstance(result, Discharged)
    assert result.identity_kind == "none"


def test_a_false_invariant_is_not_believed() -> None:
    false = parse_expr("y0 > 5", {"y0": I32}, BOOL)
    result = discharge(replace(SUM, invariant=(false,)))
    assert isinstance(result, Discharged)
    assert result.claim.invariant == ()


MAX_PLUS = Lift(
    (I32, I32),
    parse_tuple("a, b", DATA, (I32, I32)),
    parse_tuple("x0 + y0, max(x1 + y0, y1)", PAIR, (I32, I32)),
    (*parse_tuple("0", {}, (I32,)), MINUS_INFINITY),
    parse_tuple("max(x0 + y0, y1)", PAIR, (I32,)),
)


def test_a_lifting_is_proved_where_nothing_overflows_and_refused_where_it_wraps() -> None:
    exact = discharge(Claim(parse_update("max(x + a, b)", meaning=Meaning.MATH), lift=MAX_PLUS))
    assert isinstance(exact, Discharged)
    assert {"step", "action", "left_identity", "right_identity"} <= {name for name, _ in exact.proofs}
    wrapping = replace(MAX_PLUS, identity=parse_tuple("0, -2147483648", {}, (I32, I32)))
    assert isinstance(discharge(Claim(parse_update("max(x + a, b)"), lift=wrapping)), Failed)


def test_data_called_like_operands_are_told_apart() -> None:
    update = parse_update("x0 + y1, x1 + y0")
    types = {"y0": I32, "y1": I32}
    claim = Claim(
        update,
        parse_tuple("x0 + y0, x1 + y1", PAIR, update.types),
        parse_tuple("0, 0", {}, update.types),
        parse_tuple("y1, y0", types, update.types),
    )
    assert isinstance(discharge(claim), Discharged)


def test_parts_that_do_not_fit_are_an_error() -> None:
    flag = parse_expr("not y0", {"y0": BOOL}, BOOL)
    with pytest.raises(ValueError, match="y0 is i32, not bool"):
        discharge(replace(SUM, invariant=(flag,)))
    with pytest.raises(ValueError, match="1 components"):
        discharge(replace(SUM, data=parse_tuple("a, b", DATA, (I32, I32))))


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("operator", "a", "a has no value in a"),
        ("operator", "z0", "z0 has no value"),
        ("operator", "y1", "y1 has no value"),
        ("identity", "a", "a has no value"),
        ("data", "x0 + a", "x0 has no value"),
        ("assumes", "x0 > a", "x0 has no value"),
        ("invariant", "y0 > a", "a has no value"),
        ("invariant", "x0 <= y0", "x0 has no value"),
    ],
)
def test_no_part_reads_what_has_no_value_there(part: str, text: str, message: str) -> None:
    """`op(x, y) = a` for `x := a` passes every law, and `y0` with data `x0 + a` does: neither is an operator."""
    names = PAIR | DATA | {"z0": I32}
    type_ = BOOL if part in ("assumes", "invariant") else I32
    last = plain("a", "y0", None, "a")
    assert isinstance(discharge(last), Discharged)
    changed: dict[str, Any] = {part: (parse_expr(text, names, type_),)}
    with pytest.raises(ValueError, match=message):
        discharge(replace(last, **changed))


def test_what_a_lifting_does_reads_no_data() -> None:
    """Whether there was a step, and then the datum: which of the data that were there is not said."""
    flags = {"x0": BOOL, "y0": BOOL}

    def lifting(applied: str) -> Claim:
        lift = Lift(
            (BOOL,),
            parse_tuple("True", {}, (BOOL,)),
            parse_tuple("x0 or y0", flags, (BOOL,)),
            parse_tuple("False", {}, (BOOL,)),
            parse_tuple(applied, {"x0": I32, "y0": BOOL, "a": I32, "k": I32}, (I32,)),
        )
        return Claim(parse_update(update, I32), lift=lift)

    update = "k"
    assert isinstance(discharge(lifting("select(y0, k, x0)")), Discharged)
    update = "a"
    with pytest.raises(ValueError, match="a has no value"):
        discharge(lifting("select(y0, a, x0)"))


def test_an_identity_divides_by_zero_nowhere_not_even_where_a_step_would() -> None:
    """An empty slice meets every state, also one from which the serial run never divides."""
    f64 = {"x0": F64, "y0": F64, "a": F64}

    def lifting(update: str, apply: str) -> Discharged | Failed:
        (applied,), (combined,) = parse_tuple(apply, f64, (F64,)), parse_tuple("x0 + y0", f64, (F64,))
        lift = Lift((F64,), parse_tuple("a", f64, (F64,)), (combined,), parse_tuple("0", f64, (F64,)), (applied,))
        return discharge(Claim(parse_update(update, F64), lift=lift))

    divided = lifting("x0*x0/x0 + a", "x0*x0/x0 + y0")
    assert isinstance(divided, Failed)
    assert divided.name == "right_identity"
    assert isinstance(lifting("x0 + a", "x0 + y0"), Discharged)
