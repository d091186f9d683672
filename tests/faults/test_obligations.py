"""What a yes rests on, written as SMT-LIB and decided by other solvers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from rfactor.cli.main import main
from rfactor.enumerate.verify import check_by, obligations
from rfactor.errors import Error
from rfactor.ir.expr import apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import I8, I32, U8, Type
from rfactor.matcher.check import check
from rfactor.matcher.obligations import obligations_of
from rfactor.prover.limits import Limits
from rfactor.prover.obligation import Obligation, smtlib
from rfactor.prover.solvers import NAMES, decide
from rfactor.table.row import Row
from rfactor.table.schema import OPERATORS
from rfactor.table.store import open_table

LIMITS = Limits(seconds=20.0)


def needs(solver: str) -> None:
    if solver != "z3":
        pytest.importorskip(solver)


def code(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)


UPDATES: list[tuple[str, dict[str, Any]]] = [
    ("x + a", {"type": "u8"}),
    ("min(x0, a), select(x0 < a, x1, i)", {"type": "i8"}),
    ("x*a + b", {"type": "i8"}),  # lifted, a polynomial
    ("max(x, a - b)", {"semantics": "math"}),
    ("x + a*b", {"type": "f32"}),
    ("max(x + a, b)", {"semantics": "math"}),
    ("x and (a < b)", {}),
    ("x + select(h(a) > 0, 1, 0)", {"type": "i8"}),
    ("x / a", {"type": "f32"}),
    ("max(x, a), select(a > x, 1, select(a == x, n + 1, n))".replace("n", "x1"), {"type": "i8"}),
]


@pytest.mark.parametrize(("update", "settings"), UPDATES)
def test_every_obligation_of_a_yes_is_unsat_to_another_solver(update: str, settings: dict[str, Any]):
    answer = check(update, **settings)
    assert answer.verdict in ("associative", "lifted")
    found = obligations_of(answer, LIMITS)
    assert found
    names = {obligation.name for obligation in found}
    assert {record.claim for record in answer.proofs} - {"not_commutative"} <= names
    for solver in ("z3", "cvc5"):
        needs(solver)
        for obligation in found:
            assert decide(obligation, solver, 20.0)[0] == "unsat", smtlib(obligation)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("type_", [U8, I8, I32])
def test_what_is_false_is_refuted_by_every_solver(solver: Any, type_: Type):
    needs(solver)
    names = {"x": type_, "a": type_}
    one, other = (parse_expr(text, names) for text in ("max(x + a, a)", "max(x, 0) + a"))
    claim = Obligation("false", (one,), (other,), (), Meaning.WRAP)
    assert decide(claim, solver, 20.0)[0] == "sat"
    given = apply("==", one, other)
    assert decide(Obligation("given", (one,), (other,), (given,), Meaning.WRAP), solver, 20.0)[0] == "unsat"


def test_one_component_that_differs_is_enough_for_a_denial():
    x, a = (parse_expr(name, {"x": I8, "a": I8}) for name in "xa")
    assert decide(Obligation("pair", (x, x), (x, a), (), Meaning.WRAP), "z3", 5.0)[0] == "sat"
    assert decide(Obligation("same", (x, x), (x, x), (), Meaning.WRAP), "z3", 5.0)[0] == "unsat"


@pytest.mark.parametrize("solver", NAMES)
def test_rows_are_decided_and_corrupted_ones_refuted(solver: Any, small: Path):
    needs(solver)
    table = open_table(small)
    for type_ in (U8, I8):
        for row in [row for row in table.rows((type_,)) if "*" not in row.column("operator")][:6]:
            assert {check.result for check in check_by(row, solver, 20.0)} == {"proved"}
            assert obligations(row)[0].name == "associative"
    row = next(row for row in table.rows((U8,)) if row.column("operator") == "min(x0, y0)")
    wrong = Row(["7" if name == "identity" else row.column(name) for name in OPERATORS], (U8,))
    found = {check.claim: check.result for check in check_by(wrong, solver, 20.0)}
    assert {claim for claim, result in found.items() if result == "refuted"} == {"left_identity", "right_identity"}


def test_the_command_writes_files_that_say_what_they_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "smt"
    assert code(["check", "x + a", "--type", "u8", "--emit-smt2", str(folder)]) == 0
    files = sorted(folder.iterdir())
    assert [file.name for file in files][:2] == ["01-step.smt2", "02-associative.smt2"]
    text = files[1].read_text()
    assert "; x0 + y0 + z0 = x0 + (y0 + z0)" in text
    assert "(set-info :status unsat)\n(set-logic QF_BV)" in text
    assert text.endswith("(check-sat)\n(exit)\n")
    assert code(["check", "x - a*x*x", "--emit-smt2", str(folder)]) in (2, 3)
    assert "only a yes" in capsys.readouterr().err
    assert code(["check", "x + a", "--emit-smt2", "/dev/null/no"]) == 2


def test_rows_are_written_and_verified_by_the_command(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    own = [str(small), "--row", "1", "--row", "2", "--jobs", "1"]
    assert code(["table", "verify", *own, "--emit-smt2", str(tmp_path / "rows")]) == 0
    assert list((tmp_path / "rows").glob("000001-*-associative.smt2"))
    assert code(["table", "verify", *own, "--solver", "z3"]) == 0
    assert "0 unknown" in capsys.readouterr().out
    assert code(["table", "verify", str(small), "--sample", "3", "--type", "i8", "--exhaustive", "--jobs", "1"]) == 0
    assert code(["table", "verify", str(small), "--type", "i9"]) == 2


def test_a_solver_that_is_missing_is_named(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "cvc5", None)
    assert code(["table", "verify", str(small), "--solver", "cvc5", "--jobs", "1"]) == 2
    assert "pip install 'rfactor-compiler[verify]'" in capsys.readouterr().err
    with pytest.raises(Error, match="not installed"):
        decide(Obligation("x", (), (), (), Meaning.WRAP), "cvc5", 1.0)
