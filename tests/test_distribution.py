"""The distribution: its name on the package index, where `rfactor` is another project's, and who says it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = [
    ROOT / "README.md",
    ROOT / "pyproject.toml",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "rfactor").rglob("*.py"),
    *(ROOT / "benchmarks").rglob("*.py"),
    *(ROOT / "examples").rglob("*.py"),
]
_OTHERS = re.compile(r"""(?:pip install ["']*|["'])rfactor(?![\w-])(?:\[|(?<=install rfactor))""")
"""What would bring the other project."""


def test_the_name_is_not_that_of_another_project() -> None:
    assert PROJECT["name"] == "rfactor-compiler"
    assert PROJECT["scripts"] == {"rfactor": "rfactor.cli.main:main"}


@pytest.mark.parametrize("text", ["pip install rfactor", "pip install 'rfactor[demo]'", '"rfactor[demo,verify]"'])
def test_the_other_project_is_seen(text: str) -> None:
    assert _OTHERS.search(text)


@pytest.mark.parametrize("text", ["pip install 'rfactor-compiler[demo]'", "pip install rfactor-compiler", '"rfactor"'])
def test_our_own_name_is_not_taken_for_it(text: str) -> None:
    assert not _OTHERS.search(text)


def test_nothing_tells_to_install_the_other_project() -> None:
    assert [path.name for path in TEXTS if _OTHERS.search(path.read_text())] == []


def test_extras_that_are_told_of_are_there() -> None:
    told = {
        extra
        for path in TEXTS
        for extras in re.findall(r"rfactor-compiler\[([\w,]+)\]", path.read_text())
        for extra in extras.split(",")
    }
    assert told
    assert told <= PROJECT["optional-dependencies"].keys()
