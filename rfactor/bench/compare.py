"""Table 1: the six reductions, serial and factored, beside the peers and the limit of memory, in one run.

All contenders of a reduction read the same arrays and take turns; only ratios within a run mean something.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from rfactor.bench.contender import Absent, Contender
from rfactor.bench.peers import PEERS
from rfactor.bench.program import Array, Program, agree
from rfactor.bench.rounds import Time, in_turn, sleep_soon
from rfactor.bench.table1 import HARD, KEYS, SIZE, Bar, Case, case, reading
from rfactor.compiler.pipeline import forget
from rfactor.compiler.runtime.threads import runtime_name, thread_count

OURS, AUTO, SERIAL, READING = "rfactor", "auto", "serial", "reading"
"""The program factored by hand, by `auto_rfactor`, the same algorithm without a schedule, and reading its arrays."""
AGAINST_HALIDE = 1.5
"""How much faster than Halide under the schedules of its own benchmark the six are to be, in the geometric mean."""

ROUNDS = 60
"""With fewer it is luck whether each contender has met its data in the caches once, and the processor at its speed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reduction."""

    key: str
    title: str
    octets: int
    """Bytes that it reads."""
    times: dict[str, Time]
    answers: dict[str, str]
    """Beside the serial answer: `same`, `another tie` (the least value at another of its places), or `wrong`."""
    bar: Bar
    holds: bool | None
    """Whether the bar is reached; None where what it is relative to did not run."""
    compile_ms: float
    """Matching, lowering and LLVM of the factored program, of the processor, once its proofs are known,"""
    first_compile_ms: float
    """and the first time."""

    def ratio(self, name: str, *, median: bool = False) -> float | None:
        """How many times longer another takes than the factored program, least times or medians."""
        if name not in self.times:
            return None
        other, own = self.times[name], self.times[OURS]
        return other.median / own.median if median else other.least / own.least


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run of Table 1."""

    size: int
    trials: int
    threads: int
    runtime: str
    """What runs our parallel loops: POSIX threads, or one thread."""
    cpu: str
    versions: dict[str, str]
    absent: dict[str, str]
    """Peers that did not run, and why."""
    rows: tuple[Row, ...]

    @property
    def against_halide(self) -> float | None:
        """The geometric mean, over the six, of Halide's time by ours, each with its own schedules."""
        return self._mean("Halide")

    @property
    def against_halide_alike(self) -> float | None:
        """The same, Halide under our schedules."""
        return self._mean("Halide alike")

    @property
    def against_halide_median(self) -> float | None:
        """The mean of Halide's median time by ours."""
        return self._mean("Halide", median=True)

    def _mean(self, name: str, *, median: bool = False) -> float | None:
        ratios = [ratio for row in self.rows if row.key in KEYS and (ratio := row.ratio(name, median=median))]
        return prod(ratios) ** (1 / len(ratios)) if ratios else None

    @property
    def wrong(self) -> list[str]:
        """Whose answers are not the serial ones."""
        return [f"{row.title}: {name}" for row in self.rows for name, said in row.answers.items() if said == "wrong"]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: see docs/speed.md."""
        rows = [
            {
                "key": row.key, "title": row.title, "bytes": row.octets,
                "ms": {name: asdict(time) for name, time in row.times.items()},
                "answers": row.answers, "bar": str(row.bar), "holds": row.holds,
                "compile_ms": row.compile_ms, "first_compile_ms": row.first_compile_ms,
            }
            for row in self.rows
        ]  # fmt: skip
        told = (
            "size",
            "trials",
            "threads",
            "runtime",
            "cpu",
            "versions",
            "absent",
            "against_halide",
            "against_halide_alike",
            "against_halide_median",
        )
        return {**{name: getattr(self, name) for name in told}, "reductions": rows}


def compare(
    size: int = SIZE,
    trials: int = ROUNDS,
    peers: Sequence[str] = tuple(PEERS),
    keys: Sequence[str] = (*KEYS, *HARD),
    *,
    seed: int = 1,
    auto: bool = False,
    told: Callable[[str], None] = lambda title: None,
) -> Comparison:
    """Run Table 1 over `size` elements a reduction, with `auto` what `auto_rfactor` chooses too.

    `told` hears the title of each case before it runs.

    Raises `KeyError` for a peer that is not one of `PEERS` and a case that is not one of `KEYS` and `HARD`.
    """
    versions, absent = present(peers)
    rows = []
    for key in keys:
        made = case(key, size, seed)
        told(made.title)
        rows.append(measure(made, trials, tuple(versions), auto=auto))
    said = {PEERS[name].NAMES[0]: version for name, version in versions.items()}
    return Comparison(size, trials, thread_count(), runtime_name(), cpu(), said, absent, tuple(rows))


def present(peers: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Of the peers named, the versions of those that can run here, and for the others why not."""
    sleep_soon()
    versions: dict[str, str] = {}
    absent: dict[str, str] = {}
    for name in peers:
        try:
            versions[name] = PEERS[name].version()
            if name == "c":
                PEERS[name].library()
        except Absent as error:
            versions.pop(name, None)
            absent[name] = str(error)
    return versions, absent


