"""Known reductions: what a row says of an update is what the search would say; what is not its row's is left to it."""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from rfactor.errors import TableError
from rfactor.ir.evaluate import as_array, evaluate
from rfactor.ir.expr import Const, Var, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import parse_type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.matcher.known import lookup
from rfactor.matcher.known.lookup import known_answer
from rfactor.matcher.known.make import answered, asked, proved_again, question, update_of
from rfactor.matcher.known.moved import moved
from rfactor.matcher.known.nodes import Encoder, decoded
from rfactor.matcher.known.refused import _Instance
from rfactor.matcher.known.shape import Shape
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.recognize import recognize
from rfactor.matcher.report import to_json
from rfactor.prover.claim import Discharged
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.table import known as store
from rfactor.table.known import FIRST, Known, KnownTable, shipped_reductions, write_known

QUESTIONS = [
    ("x + a", "i32", "wrap"),
    ("x + a", "f32", "wrap"),
    ("max(x, a)", "i32", "wrap"),
    ("x*k + a", "u32", "wrap"),
    ("x*k + a", "i32", "math"),
    ("x + a // k", "i32", "math"),
    ("max(x + a, 0)", "i32", "math"),
    ("max(x + a, b)", "i32", "math"),
    ("max(x + a, b)", "u32", "math"),
    ("min(x0, a), select(a < x0, i, x1)", "i32", "wrap"),
    ("select(c, x + a, x)", "i32", "wrap"),
    ("x ^ (a & k)", "u32", "wrap"),
    ("x*0.5 + a*0.5", "f32", "wrap"),
    ("x / a", "f32", "wrap"),
    ("(x + a) >> 1", "i32", "wrap"),
    ("max(x + a, k)", "i32", "wrap"),
    ("x0*a - x1*b, x0*b + x1*a", "i32", "wrap"),
    ("x0*a + x1*b, x0*e + x1*f", "i32", "wrap"),
    ("x != c", "bool", "wrap"),
    ("a, x1 + select((a >= 0) != (x0 >= 0), 1, 0)", "i32", "wrap"),
    ("select(a > x, a, x)", "f32", "wrap"),
    ("select(a > x, a, x)", "i32", "math"),
    ("max(x0, a), select(a >= x0, i, x1)", "i32", "wrap"),
]


def rows() -> list[Known]:
    found = [question(update(text, type_, semantics)) for text, type_, semantics in QUESTIONS]
    return [answered(row) for row in found if row is not None]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("known") / "reductions.sqlite"
    made = rows()
    assert [row.reduction for row in made if row.verdict == "unknown"] == []
    write_known(place, made, {})
    return place


@pytest.fixture(scope="module")
def table(path: Path) -> KnownTable:
    return KnownTable(path)


def update(text: str, type_: str = "i32", semantics: str = "wrap") -> Update:
    return parse_update(text, parse_type(type_), {}, (), Meaning(semantics))


