"""Functions of f32 that are arithmetic: near the exact values, everywhere."""

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate
from rfactor.ir.routines import PARAMETER, ROUTINES

ENDS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 88.72283, 88.72284, -87.33655, -103.97208, -103.9721, 1e-45, 3e38]


@pytest.mark.parametrize("name", sorted(ROUTINES))
def test_values_are_within_a_unit_in_the_last_place(name: str) -> None:
    bits = np.arange(0, 1 << 32, 3989, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([bits.view(np.float32), np.array(ENDS, np.float32)])
    with np.errstate(all="ignore"):
        value = evaluate(ROUTINES[name], {PARAMETER.name: x})
        exact = getattr(np, name)(x.astype(np.float64))
        nearest = exact.astype(np.float32)
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(value[~finite], nearest[~finite])
    unit = np.spacing(np.abs(nearest[finite])).astype(np.float64)
    assert np.max(np.abs(value[finite].astype(np.float64) - exact[finite]) / unit) < 1
