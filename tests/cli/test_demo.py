"""The demo fails, not merely prints, when an answer is wrong; the examples and the README's program run."""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rfactor.cli import demo as demo_module
from rfactor.cli.demo import demo, load

ROOT = Path(__file__).parents[2]


@pytest.fixture
def photograph(tmp_path):
    """A small picture of odd sizes, as a file."""
    from skimage import io

    path = tmp_path / "small.png"
    io.imsave(path, np.random.default_rng(0).integers(0, 256, (61, 43, 3), dtype=np.uint8), check_contrast=False)
    return path


def test_every_reduction_gives_the_serial_bits_and_numpys(photograph):
    result = CliRunner().invoke(demo, ["--image", str(photograph), "--json"], standalone_mode=False)
    assert result.exception is None
    assert result.return_value == 0
    said = json.loads(result.stdout)
    assert len(said["reductions"]) >= 6
    assert all(
        row["same_bits"] and row["same_as_numpy"] and row["verdict"] == "associative" for row in said["reductions"]
    )
    assert all(any(np.any(part) for part in row["value"]) for row in said["reductions"])  # not zero against zero
    listing_2, refused = said["checks"]
    assert listing_2["verdict"] == "associative"
    assert refused["verdict"] == "not associative"
    assert refused["reason"]


def test_every_reduction_shows_its_value(photograph):
    pixels = load(photograph)[1]
    result = CliRunner().invoke(demo, ["--image", str(photograph)], standalone_mode=False)
    values = [line.split(None, 1)[1] for line in result.stdout.splitlines() if line.startswith("  value ")]
    assert len(values) == 6
    assert values[1] == str(pixels[:, :, 0].max())
    assert values[2].endswith("(256 numbers)")


def test_the_product_of_a_black_picture_is_no_zero(tmp_path):
    from skimage import io

    path = tmp_path / "black.png"
    io.imsave(path, np.zeros((61, 43, 3), np.uint8), check_contrast=False)
    result = CliRunner().invoke(demo, ["--image", str(path), "--json"], standalone_mode=False)
    assert json.loads(result.stdout)["reductions"][-1]["value"] == [1, 0]


def test_a_wrong_answer_fails_the_demo(photograph, monkeypatch):
    of_image = demo_module.of_image

    def wrong(pixels):
        first, *others = of_image(pixels)
        return (replace(first, numpy=lambda: (np.zeros(3),)), *others[:1])

    monkeypatch.setattr(demo_module, "of_image", wrong)
    result = CliRunner().invoke(demo, ["--image", str(photograph)], standalone_mode=False)
    assert result.return_value == 1
    assert "channel sums: the answer is not NumPy's" in result.stderr


def test_what_is_no_image_is_refused_in_one_line(tmp_path):
    text = tmp_path / "text.png"
    text.write_text("no image")
    result = CliRunner().invoke(demo, ["--image", str(text)])
    assert result.exit_code == 2
    assert "is not an image" in result.output


def test_the_photograph_that_ships_is_there():
    name, pixels = load(None)
    assert "Hubble" in name
    assert pixels.dtype == np.uint8
    assert pixels.shape[2] == 3
    assert pixels.size > 10**6


EXAMPLES = pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)


@EXAMPLES
def test_examples_run(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [path.name])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_example_of_complex_numbers_compares_what_is_not_zero(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["complex_product.py"])
    runpy.run_path(str(ROOT / "examples" / "complex_product.py"), run_name="__main__")
    said = re.fullmatch(r"the product is (-?\d+) \+ (-?\d+) i, serial and factored\n", capsys.readouterr().out)
    assert said is not None
    assert int(said[1]) % 2 == 1


@EXAMPLES
def test_examples_say_what_they_are(path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [path.name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert ast.get_docstring(ast.parse(path.read_text())).split()[-1] in capsys.readouterr().out


def readme(tmp_path, monkeypatch, k):
    """Run the k-th program of the README as a file: its names."""
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(programs) == 2
    path = tmp_path / "program.py"
    path.write_text(programs[k])
    return runpy.run_path(str(path))


def test_the_loop_of_the_readme_is_folded_and_gives_what_python_gives(tmp_path, monkeypatch, capsys):
    names = readme(tmp_path, monkeypatch, 0)
    said = capsys.readouterr().out.splitlines()
    few = names["gains"][:200_000]
    assert names["best_stretch"](few) == names["best_stretch"].python(few)
    assert said[0] == said[-1] == "(np.int64(6762), 4711810, 4725262)"
    assert names["best_stretch"].python(names["gains"][4_711_810:4_725_262])[0] == 6762


def test_the_program_of_the_readme_gives_the_serial_bits(tmp_path, monkeypatch):
    names = readme(tmp_path, monkeypatch, 1)
    re_, im = names["re"], names["im"]
    x, y = 1, 0
    for a, b in zip(re_.tolist(), im.tolist(), strict=True):
        x, y = (x * a - y * b) & 0xFFFFFFFF, (x * b + y * a) & 0xFFFFFFFF
    assert [int(part) & 0xFFFFFFFF for part in names["out"]] == [x, y]
    assert x & 1, "the product must be of units modulo 2^32: others end in zeros, whatever the program does"
