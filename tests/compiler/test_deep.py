"""Long pipelines and deep expressions are compiled though Python's own stack is not deep enough for them."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler import deep
from rfactor.compiler.pipeline import executable


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


def test_a_long_pipeline_is_shown(shallow: None, tmp_path: Path) -> None:
    f = chain(10)
    assert f.lowered().count("produce") == 10
    for written in (f.compile_to_lowered_stmt, f.compile_to_conceptual_stmt):
        file = tmp_path / written.__name__
        written(str(file), [])
        assert file.read_text().count("produce") == 10


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


@pytest.mark.parametrize("length", [1, 3, 12])
def test_what_is_computed_after_much_else_is_a_function_of_its_own(length: int) -> None:
    f = chain(length)
    text = executable(f).initial_ir
    assert text.count('produced"(') == 2 * max(0, length - 4)  # its definition and its call
    assert np.array(f.realize([4])).tolist() == [i + length - 1 for i in range(4)]


def test_a_child_forked_meanwhile_goes_deep_too() -> None:
    started, finish = threading.Event(), threading.Event()
    before = sys.getrecursionlimit()

    def work() -> None:
        started.set()
        finish.wait(60)

    thread = threading.Thread(target=lambda: deep._deeply(work))
    thread.start()
    assert started.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if sys.getrecursionlimit() == before and deep._deeply(lambda: 7) == 7 else 1)
    finish.set()
    thread.join()
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child waits for a lock that nobody holds")
        time.sleep(0.01)
    assert ended[1] == 0


def test_an_expression_of_many_levels_is_compiled_in_time() -> None:
    """Of more levels LLVM would take minutes, as its time grows with the square of their number."""
    x, f = hl.Var("x"), hl.Func("f")
    value, wanted, at = x + 0, np.arange(8), np.arange(8)
    for n in range(2500):
        value, wanted = (value ^ x) + n, (wanted ^ at) + n
    f[x] = value
    before = time.process_time()
    assert np.array_equal(np.array(f.realize([8])), wanted)
    assert time.process_time() - before < 10
