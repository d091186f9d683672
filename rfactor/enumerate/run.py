"""The offline run: units that search, prove and spell, then the table. Every finished unit is in the file."""

from __future__ import annotations

import itertools
import json
import logging
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rfactor import __version__
from rfactor.enumerate.backend import Backend
from rfactor.enumerate.filters import QUICK, THOROUGH, Survivors, fingerprints, first_seen
from rfactor.enumerate.groups import Group, groups
from rfactor.enumerate.laws import LIMITS
from rfactor.enumerate.points import Family
from rfactor.enumerate.prove import Outcome, mirror_row, prove
from rfactor.enumerate.spellings import MOST_LEAVES, spellings
from rfactor.enumerate.units import Unit, needs_identity, search, units
from rfactor.errors import TableError
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BY_NAME, TABLED
from rfactor.native.programs import WIDTH
from rfactor.table.merge import simplest_first
from rfactor.table.rules import LARGEST_CHOICE_WITH_ROW
from rfactor.table.scope import parse_scope
from rfactor.table.write import Writer

LOG = logging.getLogger("rfactor.enumerate")
BATCH = 48
"""Survivors proved in one unit."""
Progress = Callable[[str, int, int], None]
"""Told (stage, units done, units in all)."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What determines the rows of a table."""

    types: tuple[str, ...]
    max_leaves: tuple[int, int] = (8, 8)
    """Of operators of one component, and of two."""
    components: tuple[int, ...] = (1, 2)
    semantics: tuple[str, ...] = ("wrap", "math")
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "types": list(self.types),
            "max_leaves": list(self.max_leaves),
            "components": list(self.components),
            "semantics": list(self.semantics),
            "seed": self.seed,
            "rlimit": LIMITS.rlimit,
            "triples": [*QUICK, *THOROUGH],
            "generator": GENERATOR,
        }

    @property
    def groups(self) -> list[Group]:
        return groups([BY_NAME[name] for name in self.types], [Meaning(name) for name in self.semantics])


GENERATOR = 16
"""Raised with every change that may change rows: a run is resumed only by the generator that began it."""


def ordered_types(names: Sequence[str]) -> tuple[str, ...]:
    """The names in the order of `TABLED`, each once."""
    return tuple(t.name for t in TABLED if t.name in names)


def generate(
    path: Path, parameters: Parameters, backend: Backend, *, resume: bool = False, progress: Progress = lambda *_: None
) -> dict[str, Any]:
    """Makes the table at `path`; returns its `meta`. Raises `TableError` where the file does not allow it."""
    writer = Writer(path, parameters.as_dict(), resume=resume)
    try:
        if writer.is_complete:
            writer.shrink()
        else:
            _generate(writer, parameters, backend, progress)
        return writer.meta()
    finally:
        writer.close()


def _generate(writer: Writer, parameters: Parameters, backend: Backend, progress: Progress) -> None:
    began = time.perf_counter()
    own = parameters.groups
    families = list(dict.fromkeys(group.family for group in own))
    searches = [
        _Search(unit, [g for g in own if g.family == unit.family], parameters.seed)
        for unit in units(families, parameters.components, parameters.max_leaves)
    ]
    results = _finish(writer, backend, "search", [(s.unit.name, s) for s in searches], run_search, progress)
    searched = time.perf_counter()
    merged = {group.name: _merged(group, searches, results, parameters.seed) for group in own}
    proofs = [
        (f"prove {group.name} {number:06d}", _Proof(group, batch, parameters.seed))
        for group in own
        for number, batch in zip(range(1 << 20), _batches(merged[group.name]), strict=False)
    ]
    outcomes = _finish(writer, backend, "prove", proofs, run_proof, progress)
    rows, undecided, counts = _assemble(own, searches, results, proofs, outcomes)
    proved = time.perf_counter()
    spelled = _finish(writer, backend, "spell", list(_spelling_units(own, rows, parameters)), run_spelling, progress)
    finished = time.perf_counter()
    choices = [row for row in rows if is_held_by_rule(row)]
    writer.complete(
        [row for row in rows if not is_held_by_rule(row)],
        [{**row, "method": _identity_method(row)} for row in choices],
        [spelling for found in spelled.values() for spelling in found],
        undecided,
        {
            "counts": counts,
            "versions": _versions(),
            "seconds": {
                stage: round(seconds, 1)
                for stage, seconds in (
                    ("search", searched - began),
                    ("prove", proved - searched),
                    ("spell", finished - proved),
                )
            },
        },
    )
    LOG.info("%d rows, %d of them by rule, %d undecided", len(rows), len(choices), len(undecided))


