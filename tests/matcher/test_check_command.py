"""The command: its objects, its exit codes, its one-line errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rfactor.cli.check import batch_line, check
from rfactor.cli.main import main
from rfactor.errors import ParseError
from rfactor.matcher.check import check as decide

KEYS = {
    "update", "types", "semantics", "verdict", "operator", "identity", "identity_kind", "data", "commutative", "groups",
    "source", "invariant", "assumes", "lift", "counterexample", "reason", "proofs", "ms",
}  # fmt: skip


def run(*args: str, text: str | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(check, list(args), standalone_mode=False, input=text)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value or 0), result.output


def run_json(*args: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(*args, "--json")[1])
    return answer


def test_the_object_has_exactly_the_keys_of_the_contract() -> None:
    answer = run_json("min(x0, a), select(x0 < a, x1, i)")
    assert set(answer) == KEYS
    assert answer["verdict"] == "associative"
    assert answer["identity_kind"] == "left"
    assert answer["types"] == {"x0": "i32", "a": "i32", "x1": "i32", "i": "i32"}
    assert answer["groups"] == [[0, 1]]
    assert {proof["claim"] for proof in answer["proofs"]} >= {"step", "associative", "left_identity", "not_commutative"}


def test_a_lifted_answer_leaves_the_plain_parts_null() -> None:
    answer = run_json("max(x + a, b)", "--semantics", "math")
    assert answer["verdict"] == "lifted"
    assert answer["operator"] is answer["identity"] is answer["data"] is None
    assert set(answer["lift"]) == {"types", "data", "operator", "identity", "apply"}
    assert answer["lift"]["identity"] == ["0", "-inf"]


@pytest.mark.parametrize(
    ("update", "code"),
    [("x + a", 0), ("x*a + b", 0), ("(x + a) // 2", 1), ("sqrt(x*x + a) * x", 3)],
)
def test_exit_codes_tell_yes_no_and_unknown_apart(update: str, code: int) -> None:
    kind = ["--type", "f32"] if "sqrt" in update else []
    assert run(update, *kind, "--timeout", "3")[0] == code


def test_a_no_shows_values_and_says_where_overflow_is_to_blame() -> None:
    answer = run_json("max(x + a, b)")
    assert answer["verdict"] == "not_associative"
    assert answer["counterexample"]
    assert "nothing overflows" in answer["reason"]


@pytest.mark.parametrize(
    "arguments",
    [["x + "], ["x +; a"], ["x + a", "--type", "i33"], ["x0, x2"], ["x + gcd(a)"], ["x + 300", "--type", "u8"],
     ["x + a", "--types", "a"],
     ["acc + a"], ["acc + a", "--state", "ac"], ["acc + a", "--state", "acc,n"], ["-", "--batch", "-"],
     [], ["x + a", "--timeout", "0"], ["--batch", "/nowhere.jsonl"], ["--claim", "/nowhere"],
     ["x + a", "--timeout", "nan"], ["x + y", "--operator", "--explain"],
     ["--batch", "-", "--svg", "graph.svg"], ["--claim", "-", "--explain"], ["__import__('os').getcwd()"]],
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", *arguments])
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["-max(-x, a)"], "stands after -- alone"),
        (["select(a > 0, not x, x)", "--type", "bool"], "give a, which is bool here, a type of numbers"),
    ],
)
def test_bad_input_says_what_to_write_instead(
    arguments: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["check", *arguments])
    assert advice in capsys.readouterr().err


def test_a_batch_answers_in_order_and_marks_bad_lines(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": "one", "update": "x + a", "type": "u8"}),
        "not json",
        json.dumps({"id": "three", "update": "x +"}),
        json.dumps({"id": "four", "update": "x * s", "const": ["s"]}),
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(lines))
    code, output = run("--batch", str(file), "--json")
    objects = [json.loads(line) for line in output.splitlines()]
    assert code == 2
    assert [o["id"] for o in objects] == ["one", None, "three", "four"]
    assert ["error" in o for o in objects] == [False, True, True, False]
    assert run("--batch", "-", text=lines[0])[0] == 0


def test_a_list_of_updates_is_answered_line_by_line() -> None:
    for arguments in (["-"], ["--batch", "-"]):
        code, output = run(*arguments, text="x + a\n\nmax(x, a)\n(x + a) >> 1\nx*a + b\n")
        sums, largest, no, lifted = output.splitlines()
        assert code == 0
        assert sums == "x + a: associative, operator x0 + y0, identity 0"
        assert largest.startswith("max(x, a): associative, operator max(x0, y0), identity -2147483648")
        assert no.startswith("(x + a) >> 1: not associative: no operator on this state exists")
        assert lifted.startswith("x*a + b: associative on a richer state, operator x0 * y0, x1 * y0 + y1")


def test_a_bad_line_of_a_list_is_said_in_its_place() -> None:
    code, output = run("-", "--type", "u8", text="x +\nx + 300\nx + a\n")
    first, second, third = output.splitlines()
    assert code == 2
    assert first.startswith("x +: error: not an expression")
    assert "does not fit u8" in second
    assert third == "x + a: associative, operator x0 + y0, identity 0"


def test_a_list_of_updates_has_objects_for_answers_where_they_are_asked_for() -> None:
    code, output = run("-", "--json", text="x + a\nx +\n")
    answer, bad = map(json.loads, output.splitlines())
    assert (code, answer["operator"], "error" in bad) == (2, ["x0 + y0"], True)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["check", "x + a", "--type", "float32"], "did you mean f32?"),
        (["check", "x + a", "--type", "int"], "did you mean i32 or i64?"),
        (["check", "x + a", "--types", "a=double"], "did you mean f64?"),
        (["check", "x + a", "--type", "np.uint8"], "did you mean u8?"),
        (["chek", "x + a"], "Did you mean check?"),
        (["check", "x + a", "--tpye", "f32"], "'--type'"),
        (["check", "x + maxx(a)"], "is max meant?"),
    ],
)
def test_what_is_misspelt_is_told_what_is_meant(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert meant in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["check", "x + a", "--type", "quux"], ["frobnicate"]])
def test_what_is_like_nothing_is_told_what_there_is(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().err
    assert "mean" not in said.lower()
    assert "i32" in said or "bench" in said


def test_options_beside_a_batch_or_a_claim_are_for_what_an_object_does_not_say(tmp_path: Path) -> None:
    named = ["--type", "u8", "--semantics", "math", "--const", "s"]
    lines = '{"update": "x * s"}\n{"update": "x + s", "type": "i16", "semantics": "wrap", "const": []}\n'
    first, second = (json.loads(line) for line in run("--batch", "-", *named, text=lines)[1].splitlines())
    assert (first["types"], first["semantics"], first["data"]) == ({"x0": "u8", "s": "u8"}, "math", ["s"])
    assert (second["types"], second["semantics"]) == ({"x0": "i16", "s": "i16"}, "wrap")
    claim = json.dumps({"update": "min(x, a)", "operator": ["min(x0, y0)"], "identity": ["255"], "data": ["a"]})
    assert run("--claim", "-", text=claim)[0] != 0
    assert run("--claim", "-", "--type", "u8", text=claim)[0] == 0


def test_a_line_of_a_batch_that_is_not_utf_8_is_one_bad_line(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b'{"update": "x + \xff"}\n{"id": 2, "update": "x + a"}\n')
    code, output = run("--batch", str(file), "--json")
    objects = [json.loads(line) for line in output.splitlines()]
    assert code == 2
    assert ["error" in o for o in objects] == [True, False]


def test_operators_as_they_stand() -> None:
    yes = json.loads(run("--operator", "x + y + 7*x*y", "--json")[1])
    assert (yes["left_identity"], yes["right_identity"], yes["idempotent"]) == (["0"], ["0"], False)
    code, output = run("--operator", "x - y", "--json")
    no = json.loads(output)
    assert code == 1
    assert set(no["counterexample"]) == {"x", "y", "z", "left", "right"}
    x, y, z = (no["counterexample"][letter] for letter in "xyz")
    assert ((x - y) - z, x - (y - z)) == (no["counterexample"]["left"], no["counterexample"]["right"])
    pair = json.loads(run("--operator", "min(x0, y0), select(x0 < y0, x1, y1)", "--json")[1])
    assert pair["left_identity"] is not None
    assert pair["right_identity"] is None


def test_identities_of_operators_are_found_or_excluded_or_left_open() -> None:
    def asked(operator: str, type_: str = "i32") -> tuple[Any, ...]:
        answer = json.loads(run("--operator", operator, "--type", type_, "--json")[1])
        return tuple(answer[key] for key in ("left_identity", "right_identity", "identity_kind", "no_identity"))

    assert asked("x*y + 3*x + 3*y + 6") == (["-2"], ["-2"], "two-sided", [])
    assert asked("x*y*2") == (None, None, "none", ["left", "right"])
    assert asked("y") == (["0"], None, "left", ["right"])
    assert asked("x*y*0.3", "f32") == (None, None, None, [])
    assert "left identity  none\n" in run("--operator", "x*y*2")[1]
    assert "left identity  not found\n" in run("--operator", "x*y*0.3", "--type", "f32")[1]


@pytest.mark.parametrize("name", ["z", "z0", "left", "right"])
def test_a_constant_of_an_operator_takes_no_name_of_the_answer(name: str) -> None:
    with pytest.raises(ParseError, match=f"a constant cannot be called {name}"):
        run("--operator", f"x + {name}")
    no = json.loads(run("--operator", "x + w", "--json")[1])["counterexample"]
    assert set(no) == {"x", "y", "z", "w", "left", "right"}
    assert (no["left"], no["right"]) == (no["x"] + 2 * no["w"], no["x"] + no["w"])


def test_an_operator_that_may_divide_by_zero_says_so_where_nothing_is_known() -> None:
    answer = json.loads(run("--operator", "(x + y)/(1.0 + x*y)", "--type", "f32", "--json")[1])
    assert answer["verdict"] == "unknown"
    assert "it has no value where 1.0 + x0 * y0 != 0.0 fails" in answer["reason"]


@pytest.mark.parametrize("update", ["x + a", "x*a + b", "min(x0, a), select(x0 <= a, x1, i)", "x / a"])
def test_a_claim_is_proved_again_from_its_own_object(update: str, tmp_path: Path) -> None:
    kind = ["--type", "f32"] if "/" in update else []
    file = tmp_path / "claim.json"
    record = run_json(update, *kind)
    file.write_text(json.dumps(record))
    assert run("--claim", str(file))[0] == 0
    if record["data"]:
        record["data"] = [*record["data"][:-1], "1 + a"]
        file.write_text(json.dumps(record))
        assert run("--claim", str(file))[0] == 1


@pytest.mark.parametrize(
    ("update", "operator", "identity", "data", "code"),
    [
        ("x + a", "x0 + y0", "0", "a", 0),
        ("x + a", "x0 + y0", "5", "a", 1),
        ("min(x, a)", "min(x0, y0)", "2147483647", "a", 0),
        ("min(x, a)", "min(x0, y0)", "255", "a", 1),
        ("x + a", "x0 + y0", None, "a", 0),
    ],
)
def test_a_claim_is_not_proved_where_its_identity_is_none(
    update: str, operator: str, identity: str | None, data: str, code: int
) -> None:
    given = {"update": update, "operator": [operator], "identity": identity and [identity], "data": [data]}
    found, output = run("--claim", "-", "--json", text=json.dumps(given))
    answer = json.loads(output)
    assert found == code
    assert answer.get("failing") == (None if code == 0 else "left_identity")
    if code == 1:  # what the serial step gives, and what a slice that began at the identity does once it is merged
        assert answer["left"] != answer["right"]


def test_functions_of_no_known_name_are_any_function(tmp_path: Path) -> None:
    update = "select(h(a, b) > h(x0, x1), a, x0), select(h(a, b) > h(x0, x1), b, x1)"
    answer = run_json(update, "--types", "b=u8", "--function", "h: i32, u8 -> f32")
    assert (answer["verdict"], answer["functions"]) == ("associative", {"h": "i32, u8 -> f32"})
    assert answer["types"]["x1"] == "u8"
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(answer))
    assert run("--claim", str(path))[0] == 0
    path.write_text(json.dumps(answer | {"operator": [text.replace(">", "<") for text in answer["operator"]]}))
    assert run("--claim", str(path))[0] == 1
    line, read = batch_line(json.dumps({"update": update, "functions": {"h": "i32, u8 -> f32"}}), 3.0)
    assert read
    assert line["operator"] == answer["operator"]
    no = run_json("select(p(a, x), a, x)")
    assert no["verdict"] == "not_associative"
    assert "where p(u0, u1) = " in no["reason"]
    _, text = run(update)
    assert "h: i32, i32 -> i32, which may be any function" in text
    assert batch_line('{"update": "x", "functions": ["h"]}', 3.0)[0]["error"].startswith("functions is an object")


def test_explanations_and_drawings(tmp_path: Path) -> None:
    drawing = tmp_path / "graph.svg"
    code, output = run("min(x0, a), select(x0 < a, x1, i)", "--explain", "--svg", str(drawing))
    assert code == 0
    assert "x1 <- x0, x1" in output
    assert drawing.read_text().startswith("<svg")


def test_the_function_returns_the_same_answer_as_the_command() -> None:
    answer = decide("x + a*b", type="f32")
    assert answer.verdict == "associative"
    assert run_json("x + a*b", "--type", "f32")["operator"] == [str(e) for e in answer.operator or ()]


def test_common_reductions_take_about_a_millisecond_once_warm() -> None:
    lines = [json.dumps({"update": f"x + a*{n}"}) for n in range(2, 22)]
    lines += [json.dumps({"update": f"max(x, a - {n})"}) for n in range(2, 22)]
    batch_line(lines[0], 10.0)
    batch_line(lines[-1], 10.0)
    times = []
    for line in lines:
        start = time.perf_counter()
        batch_line(line, 10.0)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.005
    assert sorted(times)[len(times) // 2] < 0.02  # generous: other work may share the machine


@pytest.mark.parametrize(
    "arguments",
    [
        ["x + a"],
        # Its identity is infinite, of which the solver would say nothing.
        ["max(x0, a*a + b*b), select(x0 < a*a + b*b, i, x1)", "--type", "f32", "--types", "x1=i32,i=i32"],
    ],
)
def test_a_cold_check_imports_no_more_than_it_needs(arguments: list[str]) -> None:
    code = (
        f"import sys; from rfactor.cli.main import main\ntry: main(['check', *{arguments}])\nexcept SystemExit: pass\n"
    )
    code += "print(sorted(m for m in ('z3', 'llvmlite', 'halide') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "text",
    ["inf", "nan + x", "x0, inf", "0 << x", "x0, ((a * a) // (x1 * x1)), a", " and ".join(["x"] * 2000), "0b + 1if x"],
)
@pytest.mark.parametrize("type_", ["f64", "u64", "bool"])
def test_odd_updates_are_answered_or_refused_in_one_line(text: str, type_: str) -> None:
    answer, _ = batch_line(json.dumps({"update": text, "type": type_}), 2.0)
    assert "verdict" in answer or (answer["error"] and "\n" not in answer["error"])


def test_an_answer_that_cannot_be_written_is_no_answer():
    asked = [sys.executable, "-m", "rfactor", "check", "x + a"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run(asked, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (found.returncode, found.stderr) == (141, "")
    found = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *asked], stderr=subprocess.PIPE, text=True, check=False)
    assert (found.returncode, found.stderr.count("\n")) == (2, 1)
