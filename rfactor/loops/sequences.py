"""What loops walk over, as typed arrays: NumPy's, bytes, text, and lists whose elements are of one type."""

from __future__ import annotations

import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.loops.kinds import Untyped, held_value, kind_of_dtype

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Typed:
    """An array, and the kind that its elements have in the plain run."""

    array: Array
    kind: str
    """Empty for records, whose fields have kinds of their own."""

    @property
    def signature(self) -> tuple[Any, ...]:
        """All that a compiled loop depends on: types, not values."""
        return (
            self.array.dtype.str if not self.array.dtype.names else str(self.array.dtype),
            self.array.ndim,
            self.kind,
        )


_PLAIN = {int: np.int64, float: np.float64, bool: np.bool_}


def typed(value: Any) -> Typed | None:
    """The value as an array; None where it is none, or its elements are of several types or too large."""
    if isinstance(value, np.ndarray):
        return _of_array(value) if type(value) in (np.ndarray, np.memmap, np.recarray) else None
    if type(value) in (bytes, bytearray):
        return Typed(np.frombuffer(value, np.uint8), "int")
    if type(value) is str:
        return Typed(np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.uint32), "str")
    if type(value) is range:
        try:
            return Typed(np.arange(value.start, value.stop, value.step, dtype=np.int64), "int")
        except OverflowError:
            return None
    if isinstance(value, array.array) and value.typecode != "u":
        kind = "float" if value.typecode in "fd" else "int"
        dtype = np.dtype(value.typecode)
        return None if value.typecode in "QL" else Typed(np.frombuffer(value, f"{dtype.kind}{dtype.itemsize}"), kind)
    if type(value) in (list, tuple):
        return _of_list(value)
    return None


def _of_array(value: Array) -> Typed | None:
    if isinstance(value, np.ma.MaskedArray) or value.dtype.hasobject:
        return None
    if value.dtype.names:
        return Typed(_usable(value), "") if value.ndim == 1 else None
    if value.dtype == np.complex128:
        return Typed(value, "np.complex128")
    if value.dtype.kind not in "biuf":
        return None
    try:
        kind = kind_of_dtype(value.dtype)
    except Untyped:
        return None
    return Typed(_usable(value), kind)


def _usable(value: Array) -> Array:
    """The array where elements lie as the machine has them, else a copy."""
    if not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def _of_list(value: Sequence[Any]) -> Typed | None:
    types = set(map(type, value))
    if len(types) != 1:
        return None
    (one,) = types
    if one in _PLAIN:
        try:
            return Typed(np.array(value, _PLAIN[one]), one.__name__)
        except OverflowError:
            return None
    if one is complex:
        return Typed(np.array(value, np.complex128), "complex")
    if one is str:
        return Typed(np.array(list(map(held_value, value)), np.uint32), "str")
    if isinstance(one, type) and issubclass(one, np.generic):
        dtype = np.dtype(one)
        if dtype == np.complex128:
            return Typed(np.array(value, dtype), "np.complex128")
        try:
            return Typed(np.array(value, dtype), kind_of_dtype(dtype)) if dtype.kind in "biuf" else None
        except Untyped:
            return None
    if one in (list, tuple):
        lengths = set(map(len, value))
        if len(lengths) != 1 or not (width := lengths.pop()):
            return None
        flat = _of_list(list(chain.from_iterable(value)))
        return None if flat is None else Typed(flat.array.reshape(len(value), width, *flat.array.shape[1:]), flat.kind)
    if one is np.ndarray:
        if len({(a.dtype, a.shape) for a in value}) != 1:
            return None
        return _of_array(np.array(value))
    return None