def is_held_by_rule(row: Mapping[str, Any]) -> bool:
    """Whether an operator has no row of its own, because a rule proves it: a large one of the rule `choice`."""
    return bool(row["choice"]) and row["leaves"] > LARGEST_CHOICE_WITH_ROW and row["identity_kind"] == "left"


def _identity_method(row: Mapping[str, Any]) -> str:
    """The method by which the left identity of a row was proved."""
    return next(str(p["method"]) for p in json.loads(row["proofs"]) if p["claim"] == "left_identity")


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"rfactor": __version__, **{name: version(name) for name in ("numpy", "llvmlite", "z3-solver")}}


def _finish(
    writer: Writer,
    backend: Backend,
    stage: str,
    tasks: Sequence[tuple[str, Any]],
    function: Callable[[Any], bytes],
    progress: Progress,
) -> dict[str, Any]:
    """The decoded results of all tasks; those not in the file yet are run and recorded."""
    done = writer.done()
    missing = [(name, task) for name, task in tasks if name not in done]
    finished = len(tasks) - len(missing)
    progress(stage, finished, len(tasks))
    for index, result in backend.run(function, [task for _, task in missing]):
        name = missing[index][0]
        writer.finish_unit(name, result)
        done[name] = result
        finished += 1
        progress(stage, finished, len(tasks))
        LOG.info("%s done (%d of %d)", name, finished, len(tasks))
    return {name: _unpack(writer, name, done[name]) for name, _ in tasks}


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value).encode(), 6)


def _unpack(writer: Writer, name: str, result: bytes) -> Any:
    try:
        return json.loads(zlib.decompress(result))
    except (zlib.error, ValueError, TypeError) as error:
        raise TableError(f"{writer.path} is damaged: what the unit {name} gave does not read; begin again") from error


@dataclass(frozen=True, slots=True)
class _Search:
    unit: Unit
    groups: list[Group]
    seed: int


def run_search(task: _Search) -> bytes:
    """Runs a search unit; its survivors as packed JSON."""
    found = search(task.unit, task.groups, task.seed)
    return _pack(
        {
            name: {
                "programs": [[row.tobytes().hex() for row in part] for part in result.survivors.programs],
                "types": result.survivors.types.tolist(),
                "counts": result.counts,
            }
            for name, result in found.items()
        }
    )


def _survivors(result: Mapping[str, Any]) -> Survivors:
    programs = tuple(
        np.frombuffer(bytes.fromhex("".join(part)), np.uint8).reshape(-1, WIDTH) for part in result["programs"]
    )
    return Survivors(programs, np.array(result["types"], np.int64))


@dataclass(frozen=True, slots=True)
class _Candidate:
    programs: tuple[bytes, ...]
    types: int
    leaves: tuple[int, ...]
    mirrored: bool
    """Whether the operator with its operands exchanged is another one."""


def _merged(group: Group, searches: Sequence[_Search], results: Mapping[str, Any], seed: int) -> list[_Candidate]:
    """One candidate a function, smallest first."""
    seen: set[int] = set()
    merged = []
    for task in searches:
        if group not in task.groups:
            continue
        found = _survivors(results[task.unit.name][group.name])
        if not len(found):
            continue
        own = fingerprints(group, found.programs, seed)
        back = fingerprints(group, found.programs, seed, turned=True)
        for index in first_seen(own + back, seen):
            programs = tuple(part[index].tobytes() for part in found.programs)
            merged.append(
                _Candidate(programs, int(found.types[index]), task.unit.leaves, bool(own[index] != back[index]))
            )
    return sorted(merged, key=lambda c: (sum(c.leaves), c.leaves))


