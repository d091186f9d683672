"""What all tests share."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from rfactor.compiler.language import names

os.environ["RFACTOR_CACHE"] = "0"  # no test is to depend on what an earlier run has kept

# Examples may take as long to draw as a busy machine makes them.
settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")


@pytest.fixture(scope="session", autouse=True)
def _work_counts() -> Iterator[None]:
    """The seconds that a proof is given are those that this process works: however busy the machine is, it has them."""
    with patch("rfactor.prover.limits.time", SimpleNamespace(monotonic=time.process_time)):
        yield


@pytest.fixture(scope="session")
def _of_modules() -> list[object]:
    """The bearers of names that are there before the first test: those of modules."""
    return list(names._in_use.values())


def free_names(of_modules: list[object]) -> None:
    """Collect what errors and other cycles of earlier tests still hold, the youngest first, while a name is not free.

    After most tests every name is, and nothing needs to be looked through.
    """
    known = set(map(id, of_modules))
    for collect in (partial(gc.collect, 0), partial(gc.collect, 1), gc.collect, _collect_all):
        if all(id(bearer) in known for bearer in tuple(names._in_use.values())):
            return
        collect()


def _collect_all() -> None:
    gc.unfreeze()
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def _names_for_a_module(_of_modules: list[object]) -> None:
    """Names are free again once their bearers are gone: what a module makes does not depend on those before.

    What these have left, a gigabyte in the end, is looked through once, and not again in each collection.
    """
    free_names(_of_modules)
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _names_for_a_test(_of_modules: list[object]) -> None:
    """Nor do prints and messages of a test."""
    free_names(_of_modules)
