"""Forks while other threads are inside the solver, the compiler or a table; pools and ends of processes; interrupts."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest

import rfactor as hl
from rfactor.forks import GATE, Gate
from rfactor.table.store import Table, open_table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
x = hl.Var("x")
HANGS = 300
"""Seconds after which something hangs: no machine is so busy that it would take as long."""


def in_child(work: Callable[[], None]) -> None:
    """Run `work` in a child. Fails where it raises, or hangs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.register(signal.SIGALRM, chain=True)
            signal.alarm(HANGS)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def realized(k: int) -> None:
    f = hl.Func()
    f[x] = x * k
    f.parallel(x)
    assert np.asarray(f.realize([100])).sum() == 4950 * k


def checked(k: int) -> None:
    assert hl.check(f"min(x + a, {k})", timeout=HANGS).verdict != "unknown"


def looked_up(table: Table, k: int) -> None:
    assert table[k % 100 + 1][1]["id"] == k % 100 + 1


def forking_while(work: Callable[[int], None], times: int = 5) -> None:
    """Fork again and again while three threads work; each child does the same and more."""
    # What is imported when first needed is imported now: a lock of Python's own, held elsewhere, would stay held.
    work(1)
    realized(1)
    checked(1)
    over, failed = threading.Event(), []

    def run(number: int) -> None:
        k = number
        try:
            while not over.is_set():
                k += 3
                work(k)
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=run, args=(number,), daemon=True) for number in (2, 3, 4)]
    for worker in workers:
        worker.start()
    try:
        for turn in range(times):
            time.sleep(0.02)

            def child(turn: int = turn) -> None:
                work(100_000 + turn)
                realized(turn)
                checked(turn + 5)

            in_child(child)
    finally:
        over.set()
        for worker in workers:
            worker.join(HANGS)
    assert not any(worker.is_alive() for worker in workers)
    assert not failed, failed


def test_while_others_compile() -> None:
    forking_while(realized)


def test_while_others_check() -> None:
    forking_while(checked)


def test_while_others_read_a_table() -> None:
    table = open_table()
    forking_while(lambda k: looked_up(table, k))


def test_a_child_of_a_child() -> None:
    realized(3)
    in_child(lambda: in_child(lambda: realized(4)))
    realized(5)


def _factored(k: int) -> int:
    total, r, u = hl.Func(), hl.RDom([(0, 1000)]), hl.Var("u")
    outer, inner = hl.RVar(), hl.RVar()
    total[()] = 0
    total[()] += r.x * k
    total.update(0).split(r.x, outer, inner, 10)
    total.update(0).rfactor([(outer, u)]).compute_root().update(0).parallel(u)
    return int(np.asarray(total.realize())[()])


def test_pools_of_forked_processes() -> None:
    _factored(1)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        found = pool.map_async(_factored, range(12)).get(HANGS)
    assert found == [499_500 * k for k in range(12)]


def test_a_fork_waits_for_who_is_inside_and_who_comes_waits_for_it() -> None:
    gate, entered, leave, order = Gate(), threading.Event(), threading.Event(), []

    def inside() -> None:
        with gate, gate:
            entered.set()
            leave.wait(HANGS)
            with gate:
                order.append("left")

    def fork() -> None:
        gate.before_fork()
        order.append("forked")
        gate.after_fork()

    first = threading.Thread(target=inside)
    first.start()
    assert entered.wait(HANGS)
    forking = threading.Thread(target=fork)
    forking.start()
    time.sleep(0.05)
    assert order == []
    late = threading.Thread(target=lambda: gate.__enter__())
    late.start()
    time.sleep(0.05)
    leave.set()
    for thread in (first, forking, late):
        thread.join(HANGS)
    assert order == ["left", "forked"]
    assert not late.is_alive()


def test_who_forks_from_inside_does_not_wait_for_itself() -> None:
    with GATE:
        in_child(lambda: checked(3))
    checked(4)


BEGIN = "threading.Thread(target=lambda: f.realize([64]), daemon=True).start(); time.sleep(0.2)"
REPEAT = "[threading.Thread(target=lambda k=k: [{} for i in range(10**6)], daemon=True).start() for k in range(3)]"
ENDS = {
    "a parallel loop": f"f.update(0).parallel(x); f.compile_jit(); {BEGIN}",
    "a parallel loop that prints": f"f.trace_stores(); f.update(0).parallel(x); f.compile_jit(); {BEGIN}",
    "many checks": REPEAT.format("rf.check(f'max(x + {i}*a, {k})')") + "; time.sleep(0.5)",
    "many compilations": REPEAT.format("make(i * 3 + k).realize([3])") + "; time.sleep(0.5)",
}


