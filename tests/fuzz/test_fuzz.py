"""Random programs, and the machinery that runs any number: it sees what is wrong, and makes it small."""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rfactor.compiler.lower import affine, bounds, boxes
from tests.fuzz import execute, session, workers
from tests.fuzz.campaign import campaign
from tests.fuzz.coverage import directives, features
from tests.fuzz.execute import Outcome, alike, passes_of, run_program, run_seed
from tests.fuzz.program import Program, parsed, pasteable
from tests.fuzz.shrink import shrunk
from tests.fuzz.workers import Worker

SEEDS = st.integers(0, 1 << 40)
"""A program each: all choices come from the seed, which spreads them evenly."""
SOME = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    database=None,
)

ONE = affine.integer(1)
SMALL = Program(
    (
        'x = hl.Var("x")',
        'f = hl.Func("f")',
        "f[x] = hl.max(hl.cast(hl.Int(16), x * 3), hl.i16(4)) + hl.i16(1)",
        "outputs, mins, sizes = [f], [-1], [5]",
    ),
    ('f.vectorize("x", 4)', 'f.parallel("x")', "f.compute_root()"),
)


def passed(outcome: Outcome) -> None:
    assert not outcome.defect, f"{outcome.kind}\n{outcome.detail}\n{pasteable(outcome.program, outcome.expected)}"
    assert outcome.kind != "invalid", f"{outcome.detail}\n{outcome.program.text()}"


@settings(SOME, max_examples=70)
@given(SEEDS)
def test_the_three_executions_agree(seed: int) -> None:
    passed(run_seed(seed, passes=passes_of(seed)))


def test_a_seed_is_one_program() -> None:
    assert execute.generate(7)[0] == execute.generate(7)[0] != execute.generate(8)[0]
    one = run_seed(7, code=False).program
    assert one == run_seed(7, code=False).program == parsed(one.text())


def test_a_wrong_value_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_program(SMALL).kind == "agree"

    def wrong(own: Any, boxes: Any) -> Any:
        return {
            name: tuple(part + part.dtype.type(1) for part in parts) for name, parts in computed(own, boxes).items()
        }

    computed = execute.computed
    monkeypatch.setattr(execute, "computed", wrong)
    outcome = run_program(SMALL)
    assert outcome.kind == "disagree compiled"
    assert "expected [5, 5, 5, 7, 10]" in outcome.detail
    assert "found    [6, 6, 6, 8, 11]" in outcome.detail


def test_an_exception_that_is_no_refusal_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(session, "passes", broken)
    assert run_program(SMALL).kind == "internal KeyError in broken"


def test_wrong_bounds_are_seen_where_they_are_to_be_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(
        (
            'x = hl.Var("x")',
            'f, g = hl.Func("f"), hl.Func("g")',
            "f[x] = x * 3",
            "g[x] = f[x - 1] + f[x + 1]",
            "outputs, mins, sizes = [g], [0], [4]",
        ),
        ("f.compute_root()",),
    )
    right = run_program(program, prove=True)
    assert (right.kind, right.proved["programs proven"]) == ("agree", 1)
    whole = boxes.extent_of
    monkeypatch.setattr(bounds, "extent_of", lambda low, high: whole(low, affine.subtract(high, ONE)))
    assert run_program(program, prove=True).kind == "disagree bounds"


def test_what_programs_are_made_of_is_counted() -> None:
    found = features(SMALL)
    assert found >= {".vectorize", ".parallel", ".compute_root", "hl.max", "hl.Int"}
    assert ".rfactor" not in found
    assert {"rfactor", "vectorize", "compute_with", "trace_stores"} <= directives()


def test_what_is_refused_is_left_out() -> None:
    program = Program(
        SMALL.definitions, ('f.vectorize("y", 4)', 'm = f.update(0).rfactor([("r", "u")])', "m.parallel()")
    )
    outcome = run_program(program)
    assert outcome.kind == "agree"
    assert not outcome.program.directives


@pytest.mark.parametrize(
    ("a", "b", "near", "said"),
    [
        (0.0, -0.0, False, False),
        (0.0, -0.0, True, True),
        (np.nan, -np.nan, False, True),
        (1.0, 1.0000001, False, False),
        (1.0, 1.0000001, True, True),
        (1.0, 1.1, True, False),
        (np.nan, 1.0, True, False),
    ],
)
def test_floats_are_compared_by_their_bits(a: float, b: float, near: bool, said: bool) -> None:
    assert alike(np.array([a], np.float32), np.array([b], np.float32), near) == said


def test_programs_are_made_small() -> None:
    small = shrunk(SMALL, lambda p: any("hl.max" in line for line in p.definitions))
    assert not small.directives
    assert len(small.definitions) == 1
    assert len(small.definitions[0]) < len(SMALL.definitions[2]) - 20


def test_a_crash_and_a_hang_are_of_one_program() -> None:
    worker = Worker()
    try:
        crash = Program(("import os; os.abort()",), ())
        assert worker.run({"text": crash.text().replace("import os", "os = __import__('os')"), "code": True})[
            "kind"
        ] == ("crash SIGABRT")
        hang = Program(("exec('while True: pass')",), ())
        assert worker.run({"text": hang.text(), "code": True, "seconds": 0.2})["kind"] == "skipped"
        assert worker.run({"text": SMALL.text(), "code": True})["kind"] == "agree"
    finally:
        worker.stop()


def test_two_lines_that_come_at_once_are_both_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WALL_SECONDS", 5.0)
    told = r'printf "{\"running\": \"\"}\n{\"kind\": \"agree\"}\n"; exec sleep 60'
    worker = Worker()
    worker.child = subprocess.Popen(["/bin/sh", "-c", told], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.finish()["kind"] == "agree"
    finally:
        worker.stop()


def test_a_campaign_counts() -> None:
    seen: list[int] = []
    summary = campaign(range(3, 6), 1, lambda s: seen.append(s.kinds.total()), lambda _: None)
    assert seen == [1, 2, 3]
    assert summary.kinds.total() == 3
    assert "programs 3" in "\n".join(summary.lines())
