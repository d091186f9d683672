"""Every promise of docs/guarantees.md and every feature of docs/features.md names tests that are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = "\n".join((ROOT / "docs" / name).read_text() for name in ("guarantees.md", "features.md"))
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
NAMED = sorted(set(_NAMED.findall(TEXT)))
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and not re.match(r"\| (promise|feature|-)", line)]


def test_there_are_promises() -> None:
    assert len(ROWS) > 70
    assert len(NAMED) > 120


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:50])
def test_a_promise_names_a_test(row: str) -> None:
    assert _NAMED.search(row.split("|")[-2])


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    assert name in functions(file)


@cache
def functions(file: str) -> set[str]:
    found = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in found.body if isinstance(node, ast.FunctionDef)}
