"""What a counterexample and a proof are called, when data are called like the checker's own parts."""

from __future__ import annotations

from rfactor.cli.check import batch_line
from rfactor.matcher.check import check


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
