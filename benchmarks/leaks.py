"""Memory over many calls: `python -m benchmarks.leaks compile|check|realize N` prints MB in use ten times on the way.

Every compilation and every check is of something else; `realize` runs one compiled function.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

import numpy as np

import rfactor as hl
from benchmarks.stress import resident

x = hl.Var("x")


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
    """Runs one function again and again into one array."""
    f, out = hl.Func("f"), np.zeros(16, np.int32)
    f[x] = x * 2
    return lambda _: f.realize(out)


def main(what: str, times: int) -> None:
    work = {"compile": lambda: compiled, "check": lambda: checked, "realize": realizing}[what]()
    for number in range(times + 1):
        if number % max(1, times // 10) == 0:
            gc.collect()
            print(f"{number:9} {resident():7.1f} MB {time.process_time():7.1f} s", flush=True)
        work(number)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
