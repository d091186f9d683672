"""Judge the loops of a corpus: `python -m tests.loops.harness [--corpus own|shared|FILE.py] [--only NAME] [--plain]`.

Each case is called with data of several sizes and compared with its plain function (`tests.loops.judge`). A case is
right, refused (at every size that it was called with), mixed (right at some, refused at others), WRONG, or a crash.
Where `expect` says that it should have been refused and it is right, it is listed as accepted: that is no fault of the
result, but it is to be looked at. Exit status 1: something is wrong or crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tests.loops.cases import Case, cases_in_file, own_cases
from tests.loops.judge import SIZES, Verdict, judge
from tests.loops.subject import decorator
from tests.loops.worker import Died, Worker

STATUSES = ("right", "mixed", "refused", "wrong", "crash")


def load(corpus: str) -> list[Case]:
    """List the cases of the corpus of this package, of the file that `RFACTOR_CORPUS` names (shared), or of a file."""
    if corpus == "own":
        return own_cases()
    path = os.environ.get("RFACTOR_CORPUS", "") if corpus == "shared" else corpus
    if not path or not Path(path).is_file():
        raise SystemExit(f"--corpus {corpus}: no such file: {path or 'RFACTOR_CORPUS is not set'}")
    return cases_in_file(Path(path))


def measure(case: Case, sizes: tuple[int, ...], seed: int, plain: bool) -> dict[str, Any]:
    """Judge one case at all sizes; the faster form is made once. Data that `gen` cannot give is left out."""
    fold, refusals = decorator(plain)
    call = None
    found: list[tuple[int, Verdict]] = []
    for n in sizes:
        try:
            case.gen(np.random.default_rng([seed, n]), n)
        except Exception:
            if n >= case.least:
                raise
            continue
        if call is None:
            try:
                call = fold(case.function)
            except refusals as error:
                found.append((n, Verdict("refused", str(error).partition("\n")[0])))
                break
        verdict = judge(case, call, n, seed, refusals)
        if plain and verdict.plain_error and n >= case.least and not case.raises:
            verdict = Verdict("wrong", f"the plain function raises {verdict.plain_error}")
        found.append((n, verdict))
    return summed(case, found)


def summed(case: Case, found: list[tuple[int, Verdict]]) -> dict[str, Any]:
    """Give one status for a case, the worst of its sizes, with the detail of the first size that has it."""
    statuses = Counter(verdict.status for _, verdict in found)
    worst = next((s for s in ("crash", "wrong") if statuses[s]), "refused" if statuses["refused"] else "right")
    n, first = next(((n, v) for n, v in found if v.status == worst), (0, Verdict("right")))
    status = "mixed" if worst == "refused" and statuses["right"] else worst
    return {
        "name": case.name,
        "expect": case.expect,
        "kind": case.kind,
        "note": case.note,
        "status": status,
        "n": n,
        "detail": first.detail,
        "line": first.line,
        "first_call": found[0][1].seconds if found else 0.0,
        "calls": [{"n": n, **asdict(verdict)} for n, verdict in found],
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Judge a case by its name: what the second process does."""
    cases = _loaded.get(request["corpus"])
    if cases is None:
        cases = _loaded[request["corpus"]] = {case.name: case for case in load(request["corpus"])}
    return measure(cases[request["name"]], tuple(request["sizes"]), request["seed"], request["plain"])


_loaded: dict[str, dict[str, Case]] = {}
"""Cases by name, a corpus: read once in a process."""


def line_of(one: dict[str, Any]) -> str:
    """Print a case on one line: status, time of the first call, name, why."""
    status = {"wrong": "WRONG", "crash": "CRASH"}.get(one["status"], one["status"])
    if one["expect"] == "refuse" and one["status"] == "right":
        status = "accepted"
    why = f" n={one['n']}" if status in ("WRONG", "CRASH") else ""
    at = f" line {one['line']}:" if one["line"] else ""
    detail = one["detail"].strip().splitlines()[-1][:200] if one["detail"] else ""
    missed = "!" if one["status"] == "refused" and one["expect"] in ("fold", "scan", "group") else " "
    told = f"{status:8}{missed} {1000 * one['first_call']:8.1f} ms  {one['expect']:6} {one['name']:24}"
    return f"{told}{why}{at} {detail}".rstrip()


def table(results: list[dict[str, Any]]) -> str:
    """Count statuses by what was expected."""
    rows = [f"{'expect':8}" + "".join(f"{status:>9}" for status in STATUSES) + f"{'all':>9}"]
    for expect in (*sorted({one["expect"] for one in results}), "all"):
        of = [one for one in results if expect in (one["expect"], "all")]
        counts = Counter(one["status"] for one in of)
        rows.append(f"{expect:8}" + "".join(f"{counts[status]:9}" for status in STATUSES) + f"{len(of):9}")
    times = sorted(one["first_call"] for one in results if one["status"] in ("right", "mixed"))
    if times:
        median, late = (1000 * times[len(times) * tenth // 10] for tenth in (5, 9))
        rows.append(f"first call: median {median:.0f} ms, p90 {late:.0f} ms")
    return "\n".join(rows)


def main() -> int:
    """Judge the cases; exit status 1 where one is wrong or crashed."""
    parser = argparse.ArgumentParser(prog="python -m tests.loops.harness", description=__doc__)
    parser.add_argument("--corpus", default="own", help="own, shared (the file RFACTOR_CORPUS names), or a file")
    parser.add_argument("--only", action="append", help="names of cases, or of what they are expected to be")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of elements, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a case, all sizes")
    parser.add_argument("--plain", action="store_true", help="judge the plain functions: checks the corpus itself")
    parser.add_argument("--here", action="store_true", help="in this process: a crash or a hang ends it")
    parser.add_argument(
        "--quiet", action="store_true", help="print only what is wrong, crashed or should not be refused"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    sizes = tuple(int(one) for one in given.sizes.replace("_", "").split(","))
    try:
        decorator(given.plain)
    except ImportError as missing:
        print(missing, file=sys.stderr)
        return 2
    cases = [case for case in load(given.corpus) if not given.only or {case.name, case.expect} & set(given.only)]
    worker = Worker("tests.loops.harness:answer")
    results = []
    begun = time.monotonic()
    for case in cases:
        request = {"corpus": given.corpus, "name": case.name, "sizes": sizes, "seed": given.seed, "plain": given.plain}
        try:
            one = answer(request) if given.here else worker.ask(request, given.timeout)
        except Died as died:
            one = {"status": "crash", "detail": str(died)}
        one = {**summed(case, []), **one}
        results.append(one)
        told = {"refuse": ("refused",), "any": ("right", "mixed", "refused")}.get(one["expect"], ("right",))
        bad = one["status"] not in (("right",) if given.plain else told)
        if not given.json and (bad or not given.quiet):
            print(line_of(one), flush=True)
    worker.close()
    if given.json:
        print(json.dumps(results, indent=1))
    else:
        print(f"\n{table(results)}\n{len(results)} cases in {time.monotonic() - begun:.0f} s")
    return int(any(one["status"] in ("wrong", "crash") for one in results))


if __name__ == "__main__":
    sys.exit(main())
