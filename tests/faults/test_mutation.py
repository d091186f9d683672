"""A corrupted row is caught by `verify`, though its digests are forged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rfactor.enumerate.verify import verify
from rfactor.table.store import open_table
from tests.faults.tables import MUTATIONS, altered, mutation

_EACH = 9


@pytest.mark.parametrize("kind", MUTATIONS)
def test_a_corrupted_row_is_caught_in_every_sampled_case(small: Path, tmp_path: Path, kind: str):
    rng = random.Random(kind)
    for _ in range(_EACH):
        number, statements = mutation(rng, small, kind)
        table = open_table(altered(small, tmp_path / "mutant.sqlite", *statements))
        results = [check.result for check in verify(table, rows=[number])]
        assert "refuted" in results, statements


def test_a_row_with_forged_digests_that_says_what_it_said_is_proved(small: Path, tmp_path: Path):
    number, _ = mutation(random.Random(0), small, "operator")
    table = open_table(altered(small, tmp_path / "same.sqlite"))
    assert {check.result for check in verify(table, rows=[number])} == {"proved"}
