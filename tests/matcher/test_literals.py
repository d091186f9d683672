"""Numbers beyond what a float type holds: in answers none are written, and none stop a question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rfactor.cli.check import batch_line, check
from rfactor.ir.expr import is_held
from rfactor.ir.types import parse_type
from rfactor.matcher.check import check as decide

INEXACT = [
    ("x + a*0.1*0.1", "f32"),  # 0.1*0.1 is no number of the type, though one of doubles
    ("x*0.1*0.1", "f16"),
    ("0.1*x + 0.2*x + a", "f32"),
    ("x + a*300.0*300.0", "f16"),  # 90000 is beyond the type
    ("x*60000.0*2.0 + a", "f16"),
    ("max(x*300.0*300.0, a)", "f16"),
    ("x*1e308*10.0 + a", "f64"),
    ("x*0.1*0.1", "bf16"),
    ("x + a*17.0*17.0", "bf16"),  # 289 has nine digits
    ("x*1e38*10.0 + a", "bf16"),
    ("clamp(0.1*(0.1*x) + a, 0.0, 1.0)", "f32"),
]


@pytest.mark.parametrize(("update", "type_"), INEXACT)
def test_a_claim_is_proved_from_its_text_where_literals_do_not_multiply_exactly(
    update: str, type_: str, tmp_path: Path
) -> None:
    answer = CliRunner().invoke(check, [update, "--type", type_, "--json"], standalone_mode=False)
    assert answer.exception is None
    assert json.loads(answer.output)["verdict"] in ("associative", "lifted")
    (tmp_path / "claim.json").write_text(answer.output)
    again = CliRunner().invoke(check, ["--claim", str(tmp_path / "claim.json"), "--json"], standalone_mode=False)
    assert json.loads(again.output)["verdict"] == "proved"


@pytest.mark.parametrize(
    "update",
    [
        "pow(a, b)*(x0 - 1.0) + 1.0, (x0 - 1.0)*pow(a, b) + 1.0",  # samples grow beyond doubles
        "max(x/inf, a)",
        "x0*300.0*300.0 + a, x1 + x0*60000.0 + 60000.0",
    ],
)
@pytest.mark.parametrize("type_", ["f16", "bf16", "f64"])
def test_numbers_beyond_doubles_stop_no_question(update: str, type_: str) -> None:
    assert decide(update, type=type_).verdict in ("associative", "lifted")


def test_what_a_type_holds() -> None:
    f16, bf16, f32, f64 = map(parse_type, ("f16", "bf16", "f32", "f64"))
    assert is_held(f16, 65504)
    assert not is_held(f16, 65505)
    assert not is_held(f16, 10**400)
    assert is_held(f32, 1 << 24)
    assert not is_held(f32, (1 << 24) + 1)
    assert is_held(f64, (1 << 24) + 1)
    assert [is_held(bf16, n) for n in (256, 257, 1 << 127, 1 << 128)] == [True, False, True, False]


def test_a_fault_in_one_line_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr("rfactor.cli.check.answer_to", fail)
    answer, read = batch_line('{"id": 7, "update": "x + a"}', 1.0)
    assert not read
    assert answer == {"id": 7, "error": "rfactor failed: OverflowError: too large"}


def test_the_negative_of_the_lowest_integer_is_no_literal() -> None:
    """`-(-128)` of i8, met where an extremum is turned round."""
    assert decide("max(-(-128) - x, a)", type="i8").verdict == "not_associative"
