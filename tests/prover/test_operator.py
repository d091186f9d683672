"""Laws of operators as they stand."""

from __future__ import annotations

import pytest

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import BOOL, F32, I32, U8, Type
from rfactor.prover.operator import Operator, associative, commutative, idempotent, identities
from rfactor.prover.verdict import Proven, Refuted


def operator(text: str, *types: Type, meaning: Meaning = Meaning.WRAP) -> Operator:
    names = {f"{letter}{i}": t for letter in "xy" for i, t in enumerate(types)} | {"k": types[0]}
    return Operator(parse_tuple(text, names, types), types, meaning)


@pytest.mark.parametrize(
    ("op", "identity", "kind"),
    [
        (operator("x0 + y0", I32), "0", "two-sided"),
        (operator("x0 + y0 + k", I32), "-k", "two-sided"),
        (operator("min(x0, y0)", F32), "inf", "two-sided"),
        (operator("min(x0, y0), select(x0 < y0, x1, y1)", I32, I32), "2147483647, 0", "left"),
        (operator("min(max(x0, k), y0)", U8), "255", "left"),
        (operator("x0", I32), "0", "right"),
        (operator("x0 and y0", BOOL), "True", "two-sided"),
        (operator("x0*y0 - x1*y1, x1*y0 + x0*y1", I32, I32), "1, 0", "two-sided"),
    ],
)
def test_identities_have_the_side_they_are_given(op: Operator, identity: str, kind: str) -> None:
    assert isinstance(associative(op), Proven)
    found = identities(op)
    assert found.kind == kind
    assert found.value is not None
    assert show_tuple(found.value) == identity


def test_an_operator_without_identity_has_none() -> None:
    assert identities(operator("min(x0, y0)", I32, meaning=Meaning.MATH)).kind == "none"
    assert identities(operator("x0*y0*k", I32)).kind == "none"


def test_what_is_not_associative_is_refuted_with_three_operands() -> None:
    verdict = associative(operator("x0 - y0", I32))
    assert isinstance(verdict, Refuted)
    assert {"x0", "y0", "z0"} <= set(verdict.counterexample)


def test_commutativity_and_idempotence() -> None:
    assert isinstance(commutative(operator("x0*y0", U8)), Proven)
    assert isinstance(commutative(operator("y0", U8)), Refuted)
    assert isinstance(idempotent(operator("max(x0, y0)", U8)), Proven)
    assert isinstance(idempotent(operator("x0 + y0", U8)), Refuted)
