"""Table 3: how long it takes to find the operator of each reduction, to compile it, and to refuse what has none."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import rfactor
from rfactor.bench.compare import scheduled
from rfactor.bench.contender import Absent
from rfactor.bench.peers import of_halide
from rfactor.bench.program import Program
from rfactor.bench.table1 import KEYS, Case, case
from rfactor.errors import FactorError

SIZE = 1 << 12
"""Elements a reduction; nothing here depends on it."""
_AGAIN = 15
"""How often it is asked again, of which the least time counts: a collection of garbage takes a millisecond."""
_TURNS = 7
"""How often each compiles, in turn with the other."""
PAPER = {
    "maximum": (0.08, 127.5),
    "dot": (0.12, 131.2),
    "complex": (0.21, 150.4),
    "histogram": (0.09, 220.9),
    "argmin": (0.57, 196.2),
    "sink": (0.55, 187.1),
}
"""The paper's milliseconds to search its table and to compile in all, on its machine."""
PAPER_REFUSAL = 1.2
"""About what the paper says that it takes to refuse."""


@dataclass(frozen=True, slots=True)
class Search:
    """Milliseconds of one `rfactor()`; `first` includes the proofs, `again` is an update of a known form."""

    key: str
    title: str
    first: float
    again: float
    compile: float | None
    """The whole: both factorings of the schedule, lowering, LLVM; None where it is refused."""
    halide: float | None = None
    """The same of Halide under the same schedule; None where it is not installed."""


def search() -> tuple[Search, ...]:
    """The six and some updates without an operator, each for the first time in its process.

    It runs in a process of its own, which has proved nothing yet.
    """
    done = subprocess.run([sys.executable, "-m", __name__], check=True, capture_output=True, text=True)
    return tuple(Search(**one) for one in json.loads(done.stdout))


def refused() -> dict[str, Callable[[Any, Any], Any]]:
    """Updates that no associative operator is behind, by their text: of the accumulator and the datum."""
    hl: Any = rfactor
    return {
        "(x + a) >> 1": lambda x, a: (x + a) >> 1,
        "x*x + a": lambda x, a: x * x + a,
        "abs(x - a)": lambda x, a: hl.i32(hl.absd(x, a)),
        "select(a > x, a, x - 1)": lambda x, a: hl.select(a > x, a, x - 1),
    }


def _here() -> list[Search]:
    hl: Any = rfactor
    source = hl.Buffer(np.arange(SIZE, dtype=np.int32))
    _factor(partial(_update, source, lambda x, a: x & a))  # what is imported when first used is imported
    found = []
    for key in KEYS:
        made = case(key, SIZE)
        program = made.program()
        first, *later = (_factor(program.algorithm) for _ in range(1 + _AGAIN))
        again = min(later)
        found.append(Search(key, program.title, first, again, *_compiled(made)))
    for text, update in refused().items():
        first, *later = (_factor(partial(_update, source, update), False) for _ in range(1 + _AGAIN))
        again = min(later)
        found.append(Search(text, text, first, again, None))
    return found


def _compiled(case: Case) -> tuple[float, float | None]:
    """Ours and Halide's, the least of a few in turn."""
    program, peer = case.program(), _in_halide(case)
    ours, theirs = [], []
    for _ in range(_TURNS):
        ours += scheduled(program)[1]
        if peer is not None:
            function, domain = peer.algorithm()
            start = time.process_time()
            peer.schedule(function, domain)
            function.compile_jit()
            theirs.append((time.process_time() - start) * 1e3)
    return min(ours), min(theirs, default=None)


def _in_halide(case: Case) -> Program | None:
    try:
        return of_halide.program(case)
    except Absent:
        return None


def _update(source: Any, update: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    hl: Any = rfactor
    f, r = hl.Func("f"), hl.RDom([(0, SIZE)])
    f[()] = hl.i32(0)
    f[()] = update(f[()], source[r.x])
    return f, r


def _factor(algorithm: Callable[[], tuple[Any, Any]], accepted: bool = True) -> float:
    """Milliseconds to factor update 0 of a function by its outermost RVar, or to refuse to."""
    hl: Any = rfactor
    f, r = algorithm()
    stage, outermost = f.update(0), r[r.dimensions() - 1]
    start = time.process_time()
    try:
        stage.rfactor([(outermost, hl.Var("u"))])
    except FactorError:
        took = (time.process_time() - start) * 1e3
        if accepted:
            raise
        return took
    took = (time.process_time() - start) * 1e3
    if not accepted:
        raise AssertionError(f"{f.name()} was factored")
    return took


if __name__ == "__main__":
    print(json.dumps([asdict(one) for one in _here()]))
