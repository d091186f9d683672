"""Names are free again once their bearers are gone: prints and messages of a test do not depend on the tests before."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def _free_names() -> None:
    """Collect what the errors of the last test still hold; what is left, compiled programs mostly, is not gone through again.

    It is once more when the next file begins (`tests/conftest.py`).
    """
    gc.collect()
    gc.freeze()
