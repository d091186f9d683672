"""A query that would take all memory or all time is unknown, and what comes after it is answered."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rfactor.cli.main import main
from rfactor.enumerate.backend import Workers
from rfactor.errors import Error
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, U64
from rfactor.prover import smt
from rfactor.prover.limits import MEMORY, Limits
from rfactor.prover.smt import GaveUp, limit_memory, solve

ROOT = Path(__file__).parents[2]
_NAMES = {f"a{i}": U64 for i in range(9)}
_PRODUCT = "*".join(f"(a{i}*a{i} + {i + 3})" for i in range(8))
ENORMOUS = f"({_PRODUCT}) % (a0 + 7*a1) == 12345678901 and a0 > a1 and ({_PRODUCT}) // a2 % 3 == 1"
"""Of 64 bits and many products: hundreds of megabytes, and no end."""


def fresh(call: str) -> str:
    """What a call of this module gives in a process in which the solver has taken nothing yet, and may take little."""
    code = f"from tests.faults import test_limits as t; t.limit_memory(60); print(t.{call})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


def one_and_the_next() -> list[str]:
    """Why a query that takes too much is unknown, and the outcome of the one after it."""
    outcome = solve([parse_expr(ENORMOUS, _NAMES, BOOL)], Meaning.WRAP, Limits(rlimit=2_000_000_000))
    after = solve([parse_expr("a0*a0 == 16", _NAMES, BOOL)], Meaning.WRAP, Limits())
    return [outcome.reason if isinstance(outcome, GaveUp) else "none", type(after).__name__]


def test_a_query_that_would_take_too_much_memory_is_given_up_and_the_next_is_answered():
    reason, after = ast.literal_eval(fresh("one_and_the_next()"))
    assert reason.endswith("max. memory exceeded")
    assert after == "Sat"


def test_a_query_that_only_resources_bound_ends_by_the_clock_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(smt, "PATIENCE", 0.3)
    began = time.process_time()
    outcome = solve([parse_expr(ENORMOUS, _NAMES, BOOL)], Meaning.WRAP, Limits(rlimit=2_000_000_000))
    assert isinstance(outcome, GaveUp)
    assert time.process_time() - began < 10


def enormous(number: int) -> str:
    """The outcome of a query in a worker; of an even number one that takes too much."""
    text = "a0*a0 == 16" if number % 2 else ENORMOUS
    outcome = solve([parse_expr(text, _NAMES, BOOL)], Meaning.WRAP, Limits(rlimit=2_000_000_000))
    return type(outcome).__name__


def in_a_worker() -> dict[int, str]:
    """The outcomes of four queries in one worker."""
    workers = Workers(1)
    try:
        return dict(workers.run(enormous, range(4)))
    finally:
        workers.close()


def test_workers_go_on_after_a_query_that_would_take_too_much():
    assert fresh("in_a_worker()") == str({0: "GaveUp", 1: "Sat", 2: "GaveUp", 3: "Sat"})


def fill(megabytes: int) -> int:
    """Takes memory; the number of the process that could."""
    np.ones(megabytes * 125_000)
    return os.getpid()


def test_a_worker_that_takes_too_much_ends_the_run_with_a_reason_and_not_the_machine():
    workers = Workers(1, 100)
    try:
        assert list(workers.run(fill, [50]))
        with pytest.raises(Error, match=r"memory.*--resume"):
            list(workers.run(fill, [3000]))
    finally:
        workers.close()


@pytest.fixture
def restored() -> Iterator[None]:
    """What the solver may take is as it was, afterwards."""
    yield
    limit_memory(MEMORY)


def test_check_answers_unknown_within_a_bound_of_memory(restored: None, capsys: pytest.CaptureFixture[str]):
    update = "x*(" * 12 + "a" + " + x)" * 12
    with pytest.raises(SystemExit) as stopped:
        main(["check", update, "--type", "u64", "--memory", "50", "--timeout", "3", "--json"])
    assert stopped.value.code == 3
    assert json.loads(capsys.readouterr().out)["verdict"] == "unknown"
    with pytest.raises(SystemExit) as stopped:
        main(["check", update, "--memory", "5"])
    assert stopped.value.code == 2
