"""Other spellings of updates mean the same, and are found only where they do."""

from __future__ import annotations

import pytest

from rfactor.ir.parser import parse_update
from rfactor.ir.types import parse_type
from rfactor.matcher.check import check
from rfactor.matcher.respell import respelled


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("select(x == 2, 2, select(a, min(x + 1, 2), x))", "select(a, min(x + 1, 2), x)"),
        ("select(x != 2, select(a, min(x + 1, 2), x), 2)", "select(a, min(x + 1, 2), x)"),
        ("select(0 == x, k, max(x, k))", "max(x, k)"),
        ("select(x == 3, 2, select(a, min(x + 1, 2), x))", None),
        ("select(x == 2, 2, select(a, min(x + 1, 3), x))", None),
        ("select(x == 0, k, max(x, k + 1))", None),
    ],
)
def test_a_choice_by_a_value_that_changes_nothing_is_left_out(text: str, other: str | None) -> None:
    types = {"a": parse_type("bool")} if "a" in text.replace("max", "") else {}
    update = parse_update(text, parse_type("u8"), types)
    wanted = update if other is None else parse_update(other, parse_type("u8"), types)
    assert respelled(update).components == wanted.components


def test_a_run_that_is_counted_to_two_is_lifted() -> None:
    assert check("select(x == 2, 2, select(a, min(x + 1, 2), x))", type="i32", types={"a": "bool"}).verdict == "lifted"
