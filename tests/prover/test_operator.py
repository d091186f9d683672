"""Laws of operators as they stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate, evaluate_scalar
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import BOOL, F32, I32, U8, Type
from rfactor.prover.identities import identities
from rfactor.prover.operator import Operator, associative, commutative, idempotent
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
    for text, type_ in (("x0*y0*2", I32), ("max(x0, y0) | 1", U8), ("min(max(x0, y0), 3.0)", F32), ("x0*y0*k", F32)):
        found = identities(operator(text, type_))
        assert (found.kind, found.value, len(found.absent)) == ("none", None, 2)
    assert identities(operator("x0*y0*3", I32, meaning=Meaning.MATH)).kind == "none"


def test_what_is_neither_found_nor_excluded_is_not_said_to_be_absent() -> None:
    found = identities(operator("x0*y0*0.3", F32))  # over the reals there is one, which is no f32
    assert (found.kind, found.value, found.absent) == (None, None, frozenset())


@pytest.mark.parametrize(
    ("op", "identity"),
    [
        (operator("x0 ^ y0 ^ 5", I32), "5"),
        (operator("x0 + y0 + 5", I32), "-5"),
        (operator("(x0 - 2)*(y0 - 2) + 2", I32), "3"),
        (operator("x0*y0 + 3*x0 + 3*y0 + 6", I32), "-2"),
        (operator("x0*y0*3", U8), "171"),
        (operator("x0*y0*0.5", F32), "2.0"),
        (operator("x0 + y0 - 0.5", F32), "0.5"),
        (operator("x0 + y0 - 2*k", I32), "k * 2"),
        (operator("x0 ^ y0 ^ ~k", U8), "~k"),
        (operator("(x0 - k)*(y0 - k) + k", F32), "k + 1.0"),
        (operator("x0 + y0 + 5", I32, meaning=Meaning.MATH), "-5"),
        (operator("x0 + y0 - 7, x1*y1*3", I32, I32), "7, -1431655765"),
        (operator("x0 + y0, x1 + y1 + x0*y0 + 5", I32, I32), "0, -5"),
    ],
)
def test_an_identity_is_solved_for(op: Operator, identity: str) -> None:
    found = identities(op)
    assert found.kind == "two-sided"
    assert found.value is not None
    assert show_tuple(found.value) == identity
    assert [name for name, _ in found.proofs] == ["left_identity", "right_identity"]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        ["x0 ^ y0 ^ {c}", "x0 + y0 + {c}", "(x0 - {c})*(y0 - {c}) + {c}", "x0*y0*{c}", "max(x0, y0) | {c}",
         "x0 & y0 & {c}", "min(max(x0, {c}), y0)", "max(min(y0, {c}), x0)", "x0 + {c}*y0", "y0 - x0*{c}", "{c}",
         "select(x0 == {c}, y0, x0)", "(x0 ^ {c}) & (y0 ^ {c}) ^ {c}"]
    ),
    st.integers(0, 255),
)  # fmt: skip
def test_every_answer_about_identities_is_that_of_trying_all_values(template: str, c: int) -> None:
    op = operator(template.format(c=c), U8)
    e, other = (side.astype(np.uint8) for side in np.divmod(np.arange(1 << 16), 256))
    found = identities(op)
    sides = (("left_identity", {"x0": e, "y0": other}), ("right_identity", {"x0": other, "y0": e}))
    good = {}
    for side, env in sides:
        values = np.broadcast_to(evaluate(op.components[0], env), e.shape)
        good[side] = set(np.flatnonzero((values == other).reshape(256, 256).all(axis=1)).tolist())
        assert (side in found.absent) <= (not good[side])
        assert any(name == side for name, _ in found.proofs) <= bool(good[side])
    kinds = {(True, True): "two-sided", (True, False): "left", (False, True): "right", (False, False): "none"}
    both = bool(good["left_identity"] & good["right_identity"])
    assert found.kind == ("two-sided" if both else kinds[bool(good["left_identity"]), bool(good["right_identity"])])
    for name, _ in found.proofs:
        assert found.value is not None
        assert evaluate_scalar(found.value[0], {}) in good[name]


def test_what_is_not_associative_is_refuted_with_three_operands() -> None:
    verdict = associative(operator("x0 - y0", I32))
    assert isinstance(verdict, Refuted)
    assert {"x0", "y0", "z0"} <= set(verdict.counterexample)


def test_commutativity_and_idempotence() -> None:
    assert isinstance(commutative(operator("x0*y0", U8)), Proven)
    assert isinstance(commutative(operator("y0", U8)), Refuted)
    assert isinstance(idempotent(operator("max(x0, y0)", U8)), Proven)
    assert isinstance(idempotent(operator("x0 + y0", U8)), Refuted)
