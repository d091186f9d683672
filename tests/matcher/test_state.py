"""Which names are accumulators: those of `--state` and of assignments, else `x`; to read none of them is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import rfactor
from rfactor.cli.check import check as command
from rfactor.errors import ParseError
from rfactor.matcher.report import to_json
from tests.matcher.oracle import Judge


def run(*args: str, text: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(args), standalone_mode=False, input=text)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value or 0), result.output


def test_a_named_accumulator_leaves_x_to_the_data() -> None:
    answer = rfactor.check("acc*31 + x", state="acc", type="f32")
    assert answer.verdict == "lifted"
    assert answer.lift is not None
    assert [str(e) for e in answer.lift.data] == ["31.0", "x"]
    assert rfactor.check("acc*31 + x", type="f32").verdict == "associative"  # another question: acc is data


def test_names_are_accumulators_in_order() -> None:
    answer = rfactor.check("n + 1, max(m, x)", state=["n", "m"], types={"m": "f32"})
    assert answer.operator is not None
    assert [str(e) for e in answer.operator] == ["x0 + y0", "max(x1, y1)"]
    assert [str(t) for t in answer.update.types] == ["i32", "f32"]
    assert [str(e) for e in answer.data or ()] == ["1", "x"]


@pytest.mark.parametrize("x", ["x", "v"])
def test_a_datum_called_x_changes_no_answer(x: str) -> None:
    for text in ("({acc} + {x}) >> 1", "min({acc} + {x}, b)", "min({acc}, {x})", "{acc} + {x}*k"):
        answer, plain = (
            rfactor.check(text.format(acc=acc, x=datum), state=acc) for acc, datum in (("acc", x), ("x0", "a"))
        )
        assert answer.verdict == plain.verdict
        assert answer.operator == plain.operator
        assert [str(e).replace(x, "a") for e in answer.data or ()] == [str(e) for e in plain.data or ()]
        assert "its" not in (answer.reason or "")


def test_a_counterexample_tells_the_steps_of_x_from_states() -> None:
    answer = rfactor.check("(n + a) >> 1, (m*m + x) >> 1", state="n,m", type="i8")
    assert answer.verdict == "not_associative"
    found = answer.counterexample
    assert found is not None
    assert {"x0", "x1"} <= found.keys()
    assert all(" " not in name for name in found)
    assert any(name.startswith("x") and name not in ("x0", "x1") for name in found)


def test_answers_are_told_by_the_users_names() -> None:
    text = str(rfactor.check("acc*31 + x", state="acc"))
    assert "update      acc := acc*31 + x" in text
    assert "apply       acc := acc * y0 + y1" in text
    assert "x0 is acc" in text
    assert "x0 is" not in str(rfactor.check("x*31 + a"))


def test_the_object_has_the_names_and_may_be_asked_again_as_a_claim() -> None:
    code, output = run("acc*31 + x", "--state", "acc", "--json")
    answer: dict[str, Any] = json.loads(output)
    assert (code, answer["state"], answer["types"]) == (0, ["acc"], {"x0": "i32", "x": "i32"})
    Judge(answer).check()
    assert run("--claim", "-", text=output)[0] == 0
    del answer["state"]
    answer["lift"]["data"] = ["31", "acc"]
    assert run("--claim", "-", text=json.dumps(answer))[0] != 0
    assert "state" not in to_json(rfactor.check("x + a", state="x"))


def test_batches_have_names_for_a_line_and_beside() -> None:
    lines = '{"update": "acc*31 + x", "state": ["acc"]}\n{"update": "t + x", "state": "t"}\n'
    first, second = (json.loads(line) for line in run("--batch", "-", text=lines)[1].splitlines())
    assert (first["state"], second["state"]) == (["acc"], ["t"])
    (beside,) = (
        json.loads(line) for line in run("--batch", "-", "--state", "t", text='{"update": "t + x"}')[1].splitlines()
    )
    assert beside["data"] == ["x"]
    code, output = run("--batch", "-", text='{"update": "t + x", "state": 5}')
    assert (code, json.loads(output)["error"]) == (2, "state is a list of names")


@pytest.mark.parametrize(
    ("text", "state", "message"),
    [
        ("acc + a", "acc,n", "2 accumulators"),
        ("acc + a, n", "acc", "1 accumulator .acc. for an update of 2"),
        ("acc + x0", "acc", "x0 is what answers call an accumulator"),
        ("acc + a", "acc,acc", "different names"),
        ("acc + a", "1a", "called by a name"),
        ("inf + a", "inf", "called by a name"),
        ("lambda_ + a", "lambda", "called by a name"),
    ],
)
def test_names_that_do_not_fit_are_refused(text: str, state: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        rfactor.check(text, state=state)


def test_an_accumulator_is_no_constant() -> None:
    with pytest.raises(ParseError, match="cannot be a constant"):
        rfactor.check("acc + k", state="acc", const=["acc"])
    assert rfactor.check("k + a", state="k").verdict == "associative"  # named, it is none


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("acc + a", "--state acc"),
        ("total + a, n + 1", "--state total"),
        ("a", "write x = a|written x = a"),
        ("3", "--state"),
    ],
)
def test_an_update_that_reads_no_accumulator_is_refused(text: str, hint: str) -> None:
    with pytest.raises(ParseError, match=f"reads no accumulator: .*({hint})"):
        rfactor.check(text)


def test_a_wrong_name_is_refused_as_well() -> None:
    with pytest.raises(ParseError, match="reads no accumulator: ac does not occur"):
        rfactor.check("acc + a", state="ac")


@pytest.mark.parametrize("text", ["min(x0, a), i", "x1, a", "a, x0", "x = a", "x0, x1 = a, b"])
def test_a_component_need_not_read_itself(text: str) -> None:
    assert rfactor.check(text).verdict != "not_associative"


def test_what_looks_like_another_accumulator_is_noted() -> None:
    note = "x is the accumulator, acc is data of each step; --state acc says otherwise"
    assert note in str(rfactor.check("acc*31 + x"))
    for text, state in (("acc*31 + x", "acc"), ("acc*31 + x0", ""), ("x*31 + a", ""), ("x += acc", "")):
        assert "says otherwise" not in str(rfactor.check(text, state=state))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("s += a", "x + a"),
        ("s -= a - b", "x - (a - b)"),
        ("s *= a + 1", "x*(a + 1)"),
        ("s |= 1 << a", "x | (1 << a)"),
        ("x += a", "x + a"),
        ("s = s*31 + x", "x*31 + a"),
        ("s, n = s + a, n + 1", "x0 + a, x1 + 1"),
    ],
)
def test_an_assignment_names_its_accumulators(text: str, same: str) -> None:
    answer, plain = rfactor.check(text), rfactor.check(same)
    assert [str(c).replace("x", "a") for c in answer.update.components] == [
        str(c).replace("x", "a") for c in plain.update.components
    ]
    assert answer.verdict == plain.verdict


@pytest.mark.parametrize(
    "text", ["s **= 2", "s @= a", "s += a, b", "s.y += a", "s[0] += a", "s = t = a", "s += 1; t += 1", "s +="]
)
def test_what_is_no_assignment_to_names_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        rfactor.check(text)


def test_an_assignment_and_another_name_do_not_go_together() -> None:
    with pytest.raises(ParseError, match="s is assigned, but --state names t"):
        rfactor.check("s += t", state="t")
    assert rfactor.check("s += t", state="s").verdict == "associative"
