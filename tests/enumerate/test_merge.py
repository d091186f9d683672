"""Tables that were made apart, put together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rfactor.cli.table import table as command
from rfactor.enumerate.backend import Serial
from rfactor.enumerate.run import Parameters, generate
from rfactor.enumerate.verify import verify
from rfactor.errors import TableError
from rfactor.table.export import exported
from rfactor.table.merge import merge
from rfactor.table.store import Table, open_table


def made(path: Path, types: tuple[str, ...], semantics: tuple[str, ...], leaves: tuple[int, int] = (4, 4)) -> Table:
    generate(path, Parameters(types, leaves, (1, 2), semantics), Serial())
    return open_table(path)


def laws(table: Table) -> list[tuple[Any, ...]]:
    """What a table says, without the numbers of its classes."""
    return sorted(_laws_of(exported(table)))


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    folder = tmp_path_factory.mktemp("apart")
    return [
        made(folder / "wrap.db", ("bool", "i8", "i16"), ("wrap",)),
        made(folder / "math.db", ("i8", "i16", "u8"), ("math",)),
    ]


def test_parts_say_together_what_one_run_says(apart: list[Table], tmp_path: Path) -> None:
    merge(tmp_path / "both.db", apart)
    whole = made(tmp_path / "whole.db", ("bool", "i8", "i16"), ("wrap", "math"))
    both = open_table(tmp_path / "both.db")
    naturals = _laws_of([row for row in exported(both) if row["types"][0] == "u8" and row["semantics"] == "math"])
    assert naturals
    assert laws(whole) == [row for row in laws(both) if row not in naturals]


def _laws_of(rows: Iterable[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {tuple(str(value) for key, value in sorted(row.items()) if key != "class") for row in rows}


def test_classes_stay_classes(apart: list[Table], tmp_path: Path) -> None:
    merge(tmp_path / "both.db", apart)
    both = list(exported(open_table(tmp_path / "both.db")))
    before = [list(exported(table)) for table in apart]
    assert len({row["class"] for row in both}) == sum(len({row["class"] for row in rows}) for rows in before)


def test_the_first_table_counts(apart: list[Table], tmp_path: Path) -> None:
    small = made(tmp_path / "small.db", ("i8",), ("wrap",), (2, 4))
    merge(tmp_path / "out.db", [small, *apart])
    own = [row for row in exported(open_table(tmp_path / "out.db")) if row["semantics"] == "wrap"]
    leaves = {t: max(row["leaves"] for row in own if row["types"] == [t]) for t in ("i8", "i16")}
    assert leaves == {"i8": 2, "i16": 4}


def test_a_merged_table_is_proved_again(apart: list[Table], tmp_path: Path) -> None:
    merge(tmp_path / "both.db", apart)
    table = open_table(tmp_path / "both.db")
    assert {check.result for check in verify(table)} == {"proved"}


def test_a_table_that_adds_nothing_is_refused(apart: list[Table], tmp_path: Path) -> None:
    with pytest.raises(TableError, match="has no type and semantics"):
        merge(tmp_path / "out.db", [apart[0], apart[0]])
    assert not (tmp_path / "out.db").exists()


def test_the_command(apart: list[Table], tmp_path: Path) -> None:
    out = tmp_path / "out.db"
    ran = CliRunner().invoke(command, ["merge", *(str(t.path) for t in apart), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    assert "digest" in ran.output
    again = CliRunner().invoke(command, ["merge", str(apart[0].path), "--out", str(out)])
    assert again.exit_code != 0
