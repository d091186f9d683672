"""Kill a generating run again and again, go on with it, and compare the table with that of an undisturbed run.

    python -m benchmarks.resume_after_kill [--types i8,u8] [--max-leaves 5] [--kills 8] [--seed 0]

Every start has another number of workers and lives for a random time; the whole of it is ended by SIGKILL.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def started(out: Path, arguments: list[str], *, jobs: int, resume: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rfactor", "generate", "--out", str(out), "--jobs", str(jobs), *arguments]
    return subprocess.Popen(
        [*command, *(["--resume"] if resume else [])],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def export(table: Path) -> bytes:
    return subprocess.run(
        [sys.executable, "-m", "rfactor", "table", "export", str(table)], check=True, stdout=subprocess.PIPE
    ).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default="i8,u8")
    parser.add_argument("--max-leaves", default="5")
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    arguments = ["--types", options.types, "--max-leaves", options.max_leaves]
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole.db"), Path(folder, "killed.db")
        began = time.perf_counter()
        if started(whole, arguments, jobs=2, resume=False).wait():
            raise SystemExit("the undisturbed run failed")
        undisturbed = time.perf_counter() - began
        print(f"undisturbed: {undisturbed:.1f} s, {len(export(whole).splitlines())} operators")
        resume, spent = False, 0.0
        for number in range(1, options.kills + 1):
            jobs, life = rng.randint(1, 4), rng.uniform(1.0, max(3.0, undisturbed / 3))
            began = time.perf_counter()
            process = started(killed, arguments, jobs=jobs, resume=resume)
            try:
                process.wait(life)
                ended = "finished"
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                ended = "killed"
            spent += time.perf_counter() - began
            print(f"start {number}: {jobs} workers, {ended} after {time.perf_counter() - began:.1f} s")
            resume = killed.exists()
            if ended == "finished":
                break
        else:
            began = time.perf_counter()
            if started(killed, arguments, jobs=2, resume=resume).wait():
                raise SystemExit("the resumed run failed")
            spent += time.perf_counter() - began
            print(f"resumed to the end in {time.perf_counter() - began:.1f} s")
        same = export(killed) == export(whole)
        print(f"{spent:.1f} s in all; the exports are {'the same, byte for byte' if same else 'DIFFERENT'}")
        return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
