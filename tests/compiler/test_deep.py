"""Long pipelines and deep expressions are compiled though Python's own stack is not deep enough for them."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler import deep


@pytest.fixture
def shallow() -> Iterator[None]:
    """A stack of few frames, hardly more than are in use."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 130)
    yield
    sys.setrecursionlimit(before)


def chain(length: int) -> hl.Func:
    x, f = hl.Var("x"), hl.Func("s0")
    f[x] = x
    for n in range(1, length):
        f.compute_root()
        g = hl.Func(f"s{n}")
        g[x] = f[x - 1] + f[x + 1] - f[x] + 1
        f = g
    return f


def test_a_long_pipeline_is_compiled(shallow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[object] = []
    deeply = deep._deeply

    def counted(work: Callable[[], object]) -> object:
        used.append(work)
        return deeply(work)

    monkeypatch.setattr(deep, "_deeply", counted)
    limit = sys.getrecursionlimit()
    assert np.array(chain(10).realize([4])).tolist() == [9, 10, 11, 12]
    assert used
    assert sys.getrecursionlimit() == limit
    assert threading.stack_size() == 0


def test_what_goes_wrong_there_is_raised_here(shallow: None) -> None:
    @deep.deep
    def sum_to(n: int) -> int:
        if n < 0:
            raise ValueError("below")
        return n + down(n - 1) if n else 0

    def down(n: int) -> int:
        return n + down(n - 1) if n > 0 else n

    assert sum_to(5000) == 5000 * 5001 // 2
    with pytest.raises(ValueError, match="below"):
        sum_to(-1)

    def endless() -> int:
        return endless() + 1

    with pytest.raises(RecursionError):
        deep.deep(endless)()


def test_a_deep_expression_is_taken() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    total = hl.i32(x)
    for _ in range(3000):
        total = total + x
    f[x] = total
    assert f.defined()
