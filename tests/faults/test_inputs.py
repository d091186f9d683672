"""Whatever is read is read or refused, soon, in one line, and nothing is run: a share of `benchmarks.fuzz_inputs`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rfactor.cli.check import batch_line
from rfactor.cli.claims import check_claim
from rfactor.cli.main import main
from rfactor.cli.operators import parse_operator
from rfactor.errors import Error, ParseError
from rfactor.ir.parser import parse_update
from rfactor.matcher.check import check as decide

_SHARE = """
import sys
from benchmarks import fuzz_inputs
fuzz_inputs.prepare()
reads = [(kind, 2300) for kind in ("update", "operator", "claim", "row", "options")]
for kind, count in (*reads, ("answer", 60)):
    counts, failures = fuzz_inputs.run(kind, "ci", count)
    print(kind, dict(counts), failures[:3])
    if failures or not counts["read"] or (kind not in ("row", "answer") and not counts["refused"]):
        sys.exit(1)
"""


def test_a_share_of_the_fuzz_run_finds_nothing():
    """In a process of its own: the watch for opened files and executed code stays for good."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", _SHARE], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_watch_sees_code_that_runs_and_readers_that_hang():
    code = (
        "from benchmarks import fuzz_inputs as f\n"
        "import time\n"
        "f.prepare()\n"
        "def spin():\n"
        "    while True: pass\n"
        "for deed in (lambda: eval('1 + 1'), lambda: open('/dev/null'), spin, lambda: [][0]):\n"
        "    f.KINDS['update'] = lambda rng: ('made', deed)\n"
        "    print(f.attempt('update', '0'))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 4
    assert all("FAILED" in line for line in said)
    assert [word in line for word, line in zip(("exec", "open", "TooSlow", "IndexError"), said, strict=True)] == [
        True
    ] * 4


@pytest.mark.parametrize(
    "text",
    [
        '{"update": "x + a", "const": 5}',
        '{"update": "x + a", "types": ["a"]}',
        '{"update": "x + a", "operator": ["x0 + y0"], "data": 7}',
        '{"update": "x + a", "lift": {"types": 5}}',
        '{"update": "x + a", "lift": []}',
        "[" * 100_000,
        "9" * 5000,
        "[]",
        "nonsense",
    ],
)
def test_claims_of_other_shapes_are_refused(text: str):
    with pytest.raises(Error) as refused:
        check_claim(text, 1.0, True)
    assert len(str(refused.value)) < 1500


@pytest.mark.parametrize(
    "text", ["-" * 380 + "x", "x" + " >> a" * 380, " + ".join(f"a{i}" for i in range(380)) + " + x"]
)
def test_what_is_nested_too_deep_is_refused_and_not_a_crash(text: str):
    line, read = batch_line(json.dumps({"update": text}), 1.0)
    assert not read
    assert "nested too deep" in line["error"]
    with pytest.raises(ParseError, match="nested too deep"):
        parse_operator(text, {})


def test_a_proof_that_is_nested_too_deep_is_unknown():
    text = "x*(" * 60 + "a" + ")" * 60
    assert decide(text, timeout=2.0).verdict == "unknown"


@pytest.mark.parametrize("option", ["--types", "--const", "--function", "--type"])
def test_an_endless_option_is_quoted_by_its_beginning(option: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["check", "x + a", option, "0" * 20_000])
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err) < 1500


def test_an_endless_text_is_quoted_by_its_beginning():
    with pytest.raises(ParseError) as refused:
        parse_update("x + " + "unknown." * 5000)
    assert len(str(refused.value)) < 600


def test_a_thousand_names_that_meet_one_by_one_are_read_in_no_time():
    names = [f"a{n}" for n in range(9000)]

    def balanced(some: list[str]) -> str:
        half = len(some) // 2
        return some[0] if len(some) == 1 else f"({balanced(some[half:])} + {balanced(some[:half])})"

    began = time.process_time()
    parse_update(f"x + {balanced(names)}")
    assert time.process_time() - began < 3.0


def test_powers_of_unbounded_integers_end_in_time():
    """Their values grow by a factor with every step: sampled runs stop before they are endless."""
    began = time.process_time()
    assert decide(" * ".join(["x"] * 150), semantics="math", timeout=1.0).verdict == "unknown"
    assert time.process_time() - began < 10.0


def test_the_fuzz_command_counts():
    arguments = ["-m", "benchmarks.fuzz_inputs", "--count", "500", "--answers", "0", "--jobs", "1", "--seed", "c"]
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stdout
    assert "seed 'c': 500 inputs" in done.stdout
