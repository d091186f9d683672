"""Tables of all states: each entry is the step at one state, however many are computed together."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.parser import parse_update
from rfactor.ir.types import Type, parse_type
from rfactor.matcher.check import check
from rfactor.matcher.refusal import small_states

STEPS = [
    ("x + a", "u8", {}),
    ("x*3 - a", "i8", {}),
    ("x // a", "i8", {}),
    ("x0 != a, x1 + u8(x0)", "u8", {"x0": "bool", "a": "bool"}),
    ("x0 - a, select(a < x0, x1, p)", "i8", {"x1": "u8", "p": "u8"}),
    ("u8(f32(x)*0.5 + f32(a))", "u8", {}),
]


def number(state: list[int | bool | float], types: tuple[Type, ...]) -> int:
    total, shift = 0, 0
    for value, type_ in zip(state, types, strict=True):
        total |= (int(value) & ((1 << type_.bits) - 1)) << shift
        shift += type_.bits
    return total


@pytest.mark.parametrize(("text", "type_", "types"), STEPS)
def test_a_table_holds_the_step_at_every_state(text: str, type_: str, types: dict[str, str]) -> None:
    update = parse_update(text, parse_type(type_), {name: parse_type(t) for name, t in types.items()})
    floats = "f32" in text
    choices = [[v.type.wrap(n) if v.type.is_int else bool(n) for n in (0, 1, 5, -2)] for v in update.data]
    data = [dict(zip([v.name for v in update.data], values, strict=True)) for values in product(*choices)]
    tables = small_states._tables(update, data, {}, floats)
    columns = small_states.states(update.types)
    for datum, table in zip(data, tables, strict=True):
        assert table is not None
        for at in range(0, len(table), 1 + len(table) // 50):
            state = {x.name: column[at].item() for x, column in zip(update.accumulators, columns, strict=True)}
            after = [evaluate_scalar(c, state | datum) for c in update.components]
            assert table[at] == number(after, update.types), (datum, state)


def test_a_datum_that_divides_by_zero_somewhere_has_no_table() -> None:
    update = parse_update("select(f32(a)/f32(x - 3) > 1.0, x, a)", parse_type("u8"))
    assert small_states._tables(update, [{"a": 1}, {"a": 2}], {}, floats=True) == [None, None]
    update = parse_update("select(1.0/f32(a) > 0.1, x, a)", parse_type("u8"))
    tables = small_states._tables(update, [{"a": 0}, {"a": 2}], {}, floats=True)
    assert [table is None for table in tables] == [True, False]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_runs_repeat_where_from_every_state_two_have_one_end(dtype: type) -> None:
    assert small_states._all_repeat(np.array([[0, 7], [1, 2], [0, 2]], dtype))
    assert not small_states._all_repeat(np.array([[0, 7], [1, 2], [0, 3]], dtype))
    assert not small_states._all_repeat(np.array([[0, 7], [1, 0], [2, 3]], dtype))
    assert not small_states._all_repeat(np.array([[0, 7]], dtype))


def test_counts_of_bits_are_exact_and_tried_like_any_step() -> None:
    assert check("popcount(x) + a", type="u8").verdict == "not_associative"
    assert check("(x + a) ^ count_leading_zeros(x)", type="u8").verdict == "not_associative"
    assert check("x + popcount(a)", type="u8").verdict == "associative"


def test_the_first_table_that_leads_to_most_states_is_taken() -> None:
    some, more, as_many, all_ = ([1, 1, 1, 1], [0, 1, 1, 0], [2, 3, 3, 2], [3, 2, 1, 0])
    tables = [np.array(table, dtype=np.uint8) for table in (some, more, as_many)]
    assert small_states._most_reached(tables).tolist() == [0, 1]
    assert small_states._most_reached([*tables, np.array(all_, dtype=np.uint8), tables[0]]).tolist() == [0, 1, 2, 3]