SAME = [
    ("x + a", "i32", "wrap"),
    ("q + x", "f32", "wrap"),
    ("q + x", "f32", "math"),  # floats have one meaning
    ("x - a*b + 3", "i32", "wrap"),  # data are expressions
    ("b + x*31", "u32", "wrap"),  # a literal in place of a constant
    ("x*31 + (a ^ b)", "u32", "wrap"),
    ("x*7 + z", "i32", "math"),
    ("x*k1 + a", "u32", "wrap"),
    ("max(0, p + x)", "i32", "math"),
    ("min(x0, abs(a - b)), select(x0 > abs(a - b), i, x1)", "i32", "wrap"),
    ("select(x < b, b, x)", "f32", "wrap"),
    ("select(a > 3, x + b, x)", "i32", "wrap"),
    ("x*0.5 + y*0.5", "f32", "wrap"),
    ("x / (a + 1.0)", "f32", "wrap"),
    ("(y + x) >> 1", "i32", "wrap"),
    ("x0*p - x1*q, x1*p + x0*q", "i32", "wrap"),
    ("max(x0, a), x1 + a*a, min(x2, b), select(b < x2, j, x3)", "i32", "wrap"),  # components apart
    ("x != (p != q)", "bool", "wrap"),
    ("select(b < x1, j, x0), min(x1, b)", "i32", "wrap"),  # components in another order
    ("select(p < x1, j, x0), min(x1, p), x2 + q", "i32", "wrap"),  # of a group too
    ("select(c > 3, x*k + a, x)", "i32", "math"),  # nothing is done unless a condition on data holds
    ("select(c < b, x, max(x, abs(a)))", "i32", "wrap"),
    ("select(a > 0, x + a*b, x)", "i32", "wrap"),
    ("select(b > 0, min(x0, a), x0), select(a < x0 and b > 0, i, x1)", "i32", "wrap"),
    ("select(b <= 0 or a <= x, x, a)", "i32", "wrap"),
    ("x*0.5 + a*0.5", "f64", "wrap"),  # of reals, at another width
    ("2*x - x + a", "i32", "wrap"),  # literals that go
    ("x0*k + a, max(x1, b)", "i32", "math"),  # a richer state beside a fold
    ("(x + (a - b)) >> 1", "i32", "wrap"),  # no for b = 0
    ("(x - a - 7) >> 1", "i32", "wrap"),
    ("select(c > 3, (x + a) >> 1, x)", "i32", "wrap"),  # no where it holds
]


@pytest.mark.parametrize(("text", "type_", "semantics"), SAME)
def test_a_row_says_what_the_search_says(table: KnownTable, text: str, type_: str, semantics: str) -> None:
    asked_of = update(text, type_, semantics)
    found, sought = known_answer(asked_of, table), recognize(asked_of, known=False)
    assert found is not None
    assert all(proof.method == "table" and (proof.row or 0) >= FIRST for proof in found.proofs)
    claim = claim_of(found)
    if claim is None:
        assert found.verdict == sought.verdict == "not_associative"
        assert found.counterexample is not None
        assert sought.counterexample is not None
        names = ({re.sub(r"'?\d*$", "", key) for key in own.counterexample or {}} for own in (found, sought))
        assert next(names) == next(names)
        assert _shows(found)
        return
    proved = discharge(claim, Limits(seconds=20.0))
    assert isinstance(proved, Discharged)
    for answer in (found, sought):
        assert (proved.identity_kind, proved.commutative) == (answer.identity_kind, answer.commutative)
    ours, theirs = to_json(found), to_json(sought)
    for key in ("verdict", "operator", "identity", "groups", "assumes"):
        assert ours[key] == theirs[key], key
    assert sorted(ours["invariant"]) == sorted(theirs["invariant"])
    assert {p["claim"] for p in ours["proofs"]} == {p["claim"] for p in theirs["proofs"]}


def _shows(refusal: Answer) -> bool:
    """Whether the two runs of a counterexample end alike from e and not from x."""
    instance = _Instance.of(refusal)
    assert instance is not None
    update_ = refusal.update
    ends = []
    for start in (instance.e, instance.x):
        for run in instance.runs:
            state = list(start)
            for datum in run:
                env = {f"x{i}": value for i, value in enumerate(state)} | dict(datum) | dict(instance.constants)
                types = {var.name: var.type for e in update_.components for var in variables(e)}
                arrays = {
                    name: as_array(types[name], [value], update_.meaning)
                    for name, value in env.items()
                    if name in types
                }
                state = [evaluate(e, arrays, update_.meaning)[0] for e in update_.components]
            ends.append(state)
    return ends[0] == ends[1] and ends[2] != ends[3]


def test_a_literal_of_the_canonical_form_is_none_of_the_update(table: KnownTable) -> None:
    found = known_answer(update("x + (x + a*b)", "u32"), table)
    assert found is not None
    assert found.lift is not None
    assert found.lift.data == update("2, a*b", "u32").components


