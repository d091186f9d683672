"""A file that is no sound table is refused in one line that says what to do, by the library and by the command."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rfactor.cli.main import main
from rfactor.errors import TableError
from rfactor.ir.parser import parse_update
from rfactor.ir.types import I8, U8
from rfactor.matcher.recognize import recognize
from rfactor.table.store import Table, open_table
from tests.faults.tables import altered

_SET = "UPDATE operators SET {} = ? WHERE id = (SELECT max(id) FROM operators WHERE root = '+' AND components = 1)"


def everything(path: Path) -> list[Any]:
    """All that a table gives, its expressions read."""
    table = open_table(path)
    table.check_whole()
    stored = list(table.stored())
    return [stored, dict(table.spellings), table.meta, table.subtables(), table.undecided(), rows(table)]


def rows(table: Table) -> list[Any]:
    found = [row for own in ((I8,), (U8,), (U8, U8)) for row in table.rows(own)]
    return [(row.components, row.identity, row.proofs) for row in found]


COMMANDS = [
    ["table", "stats", "TABLE"],
    ["table", "show", "1", "TABLE"],
    ["table", "find", "x + y", "TABLE", "--type", "u8"],
    ["table", "export", "TABLE"],
    ["table", "diff", "TABLE", "TABLE"],
    ["table", "merge", "TABLE", "--out", "/dev/null/none"],
]
"""What reads a table, besides `verify`."""


def ended(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of a command, and what it said on stderr."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0), capsys.readouterr().err


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the library and the command say of the file."""
    with pytest.raises(TableError) as error:
        everything(path)
    for command in (["stats"], ["verify", "--jobs", "1"]):
        with pytest.raises(SystemExit) as stopped:
            main(["table", command[0], str(path), *command[1:]])
        said = capsys.readouterr()
        assert stopped.value.code == 2, said
        assert len(said.err.strip().splitlines()) == 1
        assert said.err.startswith("rfactor: ")
    return str(error.value)


def test_a_sound_table_is_read(small: Path, tmp_path: Path):
    assert everything(altered(small, tmp_path / "same.sqlite")) == everything(small)


