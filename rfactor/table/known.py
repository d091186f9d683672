"""The store of known reductions: whole answers about updates, proved when the file was made.

One SQLite file. `reductions` has a row an update: the form and the answer (texts that the matcher writes and reads;
many rows share one), the types by number, the meaning, the literals, and the update as people read it. Answers are
deflated with a dictionary, which is answer 0: a fifth of their size; the longest are packed by LZMA. A row is found by
a digest of what it is about, compared with all of that, and believed only if its own digest fits.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rfactor.errors import TableError
from rfactor.files import write_whole
from rfactor.table.store import digest_of, opened, reading

APPLICATION = 0x7266_7265
"""SQLite `application_id` of tables of known reductions ("rfre")."""
VERSION = 3
"""SQLite `user_version`: the layout below."""
RULES = 2
"""Raised with every change of the prover or the matcher after which an answer might not be given again."""
FIRST = 10_000_000
"""The number of the first row: no operator of the table of operators has it."""

REDUCTIONS = {
    "id": int,
    "key": int,  # 63 bits of a digest of form, types, semantics and literals
    "form": int,  # of FORMS
    "types": str,  # by number, joined by commas
    "semantics": str,
    "literals": str,  # of the form's constants, as k0=31
    "answer": int,  # of ANSWERS
    "verdict": str,
    "reduction": str,  # as people read it
    "digest": int,  # of the row with its form and answer
}
FORMS = {"id": int, "text": str}
ANSWERS = {"id": int, "text": bytes}
_COLUMNS = "r.id, f.text, r.types, r.semantics, r.literals, a.text, r.verdict, r.reduction, r.digest"
_FROM = "FROM reductions r JOIN forms f ON f.id = r.form JOIN answers a ON a.id = r.answer"
_DICTIONARY = 1 << 15
"""Bytes of the dictionary: what deflating can look back at."""
_SHORT = 1500
"""Characters of an answer that may be in the dictionary."""
_LONG = 5000
"""Bytes of an answer for which LZMA is the smaller."""
_LONGEST = 1 << 20
"""Bytes of the longest answer that is read."""
_KINDS = (int, str, str, str, str, str, str, str, int)


@dataclass(frozen=True, slots=True)
class Known:
    """One row."""

    id: int
    form: str
    types: str
    semantics: str
    literals: str
    answer: str
    verdict: str
    reduction: str

    @property
    def about(self) -> tuple[str, str, str, str]:
        """What the answer is about: form, types, semantics and literals."""
        return (self.form, self.types, self.semantics, self.literals)


class KnownTable:
    """A table of known reductions, opened read-only. Any thread may read it, and the child of a fork too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = opened(path, APPLICATION, VERSION, "a table of reductions")
        if self.meta.get("rules") != RULES:
            self._connection.close()
            raise TableError(f"{path} was made by other rules than this program's; generate it again")
        with reading(path):
            first = self._connection.execute("SELECT text FROM answers WHERE id = 0").fetchone()
        self._dictionary: bytes = first[0] if first is not None and isinstance(first[0], bytes) else b""

    def find(self, form: str, types: str, semantics: str, literals: str) -> Known | None:
        """The row about this form; None where there is none, or where it is not the one that was written."""
        about = (form, types, semantics, literals)
        with reading(self.path):
            found = self._connection.execute(f"SELECT {_COLUMNS} {_FROM} WHERE r.key = ?", (key_of(about),)).fetchall()
        for values in map(self._inflated, found):
            if values[1:5] == about and _is_sound(values):
                return Known(*values[:-1])
        return None

    def _inflated(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row with the text of its answer; the text is None where it does not read."""
        try:
            text = _unpacked(values[5], self._dictionary).decode()
        except (ValueError, TypeError):
            text = None
        return (*values[:5], text, *values[6:])

    def rows(self) -> Iterator[Known]:
        """Every row. Raises `TableError` where one is not as it was written."""
        with reading(self.path):
            found = self._connection.execute(f"SELECT {_COLUMNS} {_FROM} ORDER BY r.id").fetchall()
            (count,) = self._connection.execute("SELECT count(*) FROM reductions").fetchone()
        if count != len(found) or self.meta.get("digest") != _whole(values[-1] for values in found):
            raise TableError(f"{self.path} is damaged: its rows are not those that were written; generate it again")
        for values in map(self._inflated, found):
            if not _is_sound(values):
                raise TableError(f"{self.path} is damaged: row {values[0]} was altered; generate it again")
            yield Known(*values[:-1])

    def __getitem__(self, row: int) -> Known:
        """The row with this id. Raises `KeyError`."""
        with reading(self.path):
            values = self._connection.execute(f"SELECT {_COLUMNS} {_FROM} WHERE r.id = ?", (row,)).fetchone()
        if values is None:
            raise KeyError(row)
        values = self._inflated(values)
        if not _is_sound(values):
            raise TableError(f"{self.path} is damaged: row {row} was altered; generate it again")
        return Known(*values[:-1])

    @property
    def meta(self) -> dict[str, Any]:
        """Parameters, versions, counts, the digest of all rows."""
        with reading(self.path):
            return {key: json.loads(value) for key, value in self._connection.execute("SELECT key, value FROM meta")}

    def close(self) -> None:
        self._connection.close()


def key_of(about: tuple[str, str, str, str]) -> int:
    """What a row is found by."""
    digest = hashlib.blake2b("\n".join(about).encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def _digest(values: tuple[Any, ...]) -> int:
    """A digest of a row without its number."""
    return int.from_bytes(hashlib.blake2b(repr(values).encode(), digest_size=8).digest()) >> 1


def _is_sound(values: tuple[Any, ...]) -> bool:
    return tuple(map(type, values)) == _KINDS and _digest(values[1:-1]) == values[-1]


def _whole(digests: Iterable[int]) -> str:
    return digest_of([(digest,) for digest in digests], ("digest",), ("digest",))


def write_known(path: Path, rows: Iterable[Known], meta: Mapping[str, Any]) -> None:
    """Write a table, whole or not at all; rows are numbered as they come, the first one about an update counts."""
    import sqlite_utils  # 30 ms that who reads a table does without

    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        database = sqlite_utils.Database(connection)
        forms: dict[str, int] = {}
        answers: dict[str, int] = {}
        lines: list[dict[str, Any]] = []
        seen: set[tuple[str, str, str, str]] = set()
        for row in rows:
            if row.about in seen:
                continue
            seen.add(row.about)
            texts = (*row.about, row.answer, row.verdict, row.reduction)
            form = forms.setdefault(row.form, len(forms) + 1)
            answer = answers.setdefault(row.answer, len(answers) + 1)
            values = (FIRST + len(lines), key_of(row.about), form, row.types, row.semantics, row.literals, answer)
            lines.append(dict(zip(REDUCTIONS, (*values, row.verdict, row.reduction, _digest(texts)), strict=True)))
        for name, columns, contents in (
            ("reductions", REDUCTIONS, lines),
            ("forms", FORMS, [{"id": number, "text": text} for text, number in forms.items()]),
            ("answers", ANSWERS, [{"id": number, "text": text} for number, text in _deflated(answers)]),
        ):
            database.table(name).create(columns, pk="id")
            database.table(name).insert_all(contents)
        database.table("reductions").create_index(["key"], index_name="by_key")
        whole = {**meta, "rules": RULES, "digest": _whole(line["digest"] for line in lines), "complete": True}
        database.table("meta").create({"key": str, "value": str}, pk="key")
        database.table("meta").insert_all(
            [{"key": key, "value": json.dumps(value, sort_keys=True)} for key, value in sorted(whole.items())]
        )
        connection.execute("VACUUM")
        write_whole(path, connection.serialize())
    finally:
        connection.close()


def _deflated(answers: Mapping[str, int]) -> Iterator[tuple[int, bytes]]:
    """Answers by number, after their dictionary: as much of the short ones, from all over, as it can hold."""
    texts = [text for text in answers if len(text) <= _SHORT]
    total = sum(map(len, texts))
    dictionary = "".join(texts[:: max(1, -(-total // _DICTIONARY))]).encode()[-_DICTIONARY:]
    yield 0, dictionary
    for text, number in answers.items():
        yield number, _packed(text.encode(), dictionary)


def _packed(text: bytes, dictionary: bytes) -> bytes:
    """A byte that says how, and the text."""
    if len(text) > _LONG:
        import lzma  # few answers need it

        return b"x" + lzma.compress(text)
    deflating = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_DEFAULT_STRATEGY, dictionary)
    return b"d" + deflating.compress(text) + deflating.flush()


def _unpacked(packed: bytes, dictionary: bytes) -> bytes:
    """The text. Raises `ValueError` or `TypeError` where it is none of ours."""
    if packed[:1] == b"x":
        import lzma

        try:
            return lzma.LZMADecompressor().decompress(packed[1:], _LONGEST)
        except lzma.LZMAError as error:
            raise ValueError("an answer does not unpack") from error
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS, dictionary).decompress(packed[1:], _LONGEST)
    except zlib.error as error:
        raise ValueError("an answer does not inflate") from error


def shipped_reductions() -> Path:
    """The table that comes with the package."""
    return Path(__file__).parent.parent / "data" / "reductions.sqlite"


def is_known_table(path: Path) -> bool:
    """Whether a file says that it is a table of known reductions."""
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(100)[68:72]) == APPLICATION
    except OSError:
        return False
