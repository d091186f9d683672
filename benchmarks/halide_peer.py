"""The six reductions of `rfactor bench` by Halide, beside ours, in one run: `pip install halide`, then

    python -m benchmarks.halide_peer [ELEMENTS] [TRIALS]

The programs are ours with another module in place of `rfactor`, under the same schedules. Halide's table of operators
has only argmin and argmax that let the last of equal elements win, so those two are written that way for it; and under
vector lanes it gives any of the equal elements, hence its answers are not compared.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import rfactor
from rfactor.cli import table1
from rfactor.cli.bench import in_turn
from rfactor.cli.programs import Program
from rfactor.compiler.runtime.threads import thread_count


def last_argmin(hl: Any, program: Program) -> Program:
    """`program` with the last of equal elements."""
    (volume,) = program.inputs
    values = hl.Buffer(volume)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("argmin"), hl.RDom([(0, extent) for extent in volume.shape[::-1]])
        f[()] = (hl.u8(255), *(hl.i32(0) for _ in range(4)))
        at = (r.x, r.y, r.z, r.w)
        best, here = f[()][0], values[at]
        f[()] = (hl.min(best, here), *(hl.select(best < here, f[()][i + 1], at[i]) for i in range(4)))
        return f, r

    return replace(program, algorithm=algorithm)


def last_kitchen_sink(hl: Any, program: Program) -> Program:
    """`program` with the last of equal elements."""
    (a,) = program.inputs
    values = hl.Buffer(a)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("sink"), hl.RDom([(0, len(a))])
        low, high = hl.i32(-(2**31)), hl.i32(2**31 - 1)
        f[()] = (hl.i32(1), hl.i32(0), low, hl.i32(0), high, hl.i32(0), hl.i32(0), hl.i32(0))
        now, v = [f[()][i] for i in range(8)], values[r.x]
        f[()] = (
            now[0] * v,
            now[1] + v,
            hl.max(now[2], v),
            hl.select(now[2] > v, now[3], r.x),
            hl.min(now[4], v),
            hl.select(now[4] < v, now[5], r.x),
            now[6] + v * v,
            now[7] + hl.select((v & 1) == 0, hl.i32(1), hl.i32(0)),
        )
        return f, r

    return replace(program, algorithm=algorithm)


@contextmanager
def language(module: Any) -> Iterator[None]:
    """Inside, the programs of `table1` are written in the language of `module`."""
    ours = vars(table1)["hl"]
    vars(table1)["hl"] = module
    try:
        yield
    finally:
        vars(table1)["hl"] = ours


def prepared(hl: Any, program: Program) -> tuple[list[Callable[[], object]], float, float]:
    """Calls of the serial and of the factored program, and milliseconds to schedule and to compile the latter."""
    serial, _ = program.algorithm()
    factored, domain = program.algorithm()
    start = time.perf_counter()
    program.schedule(factored, domain)
    scheduled = time.perf_counter()
    factored.compile_jit()
    done = time.perf_counter()
    calls: list[Callable[[], object]] = []
    for function in (serial, factored):
        outputs = [hl.Buffer(array) for array in program.outputs()]
        given = outputs[0] if len(outputs) == 1 else outputs
        calls.append(partial(function.realize, given))
    return calls, (scheduled - start) * 1e3, (done - scheduled) * 1e3


def main() -> None:
    """Print a table."""
    try:
        import halide
    except ImportError:
        sys.exit("halide_peer: Halide is not installed: pip install halide")
    size, trials = (int(text) for text in (*sys.argv[1:3], str(table1.SIZE), "7")[:2])
    ours = table1.programs(size)
    with language(halide):
        theirs = list(table1.programs(size))
    theirs[4] = last_argmin(halide, theirs[4])
    theirs[5] = last_kitchen_sink(halide, theirs[5])
    print(f"{size} elements, {thread_count()} threads; milliseconds")
    columns = ("serial", "factored", "rfactor()", "compile") * 2
    print(f"{'':22}{'rfactor':^40}{'Halide':^40}{'reading':>9}")
    print(f"{'':22}" + "".join(f"{column:>10}" for column in columns))
    for program, peer in zip(ours, theirs, strict=True):
        for _ in range(2):  # the second time counts: what is proved once is remembered
            mine, own_schedule, own_compile = prepared(rfactor, program)
            with language(halide):
                its, its_schedule, its_compile = prepared(halide, peer)
        limit = table1.reading(*program.inputs)
        serial, factored, its_serial, its_factored, least = in_turn([*mine, *its, limit], trials)
        figures = (serial, factored, own_schedule, own_compile, its_serial, its_factored, its_schedule, its_compile)
        print(f"{program.title:22}" + "".join(f"{figure:10.2f}" for figure in figures) + f"{least:9.2f}")


if __name__ == "__main__":
    main()