NOT_KNOWN = [
    ("x + a", "i64", "wrap"),  # another type
    ("x + a", "i32", "math"),  # another meaning
    ("x*1 + a*0 - x", "i32", "math"),
    ("max(x + 1, 0)", "i32", "math"),  # a constant is no datum
    ("max(x + a, a)", "i32", "math"),  # data that go together may have an operator without a richer state
    ("max(x + (a - b), b)", "i32", "math"),
    ("max(x + a, a - b)", "u32", "math"),  # below 0, which no unsigned datum is
    ("x ^ (a & 1)", "i32", "wrap"),
    ("min(x + (a - b), 0)", "u32", "math"),  # which may be below 0
    ("max(x + a, 0 - 2147483647 - 1)", "i32", "math"),
    ("select(a > 0, max(x + a, b), x)", "i32", "math"),  # the condition may make an operator
    ("select(b <= 0 or a <= x, x, x + (a - x))", "i32", "math"),
    ("select(a > 3, max(x0, a), x0), select(a > 3 and a >= x0, i, x1)", "i32", "wrap"),
    ("select(x > 0, x + a, x)", "i32", "wrap"),  # no condition on data
    ("select(c > 0, x + a, b)", "i32", "wrap"),
    ("select(b > 0, max(x + a, b), x)", "u32", "math"),
    ("x0*k + a, max(x1, a)", "i32", "math"),  # together they may have an operator
    ("x*0.1 + a*0.1", "f64", "wrap"),  # another literal than that of f32
    ("(x + abs(a)) >> 1", "i32", "wrap"),  # a part that is not any datum
    ("(x + (a - a)) >> 1", "i32", "wrap"),
    ("select(a > 3, (x + a) >> 1, x)", "i32", "wrap"),
    ("max(x + a, 5)", "i32", "wrap"),  # what is refused for some constant
    ("(x + a*3) >> 1", "i32", "wrap"),  # what is refused for some datum
    ("(x + e0) >> 1", "i32", "wrap"),  # a name that stands for a start
    ("x0*a - x1*b, x0*b + x1*e", "i32", "wrap"),
    ("select(a > x, x + (a - x), x)", "f32", "wrap"),  # has no value at -inf, where runs of its row start
    ("select(a > x, x + (a - x), x)", "i32", "math"),
]


@pytest.mark.parametrize(("text", "type_", "semantics"), NOT_KNOWN)
def test_what_is_no_row_is_left_to_the_search(table: KnownTable, text: str, type_: str, semantics: str) -> None:
    assert known_answer(update(text, type_, semantics), table) is None


