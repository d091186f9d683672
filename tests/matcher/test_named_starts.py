"""Starts and loop invariants speak of accumulators by the names that the user gives them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rfactor
from rfactor.cli.check import check as command
from rfactor.errors import ParseError
from rfactor.ir.printer import show
from rfactor.matcher.answer import Answer
from rfactor.matcher.report import explain, to_json

EITHER = "select(x < lo, x, lo), select(x < lo, hi, select(x > hi, x, hi))"
"""`if x < lo: lo = x elif x > hi: hi = x`, with the datum `x`."""


def invariants(answer: Answer) -> list[str]:
    assert answer.from_start is not None
    return [show(e) for e in answer.from_start.invariants]


def run(*args: str, text: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(args), standalone_mode=False, input=text)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value or 0), result.output


def test_a_start_of_named_accumulators_gives_their_invariants() -> None:
    answer = rfactor.check(EITHER, state="lo,hi", start="s, s")
    assert answer.associative
    assert invariants(answer) == ["x0 <= x1"]
    assert [show(e) for e in answer.asked.components] == [
        "select(x < x0, x, x0)",
        "select(x < x0, x1, select(x > x1, x, x1))",
    ]
    assert [show(e) for e in answer.update.components] == ["min(x0, x)", "max(x1, x)"]
    assert " its " not in repr(answer)
    assert not rfactor.check(EITHER, state="lo,hi", timeout=3).ok


@pytest.mark.parametrize(
    "asked",
    [
        {"update": EITHER, "state": ["lo", "hi"]},
        {"update": f"lo, hi = {EITHER}"},
        {"update": lambda lo, hi, x: (x if x < lo else lo, hi if x < lo else x if x > hi else hi)},
    ],
    ids=["state", "assignment", "lambda"],
)
@pytest.mark.parametrize("assumed", ["lo <= hi", "x0 <= x1", "min(lo, hi) == lo"])
def test_what_is_assumed_has_the_names_of_the_update(asked: dict[str, Any], assumed: str) -> None:
    promised = rfactor.check(**asked, assume=assumed)
    assert promised.associative
    assert [show(e) for e in promised.assumes] == invariants(promised)
    started = rfactor.check(**asked, assume=assumed, start="0, 3")
    assert (started.verdict, started.assumes) == ("associative", ())
    assert rfactor.check(**asked, assume=assumed, start="3, 0").verdict == "unknown"


def test_names_of_other_accumulators_are_not_mistaken() -> None:
    """`x1` is the user's name of the first accumulator: then `x0` is a name of none."""
    text = "select(a < x1, a, x1), select(a < x1, b, select(a > b, a, b))"
    assert invariants(rfactor.check(text, state="x1,b", assume="x1 <= b")) == ["x0 <= x1"]
    with pytest.raises(ParseError, match="x0 is no accumulator"):
        rfactor.check(text, state="x1,b", assume="x0 <= b")
    with pytest.raises(ParseError, match="x is a datum"):
        rfactor.check("x0, x1 = max(x0, x), x1 + x", assume="x >= 0")


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"start": "lo, 0"}, "lo is an accumulator"),
        ({"start": "x, 0"}, "x is a datum"),
        ({"start": "0, y1"}, "y1 names an operand"),
        ({"start": "0"}, "1 values, the update 2"),
        ({"assume": "lo <= x"}, "x is a datum"),
        ({"assume": "low <= hi"}, "low is no accumulator"),
    ],
)
def test_what_has_no_value_before_the_loop_is_refused(stated: dict[str, str], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        rfactor.check(EITHER, state="lo,hi", **stated)


def test_a_constant_of_the_start_has_one_type() -> None:
    with pytest.raises(ParseError, match="i32 and f32"):
        rfactor.check("max(n, a), max(m, b)", state="n,m", types={"m": "f32", "b": "f32"}, start="s, s")


def test_a_constant_called_x_may_be_the_start() -> None:
    text = "select(a < lo, a, lo), select(a < lo, hi, select(a > hi, a, max(hi, x)))"
    answer = rfactor.check(text, state="lo,hi", const=["x"], start="x, x")
    assert answer.associative
    assert answer.from_start is not None
    assert [show(e) for e in answer.from_start.start or () if e is not None] == ["x", "x"]
    assert " its " not in repr(answer)


def test_a_step_out_of_what_is_assumed_is_told_with_the_datum_called_x() -> None:
    answer = rfactor.check(EITHER, state="lo,hi", assume="lo >= 0")
    assert answer.verdict == "unknown"
    assert {"x", "x0"} <= (answer.counterexample or {}).keys()
    assert "its" not in (answer.reason or "")
    assert "x = " in (answer.reason or "")


def test_chunks_are_merged_by_what_the_invariants_leave() -> None:
    """Chunks in states that no run reaches, where the update itself would do otherwise."""
    answer = rfactor.check(EITHER, state="lo,hi", start="0, 0")
    data = np.random.default_rng(0).integers(-99, 100, 40).astype(np.int32)
    merged: Any = answer.element(x=data[0])
    for value in data[1:]:
        merged = answer.combine(merged, answer.element(x=value))
    low = high = 0
    for value in data.tolist():
        if value < low:
            low = value
        elif value > high:
            high = value
    assert answer.apply((0, 0), merged) == (low, high)


def test_names_that_the_invariants_leave_out_may_be_given_a_value() -> None:
    answer = rfactor.check("select(m < 0, b, max(m, a))", state="m", start="s*0 + 3")
    assert answer.element(a=5, b=9, s=1) == 5
    with pytest.raises(rfactor.Error, match="no value is read of c"):
        answer.element(a=5, c=9)


def test_people_are_told_invariants_by_their_names() -> None:
    code, text = run(EITHER, "--state", "lo,hi", "--assume", "lo <= hi")
    assert code == 0
    lines = text.splitlines()
    assert lines[:4] == [
        f"update      lo, hi := {EITHER}",
        "invariant   lo <= hi",
        "leaves      lo := min(lo, x)",
        "            hi := max(hi, x)",
    ]
    assert "names       x0 is lo, x1 is hi" in lines
    assert "assuming    lo <= hi" in lines
    answer = rfactor.check(EITHER, state="lo,hi", start="s, s")
    assert "lo &lt;= hi" in answer._repr_html_()
    assert "x0 := min(x0, y0)" in explain(answer)


def test_the_object_has_names_and_invariants() -> None:
    found = json.loads(run(EITHER, "--state", "lo,hi", "--start", "s, s", "--json")[1])
    assert (found["update"], found["state"]) == (EITHER, ["lo", "hi"])
    assert (found["loop_invariant"], found["simplified"]) == (["x0 <= x1"], ["min(x0, x)", "max(x1, x)"])
    assert found["types"] == {"x0": "i32", "x1": "i32", "x": "i32"}
    kept = to_json(rfactor.check(EITHER, state="lo,hi", start="s, s"))
    assert {k: v for k, v in found.items() if k not in ("ms", "proofs")} == {
        k: v for k, v in kept.items() if k not in ("ms", "proofs")
    }


def test_lines_of_a_batch_have_names_and_starts() -> None:
    lines: list[dict[str, Any]] = [
        {"state": "lo,hi", "start": [0, 0]},
        {"state": ["lo", "hi"], "assume": ["lo <= hi"]},
        {"start": "s, s"},
        {"state": "lo,hi", "start": "lo, hi"},
    ]
    text = "\n".join(json.dumps({"update": EITHER} | line) for line in lines)
    code, output = run("--batch", "-", "--state", "lo,hi", "--json", text=text)
    first, second, third, bad = map(json.loads, output.splitlines())
    assert code == 2
    assert [one["verdict"] for one in (first, second, third)] == ["associative"] * 3
    assert "lo is an accumulator" in bad["error"]


def test_obligations_of_named_accumulators_are_written(tmp_path: Any) -> None:
    run(EITHER, "--state", "lo,hi", "--start", "s, s", "--emit-smt2", str(tmp_path))
    names = {path.stem[3:] for path in tmp_path.iterdir()}
    assert {"initial", "inductive", "simplified", "step", "associative"} <= names
