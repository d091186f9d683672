"""`rfactor table`: what is in a table of operators, and proving it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rfactor.errors import Error

if TYPE_CHECKING:
    from rfactor.table.store import Table

_FILE = click.argument("file", type=click.Path(path_type=Path), required=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _open(file: Path | None) -> Table:
    from rfactor.table.store import open_table

    return open_table(file)


@click.group()
def table() -> None:
    """Look into a table of operators (the shipped one unless FILE is named), or prove it again."""


@table.command()
@_FILE
@_JSON
def stats(file: Path | None, as_json: bool) -> None:
    """How many operators there are for each type, by leaves, root and proof, and how the table was made."""
    from rfactor.table.export import statistics

    found = statistics(_open(file))
    if as_json:
        click.echo(json.dumps(found, sort_keys=True))
        return
    click.echo(f"{found['rows']} rows, {found['classes']} classes, {found['undecided']} claims undecided")
    click.echo("\ntype     semantics  one component  two components")
    for type_, semantics in dict.fromkeys((o["type"], o["semantics"]) for o in found["operators"]):
        one, two = (
            sum(
                o["count"]
                for o in found["operators"]
                if (o["type"], o["semantics"], o["components"]) == (type_, semantics, c)
            )
            for c in (1, 2)
        )
        click.echo(f"{type_:8} {semantics:9} {one:14} {two:15}")
    click.echo("\nleaves   one component  two components")
    for leaves in sorted({entry["leaves"] for entry in found["leaves"]}):
        one, two = (
            sum(e["rows"] for e in found["leaves"] if (e["leaves"], e["components"]) == (leaves, c)) for c in (1, 2)
        )
        click.echo(f"{leaves:6} {one:15} {two:15}")
    for title, key in (("root", "roots"), ("identity", "identity_kinds"), ("proof", "methods")):
        click.echo(f"\n{title}")
        for name, count in list(found[key].items())[:12]:
            click.echo(f"  {name:16} {count:6}")
    meta = found["meta"]
    click.echo(f"\nparameters {json.dumps(meta['parameters'], sort_keys=True)}")
    click.echo(f"digest     {meta['digest']}")


@table.command()
@click.argument("row", type=int)
@_FILE
@_JSON
def show(row: int, file: Path | None, as_json: bool) -> int:
    """One operator by its id, with its proof."""
    source = _open(file)
    try:
        scope, columns = source[row]
    except KeyError:
        raise Error(f"{source.path} has no row {row}") from None
    if as_json:
        columns["proofs"] = json.loads(columns["proofs"])
        click.echo(json.dumps(columns))
        return 0
    click.echo(columns["operator"])
    identity = columns["identity"] or columns["right_identity"]
    click.echo(
        f"  types        {scope.text}" + ("" if len(scope.types) == 1 else f": T = {' '.join(map(str, scope.types))}")
    )
    click.echo(f"  semantics    {columns['semantics']}")
    click.echo(f"  identity     {identity if identity else '-'} ({columns['identity_kind']})")
    commutes = {1: "yes", 0: "no", None: "not decided"}[columns["commutative"]]
    click.echo(f"  commutative  {commutes}")
    click.echo(f"  class        {columns['class']}, {columns['leaves']} leaves, root {columns['root']}")
    for proof in json.loads(columns["proofs"]):
        witness = f"witness {proof['witness']}" if "witness" in proof else f"by {proof['method']}"
        click.echo(f"  {proof['claim'].replace('_', ' '):15} {witness}")
    return 0


@table.command()
@_FILE
@_JSON
def export(file: Path | None, as_json: bool) -> None:
    """All operators as JSON lines, one for each tuple of types."""
    from rfactor.table.export import exported

    for row in exported(_open(file)):
        click.echo(json.dumps(row))


@table.command()
@_FILE
@click.option("--exhaustive", is_flag=True, help="Also try all values of rows of one component of 8 bits.")
@click.option("--row", "rows", type=int, multiple=True, help="Only the row with this id; may be repeated.")
@_JSON
def verify(file: Path | None, exhaustive: bool, rows: tuple[int, ...], as_json: bool) -> int:
    """Prove every row again, at every type. Exits with 1 if a claim is refuted, with 3 if one stays open."""
    from rfactor.enumerate.verify import verify as run

    counts = {"proved": 0, "refuted": 0, "unknown": 0}
    bad: list[dict[str, Any]] = []
    for checks in run(_open(file), exhaustive=exhaustive, rows=rows):
        for check in checks:
            counts[check.result] += 1
            if check.result != "proved":
                entry = {
                    "row": check.row,
                    "types": check.types,
                    "claim": check.claim,
                    "result": check.result,
                    "detail": check.detail,
                }
                bad.append(entry)
                if not as_json:
                    click.echo(f"row {check.row} ({check.types}): {check.claim} {check.result}: {check.detail}")
    if as_json:
        click.echo(json.dumps({"claims": counts, "failed": bad}))
    else:
        click.echo(f"{counts['proved']} claims proved, {counts['refuted']} refuted, {counts['unknown']} unknown")
    return 1 if counts["refuted"] else 3 if counts["unknown"] else 0


@table.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@_JSON
def diff(first: Path, second: Path, as_json: bool) -> int:
    """Operators that only one of two tables has, or that have other laws there. Exits with 1 if there are any."""
    from rfactor.table.export import difference

    found = difference(_open(first), _open(second))
    if as_json:
        click.echo(json.dumps(found))
    else:
        signs: list[tuple[str, str, Callable[[dict[str, Any]], str]]] = [
            ("only_first", "-", _line),
            ("only_second", "+", _line),
            ("laws_differ", "!", lambda row: f"{_line(row)}, there {row['second']}"),
        ]
        for key, sign, line in signs:
            for row in found[key]:
                click.echo(f"{sign} {line(row)}")
    return 1 if any(found.values()) else 0


def _line(row: dict[str, Any]) -> str:
    return f"{','.join(row['types'])} {row['semantics']}: {', '.join(row['operator'])} (identity {row['identity']})"
