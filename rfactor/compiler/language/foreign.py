"""Arrays of other libraries as NumPy's: without a copy where their memory can be shared.

Columns of pandas, polars and Arrow, arrays of xarray, tensors in the memory of the processor, what has
`__array_interface__`, `__array__`, `__dlpack__` or Python's buffer interface, and lists, which are copied. Elements
that are missing have no value here: an array with any is refused, rather than read as what happens to lie there.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.language.types import Type, dtype_of
from rfactor.errors import BufferError, TypeMismatch

Array = NDArray[Any]

_PROTOCOLS = ("__array_interface__", "__array_struct__", "__array__")


def array_of(value: Any) -> Array | None:
    """The elements of an array; None for what is none. Raises `BufferError` where some are missing or out of reach."""
    if isinstance(value, np.ndarray):
        _check_unmasked(value)
        return value
    if isinstance(value, str | bytes | bool | int | float | complex | np.generic | type):
        return np.asarray(memoryview(value)) if isinstance(value, bytes) else None
    _check_none_missing(value)
    try:
        return np.asarray(memoryview(value))
    except (TypeError, BufferError, ValueError):
        pass
    kind = type(value).__name__
    try:
        if hasattr(value, "to_numpy"):
            return _column(value)
        if any(hasattr(value, protocol) for protocol in _PROTOCOLS):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            shared: Array = np.from_dlpack(value)
            return shared
    except Exception as error:  # of the library's own kinds
        raise BufferError(f"an array of {kind} that NumPy cannot take: {error}") from error
    return None


def of_list(values: Any, type_: Type | None = None) -> Array:
    """A copy of a list, or of lists in one another, of NumPy's type for its numbers or of `type_`.

    Raises `TypeMismatch` for what is no box of numbers, or holds one that is no value of `type_`.
    """
    try:
        array = np.array(values)
    except (ValueError, OverflowError) as error:
        raise TypeMismatch(f"a list for a Buffer holds numbers, or lists of the same length: {error}") from None
    if array.dtype.kind not in "biuf":
        raise TypeMismatch(f"a list for a Buffer holds numbers, not {array.dtype}")
    if type_ is None:
        return array
    with np.errstate(all="ignore"):
        made = array.astype(dtype_of(type_.ir))
    if (
        type_.ir.is_bfloat
        or (array.dtype.kind == "f" and not type_.ir.is_float)
        or (array.dtype.kind != "f" and not np.array_equal(made, array))
    ):
        raise TypeMismatch(f"a list for a Buffer of {type_} holds values of that type: cast it by NumPy before")
    return made


def output_of(value: Any) -> Array | None:
    """The array of an output, whose memory is that of what was given; None for what is none.

    Raises `BufferError` where it cannot be written.
    """
    array = array_of(value)
    if array is None:
        return None
    if array is not value:
        again = array_of(value)
        if not array.flags.writeable or again is None or not np.shares_memory(array, again):
            raise BufferError(
                f"an output is computed into the memory of an array, and that of this {type(value).__name__} cannot be "
                f"written: pass a NumPy array, or sizes, and convert what is computed"
            )
    if not array.flags.aligned:
        raise BufferError(
            f"an output lies at a multiple of the size of its elements, {array.itemsize} bytes, and this array does "
            f"not: pass another one, and copy what is computed"
        )
    return array


def _column(value: Any) -> Array:
    """A column of pandas, polars or Arrow, or an array with names, as an array, of its own memory where it can be."""
    own = getattr(getattr(value, "dtype", None), "numpy_dtype", None)
    if isinstance(own, np.dtype):  # of pandas, where elements could be missing and none is
        return np.asarray(value.to_numpy(dtype=own))
    try:
        return np.asarray(value.to_numpy(zero_copy_only=True))
    except Exception:  # another library, where there is no such argument, or bits and chunks, which are copied
        pass
    try:
        return np.asarray(value.to_numpy(zero_copy_only=False))
    except TypeError:
        return np.asarray(value)


def _check_unmasked(array: Array) -> None:
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and isinstance(array, masked):
        raise BufferError(
            "a masked array would lose its mask: pass array.filled(v) with a value for what is masked, or array.data "
            "and the mask as a second Buffer, np.ma.getmaskarray(array)"
        )


def _check_none_missing(value: Any) -> None:
    """Refuse columns and tables with missing elements. NaN is a value of floats."""
    missing = _missing(value)
    if missing:
        raise BufferError(
            f"{missing} elements of this {type(value).__name__} are missing: fill them (fill_null(v), fillna(v)), or "
            f"pass which are missing as a second Buffer"
        )


def _missing(value: Any) -> int:
    if hasattr(value, "itercolumns"):  # a table of Arrow's
        return sum(column.null_count for column in value.itercolumns())
    count = getattr(value, "null_count", None)
    if count is not None:
        return int(np.asarray(count() if callable(count) else count).sum())
    dtypes: Any = getattr(value, "dtypes", None)  # of pandas, one or several
    own = list(dtypes) if hasattr(dtypes, "__iter__") else [dtypes]
    if any(isinstance(getattr(dtype, "numpy_dtype", None), np.dtype) for dtype in own):
        return int(np.asarray(value.isna()).sum())
    return 0
