"""Reading a table of operators: subtables by types and root, rows simplest first."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from rfactor.errors import ParseError, TableError, TypeMismatch
from rfactor.ir.expr import Const, Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.types import F64, Type
from rfactor.table.schema import APPLICATION, HASHED, OPERATORS, VERSION
from rfactor.table.scope import Scope, parse_scope

IdentityKind = Literal["two-sided", "left", "right", "none"]
Method = Literal["normal_form", "order", "bits", "exhaustive", "smt", "table"]
_COLUMNS = tuple(OPERATORS)
_LITERAL = re.compile(r"(?<!\w)\d+")
"""An integer literal; the digits of names follow a letter."""


class Row:
    """One operator for one tuple of types. Expressions are parsed when first asked for; rows are never changed."""

    __slots__ = ("__dict__", "_values", "types")

    def __init__(self, values: Sequence[Any], types: tuple[Type, ...]) -> None:
        self._values = values
        self.types = types

    def column(self, name: str) -> Any:
        """A column as it is stored."""
        return self._values[_COLUMNS.index(name)]

    @property
    def id(self) -> int:
        return cast(int, self._values[0])

    @cached_property
    def components(self) -> tuple[Expr, ...]:
        """One expression a component over x0, x1, y0, y1, k."""
        return self._parsed("operator") or ()

    @cached_property
    def identity(self) -> tuple[Expr, ...] | None:
        """The left or two-sided identity; None where there is none."""
        return self._parsed("identity")

    @cached_property
    def right_identity(self) -> tuple[Expr, ...] | None:
        """The identity of a row whose kind is `right`."""
        return self._parsed("right_identity")

    @property
    def leaves(self) -> int:
        return cast(int, self.column("leaves"))

    @property
    def root(self) -> str:
        return cast(str, self.column("root"))

    @property
    def identity_kind(self) -> IdentityKind:
        return cast(IdentityKind, self.column("identity_kind"))

    @property
    def commutative(self) -> bool | None:
        value = self.column("commutative")
        return None if value is None else bool(value)

    @property
    def meaning(self) -> Meaning:
        return Meaning(self.column("semantics"))

    @property
    def klass(self) -> int:
        """Rows of one class are the same function written differently."""
        return cast(int, self.column("class"))

    @property
    def method(self) -> Method:
        return cast(Method, self.column("method"))

    @property
    def ms(self) -> float:
        return cast(float, self.column("ms"))

    def text(self, column: str) -> tuple[str, ...] | None:
        """The components of `operator`, `identity` or `right_identity` as text in the syntax of expressions."""
        stored = self.column(column)
        if stored is None:
            return None
        parts = split_components(stored)
        if self.meaning is Meaning.WRAP:
            parts = [_wrapped(part, type_) for part, type_ in zip(parts, self.types, strict=True)]
        return tuple(_end(part, type_, self.meaning) for part, type_ in zip(parts, self.types, strict=True))

    def _parsed(self, column: str) -> tuple[Expr, ...] | None:
        texts = self.text(column)
        if texts is None:
            return None
        kinds = {f"{letter}{i}": t for letter in "xy" for i, t in zip(range(len(self.types)), self.types, strict=True)}
        kinds["k"] = self.types[0]
        try:
            return tuple(
                Const(F64, math.inf if text == "inf" else -math.inf)
                if text in ("inf", "-inf") and not type_.is_float
                else parse_tuple(text, kinds, (type_,))[0]
                for text, type_ in zip(texts, self.types, strict=True)
            )
        except (ParseError, TypeMismatch) as error:
            raise TableError(f"row {self.id} of the table does not read: {error}") from error

    def __repr__(self) -> str:
        return f"Row({self.id}, {', '.join(map(str, self.types))}: {self.column('operator')})"


def split_components(text: str) -> list[str]:
    """The components of a tuple written as text: split at the commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in zip(range(len(text)), text, strict=True):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _wrapped(text: str, type_: Type) -> str:
    """A row for several widths has its coefficients modulo the widest: here modulo the width of one unsigned type."""
    if type_.code != "uint":
        return text
    return _LITERAL.sub(lambda found: str(int(found[0]) & int(type_.max)), text)


def _end(text: str, type_: Type, meaning: Meaning) -> str:
    """MIN and MAX as literals of a type; infinities for floats and for the unbounded integers; truth values as such."""
    if text not in ("MIN", "MAX"):
        return {"0": "False", "1": "True"}.get(text, text) if type_.is_bool else text
    if type_.is_float or (type_.is_int and meaning is Meaning.MATH and (text == "MAX" or type_.code == "int")):
        return "inf" if text == "MAX" else "-inf"
    return str(type_.max if text == "MAX" else type_.min)


