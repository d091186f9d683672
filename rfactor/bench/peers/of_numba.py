"""Numba: plain loops, serial and parallel: `prange` over the elements, over chunks where it has no such reduction."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version as installed
from typing import Any

import numpy as np

from rfactor.bench.contender import Absent, Contender, remembered
from rfactor.bench.table1 import Case

NAMES = ("Numba", "Numba serial")


def version() -> str:
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise Absent("Numba is not installed: pip install 'rfactor-compiler[bench]'") from error
    return f"Numba {installed('numba')}"


def contenders(case: Case) -> list[Contender]:
    version()
    import numba

    program = case.program()
    flat = [array.reshape(-1) for array in case.arrays]
    made = []
    for name, parallel in zip(NAMES, (True, False), strict=True):
        chunks = numba.get_num_threads() if parallel else 1
        call = partial(_compiled(case.function, parallel), *flat, chunks)
        call()
        if case.function == "argmin":
            call = partial(_placed, call, case.arrays[0].shape)
        made.append(remembered(name, program, call))
    return made


def _placed(call: Callable[[], tuple[int, int]], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The least value and its coordinates, dimension 0 first."""
    least, at = call()
    return (least, *np.unravel_index(at, shape)[::-1])


@cache
def _compiled(function: str, parallel: bool) -> Callable[..., Any]:
    import numba

    made: Callable[..., Any] = numba.njit(parallel=parallel, fastmath={"reassoc"})(_loops()[function])
    return made


@cache
def _loops() -> dict[str, Callable[..., Any]]:
    """The loops, each over flat arrays and a number of chunks."""
    from numba import prange

    def maximum(a: Any, chunks: int) -> Any:
        best = a[0]
        for i in prange(len(a)):
            best = max(best, a[i])
        return best

    def dot(a: Any, b: Any, chunks: int) -> Any:
        total = np.float32(0)
        for i in prange(len(a)):
            total += a[i] * b[i]
        return total

    def complex_product(a: Any, b: Any, chunks: int) -> Any:
        parts = np.empty((chunks, 2), np.int32)
        for c in prange(chunks):
            re, im = np.int32(1), np.int32(0)
            for i in range(len(a) * c // chunks, len(a) * (c + 1) // chunks):
                re, im = np.int32(re * a[i] - im * b[i]), np.int32(re * b[i] + im * a[i])
            parts[c, 0], parts[c, 1] = re, im
        re, im = np.int32(1), np.int32(0)
        for c in range(chunks):
            re, im = np.int32(re * parts[c, 0] - im * parts[c, 1]), np.int32(re * parts[c, 1] + im * parts[c, 0])
        return re, im

    def histogram(a: Any, chunks: int) -> Any:
        parts = np.zeros((chunks, 256), np.int32)
        for c in prange(chunks):
            for i in range(len(a) * c // chunks, len(a) * (c + 1) // chunks):
                parts[c, a[i]] += 1
        return parts.sum(axis=0)

    def argmin(a: Any, chunks: int) -> Any:
        least, where = np.empty(chunks, np.uint8), np.empty(chunks, np.int64)
        for c in prange(chunks):
            at = len(a) * c // chunks
            best = a[at]
            for i in range(at, len(a) * (c + 1) // chunks):
                if a[i] < best:
                    best, at = a[i], i
            least[c], where[c] = best, at
        first = np.argmin(least)
        return least[first], where[first]

    def kitchen_sink(a: Any, chunks: int) -> Any:
        parts = np.empty((chunks, 8), np.int32)
        for c in prange(chunks):
            begin = len(a) * c // chunks
            product, total, squares, even = np.int32(1), np.int32(0), np.int32(0), np.int32(0)
            high, low = a[begin], a[begin]
            high_at, low_at = begin, begin
            for i in range(begin, len(a) * (c + 1) // chunks):
                v = a[i]
                product, total = np.int32(product * v), np.int32(total + v)
                squares, even = np.int32(squares + v * v), np.int32(even + (v & 1 == 0))
                if v > high:
                    high, high_at = v, i
                if v < low:
                    low, low_at = v, i
            parts[c, 0], parts[c, 1], parts[c, 2], parts[c, 3] = product, total, high, high_at
            parts[c, 4], parts[c, 5], parts[c, 6], parts[c, 7] = low, low_at, squares, even
        product, total, squares, even = np.int32(1), np.int32(0), np.int32(0), np.int32(0)
        for c in range(chunks):
            product, total = np.int32(product * parts[c, 0]), np.int32(total + parts[c, 1])
            squares, even = np.int32(squares + parts[c, 6]), np.int32(even + parts[c, 7])
        high, low = np.argmax(parts[:, 2]), np.argmin(parts[:, 4])
        return (product, total, parts[high, 2], parts[high, 3], parts[low, 4], parts[low, 5], squares, even)

    found = (maximum, dot, complex_product, histogram, argmin, kitchen_sink)
    return {function.__name__: function for function in found}
