"""What is held by rule: mirrors, choices; and looking rows up by meaning."""

from __future__ import annotations

import itertools
import json
import time

import numpy as np
import pytest
from click.testing import CliRunner

from rfactor.cli.table import table as command
from rfactor.enumerate.verify import check_row, check_rule, equality
from rfactor.errors import ParseError
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.types import F32, I8, I32, I64, U8, U16, U64, Type
from rfactor.prover.operator import Operator
from rfactor.table.mirror import mirror
from rfactor.table.prints import fingerprint
from rfactor.table.row import Row
from rfactor.table.rules import LARGEST_CHOICE_WITH_ROW, STATEMENTS, is_choice
from rfactor.table.schema import OPERATORS
from rfactor.table.store import Table, open_table


@pytest.fixture(scope="module")
def table() -> Table:
    return open_table()


def parsed(text: str, type_: Type, count: int = 1) -> tuple[Expr, ...]:
    kinds = {f"{a}{i}": type_ for a in "xy" for i in range(count)} | {"k": type_}
    return parse_tuple(text, kinds, [type_] * count)


def points(type_: Type, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    names = [f"{a}{i}" for a in "xy" for i in range(count)] + ["k"]
    return {n: rng.integers(int(type_.min), int(type_.max) + 1, 300).astype(f"{type_.code[0]}1") for n in names}


def test_the_rule_for_choices_is_proved():
    assert check_rule().result == "proved"


def test_what_the_rule_for_choices_covers():
    for text, covered in (
        ("select(x0 * x0 < k, x0, y0)", True),
        ("select(y0 == k, x0, y0)", True),
        ("select(x0 < y0, x0, y0)", False),
        ("select(x0 < k, k, y0)", False),
        ("select(x0 < k, y0, y0)", False),
        ("max(x0, y0)", False),
    ):
        assert is_choice(parsed(text, I32)) is covered, text


def test_choices_are_listed_with_proved_identities(table: Table):
    held = table.choices((I32,))
    assert len(held) > 100
    assert all(row.leaves > LARGEST_CHOICE_WITH_ROW and is_choice(row.components) for row in held)
    for row in held[:: len(held) // 12]:
        assert {check.result for check in check_row(row)} == {"proved"}, row


def test_a_false_witness_is_refuted(table: Table):
    found = table.alike(parsed("select(x0 < k, x0, y0)", I32), (I32,))  # and what differs from it at MIN alone
    (row,) = (row for row in found if row.column("operator") == "select(x0 < k, x0, y0)")
    assert {check.result for check in check_row(row)} == {"proved"}
    proofs = json.loads(row.column("proofs"))
    for proof in proofs:
        if "witness" in proof:
            proof["witness"] = {"x0": 1, "y0": 1, "k": 1}
    altered = Row([json.dumps(proofs) if name == "proofs" else row.column(name) for name in OPERATORS], row.types)
    assert [check.claim for check in check_row(altered) if check.result == "refuted"] == ["not_commutative"]


def test_a_mirror_is_the_operator_with_its_operands_exchanged(table: Table):
    rows = [row for row in table.rows((I8,)) if row.identity_kind == "left"]
    pairs = [row for row in table.rows((U8, U8)) if row.identity_kind == "left"]
    for row in (*rows[::40], *pairs[::80], *table.choices((I8,))[::400]):
        other = mirror(row)
        env = points(row.types[0], len(row.types))
        turned = {{"x": "y", "y": "x"}.get(name[0], name[0]) + name[1:]: value for name, value in env.items()}
        for one, two in zip(row.components, other.components, strict=True):
            assert np.array_equal(evaluate(one, env) + env["k"] * 0, evaluate(two, turned) + env["k"] * 0), row
        assert (other.identity_kind, other.identity, other.klass) == ("right", None, row.klass + 1)
        assert other.right_identity == row.identity


def test_fingerprints_do_not_depend_on_width_or_spelling():
    own = fingerprint(parsed("max(min(x0, k), y0)", U8), "unsigned")
    assert own == fingerprint(parsed("max(y0, min(k, x0))", U64), "unsigned")
    assert own != fingerprint(parsed("max(min(x0, k), y0)", I64), "signed")
    assert own != fingerprint(parsed("max(min(y0, k), x0)", U8), "unsigned")
    assert own == fingerprint(parsed("max(min(y0, k), x0)", U8), "unsigned", mirrored=True)
    with pytest.raises(KeyError):
        fingerprint(parsed("x0 // y0", U8), "unsigned")


@pytest.mark.parametrize("types", [(I32, I32), (U16, F32), (F32, I8)], ids=str)
def test_pairs_are_found_by_meaning_with_any_payload(table: Table, types: tuple[Type, Type]):
    kinds = {"x0": types[0], "y0": types[0], "x1": types[1], "y1": types[1]}
    operator = parse_tuple("select(y0 <= x0, y0, x0), select(not (x0 < y0), y1, x1)", kinds, types)
    (row,) = table.alike(operator, types)
    assert row.column("operator") == "min(x0, y0), select(x0 < y0, x1, y1)"


def test_what_is_not_there_is_not_found(table: Table):
    assert table.alike(parsed("x0 - y0", I32), (I32,)) == ()
    assert table.alike(parsed("x0 // y0", I32), (I32,)) == ()
    saturated = parsed("min(max(k - x0, y0), x0)", I32)
    assert table.alike(saturated, (I32,)) == ()
    alike = table.alike(saturated, (I32,), Meaning.MATH)  # another is the same on the samples
    wanted = Operator(saturated, (I32,), Meaning.MATH)
    assert [row.column("operator") for row in alike if equality(wanted, row)] == ["min(x0, max(k - x0, y0))"]


def test_finding_by_meaning_is_fast(table: Table):
    operators = [parsed(text, I32) for text in ("max(min(x0, k), y0)", "select(x0 + k < x0, x0, y0)", "x0 + y0 - k")]
    for operator in operators:
        assert table.alike(operator, (I32,))
    took = []
    for _ in range(1000):
        began = time.perf_counter()
        for operator in operators:
            table.alike(operator, (I32,))
        took.append((time.perf_counter() - began) / len(operators))
    assert min(took) < 100e-6


def test_rules_are_in_the_file(table: Table):
    import sqlite3

    stored = sqlite3.connect(table.path).execute("SELECT rule, statement FROM rules").fetchall()
    assert dict(stored) == {rule: statement for rule, (statement, _) in STATEMENTS.items()}


def test_find_command():
    run = CliRunner()
    found = run.invoke(command, ["find", "max(y, min(k, x))", "--json"], standalone_mode=False)
    (row,) = json.loads(found.stdout)
    assert (row["operator"], row["identity_kind"], found.return_value) == (["max(min(x0, k), y0)"], "left", 0)
    mirrored = run.invoke(command, ["find", "max(x, min(k, y))", "--json"], standalone_mode=False)
    assert json.loads(mirrored.stdout)[0]["identity_kind"] == "right"
    missing = run.invoke(command, ["find", "x - y"], standalone_mode=False)
    assert (missing.stdout, missing.return_value) == ("the table has no such operator\n", 1)
    assert isinstance(run.invoke(command, ["find", "x +"]).exception, ParseError)
    for row_id in itertools.islice((r.id for r in open_table().choices((I32,))), 2):
        assert "rule choice" in run.invoke(command, ["show", str(row_id)]).stdout
