"""Tables of operators that are not what they say, for tests and for `benchmarks.faults`."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from rfactor.table.schema import HASHED_CHOICES, HASHED_SPELLINGS, SPELLINGS
from rfactor.table.store import _CHOICE_COLUMNS, _CHOICES, _CHOICES_OF, _ROWS, _ROWS_OF, digest_of, whole_digest


def altered(table: Path, copy: Path, *statements: tuple[str, tuple[Any, ...]], forged: bool = True) -> Path:
    """A copy of a table in which SQL statements were run; if `forged`, with the digests of what it now holds."""
    shutil.copy(table, copy)
    connection = sqlite3.connect(copy)
    for statement, values in statements:
        connection.execute(statement, values)
    if forged:
        _forge(connection)
    connection.commit()
    connection.close()
    return copy


def _forge(connection: sqlite3.Connection) -> None:
    for number, *key in connection.execute("SELECT id, types, root, semantics, leaves FROM subtables").fetchall():
        chosen = key[1] == "choice"
        found = connection.execute(_CHOICES_OF if chosen else _ROWS_OF, key).fetchall()
        own = digest_of(found, HASHED_CHOICES, _CHOICE_COLUMNS) if chosen else digest_of(found)
        connection.execute("UPDATE subtables SET digest = ?, rows = ? WHERE id = ?", (own, len(found), number))
    rows = digest_of(connection.execute(f"{_ROWS} ORDER BY o.id").fetchall())
    choices = digest_of(connection.execute(f"{_CHOICES} ORDER BY c.id").fetchall(), HASHED_CHOICES, _CHOICE_COLUMNS)
    held = connection.execute(f"SELECT {', '.join(SPELLINGS)} FROM spellings ORDER BY id").fetchall()
    spelled = digest_of(held, HASHED_SPELLINGS, SPELLINGS)
    for key, value in (("digest", whole_digest((rows, choices, spelled))), ("digest of spellings", spelled)):
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(value), key))


_SHELF = """
INSERT INTO subtables (id, types, root, semantics, leaves, rows, digest)
SELECT ?, types, root, semantics, leaves, 1, '' FROM operators o WHERE id = ? AND NOT EXISTS (
    SELECT 1 FROM subtables s
    WHERE s.types = o.types AND s.root = o.root AND s.semantics = o.semantics AND s.leaves = o.leaves)
"""
MUTATIONS = ("operator", "identity", "no identity", "commutative", "identity_kind", "leaves", "class", "root")


def mutation(rng: random.Random, table: Path, kind: str) -> tuple[int, list[tuple[str, tuple[Any, ...]]]]:
    """A random row of a table, and the statements that corrupt it so that it is false.

    (A two-sided identity is the only one. Where there is a left one alone, another value may be one too.)
    """
    connection = sqlite3.connect(table)
    condition = {"identity": "identity_kind = 'two-sided'", "no identity": "identity IS NOT NULL"}.get(kind, "1")
    rows = connection.execute(
        'SELECT id, operator, identity, commutative, identity_kind, leaves, "class", print, types, root FROM operators '
        f"WHERE {condition}"
    ).fetchall()
    number, _, _, commutes, identity_kind, leaves, _, print_, types, root = rng.choice(rows)
    others = connection.execute(
        'SELECT operator, identity, "class", root FROM operators WHERE types = ? AND print != ? AND leaves = ?',
        (types, print_, leaves),
    ).fetchall()
    other = rng.choice(others) if others else ("x0", "MAX", 10**6, "x0")
    pair = types.count(",")
    changes: dict[str, dict[str, Any]] = {
        "operator": {"operator": other[0]},
        "identity": {"identity": ", ".join([rng.choice(("7", "k + 1"))] * (1 + pair))},
        "no identity": {"identity": None},
        "commutative": {"commutative": rng.choice([value for value in (0, 1, None) if value != commutes])},
        "identity_kind": {
            "identity_kind": rng.choice([k for k in ("two-sided", "left", "right", "none") if k != identity_kind])
        },
        "leaves": {"leaves": rng.choice([n for n in range(1, 6) if n != leaves])},
        "class": {"class": other[2]},
        "root": {"root": rng.choice([r for r in ("+", "min", "x0", "select,select", other[3]) if r != root])},
    }
    ((column, value),) = changes[kind].items()
    statements = [(f'UPDATE operators SET "{column}" = ? WHERE id = ?', (value, number))]
    if column in ("leaves", "root"):  # the row stays to be found in a subtable
        (shelf,) = connection.execute("SELECT max(id) + 1 FROM subtables").fetchone()
        statements.append((_SHELF, (shelf, number)))
    connection.close()
    return number, statements
