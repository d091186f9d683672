"""One table from several that were made apart: on several machines, or up to other sizes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rfactor.errors import TableError
from rfactor.ir.types import BY_NAME, TABLED, Type
from rfactor.table.schema import OPERATORS
from rfactor.table.scope import Scope, parse_scope
from rfactor.table.store import Table
from rfactor.table.write import Writer

Covered = set[tuple[Type, str]]
"""Types, each with a meaning of its arithmetic."""


def merge(path: Path, tables: Sequence[Table]) -> dict[str, Any]:
    """Makes the table at `path` from the rows of finished tables; returns its `meta`.

    Of a type and a meaning that several were made for, the first one's rows count. Raises `TableError` where `path`
    exists, or where a table has nothing that those before it have not.
    """
    covered: Covered = set()
    rows: list[dict[str, Any]] = []
    spellings: list[dict[str, Any]] = []
    undecided: list[dict[str, Any]] = []
    counts: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    klass = 0
    for table in tables:
        own = covers(table.meta)
        if own <= covered:
            raise TableError(f"{table.path} has no type and semantics that the tables before it have not")
        found = list(_rows(table, covered, klass))
        klass = max([klass, *(row["class"] for row in found)]) + 1  # the next number is that of a mirror
        rows += found
        spellings += [
            {"class": row["class"], "types": row["types"], "operator": operator, "method": method}
            for row in found
            for operator, method in table.spellings.get(row["id"], ())
        ]
        undecided += _undecided(table, covered)
        counts |= {group: count for group, count in table.meta["counts"].items() if group not in counts}
        for stage, time in table.meta["seconds"].items():
            seconds[stage] = round(seconds.get(stage, 0.0) + time, 1)
        covered |= own
    rows.sort(key=simplest_first)
    made = [table.meta["parameters"] for table in tables]
    parameters = {"merged": [p for one in made for p in one.get("merged", [one])]}
    writer = Writer(path, parameters, resume=False)
    try:
        writer.complete(
            [row for row in rows if not row["choice"]],
            [row for row in rows if row["choice"]],
            spellings,
            undecided,
            {"counts": counts, "versions": tables[0].meta["versions"], "seconds": seconds},
        )
        return writer.meta()
    except BaseException:
        writer.abandon()
        raise
    finally:
        writer.close()


def covers(meta: Mapping[str, Any]) -> Covered:
    """For which types and meanings a table was made; what is no integer has one meaning, which says `wrap`."""
    made = meta["parameters"].get("merged", [meta["parameters"]])
    return {
        (BY_NAME[name], semantics)
        for parameters in made
        for name in parameters["types"]
        for semantics in (parameters["semantics"] if BY_NAME[name].is_int else ("wrap",))
    }


def simplest_first(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sorts the rows of a table."""
    operator = row["operator"]
    return (row["components"], row["leaves"], len(operator), operator, row["types"], row["semantics"] == "math")


def _rows(table: Table, covered: Covered, before: int) -> Iterator[dict[str, Any]]:
    """The rows at types that are not covered, as they are written, with classes numbered after those before."""
    for values in table.stored():
        row = dict(zip(OPERATORS, values, strict=True))
        types = _left(row["types"], row["semantics"], covered)
        if types is None:
            continue
        row |= {"types": types, "class": before + row["class"]}
        proofs = json.loads(row["proofs"])
        row["choice"] = "rule" in proofs[0]
        if row["choice"]:
            row["method"] = next(proof["method"] for proof in proofs if proof["claim"] == "left_identity")
        yield row


def _undecided(table: Table, covered: Covered) -> Iterator[dict[str, Any]]:
    for types, leaves, operator, semantics, claim, reason in table.undecided():
        if _left(types, semantics, covered) is not None:
            yield {
                "types": types, "leaves": leaves, "operator": operator,
                "semantics": semantics, "claim": claim, "reason": reason,
            }  # fmt: skip


def _left(types: str, semantics: str, covered: Covered) -> str | None:
    """The scope without the types that are covered; None where nothing is left."""
    scope = parse_scope(types)
    left = tuple(t for t in TABLED if t in scope.types and (t, semantics) not in covered)
    return Scope(left, scope.open).text if left else None


__all__ = ["covers", "merge", "simplest_first"]