def measure(case: Case, trials: int, peers: Sequence[str], *, batch_ms: float = 0.0, auto: bool = False) -> Row:
    """One reduction, all in turn; each contender's answer beside the serial one."""
    program = case.program()
    factored, compiled = scheduled(program)
    serial, _ = program.algorithm()
    field = [own(SERIAL, serial, program), own(OURS, factored, program)]
    if auto:
        chosen, _ = program.algorithm()
        chosen.update(0).auto_rfactor()
        field.append(own(AUTO, chosen, program))
    field += [contender for name in peers for contender in PEERS[name].contenders(case)]
    limit = reading(*case.arrays)
    least = in_turn([*(contender.run for contender in field), limit], trials, batch_ms)
    names = [*(contender.name for contender in field), READING]
    times = dict(zip(names, least, strict=True))
    right = field[0].answer()
    answers = {contender.name: judged(contender, right, case) for contender in field[1:]}
    of = times.get(case.bar.of)
    holds = None if of is None else times[OURS].least <= case.bar.limit * of.least
    octets = sum(array.nbytes for array in case.arrays)
    return Row(case.key, case.title, octets, times, answers, case.bar, holds, min(compiled), compiled[0])


def scheduled(program: Program) -> tuple[Any, list[float]]:
    """The factored function, and what matching, lowering and LLVM took of the processor, the first time and again."""
    compiled: list[float] = []
    for _ in range(2):
        factored, domain = program.algorithm()
        forget()
        start = time.process_time()
        program.schedule(factored, domain)
        factored.compile_jit()
        compiled.append((time.process_time() - start) * 1e3)
    return factored, compiled


def own(name: str, function: Any, program: Program) -> Contender:
    """A program of ours, computing into arrays that are there."""
    arrays = program.outputs()
    return Contender(name, partial(function.realize, arrays), partial(tuple, arrays))


def judged(contender: Contender, right: Sequence[Array], case: Case) -> str:
    """`same`, `another tie` or `wrong`."""
    answer = contender.answer()
    terms = case.arrays[0].size
    if len(answer) != len(right):
        return "wrong"
    if all(agree(a, b, terms) for a, b in zip(right, answer, strict=True)):
        return "same"
    return "another tie" if contender.any_tie and _tied(case, right, answer) else "wrong"


def _tied(case: Case, right: Sequence[Array], answer: Sequence[Array]) -> bool:
    """Whether an answer differs in nothing but at which of equal elements the least or greatest is said to lie."""
    data = case.arrays[0]
    if case.function == "argmin":
        coordinates = tuple(int(c) for c in answer[:0:-1])
        inside = all(0 <= c < extent for c, extent in zip(coordinates, data.shape, strict=True))
        return bool(answer[0] == right[0]) and inside and bool(data[coordinates] == answer[0])
    if case.function == "kitchen_sink":
        plain = all(np.array_equal(right[i], answer[i]) for i in (0, 1, 2, 4, 6, 7))
        return plain and all(
            0 <= int(answer[i + 1]) < len(data) and bool(data[int(answer[i + 1])] == answer[i]) for i in (2, 4)
        )
    return False


def cpu() -> str:
    """The processor's name."""
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
