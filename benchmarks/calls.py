"""What a call costs once everything is compiled: microseconds of Python, and what is compiled again.

python -m benchmarks.calls
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

import rfactor as hl
from rfactor.bench.table1 import programs
from rfactor.compiler.codegen import module

CALLS, TRIALS = 2000, 5


def main() -> None:
    """Print the least time of each call, in microseconds of the processor."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for title, call in calls():
        print(f"{title:42} {microseconds(call):6.1f} us")
    print()
    for title, call in rebuilt():
        print(f"{title:42} {compilations(call)} pipelines compiled")
    print()
    for program in programs(1 << 12):
        print(f"{program.title:42} {min(compile_ms(program) for _ in range(TRIALS)):6.1f} ms to compile")


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls of pipelines that compute next to nothing."""
    x, y = hl.Var("x"), hl.Var("y")
    image, factor = hl.ImageParam(hl.Int(32), 2), hl.Param(hl.Int(32), 3)
    source, out = np.zeros((4, 4), np.int32), np.zeros((4, 4), np.int32)
    image.set(source)
    f = hl.Func()
    f[x, y] = image[x, y] + factor
    yield "realize into an array", lambda: f.realize(out)
    buffer = hl.Buffer(out)
    yield "realize into a Buffer", lambda: f.realize(buffer)
    yield "realize into a new Buffer", lambda: f.realize([4, 4])
    compiled = f.compile_to_callable([image, factor])
    yield "a compiled callable", lambda: compiled(source, 3, out)
    eight = hl.Func()
    eight[x] = tuple(x + i for i in range(8))
    arrays = tuple(np.zeros(4, np.int32) for _ in range(8))
    yield "realize into eight arrays", lambda: eight.realize(arrays)
    big = np.zeros((9, 9), np.int32)

    def other_size() -> None:
        for size in (5, 9):
            compiled(big[:size, :size], 3, big_out[:size, :size])

    big_out = np.zeros((9, 9), np.int32)
    yield "a compiled callable, two sizes in turn", other_size


def rebuilt() -> Iterator[tuple[str, Callable[[], object]]]:
    """What may compile."""
    x = hl.Var("x")

    def build(size: int) -> object:
        source, f = hl.Buffer(np.zeros(size, np.int32)), hl.Func("rebuilt")
        f[x] = source[x] * 17
        return f.realize([size])

    build(3)
    yield "the same pipeline built over other sizes", lambda: [build(size) for size in (3, 4, 99)]
    image, g = hl.ImageParam(hl.Int(32), 1), hl.Func()
    g[x] = image[x] * 19

    def other(size: int) -> object:
        image.set(np.zeros(size, np.int32))
        return g.realize([size])

    other(3)
    yield "an ImageParam of other sizes", lambda: [other(size) for size in (3, 4, 99)]


def microseconds(call: Callable[[], object]) -> float:
    """The least mean time of a call in several rounds."""
    call()
    least = float("inf")
    for _ in range(TRIALS):
        start = time.process_time()
        for _ in range(CALLS):
            call()
        least = min(least, time.process_time() - start)
    return least / CALLS * 1e6


def compilations(call: Callable[[], object]) -> int:
    """How many pipelines a call compiles."""
    count, original = 0, module.compile_pipeline

    def noted(*given: object) -> object:
        nonlocal count
        count += 1
        return original(*given)  # type: ignore[arg-type]

    module.compile_pipeline = noted  # type: ignore[assignment]
    try:
        call()
    finally:
        module.compile_pipeline = original
    return count


def compile_ms(program: object) -> float:
    """Lowering and LLVM of a factored program, from an empty cache."""
    from rfactor.compiler import pipeline

    pipeline._compiled.clear()
    factored, domain = program.algorithm()  # type: ignore[attr-defined]
    start = time.process_time()
    program.schedule(factored, domain)  # type: ignore[attr-defined]
    factored.compile_jit()
    return (time.process_time() - start) * 1e3


if __name__ == "__main__":
    main()