def _batches(candidates: Sequence[_Candidate]) -> list[list[_Candidate]]:
    """Candidates in groups of equal leaves: those of a smaller table are the first of a larger one."""
    shapes = [list(group) for _, group in itertools.groupby(candidates, key=lambda c: c.leaves)]
    return [shape[start : start + BATCH] for shape in shapes for start in range(0, len(shape), BATCH)]


@dataclass(frozen=True, slots=True)
class _Proof:
    group: Group
    batch: list[_Candidate]
    seed: int


def run_proof(task: _Proof) -> bytes:
    """Proves a batch; the outcomes as packed JSON."""
    outcomes = []
    for candidate in task.batch:
        programs = tuple(np.frombuffer(p, np.uint8) for p in candidate.programs)
        need = needs_identity(candidate.leaves)
        outcome = prove(task.group, programs, candidate.types, task.seed, need_identity=need)
        # One that has a left identity stands for its mirror too; of the others both are written.
        rows = [mirror_row(row, task.group) if row["identity_kind"] == "right" else row for row in outcome.rows]
        both = [row for row in rows if row["identity_kind"] != "left"] if candidate.mirrored else []
        mirrors = [mirror_row(row, task.group) for row in both]
        outcomes.append([rows, mirrors, outcome.undecided, outcome.refuted, outcome.without_identity])
    return _pack(outcomes)


def _assemble(
    own: Sequence[Group],
    searches: Sequence[_Search],
    results: Mapping[str, Any],
    proofs: Sequence[tuple[str, _Proof]],
    outcomes: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Rows, simplest first, numbered by class; what is undecided; counts per group and stage of the filter."""
    rows: list[dict[str, Any]] = []
    undecided: list[dict[str, Any]] = []
    counts: dict[str, dict[str, int]] = {group.name: {} for group in own}
    for task in searches:
        for group in task.groups:
            for stage, number in results[task.unit.name][group.name]["counts"].items():
                counts[group.name][stage] = counts[group.name].get(stage, 0) + number
    klass = 0
    for name, proof in proofs:
        count = counts[proof.group.name]
        for entry in outcomes[name]:
            forth, back, *rest = entry
            outcome = Outcome(forth, *rest)
            for turned in (forth, back):
                klass += 1
                rows += [{**row, "class": klass} for row in turned]
            undecided += outcome.undecided
            for stage, number in (
                ("classes", 1),
                ("refuted by a proof", outcome.refuted),
                ("without identity", outcome.without_identity),
                ("undecided", int(bool(outcome.undecided))),
                ("kept", int(bool(outcome.rows))),
            ):
                count[stage] = count.get(stage, 0) + number
    rows.sort(key=simplest_first)
    return rows, undecided, counts


@dataclass(frozen=True, slots=True)
class _Spelling:
    group: Group
    rows: list[dict[str, Any]]
    most: int
    seed: int


def run_spelling(task: _Spelling) -> bytes:
    """Lists the spellings of rows; as packed JSON."""
    return _pack(spellings(task.group, task.rows, task.most, task.seed))


def _spelling_units(
    own: Sequence[Group], rows: Sequence[Mapping[str, Any]], parameters: Parameters
) -> Iterator[tuple[str, _Spelling]]:
    for group in own:
        if group.domain.floating:
            # Equal on all values is not equal on what operators make of them: infinite identities of reals, differences
            # of naturals below 0. Machine integers and truth values are closed.
            continue
        for components in parameters.components:
            most = min(MOST_LEAVES, parameters.max_leaves[components - 1])
            short = [
                {name: row[name] for name in ("class", "types", "components", "operator")}
                for row in rows
                if row["components"] == components
                and 1 < row["leaves"] <= most
                and row["semantics"] == group.meaning.value
                and set(parse_scope(row["types"]).types) <= set(group.types)
            ]
            yield f"spell {group.name} {components}", _Spelling(group, short, most, parameters.seed)


__all__ = ["Family", "Parameters", "generate", "ordered_types"]