def test_files_cut_short_at_every_kind_of_place(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    whole = small.read_bytes()
    page = int.from_bytes(whole[16:18])
    for size in (0, 1, 50, 99, 100, 101, page - 1, page, page + 1, len(whole) // 2, len(whole) - page, len(whole) - 1):
        path = tmp_path / "short.sqlite"
        path.write_bytes(whole[:size])
        assert str(path) in refused(path, capsys)
        if size >= page:  # and a header that fits the file
            pages = size // page
            path.write_bytes((whole[:28] + pages.to_bytes(4) + whole[32:])[: pages * page])
            refused(path, capsys)


def test_files_cut_short_at_random_are_refused_by_every_command(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rng, whole = random.Random(0), small.read_bytes()
    path = tmp_path / "short.sqlite"
    for number in range(50):
        path.write_bytes(whole[: rng.randrange(len(whole))])
        with pytest.raises(TableError):
            open_table(path)
        command = [*COMMANDS, ["table", "verify", "TABLE"]][number % (len(COMMANDS) + 1)]
        code, said = ended([str(path) if word == "TABLE" else word for word in command], capsys)
        assert (code, len(said.strip().splitlines())) == (2, 1), said
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_changed_at_random_are_refused_or_make_no_difference(small: Path, tmp_path: Path):
    rng = random.Random(0)
    whole, original = small.read_bytes(), everything(small)
    caught = 0
    for _ in range(40):
        data = bytearray(whole)
        start = rng.randrange(len(data))
        for at in range(start, min(len(data), start + rng.choice((1, 100, 4000)))):
            data[at] = rng.randrange(256)
        path = tmp_path / "flipped.sqlite"
        path.write_bytes(data)
        try:
            assert everything(path)[0] == original[0]
        except TableError:
            caught += 1
    assert caught > 5


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("operator", "x0 + " * 20_000 + "y0"),
        ("operator", "-" * 399 + "x0 + y0"),
        ("operator", "__import__('os').system('true')"),
        ("operator", "x0 + z0"),
        ("operator", "x0 + y0\0"),
        ("operator", "x0 + y0; DROP TABLE operators"),
        ("operator", "(" * 100_000 + "x0 + y0" + ")" * 100_000),
        ("operator", "x0 + " * 2_000_000 + "y0"),
        ("operator", "x0 + y0 + " + "9" * 5000),
        ("operator", "x0 + y0 + x0**10**10"),
        ("identity", "'; DROP TABLE meta; --"),
        ("root", "'; DROP TABLE meta; --"),
        ("types", "u8'; DROP TABLE meta; --"),
        ("types", "u8\0"),
        ("operator", "x0 < y0"),
        ("operator", "x0, y0"),
        ("operator", b"x0 + y0"),
        ("operator", None),
        ("identity", "0, 0"),
        ("identity", "1.5"),
        ("identity_kind", "both"),
        ("commutative", 2),
        ("semantics", "saturate"),
        ("leaves", 10**6),
        ("leaves", "many"),
        ("types", "i33"),
        ("types", ",".join("*" * 50)),
        ("components", 7),
        ("class", "one"),
        ("print", 1.5),
    ],
)
def test_hostile_rows_are_refused_though_their_digests_fit(
    small: Path, tmp_path: Path, column: str, value: Any, capsys: pytest.CaptureFixture[str]
):
    shelf = (
        "INSERT INTO subtables SELECT max(s.id) + 1, o.types, o.root, o.semantics, o.leaves, 1, '' FROM subtables s, "
        "operators o WHERE o.id = (SELECT max(id) FROM operators WHERE root = '+' AND components = 1)"
    )
    moved: list[tuple[str, tuple[Any, ...]]] = []
    if column in ("leaves", "types", "semantics"):
        moved = [(shelf, ())]
    elif column == "root":
        moved = [(shelf.replace("o.root", "?", 1), (value,))]
    path = altered(small, tmp_path / "hostile.sqlite", (_SET.format(f'"{column}"'), (value,)), *moved)
    if column != "root":  # which `verify` compares with the operator
        with pytest.raises(TableError) as error:
            everything(path)
        assert len(str(error.value)) < 1500
    code, said = ended(["table", "verify", str(path), "--jobs", "1"], capsys)
    assert code in (1, 2)
    assert len(said) < 3000
    for command in COMMANDS:
        code, said = ended([str(path) if word == "TABLE" else word for word in command], capsys)
        assert code in (0, 1, 2, 3)
        assert code < 2 or len(said.strip().splitlines()) == 1, said


@pytest.mark.parametrize("claims", ["{", "5", "[5]", '[{"claim": 5}]', "[" * 5000])
def test_proofs_that_are_none_are_refused(small: Path, tmp_path: Path, claims: str):
    path = altered(small, tmp_path / "hostile.sqlite", ("UPDATE proofs SET claims = ?", (claims,)))
    with pytest.raises(TableError, match="proofs"):
        everything(path)


def test_digests_are_looked_at(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    changes = [
        _SET.format("identity").replace("?", "'7'"),
        "UPDATE subtables SET digest = 'none'",
        "UPDATE meta SET value = '\"none\"' WHERE key = 'digest'",
        "UPDATE meta SET value = '{' WHERE key = 'digest'",
        "DELETE FROM meta WHERE key = 'digest'",
        "DELETE FROM meta WHERE key = 'digest of spellings'",
        "DELETE FROM operators WHERE id = 3",
        "DELETE FROM subtables",
        "INSERT INTO spellings VALUES (1, 1, 'x0', 'order')",
        "DROP TABLE proofs",
        "ALTER TABLE operators RENAME COLUMN print TO prints",
    ]
    for change in changes:
        path = altered(small, tmp_path / "changed.sqlite", (change, ()), forged=False)
        try:
            everything(path)
            raise AssertionError(f"read after {change}")
        except TableError:
            pass
        with pytest.raises(SystemExit) as stopped:
            main(["table", "verify", str(path), "--jobs", "1"])
        assert stopped.value.code == 2, change
        capsys.readouterr()


def test_other_versions_and_kinds_of_files(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number in (2, 4, 99):
        path = altered(small, tmp_path / "version.sqlite", (f"PRAGMA user_version = {number}", ()))
        assert f"version {number}" in refused(path, capsys)
    assert "another program" in refused(
        altered(small, tmp_path / "o.sqlite", ("PRAGMA application_id = 1", ())), capsys
    )
    unfinished = altered(small, tmp_path / "u.sqlite", ("DELETE FROM meta WHERE key = 'complete'", ()))
    assert "--resume" in refused(unfinished, capsys)
    (tmp_path / "folder").mkdir()
    assert "there is no table" in refused(tmp_path / "folder", capsys)


def test_a_file_that_may_not_be_read(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = Path(shutil.copy(small, tmp_path / "closed.sqlite"))

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(TableError, match="cannot be read: Permission denied"):
        open_table(path)


def test_a_table_that_is_locked_is_read_and_one_that_is_half_written_is_not(small: Path, tmp_path: Path):
    path = Path(shutil.copy(small, tmp_path / "locked.sqlite"))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert everything(path)[0] == everything(small)[0]
    holder.execute("ROLLBACK")
    holder.close()
    journal = tmp_path / "locked.sqlite-journal"  # what a kill in the middle of a transaction leaves
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(504))
    with pytest.raises(TableError, match="--resume"):
        open_table(path)
    journal.write_bytes(bytes(512))  # what one that ended leaves
    assert everything(path)[0] == everything(small)[0]


def test_the_matcher_refuses_a_table_with_altered_rows(small: Path, tmp_path: Path):
    update = parse_update("max(x, a)", U8)
    assert recognize(update, table=open_table(small)).verdict == "associative"
    change = ("UPDATE operators SET identity = '7' WHERE root = 'max'", ())
    with pytest.raises(TableError, match="altered"):
        recognize(update, table=open_table(altered(small, tmp_path / "altered.sqlite", change, forged=False)))
