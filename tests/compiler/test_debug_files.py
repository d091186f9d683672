"""Files of `debug_to_file` are those that Halide writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl

_SHAPES = [(), (3,), (3, 2), (2, 3, 2), (2, 2, 4), (3, 2, 1), (2, 1, 3, 1), (2, 3, 2, 2)]
_TYPES = [
    "Bool()", "Int(8)", "UInt(8)", "Int(16)", "UInt(16)", "Int(32)", "UInt(32)", "Int(64)", "UInt(64)",
    "Float(32)", "Float(64)",
]  # fmt: skip


def _written(api: Any, type_: str, shape: tuple[int, ...], file: Path) -> bytes:
    variables = [api.Var(f"v{d}") for d in range(len(shape))]
    f, value = api.Func("f"), api.i32(1)
    for d, variable in enumerate(variables):
        value = value + variable * 10**d
    f[variables] = api.cast(eval(f"api.{type_}", {"api": api}), value)
    f.debug_to_file(str(file))
    f.realize(list(shape))
    return file.read_bytes()


def _without_padding(content: bytes) -> bytes:
    """A TIFF file without the halves of its list's values that a short number leaves: Halide writes what lay there."""
    result = bytearray(content)
    for tag in range(15):
        at = 10 + 12 * tag
        if result[at + 2] == 3:
            result[at + 10 : at + 12] = b"\0\0"
    return bytes(result)


@pytest.mark.parametrize("ending", ["mat", "tiff", "tmp"])
def test_files_are_those_of_halide(ending: str, tmp_path: Path) -> None:
    halide = pytest.importorskip("halide")
    tidy = _without_padding if ending == "tiff" else bytes
    shapes = [(_TYPES[(3 * i) % len(_TYPES)], shape) for i, shape in enumerate(_SHAPES)]
    for type_, shape in [*shapes, *((type_, (3, 2)) for type_ in _TYPES)]:
        ours, theirs = (tidy(_written(api, type_, shape, tmp_path / f"one.{ending}")) for api in (hl, halide))
        assert ours == theirs, (type_, shape)


def test_an_image_in_a_tiff_file_begins_where_its_list_says(tmp_path: Path) -> None:
    content = _written(hl, "UInt(16)", (3, 2), tmp_path / "one.tif")
    assert content[:4] == b"II*\0"
    assert np.frombuffer(content[-12:], np.uint16).tolist() == [1, 2, 3, 11, 12, 13]
