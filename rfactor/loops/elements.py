"""Chunks: parts of the arguments that a loop walks, as arrays, lists, bytes or text; how they are cut and joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rfactor.errors import Error, FoldError

Column = Any
"""A sequence: an array of NumPy's (cut along its first axis), a list, a tuple, bytes or text."""


def columns_of(chunk: Any, walked: Sequence[str], names: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """The parts of the walked arguments in a chunk. Raises `FoldError` where they are not there.

    A chunk is the part of the one argument; a tuple of parts; a dict by name; or a table or data frame, whose columns
    are named as the arguments or by `names`.
    """
    names = names or {}
    if isinstance(chunk, dict):
        found = [chunk.get(names.get(n, n), _MISSING) for n in walked]
    elif isinstance(chunk, tuple):
        if len(chunk) != len(walked):
            raise FoldError(
                f"a chunk has {len(chunk)} parts, and {len(walked)} arguments are taken in parts: {', '.join(walked)}",
                kind="R4", advice="give the other arguments by name: stream(chunks, k=3)",
            )  # fmt: skip
        found = list(chunk)
    elif (labels := _labels(chunk)) is not None:
        if len(walked) == 1 and walked[0] not in names and walked[0] not in labels and len(labels) == 1:
            found = [chunk[labels[0]]]
        else:
            wanted = [names.get(n, n) for n in walked]
            found = [chunk[w] if w in labels else _MISSING for w in wanted]
    elif len(walked) == 1:
        found = [chunk]
    else:
        raise FoldError(
            f"{len(walked)} arguments are taken in parts: {', '.join(walked)}", kind="R4",
            advice="give each chunk as a tuple of parts",
        )  # fmt: skip
    for name, part in zip(walked, found, strict=True):
        if part is _MISSING:
            raise FoldError(f"a chunk has no column for {name}", kind="R4", advice='columns={"argument": "column"}')
    parts = tuple(as_column(p, n) for p, n in zip(found, walked, strict=True))
    lengths = set(map(len, parts))
    if len(lengths) > 1:
        raise FoldError(
            f"the parts of a chunk are of {' and '.join(map(str, sorted(lengths)))} elements", kind="R4",
            advice="cut all arguments at the same places",
        )  # fmt: skip
    return parts


_MISSING = object()


def _labels(chunk: Any) -> list[str] | None:
    """The names of the columns of a table or data frame."""
    module = type(chunk).__module__.split(".")[0]
    if module == "pyarrow" and hasattr(chunk, "schema") and hasattr(chunk, "num_columns"):
        return list(chunk.schema.names)
    if module in ("pandas", "polars") and hasattr(chunk, "columns"):
        return list(chunk.columns)
    return None


def as_column(value: Any, name: str) -> Column:
    """A part of an argument as loops walk it. Raises `Error`."""
    from rfactor.loops.fold import as_plain

    if type(value).__module__.split(".")[0] == "polars" and getattr(value, "null_count", int)():
        raise Error(f"{name}: a column with nulls: fill them, as with .fill_null(0)")
    if getattr(value, "num_chunks", 0) == 1:
        value = value.chunk(0)  # without a copy
    plain = as_plain(value)
    if isinstance(plain, np.ndarray) and plain.ndim:
        return plain.tolist() if plain.dtype.hasobject and type(value) is not np.ndarray else plain
    if isinstance(plain, list | tuple | bytes | bytearray | str | range):
        return plain
    raise FoldError(
        f"{name} is given in parts of {type(value).__name__}, which is no sequence", kind="R10",
        advice="give arrays, lists, bytes, text, or columns of tables",
    )  # fmt: skip


def form_of(column: Column) -> tuple[Any, ...]:
    """All that parts of one argument have in common."""
    if isinstance(column, np.ndarray):
        return ("array", column.dtype, column.shape[1:])
    return (type(column),)


def joined(parts: Sequence[Column]) -> Column:
    """Parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, str | bytes | bytearray):
        return type(first)().join(parts)
    if isinstance(first, tuple):
        return tuple(v for p in parts for v in p)
    return [v for p in parts for v in p]


def owned(column: Column) -> Column:
    """The same elements in memory of their own."""
    return column.copy() if isinstance(column, np.ndarray | bytearray | list) else column
