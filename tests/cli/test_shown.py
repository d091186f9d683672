"""What README.md and docs/ show of the command line is what it prints; the files that they name are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rfactor.cli.main import rfactor

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_DURATION = re.compile(r"\d+\.\d ms")


def shown() -> list[tuple[str, str, str]]:
    """Page, command and output of each `$ rfactor …` that a page shows with what it prints."""
    found = []
    for page in PAGES:
        lines = page.read_text().splitlines()
        for at, line in enumerate(lines):
            if match := re.match(r"( *)\$ rfactor (.*)", line):
                block = []
                for below in lines[at + 1 :]:
                    if not below.startswith(match[1]) or not below.strip() or below.startswith("```"):
                        break
                    block.append(below.removeprefix(match[1]))
                found.append((page.name, match[2], "\n".join(block)))
    return found


@pytest.mark.parametrize(("page", "command", "output"), shown())
def test_a_page_shows_what_the_command_prints(page: str, command: str, output: str) -> None:
    printed = CliRunner().invoke(rfactor, shlex.split(command)).stdout
    assert _DURATION.sub("some ms", printed).rstrip() == _DURATION.sub("some ms", output)


def test_the_readme_shows_an_answer() -> None:
    assert "README.md" in {page for page, _, output in shown() if "verdict" in output}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_links_to_what_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
