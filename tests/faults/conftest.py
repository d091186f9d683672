"""A small table."""

from __future__ import annotations

from pathlib import Path

import pytest

from rfactor.enumerate.backend import Serial
from rfactor.enumerate.run import Parameters, generate

SMALL = Parameters(("u8", "i8"), (3, 3), (1, 2), ("wrap",), 0)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "small.sqlite"
    generate(path, SMALL, Serial())
    return path
