"""Names are free again once their bearers are gone: prints and messages of a test do not depend on the tests before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _old_objects() -> Iterator[None]:
    """What was there before, libraries and what was compiled, need not be looked at again by each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _free_names() -> None:
    """Collect what the errors of the last test still hold."""
    gc.collect()
