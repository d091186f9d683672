"""Reading a table of operators: subtables by types and root, rows simplest first."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from rfactor.errors import TableError
from rfactor.forks import GATE
from rfactor.ir.expr import Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.kept import once
from rfactor.table.prints import fingerprint, kinds
from rfactor.table.row import Row
from rfactor.table.rules import CHOICE
from rfactor.table.schema import (
    APPLICATION,
    HASHED,
    HASHED_CHOICES,
    HASHED_SPELLINGS,
    OPERATORS,
    SPELLINGS,
    VERSION,
)
from rfactor.table.scope import Scope, parse_scope

_COLUMNS = tuple(OPERATORS)
LARGEST = 8
"""Leaves of the largest operators of a table."""


class Table:
    """A table of operators, opened read-only. Subtables are loaded, and checked, when first asked for.

    Any thread may read it, and the child of a fork too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = opened(path, APPLICATION, VERSION, "a table of operators")
        self._subtables: dict[tuple[tuple[Type, ...], str, Meaning, int | None], Sequence[Row]] = {}
        self._raw: dict[tuple[str, str, str, int], list[tuple[Any, ...]]] = {}
        self._held: dict[tuple[str, str], list[tuple[Scope, tuple[str, str, str, int, str]]]] = {}

    def subtable(
        self, types: tuple[Type, ...], root: str, meaning: Meaning = Meaning.WRAP, *, leaves: int | None = None
    ) -> Sequence[Row]:
        """The rows for these types whose components have these root nodes (joined by commas), simplest first.

        Of so many leaves, or of all. Raises `TableError` if the stored rows are not the ones that were written.
        """
        key = (types, root, meaning, leaves)
        found = self._subtables.get(key)
        if found is None:
            rows = [
                Row(values, types)
                for scope, shelf in self._shelves(root, _stored(types, meaning))
                if leaves in (None, shelf[3]) and scope.holds(types)
                for values in self._load(*shelf)
            ]
            rows.sort(key=(lambda row: (row.leaves, row.id)) if leaves is None else (lambda row: row.id))
            found = self._subtables[key] = tuple(rows)
        return found

    def choices(self, types: tuple[Type, ...], meaning: Meaning = Meaning.WRAP) -> Sequence[Row]:
        """The operators that the rule `choice` covers (see `rfactor.table.rules`) and that have no row of their own."""
        return self.subtable(types, CHOICE, meaning)

    def alike(
        self,
        operator: Sequence[Expr],
        types: tuple[Type, ...],
        meaning: Meaning = Meaning.WRAP,
        *,
        mirrored: bool = False,
    ) -> tuple[Row, ...]:
        """The rows, of operators with and without a row of their own, that are `operator` on samples.

        `operator` is over x0, x1, y0, y1 and k. With `mirrored`, the rows of kind `left` that are the operator with its
        operands exchanged. Equality on samples is no proof; usually there is one row or none.
        """
        try:
            wanted = [fingerprint(operator, kind, mirrored=mirrored) for kind in kinds(types, meaning)]
        except KeyError:
            return ()
        with reading(self.path):
            found = [
                values
                for key in wanted
                for values in (
                    *self._connection.execute(f"{_ROWS} WHERE o.print = ? ORDER BY o.id", (key,)),
                    *map(_as_row, self._connection.execute(f"{_CHOICES} WHERE c.print = ? ORDER BY c.id", (key,))),
                )
            ]
        rows = [Row(self._sound(values), types) for values in found]
        return tuple(
            row
            for row in rows
            if row.column("semantics") == _stored(types, meaning)
            and parse_scope(row.column("types")).holds(types)
            and (not mirrored or row.identity_kind == "left")
        )

    def roots(self, types: tuple[Type, ...], meaning: Meaning = Meaning.WRAP) -> tuple[str, ...]:
        """The roots for which there are rows for these types."""
        stored = _stored(types, meaning)
        with reading(self.path):
            shelves = self._connection.execute("SELECT DISTINCT types, root, semantics FROM subtables").fetchall()
        return tuple(
            sorted(
                {
                    root
                    for scope, root, semantics in shelves
                    if semantics == stored and root != CHOICE and parse_scope(scope).holds(types)
                }
            )
        )

    def rows(self, types: tuple[Type, ...], meaning: Meaning = Meaning.WRAP) -> list[Row]:
        """All rows for these types, simplest first; what only a rule covers is not among them."""
        found = [row for root in self.roots(types, meaning) for row in self.subtable(types, root, meaning)]
        return sorted(found, key=lambda row: (row.leaves, row.id))

    def __getitem__(self, row: int) -> tuple[Scope, dict[str, Any]]:
        """The scope and the columns of the row, or of the choice, with this id. Raises `KeyError`."""
        with reading(self.path):
            values = self._connection.execute(f"{_ROWS} WHERE o.id = ?", (row,)).fetchone()
            chosen = self._connection.execute(f"{_CHOICES} WHERE c.id = ?", (row,)).fetchone()
        if values is None and chosen is None:
            raise KeyError(row)
        columns = dict(zip(_COLUMNS, self._sound(values or _as_row(chosen)), strict=True))
        return parse_scope(columns["types"]), columns

    def stored(self) -> Iterator[tuple[Any, ...]]:
        """Every row and every choice as it is stored, by number, each checked with its subtable."""
        with reading(self.path):
            shelves = self._connection.execute(
                "SELECT root, types, semantics, leaves, digest FROM subtables"
            ).fetchall()
        loaded = [values for root, *shelf in shelves for values in self._load(shelf[0], root, *shelf[1:])]
        yield from sorted(loaded, key=lambda values: values[0])

    @property
    def meta(self) -> dict[str, Any]:
        """Parameters, seed, versions, counts per stage, digest."""
        with reading(self.path):
            return {key: json.loads(value) for key, value in self._connection.execute("SELECT key, value FROM meta")}

    def subtables(self) -> list[dict[str, Any]]:
        """What is stored: types, root ("choice" for those held by that rule), semantics, leaves, number of rows."""
        names = ("types", "root", "semantics", "leaves", "rows")
        with reading(self.path):
            found = self._connection.execute(f"SELECT {', '.join(names)} FROM subtables ORDER BY id").fetchall()
        return [dict(zip(names, values, strict=True)) for values in found]

    @once
    def spellings(self) -> Mapping[int, Sequence[tuple[str, str]]]:
        """By the number of a row its other spellings, smallest first, each with the method that proved it the row's."""
        with reading(self.path):
            found, digest = self._spelled()
            if digest != self.meta["digest of spellings"] or not all(
                type(operator) is str for *_, operator, _ in found
            ):
                raise TableError(f"{self.path} is damaged: its spellings were altered; generate it again")
        held: dict[int, list[tuple[str, str]]] = {}
        for _, row, operator, method in found:
            held.setdefault(row, []).append((operator, method))
        return held

    def _spelled(self) -> tuple[list[tuple[Any, ...]], str]:
        """The spellings as they are stored, and their digest."""
        found = self._connection.execute(f"SELECT {', '.join(SPELLINGS)} FROM spellings ORDER BY id").fetchall()
        return found, digest_of(found, HASHED_SPELLINGS, SPELLINGS)

    def undecided(self) -> list[tuple[Any, ...]]:
        """(types, leaves, operator, semantics, claim, reason) of what no method decided."""
        with reading(self.path):
            return self._connection.execute(
                "SELECT types, leaves, operator, semantics, claim, reason FROM undecided ORDER BY rowid"
            ).fetchall()

    def _shelves(self, root: str, semantics: str) -> list[tuple[Scope, tuple[str, str, str, int, str]]]:
        held = self._held.get((root, semantics))
        if held is None:
            with reading(self.path):
                found = self._connection.execute(
                    "SELECT types, leaves, digest FROM subtables WHERE root = ? AND semantics = ?", (root, semantics)
                ).fetchall()
            held = [(parse_scope(types), (types, root, semantics, leaves, digest)) for types, leaves, digest in found]
            self._held[root, semantics] = held
        return held

    def _load(self, types: str, root: str, semantics: str, leaves: int, digest: str) -> list[tuple[Any, ...]]:
        key = (types, root, semantics, leaves)
        raw = self._raw.get(key)
        if raw is None:
            with reading(self.path):
                if root == CHOICE:
                    chosen = self._connection.execute(_CHOICES_OF, key).fetchall()
                    found = digest_of(chosen, HASHED_CHOICES, _CHOICE_COLUMNS)
                    raw = list(map(_as_row, chosen))
                else:
                    raw = self._connection.execute(_ROWS_OF, key).fetchall()
                    found = digest_of(raw)
            if found != digest:
                raise TableError(
                    f"{self.path} is damaged: the rows for {types}, root {root}, {semantics} were altered; "
                    "generate it again"
                )
            if not _are_sound(raw):
                raw = list(map(self._sound, raw))  # says which is not
            self._raw[key] = raw
        return self._raw[key]

    def _sound(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The columns of a row, looked at one by one: a digest can be forged with what it covers."""
        if _are_sound([values]):
            return values
        raise TableError(f"{self.path} is damaged: row {values[0]!r:.20} holds what no row does; generate it again")

    def check_whole(self) -> str:
        """The digest of all rows, choices and spellings. Raises `TableError` if it is not the one in the file."""
        with reading(self.path):
            rows = self._connection.execute(f"{_ROWS} ORDER BY o.id").fetchall()
            chosen = self._connection.execute(f"{_CHOICES} ORDER BY c.id").fetchall()
            digests = (digest_of(rows), digest_of(chosen, HASHED_CHOICES, _CHOICE_COLUMNS), self._spelled()[1])
            whole = whole_digest(digests)
            (listed,) = self._connection.execute("SELECT total(rows) FROM subtables").fetchone()
            if whole != self.meta["digest"] or listed != len(rows) + len(chosen):
                raise TableError(f"{self.path} is damaged: its rows are not those that were written; generate it again")
        return whole

    def close(self) -> None:
        self._connection.close()


def _stored(types: Sequence[Type], meaning: Meaning) -> str:
    """The meaning under which rows for these types are stored: truth values and floats have one meaning."""
    return (meaning if any(t.is_int for t in types) else Meaning.WRAP).value


def _as_row(choice: Sequence[Any]) -> tuple[Any, ...]:
    """A choice with all the columns of a row; what its rule proves is in its place."""
    number, operator, identity, klass, print_, method, types, semantics, leaves = choice
    laws = (identity, None, "left", 0, semantics, klass, print_, "order", _choice_proofs(method), 0.0)
    return (number, types, 1, leaves, "select", operator, *laws)


@lru_cache
def _choice_proofs(method: str) -> str:
    proofs = [
        {"claim": "associative", "method": "order", "rule": CHOICE},
        {"claim": "left_identity", "method": method},
        {"claim": "not_commutative", "rule": CHOICE},
    ]
    return json.dumps(proofs)


_SELECTED = ", ".join('p.claims AS "proofs"' if column == "proofs" else f'o."{column}"' for column in _COLUMNS)
_ROWS = f"SELECT {_SELECTED} FROM operators o JOIN proofs p ON p.id = o.proofs"
_ROWS_OF = f"{_ROWS} WHERE o.types = ? AND o.root = ? AND o.semantics = ? AND o.leaves = ? ORDER BY o.id"
_OWN = ("id", "operator", "identity", "class", "print", "method")
_CHOSEN = ", ".join(f'c."{column}"' for column in _OWN)
_CHOICES = f"SELECT {_CHOSEN}, s.types, s.semantics, s.leaves FROM choices c JOIN subtables s ON s.id = c.subtable"
_CHOICES_OF = f"{_CHOICES} WHERE s.types = ? AND s.root = ? AND s.semantics = ? AND s.leaves = ? ORDER BY c.id"
_CHOICE_COLUMNS = (*_OWN, "types", "semantics", "leaves")


def digest_of(
    rows: Sequence[Sequence[Any]], hashed: Sequence[str] = HASHED, columns: Collection[str] = OPERATORS
) -> str:
    """A digest of rows as stored (the columns `hashed` of `columns`, in order)."""
    chosen = itemgetter(*(list(columns).index(name) for name in hashed))
    total = hashlib.blake2b(digest_size=16)
    for start in range(0, len(rows), _TOGETHER):
        total.update("".join(map(repr, map(chosen, rows[start : start + _TOGETHER]))).encode())
    return total.hexdigest()


_TOGETHER = 1000
"""Rows whose texts are hashed in one step."""


_READING = threading.RLock()
"""One thread reads at a time: connections are shared between threads, and SQLite may be built without locks."""


def whole_digest(digests: tuple[str, str, str]) -> str:
    """The digest of a table, from those of its rows, its choices and its spellings."""
    parts = ("operators", "choices", "spellings")
    return digest_of([digests], parts, parts)


_STORED: dict[type, tuple[type, ...]] = {str: (str,), int: (int,), float: (float, int)}
_NULL = ("identity", "right_identity", "commutative")
_FITTING: list[frozenset[type]] = [
    frozenset((str,) if name == "proofs" else (*_STORED[kind], *([type(None)] if name in _NULL else [])))
    for name, kind in OPERATORS.items()
]
"""The types of what a row may hold, column by column."""
_ALLOWED: list[tuple[int, Collection[Any]]] = [
    (_COLUMNS.index("components"), (1, 2)),
    (_COLUMNS.index("leaves"), range(1, LARGEST + 1)),
    (_COLUMNS.index("identity_kind"), ("two-sided", "left", "right", "none")),
    (_COLUMNS.index("commutative"), (0, 1, None)),
    (_COLUMNS.index("semantics"), ("wrap", "math")),
]
"""Columns by place, and what they may be."""


def _are_sound(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the columns of rows hold what they may, each looked at for all rows at once."""
    columns = list(zip(*rows, strict=True))
    return not rows or (
        len(columns) == len(_FITTING)
        and all(fitting.issuperset(map(type, column)) for fitting, column in zip(_FITTING, columns, strict=True))
        and all(value in allowed for at, allowed in _ALLOWED for value in set(columns[at]))
    )


class reading:
    """Around a read. Turns what SQLite says of a broken file into a `TableError`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        GATE.__enter__()
        _READING.acquire()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _READING.release()
        GATE.__exit__()
        if isinstance(error, sqlite3.Error | ValueError | KeyError | TypeError | OverflowError | RecursionError):
            raise TableError(f"{self.path} is damaged: {error}; generate it again") from error


def journal_of(path: Path) -> Path:
    """Where SQLite keeps what a transaction changes until it ends."""
    return path.with_name(f"{path.name}-journal")


def opened(path: Path, application: int, layout: int, what: str) -> sqlite3.Connection:
    """A file of ours, `what` it is called, opened read-only. Raises `TableError` where it is none, or not whole."""
    if not path.is_file():
        raise TableError(f"there is no table at {path}; `rfactor generate --out {path}` makes one")
    try:
        with path.open("rb") as file:
            header = file.read(100)
        size = path.stat().st_size
        journal = journal_of(path)
        unfinished = journal.exists() and journal.open("rb").read(8).strip(b"\0") != b""
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from None
    if header[:16] != b"SQLite format 3\0" or len(header) < 100:
        raise TableError(f"{path} is not {what}: it is no SQLite file")
    if int.from_bytes(header[68:72]) != application:
        raise TableError(f"{path} is not {what}: another program's SQLite file")
    version = int.from_bytes(header[60:64])
    if version != layout:
        raise TableError(f"{path} is of version {version}, this program reads version {layout}; generate it again")
    if unfinished:
        raise TableError(
            f"{path} is being written, or a run that wrote it was ended (beside it is {journal.name}); "
            "`rfactor generate --resume` with the same arguments completes it"
        )
    page = int.from_bytes(header[16:18])
    if int.from_bytes(header[28:32]) * (65536 if page == 1 else page) != size:
        raise TableError(f"{path} is damaged: {size} bytes, its header says otherwise; generate it again")
    with reading(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        complete = connection.execute("SELECT value FROM meta WHERE key = 'complete'").fetchone()
    if complete is None or complete[0] != "true":
        connection.close()
        raise TableError(f"{path} is not finished; `rfactor generate --resume` with the same arguments completes it")
    return connection


def shipped() -> Path:
    """The table that comes with the package."""
    return Path(__file__).parent.parent / "data" / "operators.sqlite"


def open_table(path: str | Path | None = None) -> Table:
    """The table at `path`, or the shipped one.

    Raises `TableError` for a file that is missing, damaged, foreign, unfinished or of another version.
    """
    return Table(shipped() if path is None else Path(path))
