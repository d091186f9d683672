"""What a counterexample and a proof are called, when data are called like the checker's own parts."""

from __future__ import annotations

import pytest

from rfactor.cli.check import batch_line
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import parse_type
from rfactor.matcher.check import check
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.recognize import recognize
from rfactor.matcher.report import to_json
from rfactor.prover.claim import Discharged
from rfactor.prover.discharge import discharge


def test_a_counterexample_calls_data_by_their_own_names() -> None:
    answer = check("(x + y) >> z", type="u8")
    assert answer.verdict == "not_associative"
    assert answer.counterexample is not None
    assert {"e0", "x0", "y", "z", "y'", "z'"} == set(answer.counterexample)
    assert answer.reason is not None
    assert "(y = " in answer.reason
    assert "its" not in answer.reason


def test_a_datum_called_like_the_start_does_not_hide_it() -> None:
    answer = check("abs(x - e0)", type="i8")
    assert answer.verdict == "not_associative"
    found = answer.counterexample
    assert found is not None
    start, probe, one, two = (int(found[name]) for name in ("start0", "x0", "e0", "e0'"))
    assert abs(start - one) == abs(start - two)
    assert abs(probe - one) != abs(probe - two)
    plain = check("abs(x - a)", type="i8")
    assert plain.counterexample is not None
    assert "e0" in plain.counterexample


def test_a_table_proof_names_its_row() -> None:
    answer = check("select(a > x0, a, x0), x1 + b", type="f32")
    assert answer.verdict == "associative"
    assert all((proof.row is not None) == (proof.method == "table") for proof in answer.proofs)


def test_a_line_nested_too_deep_is_an_error_of_its_own() -> None:
    result, read = batch_line("[" * 100_000, 1.0)
    assert not read
    assert result["id"] is None
    assert "not a JSON object" in result["error"]
    assert batch_line('{"id": 1, "update": "x + a"}', 1.0)[1]


@pytest.mark.parametrize(
    ("text", "type_", "semantics"),
    [("select(x == z, a, x)", "i32", "wrap"), ("(x + a) % z", "i32", "math"), ("min(x + a, z)", "i32", "math")],
)
def test_a_constant_called_z_has_its_name_in_every_part(text: str, type_: str, semantics: str) -> None:
    update = parse_update(text, parse_type(type_), {}, ("z",), Meaning(semantics))
    answer = recognize(update, known=False)
    claim = claim_of(answer)
    assert claim is not None
    assert isinstance(discharge(claim), Discharged)
    assert "its" not in str(to_json(answer))
