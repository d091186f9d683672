"""`rfactor verify`: a program is run, and its pipelines are proven, refuted or left open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rfactor.cli.main import main
from rfactor.compiler.lower import affine, bounds, boxes
from rfactor.ir.expr import Expr

PROGRAM = """
import rfactor as hl

x = hl.Var("x")
source = hl.ImageParam(hl.UInt(8), 1, "source")
near, far = hl.Func("near"), hl.Func("far")
near[x] = source[x] // 2
far[x] = near[x - 1] + near[x + 1]
near.compute_root()
both = hl.Pipeline([far])


def made():
    return far, [4]


print("defined")
if __name__ == "__main__":
    import numpy as np

    source.set(np.zeros(9, np.uint8))
    part = hl.Buffer(hl.UInt(8), [4])
    part.set_min([1])
    far.realize(part)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def status(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["verify", *arguments])
    told = capsys.readouterr()
    return int(str(stopped.value.code)), told.out, told.err


def test_what_a_program_realizes_is_proven(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = status(capsys, str(program))
    assert (code, err) == (0, "defined\n")
    assert out.startswith("far: proven: ")


@pytest.mark.parametrize("name", ["far", "both", "made"])
def test_what_is_named_is_proven_and_the_program_is_not_the_main_one(
    program: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = status(capsys, f"{program}:{name}", "--json")
    (found,) = json.loads(out)["pipelines"]
    assert (code, found["outputs"], found["verdict"]) == (0, name, "proven")
    assert len(found["obligations"]) > 10


def test_unknown_and_refuted_have_codes_of_their_own(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = status(capsys, f"{program}:far", "--timeout", "1e-7", "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "unknown")

    def narrow(low: Expr, high: Expr) -> Expr:
        return right(low, affine.subtract(high, affine.integer(1)))

    right = boxes.extent_of
    monkeypatch.setattr(bounds, "extent_of", narrow)
    code, out, _ = status(capsys, f"{program}:far", "--timeout", "0.2")
    assert (code, "refuted: " in out) == (1, True)


@pytest.mark.parametrize("what", ["nowhere.py", "{}:nothing", "{}:x", "{} --timeout 0"])
def test_bad_input_is_one_line_and_code_2(what: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = status(capsys, *what.format(program).split())
    assert (code, out) == (2, "")
    assert len(err.replace("defined\n", "").splitlines()) == 1


@pytest.mark.parametrize("line", ["raise ValueError('no')", "import sys; sys.exit(4)", ""])
def test_a_program_that_fails_or_realizes_nothing_is_bad_input(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(line)
    assert status(capsys, str(file))[0] == 2