@pytest.mark.parametrize("text", ["select((c or n == 7) and c, (x + a)//2, x)", "(x + a - n)//2 + (m - m)"])
def test_data_that_the_form_does_not_read_are_in_no_way_of_a_refusal(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked_ = parse_update(text, parse_type("i32"), {"c": parse_type("bool")}, (), Meaning.WRAP)
    answer = known_answer(asked_, lookup.shipped())
    assert answer is not None
    assert answer.verdict == "not_associative"
    assert not caplog.records
    assert answer.counterexample is not None
    assert {name.rstrip("'12") for name in answer.counterexample} >= {v.name for v in asked_.data}


@pytest.mark.parametrize("text", ["max(x - (a + a), b)", "max(x + select(c > 3, -(a + a), 1), b)", "x - (a + a)"])
def test_no_factor_of_naturals_is_wrapped_around(table: KnownTable, text: str) -> None:
    """-2 is none, nor is 4294967294 instead."""
    assert known_answer(update(text, "u32", "math"), table) is None


def test_a_flag_says_whether_a_condition_held(table: KnownTable) -> None:
    """Of two elements the later one at ties: there is no identity on the right, for a step that does nothing."""
    asked_of = update("select(c > 3, max(x0, a), x0), select(c > 3 and a >= x0, i, x1)")
    found = known_answer(asked_of, table)
    assert found is not None
    assert found.lift is not None
    assert [str(e) for e in found.lift.data] == ["select(3 < c, a, 0)", "select(3 < c, i, 0)", "3 < c"]
    proved = discharge(claim_of(found) or pytest.fail("no claim"), Limits(seconds=20.0))
    assert isinstance(proved, Discharged)
    assert recognize(asked_of, known=False).verdict == found.verdict


def test_a_special_literal_has_its_own_row(table: KnownTable) -> None:
    """x*0 + a is the last datum, on the state as it is."""
    for text in ("x*1 + a", "x*0 + a"):
        assert known_answer(update(text, "i32", "math"), table) is None
    assert recognize(update("x*0 + a", "i32", "math"), known=False).verdict == "associative"


def test_a_commutator_is_witnessed_for_the_literals_in_question(table: KnownTable) -> None:
    found = known_answer(update("x*31 + a", "u32"), table)
    assert found is not None
    assert found.commutative is False
    # 2^31 has an inverse nowhere, yet runs of two data do not commute.
    assert known_answer(update("x*2147483648 + a", "u32"), table) is not None


@pytest.mark.parametrize(("text", "type_", "semantics"), [*SAME, *NOT_KNOWN, *QUESTIONS])
def test_a_form_is_the_same_function(text: str, type_: str, semantics: str) -> None:
    """The form of an update, read again, has the update's form, and is equal on samples."""
    from rfactor.prover.sampling import refute

    original = update(text, type_, semantics)
    for shape in filter(None, (own := Shape.of(original), own and own.over_parts())):
        nodes = decoded(shape.text.split(" ; ")[0], shape.types, shape.values)
        back = tuple(nodes[int(root)] for root in shape.text.split(" ; ")[1].split())
        assert refute(back, original.components, original.meaning) is None
    assert own is not None
    again = Shape.of(asked(own.text, own.types, own.meaning.value, own.literals))
    assert again is not None
    assert (again.text, again.literals) == (own.text, own.literals)


@pytest.mark.parametrize("text", ["x != c", "h(x) and b", "x0*a + exp(b), x1", "x - 3", "max(x, -2.5) + inf"])
def test_expressions_are_read_as_they_were_written(text: str) -> None:
    types = {"x": parse_type("bool")} if "c" in text or "b" in text.split() else {}
    components = parse_update(text, parse_type("f32"), types).components
    encoder = Encoder([e.type for e in components], {"a": "d0", "b": "d1", "c": "d2", "h": "f0"})
    roots = encoder.roots(components)
    names = {v: k for k, v in encoder.renamed.items()}
    values = {
        short: name if short[0] == "f" else Var(parse_type("bool" if name in "bc" and types else "f32"), name)
        for short, name in names.items()
    }
    nodes = decoded(" ".join(encoder.words), encoder.types, values)
    assert tuple(nodes[root] for root in roots) == components


def test_names_and_their_order_do_not_matter() -> None:
    for one, other in (
        ("select(p < q, x + p, x)", "select(v < b, v + x, x)"),
        ("min(x0, a), select(a < x0, i, x1)", "min(c, x0), select(x0 > c, b, x1)"),
        ("x - 5*a", "x + b*(-5)"),
    ):
        first, second = Shape.of(update(one)), Shape.of(update(other))
        assert first is not None
        assert second is not None
        assert (first.text, first.literals) == (second.text, second.literals)


def test_literals_are_rounded_or_wrapped_by_no_form() -> None:
    """x*0.1*3 is not x*0.3…, nor is 200*x + 100*x of bytes without bounds 44*x."""
    one, other = Shape.of(update("x*0.1*3.0", "f64")), Shape.of(update("x*0.30000000000000004", "f64"))
    assert one is not None
    assert other is not None
    assert one.text != other.text
    wide = Shape.of(update("200*x + 100*x", "u8", "math"))
    assert wide is not None
    assert sorted(v.value for v in wide.values.values() if isinstance(v, Const)) == [100, 200]
    assert Shape.of(update("max(x - a, 0)", "u32", "math")) != Shape.of(update("x - a", "u32", "math"))
    many = "*".join(["(a + a)"] * 8)
    assert Shape.of(update(f"x + {many}", "u8", "math")) is None
    assert Shape.of(update(f"x + {many}", "u8", "wrap")) is not None


def test_the_search_is_asked_only_where_there_is_no_row(table: KnownTable, monkeypatch: pytest.MonkeyPatch) -> None:
    from rfactor.matcher import recognize as module

    monkeypatch.setattr(module, "shipped", lambda: table)
    monkeypatch.setattr(module, "_answer", lambda *_: pytest.fail("searched"))
    module.forget()
    assert module.recognize(update("w + x")).verdict == "associative"
    with pytest.raises(pytest.fail.Exception):
        module.recognize(update("w + x"), known=False)
    module.forget()


def test_the_answer_has_the_names_of_the_update(table: KnownTable) -> None:
    found = known_answer(update("(speed + x) >> 1"), table)
    assert found is not None
    assert found.reason is not None
    assert "speed = " in found.reason
    assert "@" not in found.reason + "".join(found.counterexample or ())
    row = next(row for row in table.rows() if row.reduction == "x0 / a")
    divided = known_answer(update("x / q", "f32"), table)
    assert divided is not None
    assert [str(e) for e in divided.assumes] == ["q != 0.0"]
    assert table[row.id] == row


# The file.


def _altered(path: Path, place: Path, statement: str) -> Path:
    place.write_bytes(path.read_bytes())
    connection = sqlite3.connect(place)
    connection.execute(statement)
    connection.commit()
    connection.close()
    return place


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET text = replace(text, 'two-sided', 'left')",
        "UPDATE reductions SET types = 'i64'",
        "UPDATE reductions SET verdict = 'lifted'",
        "UPDATE forms SET text = text || ' '",
        "UPDATE reductions SET digest = digest + 1",
        "UPDATE reductions SET literals = 1",
    ],
)
def test_an_altered_row_is_not_used(path: Path, tmp_path: Path, statement: str) -> None:
    damaged = KnownTable(_altered(path, tmp_path / "k.sqlite", statement))
    assert known_answer(update("x + a"), damaged) is None
    with pytest.raises(TableError, match="damaged"):
        list(damaged.rows())


