"""Tell which loops of a code base are folds, and why others are not: `rfactor fold`."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rfactor.cli.progress import progress_shown
from rfactor.errors import Error

if TYPE_CHECKING:
    from rfactor.loops.lint import Judged, Verdict

_NOT_READ = frozenset({"__pycache__", "node_modules", "build", "dist", "site-packages", "venv", "env"})


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: files, their functions, their loops.")
@click.option("--only", type=click.Choice(["decorated"]), help="Look at functions decorated with rfactor.fold alone.")
@click.option("--summary", is_flag=True, help="Print the numbers of loops by verdict, and nothing else.")
@click.option(
    "--types",
    multiple=True,
    metavar="NAME=TYPE",
    help="The type of a parameter, as a=f64[:], total.a=list[int]; several with ; between them.",
)
@click.option("--timeout", default=2.0, show_default=True, metavar="SECONDS", help="Time for a proof.")
def fold(
    paths: tuple[str, ...], as_json: bool, only: str | None, summary: bool, types: tuple[str, ...], timeout: float
) -> int:
    """Say of each loop of the Python files at FILE or in DIR which fold it is, or why it is none.

    Files are read: nothing of them is imported or run. Types come from annotations, default values, what is assigned
    before a loop, and how a parameter is used; what was assumed is said.

    \b
    Examples:
      rfactor fold loops.py
      rfactor fold src --only decorated
      rfactor fold loops.py --types "a=f64[:]" --json

    Exit codes: 1 if a loop of a function decorated with rfactor.fold is refused, 2 if a file cannot be read or is no
    Python, 3 if one of a decorated function is neither proved nor refused, else 0.
    """
    from rfactor.loops.lint import Settings, lint
    from rfactor.loops.stand_ins import given_type

    given = dict(_pair(text) for part in types for text in part.split(";") if text.strip())
    for type_ in given.values():
        given_type(type_)
    settings = Settings(timeout, only == "decorated", given)
    files = list(_files(paths))
    found: dict[str, list[Judged]] = {}
    unread: dict[str, str] = {}
    shown = progress_shown() if len(files) > 3 else contextlib.nullcontext(lambda *_: None)
    with shown as tell:
        for k, path in zip(range(len(files)), files, strict=True):
            try:
                found[str(path)] = lint(path, path.read_text(encoding="utf-8-sig"), settings)
            except SyntaxError as error:
                unread[str(path)] = f"{path}:{error.lineno or 0}: no Python: {error.msg}"
            except (OSError, ValueError) as error:
                said = getattr(error, "strerror", None) or str(error)
                unread[str(path)] = f"{path}: cannot be read: {said}"
            except RecursionError:
                unread[str(path)] = f"{path}: nested too deep"
            if not (as_json or summary):
                _show(found.get(str(path), []), str(path))
            tell("files", k + 1, len(files))
    for line in unread.values():
        click.echo(f"rfactor fold: {line}", err=True)
    counts = Counter(v.verdict for judged in found.values() for f in judged for v in f.loops)
    if as_json:
        click.echo(json.dumps(_json(found, unread, counts), ensure_ascii=False))
    elif summary or len(files) > 1 or sum(counts.values()) > 1:
        click.echo(_counted(counts, len(found)))
    return _code(found, unread)


def _pair(text: str) -> tuple[str, str]:
    name, equals, type_ = text.partition("=")
    if not equals or not all(part.isidentifier() for part in name.strip().split(".")):
        raise Error(f"--types {text}: write NAME=TYPE, as a=f64[:]")
    return name.strip(), type_.strip()


def _files(paths: Sequence[str]) -> Iterator[Path]:
    """List the Python files that are asked for, each once."""
    seen: set[Path] = set()
    for text in paths:
        path = Path(text)
        inside = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for one in inside:
            below = one.relative_to(path).parts[:-1] if path.is_dir() else ()
            if one not in seen and not any(p in _NOT_READ or p.startswith(".") for p in below):
                seen.add(one)
                yield one


def _code(found: dict[str, list[Judged]], unread: dict[str, str]) -> int:
    worst = {f.worst for judged in found.values() for f in judged if f.decorated and f.strict}
    if "refused" in worst:
        return 1
    if unread:
        return 2
    return 3 if "unknown" in worst else 0


# -- text --------------------------------------------------------------------------------------------------------------


def _show(judged: Sequence[Judged], path: str) -> None:
    for function in judged:
        for verdict in function.loops:
            click.echo(_text(verdict, function, path))


def _text(v: Verdict, function: Judged, path: str) -> str:
    from rfactor.loops.wording import assigned

    mark = "@" if function.decorated else ""
    word = click.style(v.verdict, fg=_COLOURS.get(v.verdict, "green"), bold=True)
    lines = [f"{path}:{v.line}: {mark}{function.name}: {word}: {v.header}"]
    if v.verdict == "part":
        return lines[0]
    if v.found is not None:
        for part in v.found.parts:
            key = f" by {part.key}" if part.key else ""
            order = {True: "commutes", False: "does not commute", None: "is not known to commute"}[part.commutes]
            joined = ", ".join(part.operator)
            if part.lifted or len(joined) > _LONGEST:
                joined = f"{len(part.operator)} numbers a run of steps (--json shows how they are joined)"
            lines.append(f"    {assigned(part.state, part.update)}{key}")
            lines.append(f"    operator: {joined}; it {order}")
            if part.invariants:
                lines.append(f"    while {' and '.join(part.invariants)}, which the start has and steps keep")
        lines += [f"    each step: {s}" for s in v.found.stored]
        if v.found.leaves:
            lines.append(f"    ends where {v.found.leaves}")
        lines += [f"    note: {c}" for part in v.found.parts for c in part.caveats]
    if v.refusal is not None:
        lines += [f"    {line}" for line in str(v.refusal).splitlines()]
    if v.assuming:
        lines.append(f"    assuming {', '.join(v.assuming)} (--types says otherwise)")
    return "\n".join(lines)


_LONGEST = 200
_COLOURS = {"refused": "red", "unknown": "yellow", "outer": "yellow", "part": "white"}


def _counted(counts: Counter[str], files: int) -> str:
    total = sum(counts.values())
    order = ["fold", "scan", "group-by", "search", "map", "part", "outer", "refused", "unknown"]
    parts = [f"{counts[name]} {name}" for name in order if counts[name]]
    loops, places = "loop" if total == 1 else "loops", "file" if files == 1 else "files"
    return f"{total} {loops} in {files} {places}" + (f": {', '.join(parts)}" if parts else "")


# -- JSON --------------------------------------------------------------------------------------------------------------


def _json(found: dict[str, list[Judged]], unread: dict[str, str], counts: Counter[str]) -> dict[str, Any]:
    files: list[dict[str, Any]] = [
        {
            "file": path,
            "functions": [
                {"name": f.name, "line": f.line, "decorated": f.decorated, "strict": f.strict,
                 "loops": [_loop(v) for v in f.loops]}
                for f in judged
            ],
        }
        for path, judged in found.items()
    ]  # fmt: skip
    files += [{"file": path, "error": said} for path, said in unread.items()]
    return {"files": files, "counts": dict(counts)}


def _loop(v: Verdict) -> dict[str, Any]:
    made: dict[str, Any] = {
        "line": v.line, "end_line": v.end_line, "header": v.header, "verdict": v.verdict, "assuming": list(v.assuming),
    }  # fmt: skip
    if v.found is not None:
        made["parts"] = [
            {"key": p.key, "state": p.state, "update": p.update, "operator": p.operator, "lifted": p.lifted,
             "data": p.data, "apply": p.apply, "identity": p.identity, "identity_kind": p.identity_kind,
             "commutes": p.commutes, "invariants": p.invariants, "assumes": p.assumes, "semantics": p.meaning,
             "caveats": p.caveats, "proofs": [{"claim": c, "method": m, "ms": round(ms, 3)} for c, m, ms in p.proofs]}
            for p in v.found.parts
        ]  # fmt: skip
        made["stored"], made["leaves"] = v.found.stored, v.found.leaves or None
    if v.refusal is not None:
        e = v.refusal
        made["refusal"] = {
            "kind": e.kind, "reason": e.reason, "line": e.line, "column": e.column, "end": e.end, "advice": e.advice,
            "text": str(e),
        }  # fmt: skip
    return made
