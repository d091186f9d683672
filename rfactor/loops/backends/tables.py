"""Tables and queries as chunks: Arrow, pandas, Polars, DuckDB. No library is imported: what is given brings its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rfactor.errors import FoldError

ROWS = 1 << 20
"""Rows of a batch, where a query is asked for batches."""


def chunks_of(source: Any) -> Iterable[Any]:
    """The chunks of a table, reader or query in their order; any other iterable is one of chunks already."""
    module = type(source).__module__.split(".")[0].lstrip("_")
    name = type(source).__name__
    if module == "pyarrow":
        if name in ("Table", "Dataset", "FileSystemDataset", "InMemoryDataset", "UnionDataset"):
            return source.to_batches()  # type: ignore[no-any-return]
        if name == "ChunkedArray":
            return source.chunks  # type: ignore[no-any-return]
        return [source] if hasattr(source, "null_count") or name == "RecordBatch" else source
    if module == "polars":
        if name == "LazyFrame":
            if not hasattr(source, "collect_batches"):
                return [source.collect()]
            return source.collect_batches(maintain_order=True)  # type: ignore[no-any-return]
        return [source]
    if module == "pandas":
        return [source] if hasattr(source, "iloc") else source
    if module in ("duckdb", "duckdb_python"):
        for reader in ("to_arrow_reader", "fetch_record_batch", "arrow"):
            if hasattr(source, reader):
                return getattr(source, reader)(ROWS)  # type: ignore[no-any-return]
    if not hasattr(source, "__iter__"):
        raise FoldError(f"a {name} has no chunks", kind="R10", advice="give an iterable of arrays, tuples or tables")
    return source  # type: ignore[no-any-return]
