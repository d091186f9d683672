"""Writing a table of operators. One process writes; everything it needs to go on after a kill is in the file itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlite_utils

from rfactor.errors import TableError
from rfactor.table.schema import APPLICATION, HASHED, OPERATORS, TABLES, VERSION
from rfactor.table.store import digest_of

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
        self, rows: Iterable[Mapping[str, Any]], undecided: Iterable[Mapping[str, Any]], meta: Mapping[str, Any]
    ) -> None:
        """Writes the rows, in order, and drops the checkpoints, all in one transaction."""
        connection = self.database.conn
        connection.execute("BEGIN")
        try:
            for name in ("operators", "undecided", "subtables"):
                self.database.execute(f"DELETE FROM {name}")
            stored = [{"id": number, **row} for number, row in zip(range(1, 1 << 40), rows, strict=False)]
            names = tuple(OPERATORS)
            _insert(connection, "operators", names, [[row[name] for name in names] for row in stored])
            rest = list(undecided)
            _insert(connection, "undecided", tuple(TABLES["undecided"]), [list(row.values()) for row in rest])
            groups: dict[tuple[str, str, str], list[list[Any]]] = {}
            for row in stored:
                key = (row["types"], row["root"], row["semantics"])
                groups.setdefault(key, []).append([row[name] for name in names])
            subtables = [
                [*key, len(group), digest_of(sorted(group, key=lambda r: (r[names.index("leaves")], r[0])))]
                for key, group in groups.items()
            ]
            _insert(connection, "subtables", tuple(TABLES["subtables"]), subtables)
            whole = digest_of([[row[name] for name in names] for row in stored])
            for name, value in {**meta, "digest": whole, "digest covers": list(HASHED), "complete": True}.items():
                connection.execute(
                    "INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value, sort_keys=True))
                )
            connection.execute("DROP TABLE checkpoints")
            connection.execute("CREATE INDEX IF NOT EXISTS subtable ON operators (types, root, semantics, leaves)")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("VACUUM")

    def close(self) -> None:
        self.database.conn.close()


_KEYS = {"operators": "id", "meta": "key"}


def _insert(connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    names = ", ".join(f'"{column}"' for column in columns)
    connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
