"""Run a fold over Parquet files, row group by row group, so that a killed run goes on where it was."""

from __future__ import annotations

import fnmatch
import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rfactor.errors import Error, FoldError
from rfactor.loops.fold import Fold
from rfactor.loops.states import State, partial
from rfactor.loops.stream import stream

TOGETHER = 4 << 20
"""Bytes of row groups that are read together, where no state is kept after each."""


def parquet(
    fold: Fold,
    files: Any,
    columns: Mapping[str, str] | None,
    state: Any,
    others: Mapping[str, Any],
    progress: Callable[[int], None] | None,
) -> Any:
    """The result of the plain function on the columns of all files, one after the other.

    With `state` what is known so far is kept in that file after each row group. Raises `FoldError` where the loop has
    no state that merges, or where the file is of another run.
    """
    walked = fold.streamed.cut.walked
    names = {n: (columns or {}).get(n, n) for n in walked}
    found = _opened(files)
    groups = [(k, [g]) for k in range(len(found)) for g in range(found[k][1].num_row_groups)]
    wanted = list(dict.fromkeys(names.values()))
    for name, file in found:
        missing = [w for w in wanted if w not in file.schema_arrow.names]
        if missing:
            raise FoldError(f"{name} has no column {missing[0]}", kind="R4", advice='columns={"argument": "column"}')
    if state is None:
        several = _several(found, groups, wanted)
        return stream(fold.streamed, (t for _, t in _read(found, several, wanted)), others, names, progress)
    path = Path(state)
    known = [[p, f.metadata.num_rows, f.num_row_groups] for p, f in found]
    done, kept = _resumed(fold, path, known, others)
    for number, table in _read(found, groups[done:], wanted):
        start = 0 if kept is None else kept.count
        one = partial(fold, (table,), others, start, names)
        kept = one if kept is None else kept + one
        _keep(path, {"files": known, "done": done + number + 1, "state": kept.to_json()})
        if progress is not None:
            progress(kept.count)
    if kept is None:
        return stream(fold.streamed, (), others, names)
    return kept.result()


def rows(files: Any) -> int:
    """The number of rows of all files."""
    return sum(file.metadata.num_rows for _, file in _opened(files))


def _resumed(fold: Fold, path: Path, known: list[Any], others: Mapping[str, Any]) -> tuple[int, State | None]:
    """How many row groups are done, and the state after them."""
    if not path.exists():
        return 0, None
    told = json.loads(path.read_text())
    if told["files"] != known:
        raise FoldError(f"{path} is of other files", kind="R4", advice="remove it to begin anew")
    return told["done"], fold.state_from_json(told["state"], **others)


def _keep(path: Path, told: dict[str, Any]) -> None:
    """Write a file as a whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(beside, "w") as out:
        json.dump(told, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(beside, path)


def _several(
    found: list[tuple[str, Any]], groups: list[tuple[int, list[int]]], names: list[str]
) -> list[tuple[int, list[int]]]:
    """Small row groups of a file that are read together."""
    result: list[tuple[int, list[int]]] = []
    size = 0
    for file, group in groups:
        data = found[file][1].metadata.row_group(group[0])
        own = sum(data.column(k).total_uncompressed_size for k in range(data.num_columns)
                  if data.column(k).path_in_schema.split(".")[0] in names)  # fmt: skip
        if result and result[-1][0] == file and size + own <= TOGETHER:
            result[-1] = file, result[-1][1] + group
            size += own
        else:
            result.append((file, group))
            size = own
    return result


def _read(
    found: list[tuple[str, Any]], groups: Iterable[tuple[int, list[int]]], names: list[str]
) -> Iterator[tuple[int, Any]]:
    """The row groups with their numbers; the next one is read meanwhile."""
    groups = list(groups)
    with ThreadPoolExecutor(1, thread_name_prefix="rfactor-parquet") as pool:
        ahead = None
        for number in range(len(groups)):
            file, group = groups[number]
            now = ahead or pool.submit(found[file][1].read_row_groups, group, names)
            ahead = None
            if number + 1 < len(groups):
                file, group = groups[number + 1]
                ahead = pool.submit(found[file][1].read_row_groups, group, names)
            table = now.result()
            del now
            yield number, table
            del table


def _opened(files: Any) -> list[tuple[str, Any]]:
    """The files by name, opened. Raises `Error` where there are none."""
    from pyarrow import fs
    from pyarrow import parquet as pq

    found: list[tuple[str, Any]] = []
    for one in [files] if isinstance(files, str | os.PathLike) else list(files):
        name = os.fspath(one)
        if "://" in name:
            system, path = fs.FileSystem.from_uri(
                name if "*" not in name else name[: name.index("*")].rpartition("/")[0]
            )
            if "*" in name:
                pattern = name.partition("://")[2]
                paths = sorted(
                    i.path for i in system.get_file_info(fs.FileSelector(path)) if fnmatch.fnmatch(i.path, pattern)
                )
            else:
                paths = [path]
            found += [(p, pq.ParquetFile(system.open_input_file(p))) for p in paths]
        else:
            paths = sorted(glob.glob(name)) if glob.has_magic(name) else [name]
            found += [(p, pq.ParquetFile(p)) for p in paths]
    if not found:
        raise Error(f"no files: {files}")
    return found
