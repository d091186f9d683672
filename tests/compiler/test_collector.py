"""Python's collector is off while a pipeline is compiled, and then as it was."""

import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import rfactor as hl
from rfactor.compiler import pipeline
from rfactor.compiler.collector import uncollected
from rfactor.compiler.lower import lower
from rfactor.ir.loopnest import LoweredPipeline


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


def _compiled(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> bool:
    """Whether the collector was on while a pipeline was lowered."""
    seen: list[bool] = []

    def looked(*given: Any) -> LoweredPipeline:
        seen.append(gc.isenabled())
        if error is not None:
            raise error
        return lower(*given)

    monkeypatch.setattr("rfactor.compiler.pipeline.lower", looked)
    pipeline.forget()
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = x * 17 + 4
    f.compile_jit()
    (on,) = seen
    return on


def test_it_is_off_while_a_pipeline_is_compiled_and_on_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _compiled(monkeypatch)
    assert gc.isenabled()


def test_it_is_on_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        _compiled(monkeypatch, ZeroDivisionError())
    assert gc.isenabled()


def test_it_stays_off_where_somebody_has_turned_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.disable()
    assert not _compiled(monkeypatch)
    assert not gc.isenabled()


def test_it_is_on_again_once_the_last_thread_has_left() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with uncollected():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=work)
    with uncollected():
        thread.start()
        assert inside.wait(60)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_it_is_on_in_a_child_without_the_thread_that_turned_it_off() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with uncollected():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(60)
    child = os.fork()
    if child == 0:
        on = gc.isenabled()
        with uncollected():
            off = not gc.isenabled()
        os._exit(0 if on and off and gc.isenabled() else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_it_is_off_and_on_again_in_a_child_that_was_made_meanwhile() -> None:
    with uncollected():
        child = os.fork()
        on = gc.isenabled()
    if child == 0:
        on = on and gc.isenabled()
        with uncollected():
            off = not gc.isenabled()
            with uncollected():
                off = off and not gc.isenabled()
            off = off and not gc.isenabled()
        os._exit(0 if on and off and gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()