@pytest.mark.parametrize("what", list(ENDS))
def test_the_interpreter_ends_while_a_daemon_is_in(what: str) -> None:
    program = f"""
import sys, threading, time
import rfactor as rf
x = rf.Var("x")
def make(k):
    f = rf.Func()
    f[x] = x * k
    return f
f, r = rf.Func("f"), rf.RDom([(0, 2_000_000_000)])
f[x] = rf.u32(1)
f[x] = f[x] * rf.u32(1664525) + rf.cast(rf.UInt(32), r.x)
{ENDS[what]}
"""
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=HANGS
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]


def test_an_interrupt_is_raised_when_the_loop_is_done() -> None:
    f, r = hl.Func(), hl.RDom([(0, 400_000_000)])
    f[()] = hl.u32(1)
    f[()] = f[()] * hl.u32(1664525) + hl.cast(hl.UInt(32), r.x)
    f.compile_jit()
    out = np.zeros((), np.uint32)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()

    def work() -> None:
        f.realize(out)
        time.sleep(1)  # where the loop was done sooner

    with pytest.raises(KeyboardInterrupt):
        work()
    assert out[()] != 0


def test_an_interrupt_in_a_proof_is_raised_and_no_answer() -> None:
    """Z3 would take it for a limit of its own."""
    from rfactor.ir.meaning import Meaning
    from rfactor.ir.parser import parse_expr
    from rfactor.ir.types import I64
    from rfactor.prover.limits import Limits
    from rfactor.prover.smt import solve

    hard = [
        parse_expr("x*y == 8765432109876543211", types={"x": I64, "y": I64}),
        parse_expr("x*x*x + y*y*y == x*y + 12345671", types={"x": I64, "y": I64}),
    ]
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()

    def work() -> None:
        solve(hard, Meaning.WRAP, Limits(rlimit=10**9, seconds=1.0))
        time.sleep(1)  # where the answer came sooner

    with pytest.raises(KeyboardInterrupt):
        work()


def test_an_interrupt_as_an_argument_is_handed_to_the_solver_is_raised() -> None:
    """ctypes makes an `ArgumentError` of it."""
    from rfactor.ir.meaning import Meaning
    from rfactor.ir.parser import parse_expr
    from rfactor.ir.types import I64
    from rfactor.prover.limits import Limits
    from rfactor.prover.smt import script, solve

    asked = [parse_expr("x == 3", types={"x": I64})]
    for work in (lambda: solve(asked, Meaning.WRAP, Limits()), lambda: script(asked, Meaning.WRAP)):
        handed: list[FrameType] = []

        def interrupted(frame: FrameType, event: str, arg: object, handed: list[FrameType] = handed) -> None:
            if event == "call" and frame.f_code.co_name == "from_param":
                handed.append(frame)
                if len(handed) == 20:  # the context is there
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        sys.setprofile(interrupted)
        try:
            with pytest.raises(KeyboardInterrupt):
                work()
        finally:
            sys.setprofile(None)
        work()


def test_what_runs_at_the_end_may_still_ask() -> None:
    program = """
import atexit, threading, time
atexit.register(lambda: print(rf.check("max(x + 3*a, 2)", timeout=100).verdict))
import rfactor as rf
threading.Thread(target=lambda: [rf.check(f"max(x + {i}*a, 1)") for i in range(10**6)], daemon=True).start()
time.sleep(0.5)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stdout) == (0, "not_associative\n"), done.stderr[-2000:]


def test_a_daemon_is_out_of_the_solver_at_the_end_however_long_its_query_would_take() -> None:
    """And whoever ends the daemon does not wait for it in vain."""
    program = """
import atexit, threading, time
daemons = []
atexit.register(lambda: print(GATE._inside, [daemon.join(100) or daemon.is_alive() for daemon in daemons]))
from rfactor.forks import GATE
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import I64
from rfactor.prover.limits import Limits
from rfactor.prover.smt import solve

hard = parse_expr("x*x*x*x + y*y*y*y*y*3 - x*y == z*z*z*z*z + x*1234567", types=dict.fromkeys("xyz", I64))
factors = parse_expr("x*y == 8765432109876543211", types=dict.fromkeys("xy", I64))

def work():
    while True:
        solve([hard, factors], Meaning.WRAP, Limits(rlimit=10**9, seconds=50.0))

for _ in range(2):
    daemons.append(threading.Thread(target=work, daemon=True))
    daemons[-1].start()
while GATE._inside < 2:
    time.sleep(0.01)
time.sleep(0.2)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stdout) == (0, "0 [False, False]\n"), done.stderr[-2000:]
