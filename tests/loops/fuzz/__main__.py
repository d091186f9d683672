"""`python -m tests.loops.fuzz --loops 1000 --seed 0`: run random loops, print those that are wrong as scripts."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.loops.fuzz.program import generate
from tests.loops.subject import decorator
from tests.loops.wild import sort_of
from tests.loops.worker import Died, Worker


def results(seeds: range, jobs: int, timeout: float, plain: bool, shrink: int) -> Iterator[dict[str, Any]]:
    """Yield what is found for each seed, in their order."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker("tests.loops.fuzz.run:answer") for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def one(seed: int) -> dict[str, Any]:
        worker = idle.get()
        try:
            found: dict[str, Any] = worker.ask({"seed": seed, "plain": plain, "shrink": shrink}, timeout)
            return {"seed": seed, "kind": "", "source": "", **found}
        except Died as died:
            program = generate(seed)
            told = {"status": "crash", "detail": str(died), "script": f"{program.source}# {program.columns}\n"}
            return {"seed": seed, "kind": program.kind, "source": program.source, **told}
        finally:
            idle.put(worker)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, seeds)
    for worker in workers:
        worker.close()


def summary(found: list[dict[str, Any]], seconds: float) -> str:
    """Count what was found, by kind of loop, by way of calling, and the refusals by their reason."""
    counts = Counter(one["status"] for one in found)
    rows = [f"{len(found)} loops in {seconds:.0f} s: " + _counted(counts)]
    for kind in ("fold", "search", "scan", "group"):
        rows.append(f"  {kind:8}" + _counted(Counter(one["status"] for one in found if one["kind"] == kind)))
    for way in ("call", "partial", "stream"):
        ways: Counter[str] = Counter()
        for one in found:
            ways.update(one.get("ways", {}).get(way, {}))
        rows.append(f"  {way:8}{ways['right']} right, {ways['refused']} refused, {ways['wrong'] + ways['crash']} WRONG")
    raising = sum(bool(one.get("raised")) for one in found)
    rows.append(f"  {raising} loops whose plain function raises for some data")
    refused = Counter(sort_of(one["refusal"]) for one in found if "refusal" in one)
    rows += [f"{count:6}  {sort}" for sort, count in refused.most_common(20)]
    return "\n".join(rows)


def _counted(counts: Counter[str]) -> str:
    told = f"{counts['agree']} agree, {counts['refused']} refused, {counts['wrong']} WRONG"
    return told + (f", {counts['crash']} CRASH" if counts["crash"] else "")


def main() -> int:
    """Run the loops; exit status 1 where one is wrong or crashed."""
    parser = argparse.ArgumentParser(prog="python -m tests.loops.fuzz", description=__doc__)
    parser.add_argument("--loops", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a loop")
    parser.add_argument("--shrink", type=int, default=60, help="tries to make a fault smaller")
    parser.add_argument("--plain", action="store_true", help="judge the plain functions: all must agree")
    parser.add_argument("--show", action="store_true", help="print the programs: nothing is run")
    parser.add_argument("--json", type=Path, help="a file to write the results to")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.loops)
    if given.show:
        for seed in seeds:
            program = generate(seed)
            print(f"# seed {seed}, {program.kind}: {', '.join(map(str, program.columns))}\n{program.source}\n")
        return 0
    try:
        decorator(given.plain)
    except ImportError as missing:
        print(missing, file=sys.stderr)
        return 2
    begun = time.monotonic()
    found = []
    for one in results(seeds, given.jobs, given.timeout, given.plain, given.shrink):
        found.append(one)
        if one["status"] in ("wrong", "crash"):
            print(
                f"\n# seed {one['seed']}: {one['status']} {one.get('way', '')}\n{one.get('script', one['detail'])}",
                flush=True,
            )
        if len(found) % 100 == 0:
            told = _counted(Counter(other["status"] for other in found))
            print(f"{len(found)}/{given.loops}: {told}, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print("\n" + summary(found, time.monotonic() - begun))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))
    return int(any(one["status"] in ("wrong", "crash") for one in found))


if __name__ == "__main__":
    sys.exit(main())
