"""`rfactor generate --reductions`: the offline run that makes a table of known reductions from questions."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

from rfactor.cli.objects import read_object
from rfactor.enumerate.backend import backend
from rfactor.enumerate.known import questions
from rfactor.errors import Error, TableError
from rfactor.matcher.known.make import answered, question, rows_of
from rfactor.matcher.known.moved import moved
from rfactor.matcher.recognize import forget
from rfactor.prover.smt import limit_memory
from rfactor.table.known import RULES, Known, KnownTable, write_known

BATCH = 16
"""Questions of one unit of work."""
Progress = Callable[[str, int, int], None]


def generate_reductions(
    asked: Path | None, out: Path, jobs: int, resume: bool, memory: int, progress: Progress
) -> dict[str, Any]:
    """Makes the table at `out` from the questions in a file, or from the shipped ones. Raises `rfactor.Error`.

    What is finished is kept beside `out` until the table is, so that `resume` goes on with it. Where there is a table
    at `out`, `resume` asks only what that has no answer to: the questions may have changed since.
    """
    rows = _first_about_each(_asked_in(asked) if asked else _shipped())
    digest = _digest(rows)
    if out.exists() and not resume:
        raise TableError(f"{out} exists; name another file, or --resume the run that made it")
    began = time.perf_counter()
    limit_memory(memory)
    held = _held(out) if out.exists() else {}
    asking = [row for row in rows if row.about not in held]
    part = out.with_name(f"{out.name}.part")
    done = _done(part, _digest(asking)) if resume else {}
    batches = list(_batches(asking))
    missing = [number for number in range(len(batches)) if number not in done]
    progress("reductions", len(done), len(batches))
    with (
        part.open("a" if done else "w", encoding="utf-8") as file,
        closing(backend("local", jobs, None, memory)) as own,
    ):
        if not done:
            file.write(json.dumps(_digest(asking)) + "\n")
        for index, answered_ in own.run(run_batch, [batches[number] for number in missing]):
            done[missing[index]] = answered_
            file.write(json.dumps([missing[index], answered_]) + "\n")
            file.flush()
            progress("reductions", len(done), len(batches))
    found = held | {row.about: row for number in range(len(batches)) for row in (Known(*own) for own in done[number])}
    answers = [found[row.about] for row in rows]
    verdicts = [row.verdict for row in answers]
    counts = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    kept = [row for row in answers if row.verdict != "unknown"]
    write_known(out, kept, {"questions": len(rows), "digest of questions": digest, "counts": counts})
    part.unlink(missing_ok=True)
    return {"counts": counts, "seconds": round(time.perf_counter() - began, 1)}


def _digest(rows: Sequence[Known]) -> str:
    return hashlib.blake2b(repr((RULES, list(map(astuple, rows)))).encode(), digest_size=16).hexdigest()


def _held(path: Path) -> dict[tuple[str, str, str, str], Known]:
    """The rows of a table by what they are about. Raises `TableError`."""
    with closing(KnownTable(path)) as table:
        return {row.about: row for row in table.rows()}


def _first_about_each(rows: Iterable[Known]) -> list[Known]:
    found: dict[tuple[str, str, str, str], Known] = {}
    for row in rows:
        found.setdefault(row.about, row)
    return list(found.values())


def _batches(rows: Sequence[Known]) -> Iterator[list[Known]]:
    """Questions that differ in types alone stand together: what is found for one is tried first for the next."""
    alike: dict[tuple[str, str, str], list[Known]] = {}
    for row in rows:
        alike.setdefault((row.form, row.semantics, row.literals), []).append(row)
    batch: list[Known] = []
    for group in alike.values():
        batch += group
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _shipped() -> Iterator[Known]:
    """The questions of the shipped table, as rows; what has no form is left out."""
    for asked in questions():
        row = question(asked.parsed())
        if row is not None:
            yield row


def _asked_in(path: Path) -> Iterator[Known]:
    """The questions in a file, as rows; what has no form is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from None
    for number, line in zip(range(1, len(lines) + 1), lines, strict=True):
        if line.strip():
            try:
                yield from rows_of(read_object(line, "a line is a JSON object with the key update"))
            except Error as error:
                raise Error(f"{path}, line {number}: {error}") from None


def _done(part: Path, digest: str) -> dict[int, Any]:
    """What an earlier run finished, by the number of the unit; the last line may be cut short."""
    try:
        first, *lines = part.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    if first != json.dumps(digest):
        raise TableError(f"{part} was begun with other questions, or by other rules; remove it")
    done: dict[int, Any] = {}
    for line in lines:
        try:
            number, rows = json.loads(line)
        except ValueError:
            continue
        done[number] = rows
    return done


def run_batch(rows: Sequence[Known]) -> list[tuple[Any, ...]]:
    """Answers some questions, whatever was asked before: at first by what is known at other types."""
    forget()
    found: list[Known] = []
    for row in rows:
        like = [own for own in found if (own.form, own.verdict != "unknown") == (row.form, True)]
        found.append(next(filter(None, (moved(row, own) for own in like[:_TRIED])), None) or answered(row))
    return [astuple(row) for row in found]


_TRIED = 3
"""Answers at other types that are tried."""
