"""Injects faults into generating runs, goes on with them, and compares the tables with that of an undisturbed run.

    python -m benchmarks.faults [--times 100] [--seed 0] [--kind KIND] [--types u8] [--max-leaves 3]

Each start of a run, with one to three workers, meets one fault at a random moment (of a full disk, at a random size of
the file); it has to end with the exit code of that fault, in one line that says how to go on, and to leave no process.
Then the run is resumed, to meet the next. A run that came to its end has to have the rows of the undisturbed one, byte
for byte, and another is begun. Exits with 1 if anything was otherwise.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rfactor.errors import TableError
from rfactor.table.store import open_table

Deed = Callable[[subprocess.Popen[str], random.Random], object]


@dataclass(frozen=True)
class Fault:
    """What is done to a process, and how that may end it (0: it goes on); `says`: a part of what it says then."""

    deed: Deed
    codes: frozenset[int]
    says: str = ""


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _kill_a_worker(process: subprocess.Popen[str], rng: random.Random) -> None:
    workers = children(process.pid)
    if workers:
        os.kill(rng.choice(workers), signal.SIGKILL)


def _to_group(number: int) -> Deed:
    return lambda process, _: os.killpg(process.pid, number)


def _to_parent(number: int) -> Deed:
    return lambda process, _: process.send_signal(number)


def _nothing(*_: object) -> None:
    return


FAULTS = {
    "Ctrl-C": Fault(_to_group(signal.SIGINT), frozenset({130}), "--resume"),
    "SIGINT to the parent": Fault(_to_parent(signal.SIGINT), frozenset({130}), "--resume"),
    "SIGTERM to the group": Fault(_to_group(signal.SIGTERM), frozenset({143}), "--resume"),
    "SIGTERM to the parent": Fault(_to_parent(signal.SIGTERM), frozenset({143}), "--resume"),
    "SIGKILL of the group": Fault(_to_group(signal.SIGKILL), frozenset({-9})),
    "SIGKILL of the parent": Fault(_to_parent(signal.SIGKILL), frozenset({-9})),
    "SIGKILL of a worker": Fault(_kill_a_worker, frozenset({0})),
    "full disk": Fault(_nothing, frozenset({2}), "--resume"),
}
UNHEARD = frozenset({-2, -15, 1, 130, 143})
"""Exit codes of a process that is stopped while Python itself starts or ends."""


def started(out: Path, arguments: list[str], *, jobs: int, resume: bool, most: int = -1) -> subprocess.Popen[str]:
    """A generating run that can make files of so many bytes at most, in a group of its own."""
    command = [sys.executable, "-m", "rfactor", "generate", "--out", str(out), "--jobs", str(jobs), *arguments]

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
        if most >= 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.Popen(
        [*command, *(["--resume"] if resume else [])],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )


def left(out: Path, patience: float = 10.0) -> list[str]:
    """The processes that still work on a file after some seconds."""
    until = time.monotonic() + patience
    while True:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(out) in (entry / "cmdline").read_text():
                    found.append(entry.name)
            except OSError:
                continue
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def is_complete(table: Path) -> bool:
    """Whether a run has come to its end."""
    try:
        open_table(table).close()
    except TableError:
        return False
    return True


def export(table: Path) -> bytes:
    """Every row of a table."""
    command = [sys.executable, "-m", "rfactor", "table", "export", str(table)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def inject(name: str, out: Path, arguments: list[str], rng: random.Random, most: float, size: int) -> tuple[int, str]:
    """One start of a run that meets one fault within `most` seconds (a full disk within `size` bytes).

    The exit code, and what was wrong with how it ended ("" where nothing was).
    """
    fault = FAULTS[name]
    space = rng.randrange(size) if name == "full disk" else -1
    process = started(out, arguments, jobs=rng.randint(1, 3), resume=out.exists(), most=space)
    time.sleep(0 if name == "full disk" else rng.uniform(0.05, most))
    if process.poll() is None:
        fault.deed(process, rng)
    try:
        _, said = process.communicate(timeout=120 + 20 * most)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return -9, "it hangs"
    code = process.returncode
    # While Python itself starts or ends nobody listens.
    begun = "search:" in said and not is_complete(out)
    wrong = []
    if code != 0 and code not in (fault.codes if begun else fault.codes | UNHEARD):
        wrong.append(f"exit code {code}")
    told = [line for line in said.splitlines() if line.startswith("rfactor: ")]
    if code > 0 and (begun or code == 2) and (len(told) != 1 or fault.says not in told[0]):
        wrong.append(f"it says {told}")
    if begun and "Traceback" in said:
        wrong.append("a traceback")
    if processes := left(out):
        wrong.append(f"processes {processes} are left")
    return code, ", ".join(wrong) + (f"\n{said[-1500:]}" if wrong else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100, help="faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=FAULTS, help="this fault alone")
    parser.add_argument("--types", default="u8")
    parser.add_argument("--max-leaves", default="3")
    options = parser.parse_args()
    arguments = ["--types", options.types, "--max-leaves", options.max_leaves]
    rng = random.Random(options.seed)
    kinds = [options.kind] if options.kind else list(FAULTS)
    injected: Counter[tuple[str, int]] = Counter()
    wrong = tables = 0
    with tempfile.TemporaryDirectory() as folder:
        whole, out = Path(folder, "whole.db"), Path(folder, "faulty.db")
        began = time.perf_counter()
        if started(whole, arguments, jobs=2, resume=False).wait():
            raise SystemExit("the undisturbed run failed")
        undisturbed = time.perf_counter() - began
        rows = export(whole)
        print(f"undisturbed: {undisturbed:.1f} s, {len(rows.splitlines())} operators", flush=True)
        number = starts = 0
        while number < options.times or out.exists():
            # A run that never comes to its end is of no use: after some starts one is left alone.
            alone = starts >= 12 or number >= options.times
            if alone:
                process = started(out, arguments, jobs=2, resume=True)
                said = process.communicate()[1]
                code, problem = process.returncode, said if process.returncode else ""
            else:
                name = kinds[number % len(kinds)]
                code, problem = inject(name, out, arguments, rng, undisturbed, 2 * whole.stat().st_size)
                injected[name, code] += 1
                number += 1
            starts += 1
            if problem:
                wrong += 1
                print(f"fault {number}, {name}: {problem}", flush=True)
            if code == 0 or (alone and problem):
                if export(out) != rows:
                    wrong += 1
                    print(f"after fault {number}: the table is ANOTHER", flush=True)
                out.unlink()
                tables, starts = tables + 1, 0
    for (name, code), count in sorted(injected.items()):
        print(f"{name:22} exit code {code:4} {count:6} times")
    print(f"{number} faults, {tables} tables compared with the undisturbed one, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
