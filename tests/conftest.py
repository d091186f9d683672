"""What all tests share."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

# Examples may take as long to draw as a busy machine makes them.
settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")


@pytest.fixture(scope="session", autouse=True)
def _work_counts() -> Iterator[None]:
    """The seconds that a proof is given are those that this process works: however busy the machine is, it has them."""
    with patch("rfactor.prover.limits.time", SimpleNamespace(monotonic=time.process_time)):
        yield


@pytest.fixture(scope="module", autouse=True)
def _what_others_left() -> None:
    """What tests of other files have made, a gigabyte in the end, is not gone through in each collection.

    What of it nobody holds any more is collected first: the name of a function is free again only then.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
