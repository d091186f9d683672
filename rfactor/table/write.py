"""Writing a table of operators. One process writes; everything it needs to go on after a kill is in the file itself."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
from rfactor.table.store import digest_of, journal_of, whole_digest

CHECKPOINTS = {"unit": str, "result": bytes}
_WAIT = 3.0
"""Seconds that a writer waits for one that is about to end."""


class Writer:
    """A table being made. Raises `TableError` where `path` holds something else, or a run with other parameters.

    A run is a sequence of named *units* of work, each of which gives bytes; `done` and `finish_unit` keep them until
    `complete` replaces them by the rows.
    """

    def __init__(self, path: Path, parameters: Mapping[str, Any], *, resume: bool) -> None:
        self.path = path
        if resume and not path.exists():
            raise TableError(f"there is nothing to resume at {path}")
        if not resume and _holds_something(path):
            raise self._exists()
        with _writing(path):
            self._connection = sqlite3.connect(path, _WAIT, isolation_level=None)
            try:
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                with self._all_or_nothing("EXCLUSIVE"):
                    (names,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                    if names == 0:  # a new file, or one that a run was killed before it had begun
                        self._begin(parameters)
                    elif resume:
                        self._check(parameters)
                    else:
                        raise self._exists()
            except BaseException:
                self._connection.close()
                raise

    def _exists(self) -> TableError:
        return TableError(f"{self.path} exists; name another file, or --resume the run that made it")

    def _begin(self, parameters: Mapping[str, Any]) -> None:
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        database = sqlite_utils.Database(self._connection)
        for name, columns in {**TABLES, "checkpoints": CHECKPOINTS}.items():
            database.table(name).create(columns, pk=_KEYS.get(name))
        self._set_meta({"parameters": dict(parameters)})

    def _check(self, parameters: Mapping[str, Any]) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION or version != VERSION:
            raise TableError(f"{self.path} is not a table of operators of version {VERSION}")
        stored = self.meta().get("parameters")
        wanted = json.loads(json.dumps(dict(parameters)))
        if stored != wanted:
            held = stored if isinstance(stored, dict) else {}
            differing = [f"{k}: {held.get(k)!r}, not {v!r}" for k, v in wanted.items() if held.get(k) != v]
            raise TableError(f"{self.path} was begun with other parameters ({'; '.join(differing)})")

    @contextmanager
    def _all_or_nothing(self, kind: str = "") -> Iterator[None]:
        """What is inside is one transaction."""
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite may have gone back by itself
                self._connection.execute("ROLLBACK")
            raise

    def _set_meta(self, values: Mapping[str, Any]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [(key, json.dumps(value, sort_keys=True)) for key, value in values.items()],
        )

    def meta(self) -> dict[str, Any]:
        """The meta data written so far."""
        with _writing(self.path):
            found = self._connection.execute("SELECT key, value FROM meta").fetchall()
        try:
            return {key: json.loads(value) for key, value in found}
        except (ValueError, TypeError, RecursionError) as error:
            raise TableError(f"{self.path} is damaged: {error}") from error

    @property
    def is_complete(self) -> bool:
        return bool(self.meta().get("complete"))

    def done(self) -> dict[str, bytes]:
        """The results of the units that are finished."""
        with _writing(self.path):
            return dict(self._connection.execute("SELECT unit, result FROM checkpoints").fetchall())

    def finish_unit(self, unit: str, result: bytes) -> None:
        """Records a unit; it is on the disk when this returns. Raises `TableError` where it cannot be."""
        with _writing(self.path):
            self._connection.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", (unit, result))

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
        connection = self._connection
        with _writing(self.path), self._all_or_nothing():
            for name in ("operators", "proofs", "choices", "spellings", "rules", "undecided", "subtables"):
                connection.execute(f"DELETE FROM {name}")
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
            self._set_meta(values)
            connection.execute("DROP TABLE checkpoints")
            connection.execute("CREATE INDEX subtable ON operators (types, root, semantics, leaves)")
            connection.execute("CREATE INDEX meaning ON operators (print)")
            connection.execute("CREATE INDEX chosen ON choices (subtable)")
            connection.execute("CREATE INDEX chosen_meaning ON choices (print)")
            connection.execute("CREATE INDEX shelf ON subtables (root, semantics)")
        self.shrink()

    def shrink(self) -> None:
        """Give back the room that checkpoints took; where there is no room to do it in, the table is as good."""
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        if free:
            with suppress(sqlite3.OperationalError):
                self._connection.execute("VACUUM")

    def abandon(self) -> None:
        """Take the file away: nobody goes on with it."""
        self._connection.close()
        for name in (self.path, journal_of(self.path)):
            name.unlink(missing_ok=True)

    def close(self) -> None:
        self._connection.close()


def _holds_something(path: Path) -> bool:
    """Whether there is a file, not an empty one, or one in whose journal there may be something."""
    return path.exists() and (path.stat().st_size > 0 or journal_of(path).exists())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turns what SQLite says of a file that cannot be written into a `TableError`."""
    again = "the same command goes on from what is kept, with --resume, when it can be"
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        reason = {
            sqlite3.SQLITE_BUSY: "is being written by another run",
            sqlite3.SQLITE_FULL: f"cannot be written: the disk is full; {again}",
            sqlite3.SQLITE_IOERR: f"cannot be written: {error} (is the disk full?); {again}",
            sqlite3.SQLITE_READONLY: "may not be written",
            sqlite3.SQLITE_PERM: "may not be written",
            sqlite3.SQLITE_CANTOPEN: "cannot be written: its folder is not there, or nothing may be written into it",
        }.get(code, f"is no table of operators, or damaged: {error}")
        raise TableError(f"{path} {reason}") from error


_KEYS = {
    "operators": "id",
    "proofs": "id",
    "choices": "id",
    "spellings": "id",
    "subtables": "id",
    "meta": "key",
    "checkpoints": "unit",
}
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
