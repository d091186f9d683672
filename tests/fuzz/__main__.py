"""`python -m tests.fuzz --programs 10000 --seed 0`: run random programs, print those that fail as scripts."""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from pathlib import Path

from tests.fuzz.campaign import Failure, Summary, campaign
from tests.fuzz.workers import serve


def main() -> int:
    """Whether anything failed, as an exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--shrink", type=int, default=400, help="tries to make a failing program smaller")
    parser.add_argument("--failures", type=Path, help="a directory to write failing scripts to")
    parser.add_argument("--nests", action="store_true", help="interpret loop nests alone: no machine code")
    parser.add_argument("--verify", action="store_true", help="prove the bounds of the programs: nothing is run")
    parser.add_argument("--count", action="store_true", help="print what the programs are made of: nothing is run")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return 0
    seeds = range(given.seed, given.seed + given.programs)
    if given.count:
        from tests.fuzz.coverage import counted, lines

        warnings.simplefilter("ignore")
        print("\n".join(lines(counted(seeds))))
        return 0
    begun = time.monotonic()
    found = Summary()

    def failed(one: Failure) -> None:
        print(f"\n# seed {one.seed}: {one.kind}\n{one.script}\n{_commented(one.detail)}", flush=True)
        if given.failures is not None:
            given.failures.mkdir(parents=True, exist_ok=True)
            text = f"# seed {one.seed}: {one.kind}\n{one.script}\n{_commented(one.detail)}\n"
            (given.failures / f"{one.seed}.py").write_text(text)

    def progress(summary: Summary) -> None:
        nonlocal found
        found = summary
        done = summary.kinds.total()
        if sys.stderr.isatty() or done % 20 == 0:
            full = 30 * done // given.programs
            ending = "\r" if sys.stderr.isatty() else "\n"
            bar = f"[{'#' * full}{' ' * (30 - full)}] {done}/{given.programs}, {len(summary.failures)} failing"
            print(f"{bar}, {time.monotonic() - begun:.0f} s", end=ending, file=sys.stderr, flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        campaign(seeds, given.jobs, progress, failed, shrinks=given.shrink, code=not given.nests, prove=given.verify)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
    print("\n" + "\n".join(found.lines()))
    return 1 if found.failures else 0


def _commented(text: str) -> str:
    return "\n".join(f"# {line}" for line in text.splitlines()[-25:])


if __name__ == "__main__":
    sys.exit(main())
