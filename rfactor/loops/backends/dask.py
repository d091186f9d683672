"""Run a fold over Dask's collections: a state a block, merged in pairs in the order of the blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rfactor.errors import FoldError
from rfactor.loops.backends.tree import both, finish, named, pairwise, part
from rfactor.loops.fold import Fold


def dask(fold: Fold, collections: Sequence[Any], columns: Mapping[str, str] | None, others: Mapping[str, Any]) -> Any:
    """A `Delayed` of the plain function's result. Raises `FoldError` for collections cut at different places."""
    from dask import delayed
    from dask.base import tokenize

    name, walked = named(fold), fold.streamed.cut.walked
    labels = None
    blocks: list[tuple[Any, ...]]
    starts: list[int | None]
    if len(collections) == 1 and hasattr(collections[0], "dtypes"):
        labels = {n: (columns or {}).get(n, n) for n in walked}
        frame = collections[0]
        if len(walked) == 1 and frame.ndim == 1:
            labels = None
        else:
            frame = frame[list(dict.fromkeys(labels.values()))]
        blocks = [(b,) for b in frame.to_delayed()]
        starts = [None] * len(blocks)
    elif len(collections) != len(walked):
        raise FoldError(
            f"{len(walked)} arguments are taken in parts: {', '.join(walked)}",
            kind="R4",
            advice="give a collection for each",
        )
    else:
        each = [_blocks(c) for c in collections]
        if len({tuple(sizes) if sizes else len(found) for found, sizes in each}) > 1:
            raise FoldError("collections cut at different places", kind="R4", advice="rechunk them alike")
        blocks = list(zip(*(found for found, _ in each), strict=True))
        sizes = each[0][1]
        starts = [None] * len(blocks) if sizes is None else [sum(sizes[:k]) for k in range(len(sizes))]
    token = tokenize(name, fold.options, labels, dict(others), [b.key for row in blocks for b in row])
    step = delayed(part, pure=True)
    states = [
        step(name, start, labels, dict(others), *row, dask_key_name=f"{fold.python.__name__}-part-{token}-{k}")
        for k, row, start in zip(range(len(blocks)), blocks, starts, strict=True)
    ]
    numbers = iter(range(1 << 62))
    merge = delayed(both, pure=True)
    one = pairwise(
        states, lambda a, b: merge(a, b, dask_key_name=f"{fold.python.__name__}-merge-{token}-{next(numbers)}")
    )
    return delayed(finish, pure=True)(one, dask_key_name=f"{fold.python.__name__}-{token}")


def _blocks(collection: Any) -> tuple[list[Any], list[int] | None]:
    """The blocks of a collection in order, and their lengths where those are known."""
    if hasattr(collection, "chunks"):
        if any(len(c) > 1 for c in collection.chunks[1:]):
            collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        sizes = collection.chunks[0]
        known = not any(isinstance(s, float) and math.isnan(s) for s in sizes)
        return list(collection.to_delayed().ravel()), [int(s) for s in sizes] if known else None
    return list(collection.to_delayed()), None
