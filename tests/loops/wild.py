"""Judge loops by their doctests: `python -m tests.loops.wild FOLDER`, a public collection of functions.

FOLDER is checked out, or a git directory. Every top-level function that has examples in its docstring and a `for` or
`while` in its body is decorated in its module and its examples are run: right (all pass), refused, wrong (one fails
that passes plain), or a crash: an exception that the example does not expect, the end of the process, or no answer in
time. What does not pass plain is not counted. Exit status 1: something is wrong or crashed.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.loops.subject import decorator
from tests.loops.worker import Died, Worker

STATUSES = ("right", "refused", "wrong", "crash")
NETWORK = ("web_programming",)
"""Folders of the collection that are left out: their examples ask other machines."""


def checked_out(source: Path, folder: Path) -> Path:
    """Give the folder of a collection; what is a git directory is unpacked to `folder` first."""
    if not (source / "objects").is_dir():
        return source
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.py", "*.txt"):
        # A snapshot may lack large files: what it has of the other kinds is enough.
        command = ["git", "--git-dir", str(source), "archive", "HEAD", "--", pattern]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as archive:
            unpacked = subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, stderr=subprocess.DEVNULL)
        if unpacked.returncode and pattern == "*.py":
            raise SystemExit(f"{source}: cannot unpack its Python files")
    return folder


def functions(root: Path) -> Iterator[dict[str, Any]]:
    """Yield path, name, line and kinds of loops of each function with examples and a loop."""
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root).as_posix()
        if relative.partition("/")[0] in NETWORK:
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or ">>>" not in (ast.get_docstring(node) or ""):
                continue
            loops = {type(one).__name__.lower() for one in ast.walk(node) if isinstance(one, (ast.For, ast.While))}
            if loops:
                top = any(isinstance(one, (ast.For, ast.While)) for one in node.body)
                yield {"path": relative, "name": node.name, "at": node.lineno, "loops": sorted(loops), "top": top}


def sort_of(refusal: dict[str, Any]) -> str:
    """Give the kind of a refusal, or its reason without the names and numbers of the one loop."""
    if refusal.get("kind"):
        return str(refusal["kind"])
    return re.sub(r"\d+", "N", re.sub(r"`[^`]*`|'[^']*'", "`…`", refusal["reason"]))[:100]


def line_of(one: dict[str, Any]) -> str:
    """Print a function on one line."""
    where = f"{one['path']}:{one['at']} {one['name']}"
    if "refusal" in one:
        line = one["refusal"]["line"]
        return f"refused   {where}: {f'line {line}: ' if line else ''}{one['refusal']['reason'][:160]}"
    if one["status"] in ("wrong", "crash"):
        return f"{one['status'].upper():9} {where}\n    " + one["detail"].strip().replace("\n", "\n    ")
    return f"{one['status']:9} {where}"


def summary(results: list[dict[str, Any]]) -> str:
    """Count the statuses, of all functions and of two parts, and the refusals by kind."""
    counted = [one for one in results if one["status"] != "excluded"]
    rows = [f"{len(results)} functions, {len(counted)} counted"]
    parts = {
        "all": counted,
        "with a for": [one for one in counted if "for" in one["loops"]],
        "with a loop that stands in nothing else": [one for one in counted if one["top"]],
    }
    for what, of in parts.items():
        counts = Counter(one["status"] for one in of)
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
        rows.append(f"{len(of)} {what}: {told}")
    refusals = [one["refusal"] for one in counted if "refusal" in one]
    if refusals:
        rows.append(f"refusals without a line: {sum(one['line'] is None for one in refusals)}")
    rows += [f"{count:5}  {sort}" for sort, count in Counter(map(sort_of, refusals)).most_common()]
    return "\n".join(rows)


def main() -> int:
    """Judge the functions of a collection; exit status 1 where one is wrong or crashed."""
    parser = argparse.ArgumentParser(prog="python -m tests.loops.wild", description=__doc__)
    parser.add_argument("source", type=Path, help="a folder or a git directory")
    parser.add_argument("--folder", type=Path, help="where to unpack a git directory; default: a temporary folder")
    parser.add_argument("--only", help="a part of path or name")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds a function")
    parser.add_argument("--memory", type=int, default=6144, help="MiB of addresses that the process may have")
    parser.add_argument("--count", action="store_true", help="count the functions whose examples pass plain")
    parser.add_argument("--plain", action="store_true", help="judge the plain functions: all must be right")
    parser.add_argument("--quiet", action="store_true", help="print what is wrong or crashed, and the summary")
    parser.add_argument("--json", type=Path, help="a file to write the results to")
    given = parser.parse_args()
    try:
        decorator(given.plain or given.count)
    except ImportError as missing:
        print(missing, file=sys.stderr)
        return 2
    results = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        root = checked_out(given.source.resolve(), given.folder or Path(temporary) / "collection").resolve()
        elsewhere = Path(temporary) / "cwd"
        elsewhere.mkdir()
        worker = Worker("tests.loops.doctested:answer", given.memory, elsewhere)
        for one in functions(root):
            if given.only and given.only not in f"{one['path']}:{one['name']}":
                continue
            request = {**one, "root": str(root), "plain": given.plain or given.count, "check": given.count}
            try:
                told = worker.ask(request, given.timeout)
            except Died as died:
                told = {"status": "crash", "detail": str(died)}
                try:
                    plain = worker.ask({**request, "plain": True, "check": True}, given.timeout)
                except Died:
                    plain = {"status": "excluded"}
                if plain["status"] == "excluded":
                    told = {"status": "excluded", "detail": f"plain: {died}"}
            results.append({**one, **told})
            if results[-1]["status"] in ("wrong", "crash") or not (given.quiet or told["status"] == "excluded"):
                print(line_of(results[-1]), flush=True)
        worker.close()
    print(f"\n{summary(results)}\n{time.monotonic() - begun:.0f} s")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    return int(any(one["status"] in ("wrong", "crash") for one in results))


if __name__ == "__main__":
    sys.exit(main())
