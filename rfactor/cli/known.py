"""`rfactor table` of a table of known reductions: what is in it, and proving it again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from rfactor.enumerate.backend import backend
from rfactor.errors import Error, TableError
from rfactor.ir.printer import show_tuple
from rfactor.matcher.known.make import proved_again, update_of
from rfactor.matcher.known.record import plainly_named
from rfactor.matcher.report import to_json, to_text
from rfactor.table.known import Known, KnownTable

Progress = Callable[[str, int, int], None]


def statistics(table: KnownTable) -> dict[str, Any]:
    """How many rows there are by verdict, type and meaning, and how the table was made."""
    counts: dict[str, dict[str, int]] = {"verdicts": {}, "types": {}, "semantics": {}}
    rows = list(table.rows())
    for row in rows:
        for key, value in (("verdicts", row.verdict), ("types", row.types.split(",")[0]), ("semantics", row.semantics)):
            counts[key][value] = counts[key].get(value, 0) + 1
    return {"rows": len(rows), **counts, "meta": table.meta}


def statistics_text(found: dict[str, Any]) -> str:
    """The statistics for people."""
    lines = [f"{found['rows']} known reductions"]
    for title in ("verdicts", "types", "semantics"):
        lines.append(f"\n{title}")
        counts = sorted(found[title].items(), key=lambda pair: -pair[1])
        lines += [f"  {name:16} {count:6}" for name, count in counts]
    return "\n".join([*lines, f"\ndigest     {found['meta']['digest']}"])


def as_object(row: Known) -> dict[str, Any]:
    """A row as `check --json` answers it, its names those of the form, with its id. Raises `TableError`."""
    answer = update_of(row)[1]
    if answer is None:
        raise TableError(f"row {row.id} does not read; generate the table again")
    return {"id": row.id} | to_json(plainly_named(answer)) | {"ms": 0.0, "reduction": row.reduction}


def show_row(table: KnownTable, number: int, as_json: bool) -> str:
    """One row with what it says. Raises `Error`."""
    try:
        row = table[number]
    except KeyError:
        raise Error(f"{table.path} has no row {number}") from None
    if as_json:
        return json.dumps(as_object(row))
    answer = update_of(row)[1]
    assert answer is not None
    plain = plainly_named(answer)
    return f"known as    {row.reduction}\n{to_text(plain, show_tuple(plain.update.components))}"


def verify(table: KnownTable, numbers: Sequence[int], jobs: int, memory: int, progress: Progress) -> Iterator[Any]:
    """(row, result, detail) of every row, or of those with these numbers, proved again."""
    rows = [row for row in table.rows() if not numbers or row.id in numbers]
    done = 0
    progress("rows", 0, len(rows))
    with closing(backend("local", jobs if len(rows) >= 64 else 1, None, memory)) as own:
        for index, (result, detail) in own.run(proved_again, rows):
            done += 1
            progress("rows", done, len(rows))
            yield rows[index], result, detail
