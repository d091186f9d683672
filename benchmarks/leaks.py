"""Memory over many calls: `python -m benchmarks.leaks --compilations 10000 --checks 2000 --realizes 100000`.

Every compilation and every check is of something else; realizations are of one function; buffers come and go with their
functions. What is kept on purpose is bounded (see docs/guarantees.md): expressions that are held so that equal ones are
one object, what is remembered of them, the last 256 pipelines. So two things are looked at, each with a bound:

* objects that are left of the second half once all that is kept has been forgotten: a leak of Python's, however small;
* memory in use at the end beyond that at the end of the first tenth, where the last pipelines are all kept already:
  the bound is what the rest of the memories may hold, and a leak of a library or of LLVM's goes beyond it.

Prints both ten times on the way, and ends with status 1 where a bound is exceeded.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from functools import _lru_cache_wrapper
from typing import Any

import numpy as np

import rfactor as hl
from benchmarks.stress import resident
from rfactor.compiler.pipeline import _compiled
from rfactor.ir import nodes, rewriting, simplify
from rfactor.kept import Kept

x = hl.Var("x")
BOUNDS = {"compilations": 120.0, "checks": 120.0, "realizes": 4.0, "buffers": 8.0}
"""MB that memory may grow by after the first tenth, of any number of calls."""
OBJECTS = 0.2
"""Of Python's, that may be left of one call on average in the second half, once what is kept is forgotten."""


def compiled(k: int) -> None:
    """A reduction of `k` over a stage of its own."""
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(0, 7 + k % 13)])
    f[x] = x * (k * 7919 + 1) + k
    g[x] = 0
    g[x] += f[x + r.x] * (k + 3)
    f.compute_root()
    g.realize([8])


def checked(k: int) -> None:
    """One of three updates, with the number `k` in it."""
    hl.check((f"x + {k}*a", f"max(x, a + {k})", f"x*{2 * k + 1} + a")[k % 3])


def realizing() -> Callable[[int], None]:
    """Runs one function again and again, into one array and into new ones."""
    f, out = hl.Func("f"), np.zeros(16, np.int32)
    f[x] = x * 2

    def work(k: int) -> None:
        f.realize(out) if k % 2 else f.realize([k % 7 + 1])

    return work


def buffered(k: int) -> None:
    """A buffer, a part of it, and a function that reads it; nothing is compiled."""
    source = hl.Buffer(np.zeros((4, 64), np.uint8))
    source.set_min([k % 5, 0])
    f = hl.Func()
    f[x] = source[hl.clamp(x, 4, 30), k % 4]
    np.asarray(source)


WORK: dict[str, Callable[[], Callable[[int], None]]] = {
    "compilations": lambda: compiled,
    "checks": lambda: checked,
    "realizes": realizing,
    "buffers": lambda: buffered,
}


def forget() -> None:
    """Empty every memory that is kept on purpose, wherever it is."""
    for held in (nodes._OPS, nodes._CONSTANTS, nodes._VARS, nodes._CALLS, rewriting._LARGE):
        held.clear()
    for memo in (*simplify._memos, *simplify._real_memo):
        memo.clear()
    _compiled.clear()
    for one in gc.get_objects():
        if isinstance(one, Kept | _lru_cache_wrapper):
            emptied(one)


def emptied(one: Any) -> None:
    """Empty one memory of either kind."""
    if isinstance(one, Kept):
        one.clear()
    elif one.cache_info().maxsize is not None:
        one.cache_clear()


def objects() -> int:
    """How many blocks of memory Python holds once everything kept is forgotten."""
    forget()
    gc.collect()
    return sys.getallocatedblocks()


def measured(what: str, times: int) -> bool:
    """Whether `times` calls stay within the bounds."""
    work, tenth = WORK[what](), max(1, times // 10)
    start = half = 0.0
    for number in range(times + 1):
        if number % tenth == 0:
            gc.collect()
            print(f"{what} {number:9} {resident():7.1f} MB {time.process_time():7.1f} s", flush=True)
        if number == tenth:
            start = resident()
        if number == times // 2:
            half = objects()
        if number < times:
            work(number)
    gc.collect()
    grown = resident() - start
    left = (objects() - half) / max(1, times - times // 2)
    fine = grown <= BOUNDS[what] and left <= OBJECTS
    print(
        f"{what}: {'within' if fine else 'BEYOND'} the bounds: {grown:+.1f} MB of {BOUNDS[what]:.0f} after the first "
        f"tenth, {left:+.3f} blocks of {OBJECTS} a call left in the second half",
        flush=True,
    )
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaks", description=__doc__)
    for what in WORK:
        parser.add_argument(f"--{what}", type=int, default=0, metavar="N", help="how many")
    given = vars(parser.parse_args())
    if not any(given.values()):
        parser.error("say how many of what, as in --compilations 10000")
    fine = [measured(what, times) for what, times in given.items() if times]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
