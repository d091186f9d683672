"""`rfactor table`: what is in a table of operators, and proving it again."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rfactor.cli.memory import MEMORY_OPTION
from rfactor.errors import Error

if TYPE_CHECKING:
    from rfactor.table.known import KnownTable
    from rfactor.table.store import Table

_FILE = click.argument("file", type=click.Path(path_type=Path), required=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _open(file: Path | None) -> Table:
    from rfactor.table.store import open_table

    return open_table(file)


def _known(file: Path | None, row: int | None = None) -> KnownTable | None:
    """The table of known reductions that is meant: FILE, or the shipped one where a row of it is asked for."""
    from rfactor.table.known import FIRST, KnownTable, is_known_table, shipped_reductions

    if file is None and row is not None and row >= FIRST:
        file = shipped_reductions()
    return KnownTable(file) if file is not None and is_known_table(file) else None


_SHOWN = 8
"""Spellings of a row that are printed."""


@click.group()
def table() -> None:
    """Look into a table of operators (the shipped one unless FILE is named) or of known reductions; prove it again."""


@table.command()
@_FILE
@_JSON
def stats(file: Path | None, as_json: bool) -> None:
    """How many operators there are for each type, by leaves, root and proof, and how the table was made."""
    from rfactor.table.export import statistics

    known = _known(file)
    if known is not None:
        from rfactor.cli import known as reductions

        counted = reductions.statistics(known)
        click.echo(json.dumps(counted, sort_keys=True) if as_json else reductions.statistics_text(counted))
        return
    found = statistics(_open(file))
    if as_json:
        click.echo(json.dumps(found, sort_keys=True))
        return
    click.echo(
        f"{found['rows']} rows, {found['choices']} operators of the rule `choice`, {found['mirrors']} mirrors, "
        f"{found['spellings']} other spellings; "
        f"{found['classes']} classes, {found['undecided']} claims undecided"
    )
    leaves = sorted({o["leaves"] for o in found["operators"]})
    for components in sorted({o["components"] for o in found["operators"]}):
        own = [o for o in found["operators"] if o["components"] == components]
        click.echo(f"\n{components} component{'s' * (components > 1)}, by leaves")
        click.echo(f"{'type':8} {'semantics':9}" + "".join(f"{n:>7}" for n in leaves) + "    all")
        for type_, semantics in dict.fromkeys((o["type"], o["semantics"]) for o in own):
            counts = {o["leaves"]: o["count"] for o in own if (o["type"], o["semantics"]) == (type_, semantics)}
            row = "".join(f"{counts.get(n, 0):7}" for n in leaves)
            click.echo(f"{type_:8} {semantics:9}{row}{sum(counts.values()):7}")
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
    """One operator by its id, with its proof; one known reduction."""
    known = _known(file, row)
    if known is not None:
        from rfactor.cli.known import show_row

        click.echo(show_row(known, row, as_json))
        return 0
    source = _open(file)
    try:
        scope, columns = source[row]
    except KeyError:
        raise Error(f"{source.path} has no row {row}") from None
    others = source.spellings.get(row, ())
    if as_json:
        columns |= {"proofs": json.loads(columns["proofs"]), "spellings": [operator for operator, _ in others]}
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
        click.echo(f"  {proof['claim'].replace('_', ' '):15} {_how(proof)}")
    for operator, method in others[:_SHOWN]:
        click.echo(f"  also written    {operator} (the same by {method})")
    if len(others) > _SHOWN:
        click.echo(f"  and in {len(others) - _SHOWN} more ways; --json lists them")
    return 0


@table.command()
@click.argument("operator")
@_FILE
@click.option("--type", "type_", default="i32", show_default=True, help="Type of every component.")
@click.option("--types", default="", help="Types of single components, e.g. x1=u8.")
@click.option("--semantics", type=click.Choice(["wrap", "math"]), default="wrap", show_default=True)
@_JSON
def find(operator: str, file: Path | None, type_: str, types: str, semantics: str, as_json: bool) -> int:
    """The row of an operator over x and y (x0, x1, y0, y1, and k), however it is written.

    \b
    rfactor table find "max(y, min(k, x))"
    rfactor table find "select(x0 < y0, x0, y0), select(x0 < y0, x1, y1)" --types x1=f32

    Exits with 1 if the table has none.
    """
    from rfactor.cli.operators import parse_operator
    from rfactor.enumerate.verify import equality
    from rfactor.table.export import as_object
    from rfactor.table.mirror import mirror

    named = dict(part.split("=", 1) for part in types.split(",") if "=" in part)
    wanted = parse_operator(operator, {"type": type_, "types": named, "semantics": semantics})
    source = _open(file)
    own = (wanted.components, wanted.types, wanted.meaning)
    rows = [*source.alike(*own), *map(mirror, source.alike(*own, mirrored=True))]
    found = [(row, equality(wanted, row)) for row in rows]
    same = [(row, method) for row, method in found if method]
    if as_json:
        click.echo(json.dumps([as_object(row) | {"id": row.id, "same_by": method} for row, method in same]))
    for row, method in [] if as_json else same:
        identity = row.column("identity") or row.column("right_identity") or "-"
        click.echo(f"{row.column('operator')}   ({', '.join(map(str, row.types))}, the same by {method})")
        click.echo(f"  identity {identity} ({row.identity_kind}); `rfactor table show {row.id}` has the proofs")
    if not same and not as_json:
        click.echo("the table has no such operator")
    return 0 if same else 1


def _how(proof: dict[str, Any]) -> str:
    if "witness" in proof:
        return f"witness {proof['witness']}"
    by = [f"by {proof['method']}"] if "method" in proof else []
    return ", ".join([*by, *([f"rule {proof['rule']}"] if "rule" in proof else [])])


@table.command()
@_FILE
@_JSON
def export(file: Path | None, as_json: bool) -> None:
    """All operators as JSON lines, one for each tuple of types."""
    from rfactor.table.export import exported

    known = _known(file)
    if known is not None:
        from rfactor.cli.known import as_object

        for reduction in known.rows():
            click.echo(json.dumps(as_object(reduction)))
        return
    for row in exported(_open(file)):
        click.echo(json.dumps(row))


@table.command()
@_FILE
@click.option(
    "--exhaustive", is_flag=True, help="Try all values instead: rows of one component of 8 bits, and of bool."
)
@click.option("--row", "rows", type=int, multiple=True, help="Only the row with this id; may be repeated.")
@click.option("--type", "only", default="", metavar="TYPE", help="Only at this type, e.g. i8.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Only N rows, the same ones each time.")
@click.option("--solver", type=click.Choice(["z3", "cvc5", "bitwuzla"]), help="Let this solver decide, and no other.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="For each claim, with --solver.")
@click.option(
    "--emit-smt2", "folder", type=click.Path(path_type=Path), help="Write the claims as SMT-LIB here instead."
)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="all cores")
@MEMORY_OPTION
@_JSON
def verify(
    file: Path | None,
    exhaustive: bool,
    rows: tuple[int, ...],
    only: str,
    sample: int | None,
    solver: Any,
    seconds: float,
    folder: Path | None,
    jobs: int,
    memory: int,
    as_json: bool,
) -> int:
    """Prove every row again, at every type. Exits with 1 if a claim is refuted, with 3 if one stays open."""
    from rfactor.cli.objects import known_type
    from rfactor.cli.progress import progress_shown
    from rfactor.enumerate.backend import Serial, Workers
    from rfactor.enumerate.verify import emit, sampled
    from rfactor.enumerate.verify import verify as run
    from rfactor.prover.smt import limit_memory

    limit_memory(memory)
    counts = {"proved": 0, "refuted": 0, "unknown": 0}
    bad: list[dict[str, Any]] = []
    if only:
        known_type(only)
    known = _known(file)
    if known is not None:
        if exhaustive or only or solver or folder is not None:
            raise click.UsageError("known reductions are verified with --row, --sample and --jobs alone")
        return _verify_known(known, rows, sample, jobs, memory, as_json)
    source = _open(file)
    if sample is not None:
        rows = sampled(source, sample, only)
    if folder is not None:
        written = emit(source, folder, rows, only)
        click.echo(f"{written} obligations in {folder}")
        return 0
    backend = Serial() if jobs == 1 or 0 < len(rows) < 64 else Workers(jobs, memory)
    try:
        with progress_shown() as progress:
            asked = {"solver": solver, "seconds": seconds, "only": only, "backend": backend}
            for check in run(source, exhaustive=exhaustive, rows=rows, **asked, progress=progress):
                counts[check.result] += 1
                if check.result != "proved":
                    bad.append(dataclasses.asdict(check))
    finally:
        backend.close()
    bad.sort(key=lambda check: (check["row"], check["types"], check["claim"]))
    return _told("claims", counts, bad, "row {row} ({types}): {claim} {result}: {detail}", as_json)


def _verify_known(
    known: KnownTable, rows: tuple[int, ...], sample: int | None, jobs: int, memory: int, as_json: bool
) -> int:
    """Prove known reductions again; the exit code."""
    from rfactor.cli import known as reductions
    from rfactor.cli.progress import progress_shown

    if sample is not None:
        numbers = [row.id for row in known.rows()]
        rows = tuple(numbers[:: max(1, len(numbers) // sample)][:sample])
    counts = {"proved": 0, "refuted": 0, "unknown": 0}
    bad = []
    with progress_shown() as progress:
        for row, result, detail in reductions.verify(known, rows, jobs, memory, progress):
            counts[result] += 1
            if result != "proved":
                bad.append({"row": row.id, "reduction": row.reduction, "result": result, "detail": detail})
    bad.sort(key=lambda entry: entry["row"])
    return _told("rows", counts, bad, "row {row} ({reduction}): {result}: {detail}", as_json)


def _told(what: str, counts: Mapping[str, int], bad: Sequence[Mapping[str, Any]], line: str, as_json: bool) -> int:
    """Print how many claims or rows were proved, and those that were not; the exit code."""
    if as_json:
        click.echo(json.dumps({what: counts, "failed": bad}))
    else:
        for entry in bad:
            click.echo(line.format(**entry))
        click.echo(f"{counts['proved']} {what} proved, {counts['refuted']} refuted, {counts['unknown']} unknown")
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


@table.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to make.")
@_JSON
def merge(files: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """One table from several that were made apart. Of a type and semantics in several, the first one's rows count."""
    from rfactor.table.merge import merge as run

    meta = run(out, [_open(file) for file in files])
    if as_json:
        click.echo(json.dumps(meta, sort_keys=True))
    else:
        click.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB, digest {meta['digest']}")


def _line(row: dict[str, Any]) -> str:
    return f"{','.join(row['types'])} {row['semantics']}: {', '.join(row['operator'])} (identity {row['identity']})"
