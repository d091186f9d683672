"""Everything at once, for as long as is asked: `python -m benchmarks.stress --minutes N [--threads T] [--seed S]`.

Threads build, compile, realize, share, print, check and fork with switches of the interpreter every microsecond; every
answer is compared with the one that NumPy gives. Ends with the count of each kind of work and the memory in use, or
with status 1 at the first difference, exception, or thread or child that hangs.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rfactor as hl

x, y = hl.Var("x"), hl.Var("y")
_CHECKED = {
    "x + {}*a": "associative",
    "max(x, a + {})": "associative",
    "x*{} + a": "lifted",
    "x*x + {}*a": None,
}
_CHILD = 60.0
"""Seconds after which a child is said to hang."""


def shared() -> Callable[[int], None]:
    """One pipeline and one array for all threads."""
    data = np.arange(5000, dtype=np.int32) % 97
    image, total, r = hl.Buffer(data), hl.Func("total"), hl.RDom([(0, 5000)])
    total[()] = 0
    total[()] += hl.i32(image[r.x])
    outer, inner, u = hl.RVar("ro"), hl.RVar("ri"), hl.Var("u")
    total.update(0).split(r.x, outer, inner, 100)
    part = total.update(0).rfactor([(outer, u)])
    part.compute_root().update(0).parallel(u)

    def work(seed: int) -> None:
        assert np.asarray(total.realize())[()] == data.sum()

    return work


def own(seed: int) -> None:
    """A pipeline of this call alone, gone at its end: its code is compiled and dropped, or found."""
    array = np.arange(seed % 50 + 1, dtype=np.int32)
    image, f, g = hl.Buffer(array), hl.Func("f"), hl.Func("g")
    f[x] = image[x] * (seed % 400) + 1
    g[x, y] = f[x] + y
    f.compute_root()
    if seed % 2:
        g.parallel(y)
    found = np.asarray(g.realize([len(array), 4]))
    np.testing.assert_array_equal(found, array * (seed % 400) + 1 + np.arange(4)[:, None])


def checked(seed: int) -> None:
    """An update that few have asked about before."""
    update, verdict = list(_CHECKED.items())[seed % len(_CHECKED)]
    answer = hl.check(update.format(seed % 1000 + 2), timeout=60.0)
    assert verdict in (None, answer.verdict), (update, answer)


def forked(seed: int) -> None:
    """All of that in a child."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # Where it hangs is written, and it ends.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.register(signal.SIGALRM, chain=True)
            signal.alarm(int(_CHILD) - 10)
            own(seed)
            own(seed + 1)
            checked(seed)
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + _CHILD
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, f"the child ends with {os.waitstatus_to_exitcode(status)}"
            return
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise AssertionError("a child hangs")


def stress(seconds: float, threads: int, seed: int, forks: bool = True) -> Counter[str]:
    """How often each kind of work was done. Raises what the first thread to fail raises."""
    kinds: dict[str, Callable[[int], Any]] = {"shared": shared(), "own": own, "checked": checked}
    weights = [30, 10, 10]
    if forks:
        kinds["forked"], weights = forked, [30, 10, 10, 1]
    done: Counter[str] = Counter()
    failed: list[BaseException] = []
    end = time.monotonic() + seconds

    def run(number: int) -> None:
        chance = random.Random(seed * 1000 + number)
        try:
            while time.monotonic() < end and not failed:
                (kind,) = chance.choices(list(kinds), weights)
                kinds[kind](chance.randrange(1 << 20))
                done[kind] += 1
        except BaseException as error:
            failed.append(error)

    # What is imported when first needed is imported now: a child could wait for it for ever (docs/guarantees.md).
    own(1)
    checked(0)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(seconds + 2 * _CHILD)
    finally:
        sys.setswitchinterval(before)
    if failed:
        raise failed[0]
    if any(worker.is_alive() for worker in workers):
        faulthandler.dump_traceback()
        raise AssertionError("a thread hangs")
    return done


def resident() -> float:
    """MB of this process in memory; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if status.exists() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    done = stress(60 * given.minutes, given.threads, given.seed)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(done.items())), f"{resident():.0f} MB", sep="; ")


if __name__ == "__main__":
    main()
