"""The table file: refusals, subtables, speed; and what the shipped one must hold."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from rfactor.errors import TableError
from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Const, Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.types import BOOL, F32, I8, I32, SCALARS, TABLED, U8, U16, Type
from rfactor.table.export import exported
from rfactor.table.mirror import mirror
from rfactor.table.row import Row, split_components
from rfactor.table.scope import parse_scope
from rfactor.table.store import Table, open_table, shipped


@pytest.fixture(scope="module")
def table() -> Table:
    return open_table()


def broken(tmp_path: Path) -> Path:
    return Path(shutil.copy(shipped(), tmp_path / "broken.sqlite"))


def test_missing_and_foreign_files_are_refused(tmp_path: Path):
    with pytest.raises(TableError, match="there is no table"):
        open_table(tmp_path / "none.sqlite")
    (tmp_path / "text").write_text("operators\n" * 50)
    with pytest.raises(TableError, match="no SQLite file"):
        open_table(tmp_path / "text")
    sqlite3.connect(tmp_path / "other.sqlite").executescript("CREATE TABLE operators (id); VACUUM").close()
    with pytest.raises(TableError, match="another program"):
        open_table(tmp_path / "other.sqlite")


def test_an_older_file_is_refused(tmp_path: Path):
    path = broken(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(TableError, match="version 99"):
        open_table(path)


def test_a_truncated_file_is_refused(tmp_path: Path):
    path = broken(tmp_path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 5000)
    with pytest.raises(TableError, match="damaged"):
        open_table(path)


def test_an_altered_row_is_refused_with_its_subtable_and_nothing_of_it_is_given(tmp_path: Path):
    path = broken(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE operators SET identity = '7' WHERE operator = 'min(x0, y0)' AND semantics = 'wrap'")
    connection.commit()
    connection.close()
    opened = open_table(path)
    assert opened.subtable((I32,), "+")
    with pytest.raises(TableError, match="altered"):
        opened.subtable((I32,), "min")


def test_overwritten_bytes_are_refused(tmp_path: Path):
    path = broken(tmp_path)
    data = bytearray(path.read_bytes())
    half = len(data) // 2
    data[half : half + 20000] = bytes(20000)
    path.write_bytes(bytes(data))
    with pytest.raises(TableError):
        list(open_table(path).stored())


def test_scopes_read_back():
    for text in ("i32", "signed", "u8|u16", "signed,signed", "float,*", "i8|i16,*", "bool,bool"):
        assert parse_scope(text).text == text
    assert parse_scope("unsigned,*").holds((U8, I32))
    assert not parse_scope("unsigned,*").holds((I32, U8))
    assert not parse_scope("signed,signed").holds((I8, I32))
    assert len(list(parse_scope("u8|u16,*").members())) == 2 * len(TABLED)


def test_tuples_split_outside_parentheses():
    assert split_components("min(x0, y0), select(x0 < y0, x1, y1)") == ["min(x0, y0)", "select(x0 < y0, x1, y1)"]


def test_rows_are_simplest_first_and_ends_are_those_of_the_type(table: Table):
    for type_, end in ((I32, 2**31 - 1), (U8, 255)):
        rows = table.subtable((type_,), "min")
        assert [row.leaves for row in rows] == sorted(row.leaves for row in rows)
        assert rows[0].identity == (Const(type_, end),)
        assert (rows[0].identity_kind, rows[0].commutative) == ("two-sided", True)


def test_one_row_serves_every_payload(table: Table):
    for types in ((U8, I32), (I32, F32), (U16, BOOL)):
        texts = {row.column("operator") for row in table.subtable(types, "min,select")}
        assert "min(x0, y0), select(x0 < y0, x1, y1)" in texts
        assert all(row.components[1].type == types[1] for row in table.subtable(types, "min,select"))


def test_lookups_are_fast(table: Table):
    table.subtable((I32, I32), "min,select")
    began = time.perf_counter()
    for _ in range(1000):
        table.subtable((I32, I32), "min,select")
    assert (time.perf_counter() - began) / 1000 < 100e-6
    first = []
    for _ in range(3):
        began = time.perf_counter()
        open_table().subtable((I32,), "min")
        first.append(time.perf_counter() - began)
    assert min(first) < 0.1


# What must be there.


def _holding(table: Table, text: str, type_: Type, meaning: Meaning) -> list[Row]:
    """Rows that are the operator `text`, and mirrors of rows."""
    wanted = _canonical(text, type_)
    types = (type_,) * len(wanted)
    mirrors = map(mirror, table.alike(wanted, types, meaning, mirrored=True))
    return [*table.alike(wanted, types, meaning), *mirrors]


NAMED = {
    "sum": "x0 + y0",
    "product": "x0 * y0",
    "minimum": "min(x0, y0)",
    "maximum": "max(x0, y0)",
    "clamp below, then min": "min(max(x0, k), y0)",
    "clamp above, then max": "max(min(x0, k), y0)",
    "clamped datum, min": "min(max(y0, k), x0)",
    "clamped datum, max": "max(min(y0, k), x0)",
    "sum and scaled product": "x0 + y0 + k * x0 * y0",
    "sum and product": "x0 + y0 + x0 * y0",
    "argmin strict": "min(x0, y0), select(x0 < y0, x1, y1)",
    "argmin loose": "min(x0, y0), select(x0 <= y0, x1, y1)",
    "argmax strict": "max(x0, y0), select(x0 > y0, x1, y1)",
    "argmax loose": "max(x0, y0), select(x0 >= y0, x1, y1)",
    "complex product": "x0*y0 - x1*y1, x0*y1 + x1*y0",
    "split-complex product": "x0*y0 + x1*y1, x0*y1 + x1*y0",
    "dual numbers": "x0*y0, x0*y1 + x1*y0",
    "affine maps": "x0*y0, x1*y0 + y1",
    "two smallest": "min(x0, y0), min(max(x0, y0), min(x1, y1))",
    "two largest": "max(x0, y0), max(min(x0, y0), max(x1, y1))",
    "first": "x0",
    "last": "y0",
}
MATH_ALONE = {
    "saturated difference": "min(max(k - x0, y0), x0)",
    "saturated difference, max": "max(min(k - x0, y0), x0)",
    "sum with largest prefix": "x0 + y0, max(x1, x0 + y1)",
    "sum with smallest prefix": "x0 + y0, min(x1, x0 + y1)",
}


@pytest.mark.parametrize("type_", [I32, U8, F32], ids=str)
@pytest.mark.parametrize("name", NAMED)
def test_named_operators_are_there(table: Table, name: str, type_: Type):
    assert _holding(table, NAMED[name], type_, Meaning.WRAP), f"{NAMED[name]} of {type_}"


@pytest.mark.parametrize("name", MATH_ALONE)
def test_some_are_there_over_the_unbounded_integers_and_the_reals_alone(table: Table, name: str):
    assert _holding(table, MATH_ALONE[name], I32, Meaning.MATH)
    assert _holding(table, MATH_ALONE[name], F32, Meaning.WRAP)
    assert not [
        row for row in _holding(table, MATH_ALONE[name], I8, Meaning.WRAP) if _same_for_all(row, MATH_ALONE[name])
    ]


def _same_for_all(row: Row, text: str) -> bool:
    """Whether a row is that very operator, also where sums overflow."""
    return row.column("operator") == ", ".join(map(str, _canonical(text, row.types[0])))


def _canonical(text: str, type_: Type) -> tuple[Expr, ...]:
    count = len(split_components(text))
    kinds = {f"{a}{i}": type_ for a in "xy" for i in range(count)} | {"k": type_}
    return tuple(canonical(e) for e in parse_tuple(text, kinds, [type_] * count))


def test_what_is_held_as_a_mirror_has_no_row_besides(table: Table):
    rows = [row for row in table.rows((I32,)) if row.identity_kind == "left"]
    assert len(rows) > 500
    for row in rows[::25]:
        assert table.alike(row.components, (I32,))
        assert not table.alike(mirror(row).components, (I32,)), row


def test_every_type_and_meaning_is_there(table: Table):
    for type_ in SCALARS:
        assert table.roots((type_,), Meaning.WRAP)
        assert table.roots((type_, type_), Meaning.WRAP)
        if type_.is_int:
            assert len(table.subtable((type_,), "min", Meaning.MATH)) > 10


def test_no_operator_is_there_twice(table: Table):
    held: dict[tuple[str, str, str], set[tuple[Type, ...]]] = {}
    for values in table.stored():
        row = Row(values, ())
        scope = parse_scope(row.column("types"))
        for type_ in scope.types:
            types = tuple(type_ for _ in scope.open)
            seen = held.setdefault((row.column("operator"), row.column("semantics"), type_.code), set())
            assert types not in seen, (row, types)
            seen.add(types)


def test_export_expands_scopes(table: Table):
    first = list(itertools.islice(exported(table), 4000))
    assert {tuple(row["types"]) for row in first} >= {(t.name,) for t in TABLED}
    assert all(len(row["operator"]) == len(row["types"]) for row in first)