def test_rows_of_another_key_are_not_taken(path: Path, tmp_path: Path) -> None:
    """Two forms with one digest: the form decides."""
    (key,) = sqlite3.connect(path).execute("SELECT key FROM reductions WHERE reduction = 'max(x0, a)'").fetchone()
    damaged = KnownTable(_altered(path, tmp_path / "k.sqlite", f"UPDATE reductions SET key = {key}"))
    found = known_answer(update("max(x, a)"), damaged)
    assert found is not None
    assert show_tuple(found.operator or ()) == "max(x0, y0)"
    assert known_answer(update("x + a"), damaged) is None


def test_rows_made_by_other_rules_are_not_used(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = _altered(path, tmp_path / "k.sqlite", "UPDATE meta SET value = '0' WHERE key = 'rules'")
    with pytest.raises(TableError, match="other rules"):
        KnownTable(place)
    monkeypatch.setattr(lookup, "shipped_reductions", lambda: place)
    lookup.shipped.cache_clear()
    try:
        assert lookup.shipped() is None
        monkeypatch.setattr(lookup, "shipped_reductions", lambda: tmp_path / "none.sqlite")
        lookup.shipped.cache_clear()
        assert lookup.shipped() is None
    finally:
        lookup.shipped.cache_clear()


@pytest.mark.parametrize("length", [0, 50, 5000])
def test_a_file_that_is_cut_short_is_refused(path: Path, tmp_path: Path, length: int) -> None:
    place = tmp_path / "k.sqlite"
    place.write_bytes(path.read_bytes()[:length])
    with pytest.raises(TableError):
        KnownTable(place)


def test_the_same_questions_give_the_same_file(path: Path, tmp_path: Path, table: KnownTable) -> None:
    write_known(tmp_path / "k.sqlite", table.rows(), {})
    assert (tmp_path / "k.sqlite").read_bytes() == path.read_bytes()
    assert [row.id for row in table.rows()] == list(itertools.islice(itertools.count(FIRST), len(QUESTIONS)))


def test_long_answers_are_packed_and_read(tmp_path: Path, table: KnownTable) -> None:
    row = next(iter(table.rows()))
    kept = json.loads(row.answer)
    long = replace(row, answer=json.dumps({**kept, "reason": "because " * 5000}))
    write_known(tmp_path / "k.sqlite", [long], {})
    assert next(KnownTable(tmp_path / "k.sqlite").rows()) == replace(long, id=FIRST)
    assert (tmp_path / "k.sqlite").stat().st_size < len(long.answer)
    broken = _altered(tmp_path / "k.sqlite", tmp_path / "b.sqlite", "UPDATE answers SET text = substr(text, 1, 40)")
    assert known_answer(update("x + a"), KnownTable(broken)) is None


def test_a_row_is_found_by_all_that_it_is_about(table: KnownTable) -> None:
    row = next(row for row in table.rows() if row.reduction == "max(x0 + a, 0)")
    assert table.find(*row.about) == row
    for other in (
        replace(row, form=f"{row.form} "),
        replace(row, types="i64,bool"),
        replace(row, semantics="wrap"),
        replace(row, literals="k0=1"),
    ):
        assert table.find(*other.about) is None
    assert store.key_of(row.about) >= 0


# The command line.


def test_rows_are_shown_exported_and_proved_again(path: Path, table: KnownTable) -> None:
    from click.testing import CliRunner

    from rfactor.cli.main import rfactor

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(rfactor, ["table", *arguments], standalone_mode=False)
        assert result.exception is None
        return result.output

    assert f"{len(QUESTIONS)} known reductions" in run("stats", str(path))
    shown = json.loads(run("show", str(FIRST + 13), str(path), "--json"))
    assert (shown["reduction"], shown["update"], shown["assumes"]) == ("x0 / a", "x0 / d0", ["d0 != 0.0"])
    exported = [json.loads(line) for line in run("export", str(path)).splitlines()]
    assert [row["id"] for row in exported] == [row.id for row in table.rows()]
    proved = run("verify", str(path), "--jobs", "1", "--row", str(FIRST), "--row", str(FIRST + 14))
    assert "2 rows proved, 0 refuted, 0 unknown" in proved


def test_what_is_wrong_in_a_row_is_not_proved(table: KnownTable) -> None:
    rows = {row.reduction: row for row in table.rows()}
    assert proved_again(rows["max(x0, a)"]) == ("proved", "")
    wrong = replace(rows["max(x0, a)"], answer=rows["max(x0, a)"].answer.replace("max:", "min:"))
    assert proved_again(wrong)[0] == "refuted"
    assert proved_again(replace(wrong, answer=rows["x0 + a"].answer))[0] == "refuted"
    commuting = rows["min(x0, a), select(a < x0, i, x1)"]
    other = commuting.answer.replace('"commutative":false', '"commutative":true')
    assert other != commuting.answer
    assert proved_again(replace(commuting, answer=other))[0] == "refuted"
    refused = rows["x0 + a >> 1"]
    assert proved_again(replace(rows["x0 + a"], answer=refused.answer, verdict="not_associative"))[0] == "refuted"
    with pytest.raises(TableError, match="does not read"):
        proved_again(replace(wrong, form="x0:0 d0:0 ; 7"))


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    from rfactor.cli.reductions import generate_reductions

    questions_, out = tmp_path / "questions.jsonl", tmp_path / "k.sqlite"
    lines = [{"update": "x + a", "types_of": "ints"}, {"update": "x*k + a", "semantics": "wrap,math"}]
    questions_.write_text("".join(json.dumps(line) + "\n" for line in lines))
    arguments = (questions_, out, 1, True, 4000, lambda *_: None)
    made = generate_reductions(*arguments)
    assert made["counts"] == {"associative": 8, "lifted": 2}
    first = out.read_bytes()
    begun = f'"{KnownTable(out).meta["digest of questions"]}"\n'
    rows_ = [astuple(replace(row, id=0)) for row in KnownTable(out).rows()]
    for rest in ("", f"{json.dumps([0, rows_])}\n[1, [", "[0, [["):
        out.unlink()
        out.with_name("k.sqlite.part").write_text(begun + rest)
        generate_reductions(*arguments)
        assert out.read_bytes() == first
    out.with_name("k.sqlite.part").write_text('"others"\n')
    with pytest.raises(TableError, match="other questions"):
        generate_reductions(*arguments)
    out.with_name("k.sqlite.part").unlink()
    with pytest.raises(TableError, match="exists"):
        generate_reductions(questions_, out, 1, False, 4000, lambda *_: None)


def test_only_what_a_table_has_no_answer_to_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rfactor.cli import reductions

    questions_, out = tmp_path / "questions.jsonl", tmp_path / "k.sqlite"
    asked: list[int] = []
    batches = reductions._batches

    def counted(rows: Any) -> Any:
        asked.append(len(rows))
        return batches(rows)

    monkeypatch.setattr(reductions, "_batches", counted)
    for lines in (["x + a", "x*x + a"], ["x + a", "max(x, a)"], ["max(x, a)"]):
        questions_.write_text("".join(json.dumps({"update": line}) + "\n" for line in lines))
        reductions.generate_reductions(questions_, out, 1, True, 4000, lambda *_: None)
    assert asked == [2, 1, 0]
    assert [row.reduction for row in KnownTable(out).rows()] == ["max(x0, a)"]


def _row(text: str, type_: str, semantics: str = "wrap") -> Known:
    row = question(update(text, type_, semantics))
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("text", "type_", "other"),
    [
        ("max(x, a)", "i32", "u8"),  # the ends of the types
        ("min(x0, a), select(a < x0, i, x1)", "i64", "i16"),
        ("x*k + a", "i32", "i8"),
        ("x*0.5 + a*0.5", "f32", "f64"),
    ],
)
def test_a_row_is_moved_to_another_type(text: str, type_: str, other: str) -> None:
    source, row = answered(_row(text, type_)), _row(text, other)
    found, sought = moved(row, source), answered(row)
    assert found is not None
    assert found.about == row.about
    answers = [update_of(own)[1] for own in (found, sought)]
    ours, theirs = (to_json(answer) for answer in answers if answer is not None)
    for key in ("verdict", "types", "operator", "identity", "identity_kind", "data", "commutative", "lift"):
        assert ours[key] == theirs[key], key


