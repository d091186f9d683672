"""Rows as plain data: one object an operator and a tuple of types, and what two tables do not share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rfactor.table.mirror import mirror, spelled
from rfactor.table.row import Row
from rfactor.table.rules import CHOICE
from rfactor.table.schema import OPERATORS
from rfactor.table.scope import parse_scope
from rfactor.table.store import Table

_COLUMNS = tuple(OPERATORS)


def exported(table: Table) -> Iterator[dict[str, Any]]:
    """Every operator for every tuple of types that it is held for, by a row or by a rule, in the order of the table.

    Keys: `types` (a list), `operator` and `identity` (a list with one expression a component; the identity null for
    kinds `right` and `none`), `identity_kind`, `commutative`, `semantics`, `leaves`, `root`, `class`. Other
    spellings of a row follow it, with its class.
    """
    for values in table.stored():
        members = list(parse_scope(values[_COLUMNS.index("types")]).members())
        row = Row(values, members[0])
        for own in (row, *(spelled(row, operator) for operator, _ in table.spellings.get(row.id, ()))):
            for held in (own, mirror(own)) if row.identity_kind == "left" else (own,):
                for types in members:
                    yield as_object(held.at(types))


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
    """Counts of operators, as exported, by type, meaning, components and leaves; of what is stored; meta data."""
    stored = list(table.stored())
    columns = {name: [row[_COLUMNS.index(name)] for row in stored] for name in _COLUMNS}
    per_type: Counter[tuple[str, str, int, int]] = Counter()
    mirrors = columns["identity_kind"].count("left")
    chosen = sum(CHOICE in proofs for proofs in columns["proofs"])
    for scope, semantics, leaves, kind in zip(
        *(columns[name] for name in ("types", "semantics", "leaves", "identity_kind")), strict=True
    ):
        parsed = parse_scope(scope)
        for type_ in parsed.types:
            per_type[type_.name, semantics, len(parsed.open), leaves] += 2 if kind == "left" else 1
    return {
        "rows": len(stored) - chosen,
        "choices": chosen,
        "mirrors": mirrors,
        "spellings": sum(map(len, table.spellings.values())),
        "classes": len(set(columns["class"])) + mirrors,
        "operators": [
            {"type": type_, "semantics": semantics, "components": components, "leaves": leaves, "count": count}
            for (type_, semantics, components, leaves), count in sorted(per_type.items())
        ],
        "roots": dict(Counter(columns["root"]).most_common()),
        "identity_kinds": {**Counter(columns["identity_kind"]), "right": mirrors},
        "methods": dict(Counter(columns["method"]).most_common()),
        "subtables": table.subtables(),
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
