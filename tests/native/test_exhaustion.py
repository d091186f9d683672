"""Triples of a multiplication table: both codes find the first that fails."""

from __future__ import annotations

import numpy as np
import pytest

from rfactor.native.exhaustion import _kernels, failing_triple, looks_up_many

_EVERY = np.arange(256, dtype=np.uint8)
_SIGNED = _EVERY.view(np.int8)
TABLES = {
    "sums": _EVERY[:, None] + _EVERY,
    "products": _EVERY[:, None] * _EVERY,
    "signed minima": np.minimum(_SIGNED[:, None], _SIGNED).view(np.uint8),
    "first": np.broadcast_to(_EVERY[:, None], (256, 256)).copy(),
}
CODES = [False, pytest.param(True, marks=pytest.mark.skipif(not looks_up_many(), reason="no such instruction"))]


def slowly(table: np.ndarray) -> tuple[int, int, int] | None:
    """The first failing pair, and the first value that fails there, by NumPy."""
    for x in range(len(table)):
        wrong = table[table[x]] != table[x][table]
        if wrong.any():
            y, z = divmod(int(wrong.argmax()), len(table))
            return x, y, z
    return None


@pytest.mark.parametrize("wide", CODES)
@pytest.mark.parametrize("name", TABLES)
def test_what_is_associative_has_no_failing_triple_and_what_is_altered_has(name: str, wide: bool):
    table, rng = TABLES[name], np.random.default_rng(0)
    assert failing_triple(table, wide=wide) is None
    for _ in range(6):
        altered = table.copy()
        altered[rng.integers(256), rng.integers(256)] ^= rng.integers(1, 256, dtype=np.uint8)
        assert failing_triple(altered, wide=wide) == slowly(altered)


@pytest.mark.parametrize("wide", CODES)
def test_a_failure_at_any_third_value_is_seen(wide: bool):
    """op(x, y) = y but op(0, z) = 0: the row of 0 followed by itself is another one, at one place alone."""
    for z in (1, 63, 64, 127, 128, 200, 255):
        table = np.broadcast_to(_EVERY, (256, 256)).copy()
        table[3, z] = 3 if z != 3 else 4
        assert failing_triple(table, wide=wide) == slowly(table) is not None


def test_small_tables():
    assert failing_triple(np.array([[0, 1], [1, 0]], np.uint8)) is None
    assert failing_triple(np.array([[1, 1], [1, 0]], np.uint8)) == slowly(np.array([[1, 1], [1, 0]], np.uint8))


def test_code_that_is_forgotten_takes_nothing_from_other_code():
    """Engines that shared a machine each disposed of it."""
    table = np.array([[0, 1], [1, 0]], np.uint8)
    for _ in range(10):
        for wide in (False, looks_up_many()):
            _kernels(wide)
        assert failing_triple(table) is None
        _kernels.cache_clear()