def test_what_is_not_proved_at_another_type_is_not_moved() -> None:
    signs = answered(_row("select(c > 0, x, -x)", "i32"))  # times 1 or -1, which is no u8
    assert signs.verdict == "associative"
    moved(_row("select(c > 0, x, -x)", "u8"), signs)
    assert moved(_row("max(x, a)", "u8"), answered(_row("min(x, a)", "i32"))) is None
    assert moved(_row("x*k + a", "u32"), answered(_row("x*k + a", "i32"))) is None  # lifted: another kind of type
    source = answered(_row("max(x, a)", "i32"))
    wrong = replace(source, answer=source.answer.replace("max:", "min:"))
    assert moved(_row("max(x, a)", "i8"), wrong) is None
    refused = answered(_row("(x + a) >> 1", "i32"))
    assert moved(_row("(x + a) >> 1", "i8"), refused) is None


# The shipped table.


def test_the_shipped_table_is_whole_and_its_rows_hold() -> None:
    """All rows are read; some of each verdict are found by look-up, and their claims proved again."""
    table = KnownTable(shipped_reductions())
    rows_ = list(table.rows())
    for verdict, count in (("associative", 8), ("lifted", 6), ("not_associative", 4)):
        own = [row for row in rows_ if row.verdict == verdict]
        for row in own[7 :: max(1, len(own) // count)][:count]:
            if verdict != "not_associative":  # a refusal is found by search
                assert proved_again(row) == ("proved", ""), row
            found = known_answer(update_of(row)[0], table)
            assert found is not None
            assert (found.verdict, {proof.row for proof in found.proofs} <= {row.id}) == (verdict, True), row
