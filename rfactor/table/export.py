"""Rows as plain data: one object an operator and a tuple of types, and what two tables do not share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rfactor.table.schema import OPERATORS
from rfactor.table.scope import parse_scope
from rfactor.table.store import Row, Table

_COLUMNS = tuple(OPERATORS)


def exported(table: Table) -> Iterator[dict[str, Any]]:
    """Every operator for every tuple of types that its row holds for, in the order of the table.

    Keys: `types` (a list), `operator` and `identity` (a list with one expression a component; the identity null for
    kinds `right` and `none`), `identity_kind`, `commutative`, `semantics`, `leaves`, `root`, `class`.
    """
    for values in sorted(table.stored(), key=lambda values: values[0]):
        for types in parse_scope(values[_COLUMNS.index("types")]).members():
            yield as_object(Row(values, types))


def as_object(row: Row) -> dict[str, Any]:
    """A row at its types as plain data, as `exported` gives it."""
    identity = row.text("identity")
    return {
        "types": [t.name for t in row.types],
        "operator": list(row.text("operator") or ()),
        "identity": None if identity is None else list(identity),
        "identity_kind": row.identity_kind,
        "commutative": row.commutative,
        "semantics": row.meaning.value,
        "leaves": row.leaves,
        "root": row.root,
        "class": row.klass,
    }


def statistics(table: Table) -> dict[str, Any]:
    """Counts: rows as stored, operators by type and meaning, by leaves, by root, by method; and the meta data."""
    stored = list(table.stored())
    columns = {name: [row[_COLUMNS.index(name)] for row in stored] for name in _COLUMNS}
    per_type: Counter[str] = Counter()
    for scope, semantics in zip(columns["types"], columns["semantics"], strict=True):
        parsed = parse_scope(scope)
        for type_ in parsed.types:
            per_type[f"{type_.name} {semantics} {len(parsed.open)}"] += 1
    leaves = Counter(f"{c} {n}" for c, n in zip(columns["components"], columns["leaves"], strict=True))
    return {
        "rows": len(stored),
        "classes": len(set(columns["class"])),
        "operators": [
            {"type": name.split()[0], "semantics": name.split()[1], "components": int(name.split()[2]), "count": count}
            for name, count in sorted(per_type.items())
        ],
        "leaves": [
            {"components": int(key.split()[0]), "leaves": int(key.split()[1]), "rows": count}
            for key, count in sorted(leaves.items())
        ],
        "roots": dict(Counter(columns["root"]).most_common()),
        "identity_kinds": dict(Counter(columns["identity_kind"]).most_common()),
        "methods": dict(Counter(columns["method"]).most_common()),
        "undecided": len(table.undecided()),
        "meta": table.meta,
    }


def difference(first: Table, second: Table) -> dict[str, list[dict[str, Any]]]:
    """Operators that only one of two tables has, and those that both have with other laws; classes are not compared."""
    own, other = ({_key(row): row for row in exported(table)} for table in (first, second))
    laws = ("identity", "identity_kind", "commutative")
    return {
        "only_first": [row for key, row in own.items() if key not in other],
        "only_second": [row for key, row in other.items() if key not in own],
        "laws_differ": [
            {**row, "second": {law: other[key][law] for law in laws}}
            for key, row in own.items()
            if key in other and any(row[law] != other[key][law] for law in laws)
        ],
    }


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (tuple(row["types"]), tuple(row["operator"]), row["semantics"])
