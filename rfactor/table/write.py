"""Writing a table of operators. One process writes; everything it needs to go on after a kill is in the file itself."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlite_utils

from rfactor.errors import TableError
from rfactor.table.rules import CHOICE, STATEMENTS
from rfactor.table.schema import (
    APPLICATION,
    CHOICES,
    HASHED,
    HASHED_CHOICES,
    HASHED_SPELLINGS,
    OPERATORS,
    SPELLINGS,
    TABLES,
    VERSION,
)
from rfactor.table.store import digest_of, whole_digest

CHECKPOINTS = {"unit": str, "result": bytes}


class Writer:
    """A table being made. Raises `TableError` where `path` holds something else, or a run with other parameters.

    A run is a sequence of named *units* of work, each of which gives bytes; `done` and `finish_unit` keep them until
    `complete` replaces them by the rows.
    """

    def __init__(self, path: Path, parameters: Mapping[str, Any], *, resume: bool) -> None:
        self.path = path
        if resume and not path.exists():
            raise TableError(f"there is nothing to resume at {path}")
        if not resume and path.exists():
            raise TableError(f"{path} exists; name another file, or --resume the run that made it")
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            if resume:
                self._check(connection, parameters)
            else:
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            connection.close()
            locked = "locked" in str(error)
            raise TableError(
                f"{path} is being written by another run" if locked else f"{path} is no table of operators: {error}"
            ) from error
        self.database = sqlite_utils.Database(connection)
        for name, columns in TABLES.items():
            self.database.table(name).create(columns, pk=_KEYS.get(name), if_not_exists=True)
        self.database.table("checkpoints").create(CHECKPOINTS, pk="unit", if_not_exists=True)
        self.set_meta("parameters", dict(parameters))

    def _check(self, connection: sqlite3.Connection, parameters: Mapping[str, Any]) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION or version != VERSION:
            raise TableError(f"{self.path} is not a table of operators of version {VERSION}")
        stored = connection.execute("SELECT value FROM meta WHERE key = 'parameters'").fetchone()
        if stored is not None and json.loads(stored[0]) != json.loads(json.dumps(dict(parameters))):
            differing = [
                f"{key}: {json.loads(stored[0]).get(key)!r}, not {value!r}"
                for key, value in json.loads(json.dumps(dict(parameters))).items()
                if json.loads(stored[0]).get(key) != value
            ]
            raise TableError(f"{self.path} was begun with other parameters ({'; '.join(differing)})")

    def set_meta(self, key: str, value: Any) -> None:
        self.database.table("meta").upsert({"key": key, "value": json.dumps(value, sort_keys=True)}, pk="key")

    def meta(self) -> dict[str, Any]:
        """The meta data written so far."""
        return {
            key: json.loads(value) for key, value in self.database.execute("SELECT key, value FROM meta").fetchall()
        }

    @property
    def is_complete(self) -> bool:
        return bool(self.database.execute("SELECT 1 FROM meta WHERE key = 'complete'").fetchone())

    def done(self) -> dict[str, bytes]:
        """The results of the units that are finished."""
        return dict(self.database.execute("SELECT unit, result FROM checkpoints").fetchall())

    def finish_unit(self, unit: str, result: bytes) -> None:
        """Records a unit; it is on the disk when this returns."""
        self.database.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (unit, result))

    def complete(
        self,
        rows: Iterable[Mapping[str, Any]],
        choices: Iterable[Mapping[str, Any]],
        spellings: Iterable[Mapping[str, Any]],
        undecided: Iterable[Mapping[str, Any]],
        meta: Mapping[str, Any],
    ) -> None:
        """Writes the rows, in order, and drops the checkpoints, all in one transaction.

        A spelling says by `class` and `types` which row it is of.
        """
        connection = self.database.conn
        connection.execute("BEGIN")
        try:
            for name in ("operators", "proofs", "choices", "spellings", "rules", "undecided", "subtables"):
                self.database.execute(f"DELETE FROM {name}")
            number = itertools.count(1)
            stored = [[next(number), *(row[name] for name in tuple(OPERATORS)[1:])] for row in rows]
            shelves = list(_subtables(stored))
            chosen: list[list[Any]] = []
            for key, group in _by_shelf(choices):
                shelf = len(shelves) + 1
                own = [[next(number), shelf, *(row[name] for name in tuple(CHOICES)[2:])] for row in group]
                types, semantics, leaves = key
                digest = digest_of(own, HASHED_CHOICES, CHOICES)
                shelves.append([shelf, types, CHOICE, semantics, leaves, len(own), digest])
                chosen += own
            spelled = list(_spelled(stored, spellings))
            digests = (
                digest_of(stored),
                digest_of(chosen, HASHED_CHOICES, CHOICES),
                digest_of(spelled, HASHED_SPELLINGS, SPELLINGS),
            )
            whole = whole_digest(digests)
            claims = {
                text: at for at, text in zip(itertools.count(1), sorted({row[_PROOFS] for row in stored}), strict=False)
            }
            for row in stored:
                row[_PROOFS] = claims[row[_PROOFS]]
            _insert(connection, "operators", stored)
            _insert(connection, "proofs", [[at, text] for text, at in claims.items()])
            _insert(connection, "choices", chosen)
            _insert(connection, "spellings", spelled)
            _insert(connection, "rules", [[rule, *texts] for rule, texts in STATEMENTS.items()])
            _insert(connection, "undecided", [[row[name] for name in TABLES["undecided"]] for row in undecided])
            _insert(connection, "subtables", shelves)
            values = {
                **meta,
                "digest": whole,
                "digest of spellings": digests[-1],
                "digest covers": {
                    "operators": list(HASHED),
                    "choices": list(HASHED_CHOICES),
                    "spellings": list(HASHED_SPELLINGS),
                },
                "complete": True,
            }
            for name, value in values.items():
                connection.execute(
                    "INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value, sort_keys=True))
                )
            connection.execute("DROP TABLE checkpoints")
            connection.execute("CREATE INDEX subtable ON operators (types, root, semantics, leaves)")
            connection.execute("CREATE INDEX meaning ON operators (print)")
            connection.execute("CREATE INDEX chosen ON choices (subtable)")
            connection.execute("CREATE INDEX chosen_meaning ON choices (print)")
            connection.execute("CREATE INDEX shelf ON subtables (root, semantics)")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("VACUUM")

    def close(self) -> None:
        self.database.conn.close()


_KEYS = {"operators": "id", "proofs": "id", "choices": "id", "spellings": "id", "subtables": "id", "meta": "key"}


_PROOFS = list(OPERATORS).index("proofs")
_SHELF = tuple(list(OPERATORS).index(name) for name in ("types", "root", "semantics", "leaves"))


def _subtables(rows: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """The subtables of rows in order, as rows of `subtables`."""
    groups: dict[tuple[Any, ...], list[Sequence[Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[at] for at in _SHELF), []).append(row)
    for number, (key, group) in zip(itertools.count(1), groups.items(), strict=False):
        yield [number, *key, len(group), digest_of(group)]


def _spelled(rows: Sequence[Sequence[Any]], spellings: Iterable[Mapping[str, Any]]) -> Iterator[list[Any]]:
    """The spellings of rows, in the order of these, as rows of `spellings`."""
    named = [list(OPERATORS).index(name) for name in ("class", "types")]
    numbers = {tuple(row[at] for at in named): row[0] for row in rows}
    ordered = sorted(spellings, key=lambda one: numbers[one["class"], one["types"]])
    for number, one in zip(itertools.count(1), ordered, strict=False):
        yield [number, numbers[one["class"], one["types"]], one["operator"], one["method"]]


def _by_shelf(choices: Iterable[Mapping[str, Any]]) -> Iterable[tuple[tuple[Any, ...], list[Mapping[str, Any]]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in choices:
        groups.setdefault((row["types"], row["semantics"], row["leaves"]), []).append(row)
    return groups.items()


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    columns = list(TABLES[table])
    names = ", ".join(f'"{column}"' for column in columns)
    connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
