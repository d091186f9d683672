"""The two evaluators of expressions agree: one on arrays, one point by point."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import variables
from rfactor.ir.types import SCALARS, Type
from rfactor.semantics.scalar import program
from tests.strategies import awkward_values, expressions

COUNT = 24


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(SCALARS), st.integers(0, 1 << 30))
def test_a_point_has_the_value_that_the_array_has_there(data: st.DataObject, type: Type, seed: int) -> None:
    expr = data.draw(expressions(type))
    env = {v.name: awkward_values(v.type, COUNT, seed + i) for i, v in enumerate(variables(expr))}
    expected = np.broadcast_to(evaluate(expr, env), (COUNT,))
    ready = program((expr,))

    def no_read(name: str, index: int, point: tuple[int, ...]) -> int:
        raise AssertionError(name)

    found = [ready.run({name: array[i].item() for name, array in env.items()}, no_read)[0] for i in range(COUNT)]
    np.testing.assert_array_equal(np.array(found, dtype_of(type)), expected)
    if type.is_float:
        finite = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(np.array(found, dtype_of(type)))[finite], np.signbit(expected)[finite])