class Table:
    """A table of operators, opened read-only. Subtables are loaded, and checked, when first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = _connect(path)
        self._subtables: dict[tuple[tuple[Type, ...], str, Meaning], Sequence[Row]] = {}
        self._raw: dict[tuple[str, str, str], list[tuple[Any, ...]]] = {}
        with _refusing(path):
            self._scopes = [
                (parse_scope(types), types, root, semantics, digest)
                for types, root, semantics, digest in self._connection.execute(
                    "SELECT types, root, semantics, digest FROM subtables"
                )
            ]

    def subtable(self, types: tuple[Type, ...], root: str, meaning: Meaning = Meaning.WRAP) -> Sequence[Row]:
        """The rows for these types whose components have these root nodes (joined by commas), simplest first.

        Raises `TableError` if the stored rows are not the ones that were written.
        """
        key = (types, root, meaning)
        found = self._subtables.get(key)
        if found is None:
            stored = Meaning.WRAP if not any(t.is_int for t in types) else meaning
            rows: list[Row] = []
            for scope, scope_text, its_root, semantics, digest in self._scopes:
                if its_root == root and semantics == stored and scope.holds(types):
                    raw = self._load(scope_text, root, semantics, digest)
                    rows += [Row(values, types) for values in raw]
            rows.sort(key=lambda row: (row.leaves, row.id))
            found = self._subtables[key] = tuple(rows)
        return found

    def roots(self, types: tuple[Type, ...], meaning: Meaning = Meaning.WRAP) -> tuple[str, ...]:
        """The roots for which there are rows for these types."""
        stored = Meaning.WRAP if not any(t.is_int for t in types) else meaning
        return tuple(
            sorted(
                {root for scope, _, root, semantics, _ in self._scopes if semantics == stored and scope.holds(types)}
            )
        )

    def rows(self, types: tuple[Type, ...], meaning: Meaning = Meaning.WRAP) -> list[Row]:
        """All rows for these types, simplest first."""
        found = [row for root in self.roots(types, meaning) for row in self.subtable(types, root, meaning)]
        return sorted(found, key=lambda row: (row.leaves, row.id))

    def __getitem__(self, row: int) -> tuple[Scope, dict[str, Any]]:
        """The scope and the columns of the row with this id. Raises `KeyError`."""
        with _refusing(self.path):
            values = self._connection.execute(f"SELECT {_SELECTED} FROM operators WHERE id = ?", (row,)).fetchone()
        if values is None:
            raise KeyError(row)
        columns = dict(zip(_COLUMNS, values, strict=True))
        return parse_scope(columns["types"]), columns

    def stored(self) -> Iterator[tuple[Any, ...]]:
        """Every stored row, in order, each checked with its subtable."""
        for _, types, root, semantics, digest in sorted(self._scopes, key=lambda s: s[1:4]):
            yield from self._load(types, root, semantics, digest)

    @property
    def meta(self) -> dict[str, Any]:
        """Parameters, seed, versions, counts per stage, digest."""
        with _refusing(self.path):
            return {key: json.loads(value) for key, value in self._connection.execute("SELECT key, value FROM meta")}

    def undecided(self) -> list[tuple[Any, ...]]:
        """(types, leaves, operator, semantics, claim, reason) of what no method decided."""
        with _refusing(self.path):
            return self._connection.execute(
                "SELECT types, leaves, operator, semantics, claim, reason FROM undecided ORDER BY rowid"
            ).fetchall()

    def _load(self, types: str, root: str, semantics: str, digest: str) -> list[tuple[Any, ...]]:
        key = (types, root, semantics)
        raw = self._raw.get(key)
        if raw is None:
            with _refusing(self.path):
                raw = self._connection.execute(
                    f"SELECT {_SELECTED} FROM operators WHERE types = ? AND root = ? AND semantics = ?"
                    " ORDER BY leaves, id",
                    key,
                ).fetchall()
            if digest_of(raw) != digest:
                raise TableError(f"{self.path} is damaged: the rows for {types}, root {root}, {semantics} were altered")
            self._raw[key] = raw
        return raw

    def close(self) -> None:
        self._connection.close()


_SELECTED = ", ".join(f'"{column}"' for column in _COLUMNS)
_HASHED = tuple(_COLUMNS.index(column) for column in HASHED)


def digest_of(rows: Sequence[Sequence[Any]]) -> str:
    """A digest of rows as stored (all columns, in order), times and numbering aside."""
    total = hashlib.blake2b(digest_size=16)
    for row in rows:
        total.update(repr(tuple(row[i] for i in _HASHED)).encode())
    return total.hexdigest()


class _refusing:
    """Turns what SQLite says of a broken file into a `TableError`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.DatabaseError | ValueError | UnicodeDecodeError):
            raise TableError(f"{self.path} is damaged: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise TableError(f"there is no table at {path}; `rfactor generate --out {path}` makes one")
    with path.open("rb") as file:
        header = file.read(100)
    size = path.stat().st_size
    if header[:16] != b"SQLite format 3\0" or len(header) < 100:
        raise TableError(f"{path} is not a table of operators: it is no SQLite file")
    if int.from_bytes(header[68:72]) != APPLICATION:
        raise TableError(f"{path} is not a table of operators: another program's SQLite file")
    version = int.from_bytes(header[60:64])
    if version != VERSION:
        raise TableError(f"{path} is of version {version}, this program reads version {VERSION}; generate it again")
    page = int.from_bytes(header[16:18])
    if int.from_bytes(header[28:32]) * (65536 if page == 1 else page) != size:
        raise TableError(f"{path} is damaged: {size} bytes, its header says otherwise")
    with _refusing(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        complete = connection.execute("SELECT value FROM meta WHERE key = 'complete'").fetchone()
    if complete is None or complete[0] != "true":
        connection.close()
        raise TableError(f"{path} is not finished; `rfactor generate --resume` with the same arguments completes it")
    return connection


def shipped() -> Path:
    """The table that comes with the package."""
    return Path(str(files("rfactor.data") / "operators.sqlite"))


def open_table(path: str | Path | None = None) -> Table:
    """The table at `path`, or the shipped one.

    Raises `TableError` for a file that is missing, damaged, foreign, unfinished or of another version.
    """
    return Table(shipped() if path is None else Path(path))
